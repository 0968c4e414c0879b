//! The tokens of Rust source, as far as imports need them.
//!
//! Input: the text of a file. Output: its words, and each other character as a token, without comments, text literals
//! and white space, and without items that exist only for tests.

/// Returns the words and other characters of a source text.
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            'r' | 'b' | 'c' if prefixed(rest).is_some() => prefixed(rest).unwrap_or_default(),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '"' => literal(rest, '"'),
            '\'' => character(rest),
            _ if is_in_word(first) => {
                let word: String = rest.chars().take_while(|&c| is_in_word(c)).collect();
                let len = word.len();
                tokens.push(word);
                len
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                tokens.push(first.into());
                first.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    tokens
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a block comment, which may contain others.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        match text.get(at..at + 2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the length of a literal that ends with `end`, which may occur in it after a backslash.
fn literal(text: &str, end: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == end => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character, or of the quote before a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => literal(text, '\''),
        _ => 1,
    }
}

/// Returns the length of a text literal with a prefix, such as `r#"…"#`; `None` if the text is no such literal.
fn prefixed(text: &str) -> Option<usize> {
    let quote = text.starts_with(['r', 'b', 'c']).then(|| text.find('"'))??;
    let prefix = &text[..quote];
    let marks = prefix.trim_start_matches(['b', 'c']);
    let hashes = marks.trim_start_matches('r');
    if prefix.len() > 8 || marks.len() - hashes.len() > 1 || !hashes.chars().all(|c| c == '#') {
        return None;
    }
    if marks.len() == hashes.len() {
        return hashes.is_empty().then(|| quote + literal(&text[quote..], '"'));
    }
    let end = format!("\"{hashes}");
    Some(text[quote + 1..].find(&end).map_or(text.len(), |at| quote + 1 + at + end.len()))
}

/// The tokens before an item that exists only for tests.
const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

fn is_mark(tokens: &[String]) -> bool {
    tokens.iter().map(String::as_str).take(MARK.len()).eq(MARK)
}

/// Returns the modules with their own files that exist only for tests.
pub fn test_modules(tokens: &[String]) -> impl Iterator<Item = &str> {
    let marks = (0..tokens.len()).filter(|&at| is_mark(&tokens[at..]));
    marks.filter_map(|at| match &tokens[at + MARK.len()..] {
        [word, name, end, ..] if word == "mod" && end == ";" => Some(name.as_str()),
        _ => None,
    })
}

/// Returns the tokens without items that exist only for tests.
pub fn without_tests(tokens: &[String]) -> Vec<String> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if is_mark(&tokens[at..]) {
            at += MARK.len() + item(&tokens[at + MARK.len()..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Returns the number of tokens of an item: up to a semicolon, or to the end of its first block in braces. An import
/// has braces before its semicolon.
fn item(tokens: &[String]) -> usize {
    let is_import =
        tokens.iter().take_while(|token| *token != ";" && *token != "{").any(|token| token == "use");
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        let ends = (token == "}" && !is_import) || token == ";" || token == ",";
        if depth == 0 && ends {
            return at + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> String {
        without_tests(&tokens(text)).join(" ")
    }

    #[test]
    fn comments_and_literals_are_left_out() {
        let text =
            "a /* b /* c */ d */ // e\n f \"g \\\" h\" 'i' '\\'' &'j k r#\"l \" m\"# b\"n\" br\"\\\" o";
        assert_eq!(joined(text), "a f & j k o");
        assert_eq!(joined("crate::r#mod raw_ \"r\""), "crate : : r # mod raw_");
    }

    #[test]
    fn files_of_tests_are_known_by_their_modules() {
        let tokens = tokens("mod a; #[cfg(test)] mod b; #[cfg(test)] mod c { mod d; }");
        assert_eq!(test_modules(&tokens).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn what_only_tests_have_is_left_out() {
        assert_eq!(joined("a #[cfg(test)] mod tests { b { c } d } e"), "a e");
        assert_eq!(joined("a #[cfg(test)] mod tests; b"), "a b");
        assert_eq!(joined("a #[cfg(test)] use b::{c, d}; e"), "a e");
        assert_eq!(joined("#[cfg(test)] pub(crate) const A: [B; 2] = [C { d }, e]; f"), "f");
    }
}
