//! The known failures of the test suite, with reasons: `skips.tsv`.
//!
//! One row each: file (`core/address.wast`), line of the directive or `*` for the whole file, reason. The run fails if
//! the directive of a row passes, or if a row names nothing.

/// The rows of `skips.tsv`.
const TABLE: &str = include_str!("../skips.tsv");

/// A known failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The script, as group and file name.
    pub file: String,
    /// The line where the directive begins; `None` for a whole script with at least one failing assertion.
    pub line: Option<usize>,
    /// The reason.
    pub reason: String,
}

/// Returns all rows.
///
/// # Panics
/// Panics if the table is malformed.
pub fn all() -> Vec<Skip> {
    TABLE.lines().filter(|row| !row.is_empty() && !row.starts_with('#')).map(parse).collect()
}

fn parse(row: &str) -> Skip {
    let cells: Vec<&str> = row.split('\t').collect();
    let [file, line, reason] = cells[..] else { panic!("skips.tsv: expected three cells in `{row}`") };
    assert!(!reason.is_empty(), "skips.tsv: no reason in `{row}`");
    let line = (line != "*").then(|| line.parse().expect("skips.tsv: the second cell is a line or *"));
    Skip { file: file.into(), line, reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_a_directive_or_a_file() {
        let expected = Skip { file: "simd/x.wast".into(), line: Some(7), reason: "because".into() };
        assert_eq!(parse("simd/x.wast\t7\tbecause"), expected);
        assert_eq!(parse("simd/x.wast\t*\tbecause").line, None);
        all();
    }
}
