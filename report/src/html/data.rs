//! JSON values within a page.
//!
//! Invariant: the text contains no `<`, so that no string ends the element that contains it; and no line break, so that
//! each line is one value.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Writes a value on a line of its own.
///
/// # Errors
/// Returns an error if `out` fails.
pub fn write_line(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut out, InPage))?;
    out.write_all(b"\n")
}

/// A formatter of compact JSON that escapes `<`.
struct InPage;

impl Formatter for InPage {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        for (position, text) in fragment.split('<').enumerate() {
            if position > 0 {
                out.write_all(b"\\u003c")?;
            }
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_cannot_end_their_element_or_line() {
        let value = ["</script><!--<script>", "a\nb\u{2028}\"\\"];
        let mut text = Vec::new();
        write_line(&value, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains('<') && text.matches('\n').count() == 1, "{text}");
        assert_eq!(serde_json::from_str::<[String; 2]>(&text).unwrap(), value);
    }
}
