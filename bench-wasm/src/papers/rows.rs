//! The contents of the papers, row by row, with the state of each: `papers.tsv`.

use anyhow::{Context, Result};

use crate::programs::home;

/// A row of the papers: a system, an algorithm, an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub number: u32,
    /// The paper.
    pub paper: String,
    /// The section of the paper.
    pub section: String,
    /// Its subject.
    pub what: String,
    /// The state: works, partial or missing.
    pub status: String,
    /// The missing part, if anything is missing.
    pub lacking: String,
    /// The evidence that it works: a file, or a test in it after `::`.
    pub evidence: String,
}

impl Row {
    /// Returns the file that shows that it works, and the name of the test in it; either may be empty.
    pub fn shown_by(&self) -> (&str, &str) {
        self.evidence.split_once("::").unwrap_or((&self.evidence, ""))
    }
}

/// Returns all rows.
///
/// # Errors
/// Returns an error if the table cannot be read.
pub fn rows() -> Result<Vec<Row>> {
    let file = home().join("papers.tsv");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let row = |line: &str| {
        let fields: Vec<String> = line.split('\t').map(str::to_string).collect();
        let [number, paper, section, what, status, lacking, evidence] =
            <[String; 7]>::try_from(fields).ok()?;
        Some(Row { number: number.parse().ok()?, paper, section, what, status, lacking, evidence })
    };
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|line| row(line).with_context(|| format!("{}: bad row {line:?}", file.display()))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{How, PAPERS, experiments};
    use super::rows;
    use crate::programs::home;

    #[test]
    fn rows_are_numbered_and_say_what_is_missing() {
        let rows = rows().unwrap();
        assert!(rows.len() > 100);
        for (row, number) in rows.iter().zip(1..) {
            assert_eq!(row.number, number);
            assert!(["works", "partial", "missing"].contains(&row.status.as_str()), "{row:?}");
            assert_eq!(row.status == "works", row.lacking.is_empty(), "{row:?}");
        }
        assert!(rows.iter().all(|row| PAPERS.iter().any(|(paper, _)| *paper == row.paper)));
    }

    #[test]
    fn what_works_is_shown_by_a_file_or_a_test_that_is_there() {
        for row in rows().unwrap() {
            let (file, test) = row.shown_by();
            assert_eq!(row.status == "works", !file.is_empty(), "{row:?}");
            if !file.is_empty() {
                let text = std::fs::read_to_string(home().join("..").join(file));
                let text = text.unwrap_or_else(|error| panic!("{row:?}: {error}"));
                assert!(test.is_empty() || text.contains(&format!("fn {test}(")), "{row:?}");
            }
        }
    }

    #[test]
    fn experiments_belong_to_rows_and_records_are_there() {
        let numbers: Vec<u32> = rows().unwrap().iter().map(|row| row.number).collect();
        for experiment in experiments() {
            assert!(experiment.rows.iter().all(|row| numbers.contains(row)), "{}", experiment.item);
            match experiment.how {
                How::Timed { record, .. } => {
                    assert!(home().join("records").join(record).exists(), "{record}")
                }
                How::Counted(_) => assert!(!experiment.differs.is_empty(), "{}", experiment.item),
            }
            let same = experiments().filter(|e| (e.paper, e.item) == (experiment.paper, experiment.item));
            assert_eq!(same.count(), 1, "{} {}", experiment.paper, experiment.item);
        }
    }
}
