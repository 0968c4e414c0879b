//! The script that delivers counters in JavaScript hosts.

/// The source.
const SOURCE: &str = include_str!("../js/wprof.js");

/// Returns the script that delivers counters in web pages and Node, without comments and indentation.
pub fn javascript() -> String {
    let mut script = String::with_capacity(SOURCE.len());
    for line in SOURCE.lines().map(code).filter(|line| !line.is_empty()) {
        script.push_str(line);
        script.push('\n');
    }
    script
}

/// Returns a line without its comment and the spaces around. No string in the script has two slashes after a space.
fn code(line: &str) -> &str {
    let line = line.trim();
    if line.starts_with("//") {
        return "";
    }
    line.split(" // ").next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_short_and_has_all_of_the_code() {
        let script = javascript();
        assert!(script.len() < 15_000, "{} bytes", script.len());
        assert!(!script.contains(" // ") && !script.contains("\n  "), "{script}");
        // Nothing that a string or a template needs is lost: each line has all of its quotes.
        let quotes = |text: &str| text.matches(['\'', '`']).count();
        assert!(script.lines().all(|line| quotes(line) % 2 == 0), "{script}");
        assert!(script.starts_with("'use strict';\n(() => {\n") && script.ends_with("})();\n"), "{script}");
    }
}
