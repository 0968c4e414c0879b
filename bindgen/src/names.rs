//! Rust names for WIT names.

/// Words that are no names in Rust, except as `r#word`.
const KEYWORDS: [&str; 44] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "use", "where",
];

/// Returns `line_to` for `line-to`, without regard to keywords.
pub fn snake(name: &str) -> String {
    name.replace(['-', '.'], "_").to_lowercase()
}

/// Returns the name of a value, a field or a module: `line_to` for `line-to`.
pub fn value(name: &str) -> String {
    let snake = snake(name);
    match snake.as_str() {
        // These are no names even as `r#self`.
        "self" | "super" | "crate" => format!("{snake}_"),
        word if KEYWORDS.contains(&word) || matches!(word, "unsized" | "virtual" | "while" | "yield") => {
            format!("r#{snake}")
        }
        _ => snake,
    }
}

/// Returns the name of a type or a case: `LineTo` for `line-to`.
pub fn ty(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(letters.flat_map(char::to_lowercase)).collect()
        })
    };
    match name.split('-').map(capital).collect::<String>() {
        word if word == "Self" => "Self_".to_owned(),
        word => word,
    }
}

/// Returns the name of a flag: `LINE_TO` for `line-to`.
pub fn flag(name: &str) -> String {
    snake(name).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_rust_writes_them() {
        assert_eq!([value("line-to"), value("type"), value("self")], ["line_to", "r#type", "self_"]);
        assert_eq!([ty("line-to"), ty("HTTP-error"), ty("self")], ["LineTo", "HttpError", "Self_"]);
        assert_eq!(flag("line-to"), "LINE_TO");
    }
}
