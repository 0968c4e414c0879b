//! Parser of values; the expected type decides, so nothing is guessed.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use wprof::component::{FuncType, Type, TypeKind, Val};

use super::shown;

/// The results of earlier calls, by name.
pub type Named = HashMap<String, Val>;

/// Splits `name = f(1, 2)` into the name for the result, if it has one, and the call.
pub fn assignment(text: &str) -> (Option<&str>, &str) {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match text.split_once('=') {
        Some((name, call)) if is_name(name.trim()) => (Some(name.trim()), call.trim_start()),
        _ => (None, text),
    }
}

/// Splits a call such as `f(1, 2)` into the function's name and the text between the parentheses, if there are any.
///
/// # Errors
/// Returns an error if the closing parenthesis at the end is missing.
pub fn call(text: &str) -> Result<(&str, Option<&str>)> {
    let Some((name, rest)) = text.split_once('(') else { return Ok((text.trim(), None)) };
    let args = rest.trim_end().strip_suffix(')');
    Ok((name.trim(), Some(args.with_context(|| format!("`{}` does not end with `)`", beginning(text)))?)))
}

/// Returns the part of a text that is long enough to recognise it.
fn beginning(text: &str) -> Cow<'_, str> {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Parses the arguments of a function, separated by commas.
///
/// # Errors
/// Returns an error if an argument does not have the parameter's type, or no earlier result has its name; it names the
/// argument and the expected type.
pub fn arguments(ty: &FuncType, text: &str, named: &Named) -> Result<Vec<Val>> {
    let mut reader = Reader { text, rest: text, named: Some(named) };
    let mut values = Vec::new();
    for (index, (name, param)) in ty.params().enumerate() {
        if index > 0 {
            reader.expect(',')?;
        }
        let is_missing = reader.peek().is_none();
        ensure!(!is_missing, "argument `{name}` is missing: the function is {ty}");
        values.push(reader.value(param).with_context(|| format!("argument `{name}`"))?);
    }
    reader.accept(',');
    ensure!(
        reader.peek().is_none(),
        "too many arguments at `{}`: the function is {ty}",
        beginning(reader.rest)
    );
    Ok(values)
}

/// Splits arguments at commas outside of texts in quotation marks.
///
/// # Errors
/// Returns an error if a text is not closed, or something is missing between commas.
pub fn items(text: &str) -> Result<Vec<&str>> {
    let mut reader = Reader { text, rest: text, named: None };
    let mut items = Vec::new();
    while reader.peek().is_some() {
        if !items.is_empty() {
            reader.expect(',')?;
        }
        let begin = reader.rest.trim_start();
        match reader.peek() {
            Some('"') => {
                reader.quoted('"')?;
            }
            _ => {
                reader.take_while(|c| c != ',');
            }
        }
        let item = begin[..begin.len() - reader.rest.len()].trim_end();
        ensure!(!item.is_empty(), "an argument is missing in `{}`", beginning(text));
        items.push(item);
    }
    Ok(items)
}

/// Parses a text in quotation marks.
///
/// # Errors
/// Returns an error if it is not closed, is followed by something, or has an unknown escape.
pub fn text(text: &str) -> Result<String> {
    let mut reader = Reader { text, rest: text, named: None };
    let value = reader.quoted('"')?;
    ensure!(reader.peek().is_none(), "unexpected `{}` behind a text", beginning(reader.rest));
    Ok(value)
}

/// Returns what a result or an option holds, if another type is asked for: what makes a resource may fail.
fn held_where_asked(value: Val, ty: &Type, name: &str) -> Result<Val> {
    if matches!(ty.kind(), TypeKind::Result { .. } | TypeKind::Option(_)) {
        return Ok(value);
    }
    match value {
        Val::Result(Ok(Some(held))) | Val::Option(Some(held)) => Ok(*held),
        Val::Result(Err(_)) | Val::Option(None) => bail!("`${name}` is {}", shown(&value)),
        other => Ok(other),
    }
}

struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
    /// Returns the value of `$name`.
    named: Option<&'t Named>,
}

impl<'t> Reader<'t> {
    fn value(&mut self, ty: &Type) -> Result<Val> {
        if let Some(named) = self.named
            && self.accept('$')
        {
            let name = self.word();
            let value = named.get(name).cloned();
            let value = value.with_context(|| format!("no earlier call named its result `{name}`"))?;
            return held_where_asked(value, ty, name);
        }
        Ok(match ty.kind() {
            TypeKind::Bool => match self.word() {
                "true" => Val::Bool(true),
                "false" => Val::Bool(false),
                other => bail!("expected true or false, got `{other}`"),
            },
            TypeKind::S8 => Val::S8(self.number(ty)?),
            TypeKind::U8 => Val::U8(self.number(ty)?),
            TypeKind::S16 => Val::S16(self.number(ty)?),
            TypeKind::U16 => Val::U16(self.number(ty)?),
            TypeKind::S32 => Val::S32(self.number(ty)?),
            TypeKind::U32 => Val::U32(self.number(ty)?),
            TypeKind::S64 => Val::S64(self.number(ty)?),
            TypeKind::U64 => Val::U64(self.number(ty)?),
            TypeKind::Float32 => Val::Float32(self.number(ty)?),
            TypeKind::Float64 => Val::Float64(self.number(ty)?),
            TypeKind::Char => {
                let text = self.quoted('\'')?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(char), None) => Val::Char(char),
                    _ => bail!("expected one character, such as 'x', got '{text}'"),
                }
            }
            TypeKind::String => Val::String(self.string()?),
            TypeKind::List(element) => {
                self.expect('[')?;
                Val::List(self.until(']', |reader| reader.value(element))?)
            }
            TypeKind::Tuple(types) => self.tuple(ty, types)?,
            TypeKind::Record(fields) => self.record(fields)?,
            TypeKind::Variant(cases) => {
                let name = self.name().to_owned();
                let Some((_, held)) = cases.iter().find(|(case, _)| *case == name) else {
                    bail!("expected a value of {ty}, got `{name}`")
                };
                let held = held.as_ref().map(|ty| self.held(ty)).transpose()?;
                Val::Variant(name, held)
            }
            TypeKind::Enum(names) => {
                let name = self.name().to_owned();
                ensure!(names.contains(&name), "expected a value of {ty}, got `{name}`");
                Val::Enum(name)
            }
            TypeKind::Option(some) => self.option(some)?,
            TypeKind::Result { ok, err } => self.result((ok.as_ref(), err.as_ref()))?,
            TypeKind::Flags(names) => {
                self.expect('{')?;
                let flag = |reader: &mut Self| {
                    let name = reader.name().to_owned();
                    ensure!(names.contains(&name), "expected flags of {ty}, got `{name}`");
                    Ok(name)
                };
                Val::Flags(self.until('}', flag)?)
            }
            TypeKind::Own(_) | TypeKind::Borrow(_) => bail!(
                "a resource is the result of a call: give that a name, as in --invoke 'x = CONSTRUCTOR()', and here $x, \
                 got `{}`",
                beginning(self.rest)
            ),
            _ => bail!("a value of type {ty} cannot be given on the command line"),
        })
    }

    fn tuple(&mut self, ty: &Type, types: &[Type]) -> Result<Val> {
        self.expect('(')?;
        let mut types = types.iter();
        let values = self.until(')', |reader| {
            reader.value(types.next().with_context(|| format!("too many values for {ty}"))?)
        })?;
        ensure!(types.next().is_none(), "too few values for {ty}");
        Ok(Val::Tuple(values))
    }

    /// Parses fields in any order; fields of option type may be omitted.
    fn record(&mut self, fields: &[(String, Type)]) -> Result<Val> {
        self.expect('{')?;
        // `{:}` is the empty record; `{}` would be empty flags.
        if self.accept(':') {
            self.expect('}')?;
            return complete(fields, Vec::new());
        }
        let given = self.until('}', |reader| {
            let name = reader.name().to_owned();
            let field = fields.iter().find(|(field, _)| *field == name);
            let (_, ty) = field.with_context(|| format!("there is no field `{name}`"))?;
            reader.expect(':')?;
            let value = reader.value(ty).with_context(|| format!("field `{name}`"))?;
            Ok((name, value))
        })?;
        complete(fields, given)
    }

    /// Parses `some(value)`, `none`, or the value alone if it is unambiguous.
    fn option(&mut self, some: &Type) -> Result<Val> {
        let before = self.rest;
        match self.word() {
            "none" => return Ok(Val::Option(None)),
            "some" => return Ok(Val::Option(Some(self.held(some)?))),
            _ => self.rest = before,
        }
        let is_nested = matches!(some.kind(), TypeKind::Option(_) | TypeKind::Result { .. });
        ensure!(!is_nested, "expected some(…) or none at `{before}`");
        Ok(Val::Option(Some(Box::new(self.value(some)?))))
    }

    /// Parses `ok(value)`, `err(value)`, or what `ok` holds alone if it is unambiguous.
    fn result(&mut self, (ok, err): (Option<&Type>, Option<&Type>)) -> Result<Val> {
        self.peek();
        let before = self.rest;
        match self.word() {
            "ok" => return Ok(Val::Result(Ok(ok.map(|ty| self.held(ty)).transpose()?))),
            "err" => return Ok(Val::Result(Err(err.map(|ty| self.held(ty)).transpose()?))),
            _ => self.rest = before,
        }
        let is_nested = |ty: &&Type| matches!(ty.kind(), TypeKind::Option(_) | TypeKind::Result { .. });
        match ok.filter(|ty| !is_nested(ty)) {
            Some(ok) => Ok(Val::Result(Ok(Some(Box::new(self.value(ok)?))))),
            None => bail!("expected ok or err at `{}`", beginning(before)),
        }
    }

    fn held(&mut self, ty: &Type) -> Result<Box<Val>> {
        self.expect('(')?;
        let value = self.value(ty)?;
        self.expect(')')?;
        Ok(Box::new(value))
    }

    /// Parses items separated by commas up to a closing character; the opening one has been read.
    fn until<V>(&mut self, end: char, mut each: impl FnMut(&mut Self) -> Result<V>) -> Result<Vec<V>> {
        let mut all = Vec::new();
        while !self.accept(end) {
            if !all.is_empty() {
                self.expect(',')?;
                // A trailing comma is allowed.
                if self.accept(end) {
                    break;
                }
            }
            all.push(each(self)?);
        }
        Ok(all)
    }

    fn number<N: std::str::FromStr>(&mut self, ty: &Type) -> Result<N> {
        self.peek();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let text = self.take_while(is_part);
        text.parse()
            .ok()
            .with_context(|| format!("expected a number of type {ty}, got `{}`", beginning(text)))
    }

    /// Parses a name, which `%` may mark as no keyword.
    fn name(&mut self) -> &'t str {
        self.accept('%');
        self.word()
    }

    fn word(&mut self) -> &'t str {
        self.peek();
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '-')
    }

    /// Parses a text in one line, or one of several lines between `"""` and a line with `"""`, whose indentation each line
    /// has.
    fn string(&mut self) -> Result<String> {
        self.peek();
        let Some(opened) = self.rest.strip_prefix("\"\"\"") else { return self.quoted('"') };
        let unclosed = || format!("no closing \"\"\" on a line of its own in `{}`", beginning(self.text));
        let (first, lines) = opened.split_once('\n').with_context(unclosed)?;
        ensure!(first.trim().is_empty(), "a line ends behind the opening \"\"\"");
        let mut at = 0;
        let mut text: Vec<&str> = Vec::new();
        for line in lines.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']);
            if let Some(behind) = content.trim_start_matches(' ').strip_prefix("\"\"\"") {
                let indent = &content[..content.len() - 3 - behind.len()];
                self.rest = &lines[at + indent.len() + 3..];
                let line = |line: &&str| -> Result<String> {
                    let line = line.strip_prefix(indent).or_else(|| line.trim().is_empty().then_some(""));
                    unescaped(line.context("a line is indented less than the closing \"\"\"")?)
                };
                return Ok(text.iter().map(line).collect::<Result<Vec<_>>>()?.join("\n"));
            }
            at += line.len();
            text.push(content);
        }
        bail!(unclosed())
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        self.expect(quote)?;
        let mut is_escaped = false;
        let end = self.rest.find(|char| {
            let is_end = char == quote && !is_escaped;
            is_escaped = char == '\\' && !is_escaped;
            is_end
        });
        let end = end.with_context(|| format!("no closing {quote} in `{}`", beginning(self.text)))?;
        let text = unescaped(&self.rest[..end])?;
        self.rest = &self.rest[end + quote.len_utf8()..];
        Ok(text)
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Returns the next character that is neither a space nor in a comment.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        while let Some(comment) = self.rest.strip_prefix("//") {
            self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        self.rest.chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        is_there
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) {
            return Ok(());
        }
        match self.rest {
            "" => bail!("expected `{wanted}` at the end of `{}`", beginning(self.text)),
            rest => bail!("expected `{wanted}` at `{}`", beginning(rest)),
        }
    }
}

/// Returns a text with characters instead of their escapes.
fn unescaped(escaped: &str) -> Result<String> {
    let mut text = String::new();
    let mut chars = escaped.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            text.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some(char @ ('\\' | '\'' | '"')) => text.push(char),
            Some('u') => {
                let digits: String = chars.by_ref().take_while(|&c| c != '}').collect();
                let digits = digits.strip_prefix('{').unwrap_or_default();
                let char = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                text.push(char.context("expected a character such as \\u{e9}")?);
            }
            _ => bail!("unknown escape: \\n, \\r, \\t, \\\\, \\', \\\" and \\u{{…}} are known"),
        }
    }
    Ok(text)
}

/// Returns the fields in the order of the type.
fn complete(fields: &[(String, Type)], mut given: Vec<(String, Val)>) -> Result<Val> {
    let field = |(name, ty): &(String, Type)| {
        let at = given.iter().position(|(field, _)| field == name);
        match (at, ty.kind()) {
            (Some(at), _) => Ok(given.swap_remove(at)),
            (None, TypeKind::Option(_)) => Ok((name.clone(), Val::Option(None))),
            (None, _) => bail!("field `{name}` is missing"),
        }
    };
    let all = fields.iter().map(field).collect::<Result<_>>()?;
    match given.first() {
        None => Ok(Val::Record(all)),
        Some((name, _)) => bail!("field `{name}` is there twice"),
    }
}
