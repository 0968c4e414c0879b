//! Formatting of values.

use std::fmt;

use wprof::component::Val;

/// Formats a value in one line.
pub fn shown(value: &Val) -> String {
    match value {
        Val::Bool(value) => value.to_string(),
        Val::S8(value) => value.to_string(),
        Val::U8(value) => value.to_string(),
        Val::S16(value) => value.to_string(),
        Val::U16(value) => value.to_string(),
        Val::S32(value) => value.to_string(),
        Val::U32(value) => value.to_string(),
        Val::S64(value) => value.to_string(),
        Val::U64(value) => value.to_string(),
        Val::Float32(value) if value.is_nan() => "nan".to_owned(),
        Val::Float32(value) => float(f64::from(value.abs()), value),
        Val::Float64(value) if value.is_nan() => "nan".to_owned(),
        Val::Float64(value) => float(value.abs(), value),
        Val::Char(value) => format!("'{}'", escaped(&value.to_string(), '\'')),
        Val::String(value) => format!("\"{}\"", escaped(value, '"')),
        Val::List(values) => format!("[{}]", list(values)),
        Val::Tuple(values) => format!("({})", list(values)),
        Val::Record(fields) => {
            let field = |(field, value): &(String, Val)| format!("{}: {}", name(field), shown(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Val::Variant(case, held) => with(&name(case), held.as_deref()),
        Val::Enum(case) => name(case),
        Val::Option(None) => "none".to_owned(),
        Val::Option(held) => with("some", held.as_deref()),
        Val::Result(Ok(held)) => with("ok", held.as_deref()),
        Val::Result(Err(held)) => with("err", held.as_deref()),
        Val::Flags(names) => {
            format!("{{{}}}", names.iter().map(|flag| name(flag)).collect::<Vec<_>>().join(", "))
        }
        Val::Resource(resource) => format!("<{}>", resource.ty()),
    }
}

/// Formats a number of this size with an exponent where it would have many zeros.
fn float(size: f64, value: &(impl fmt::Display + fmt::LowerExp)) -> String {
    let is_plain = size == 0.0 || size.is_infinite() || (1e-5..1e16).contains(&size);
    if is_plain { value.to_string() } else { format!("{value:e}") }
}

fn list(values: &[Val]) -> String {
    values.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn with(case: &str, held: Option<&Val>) -> String {
    held.map_or_else(|| case.to_owned(), |value| format!("{case}({})", shown(value)))
}

/// Formats a name, marked if it would be a keyword.
fn name(name: &str) -> String {
    let is_keyword = matches!(name, "true" | "false" | "none" | "some" | "ok" | "err" | "inf" | "nan");
    if is_keyword { format!("%{name}") } else { name.to_owned() }
}

fn escaped(text: &str, quote: char) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            char if char == quote || char == '\\' => escaped.extend(['\\', char]),
            char if char.is_control() => escaped.push_str(&format!("\\u{{{:x}}}", u32::from(char))),
            char => escaped.push(char),
        }
    }
    escaped
}
