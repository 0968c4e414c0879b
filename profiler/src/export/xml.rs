//! Escaping of text in XML.

use std::fmt;

/// Text to be written as content or attribute; characters that XML 1.0 cannot represent are replaced.
pub(super) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => f.write_char(char::REPLACEMENT_CHARACTER),
            c => f.write_char(c),
        })
    }
}
