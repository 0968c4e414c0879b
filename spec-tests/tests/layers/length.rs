//! The length of functions, in text that rustfmt has laid out: a function ends at the first brace with its indent.

/// Returns the functions of a text that have more than `most` lines, with their lengths.
pub fn long_functions(text: &str, most: usize) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let long = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = name_of_function(line)?;
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = lines[at..].iter().position(|line| *line == end)? + 1;
        (length > most && !line.ends_with('}') && !line.ends_with(';')).then(|| (name.to_owned(), length))
    });
    long.collect()
}

/// Returns the name of the function that begins in a line.
fn name_of_function(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let qualifier = |word: &&str| matches!(*word, "const" | "async" | "unsafe") || word.starts_with("pub");
    let first = words.find(|word| !qualifier(word))?;
    let name = words.next().filter(|_| first == "fn")?;
    name.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_end_at_their_brace() {
        let text = "impl A {\n    pub const fn a<T>(\n        &self,\n    ) {\n        {\n        }\n    }\n\n    \
            fn b() {}\n    fn c();\n    /// fn d is\n    fn e() {\n    }\n}\n";
        assert_eq!(long_functions(text, 2), [("a".to_owned(), 6)]);
        assert_eq!(long_functions(text, 1), [("a".to_owned(), 6), ("e".to_owned(), 2)]);
    }
}
