//! Time-independent figures of programs in a file: a baseline for later builds.
//!
//! Generated code depends on the processor's features, and so do the figures: the file names the features for which
//! they hold.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::programs::home;

/// Figures by program and kind, with the processor features for which they hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The processor features: see [`processor`].
    pub processor: String,
    /// Counts of instructions, bytes or items.
    pub counts: BTreeMap<(String, String), u64>,
}

/// Returns the processor features that affect generated code.
pub fn processor() -> String {
    let has = [
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("popcnt", is_x86_feature_detected!("popcnt")),
        ("lzcnt", is_x86_feature_detected!("lzcnt")),
        ("bmi1", is_x86_feature_detected!("bmi1")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
    ];
    has.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

impl Baseline {
    /// Reads the committed baseline, a file of this package.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a baseline.
    pub fn committed(file: &str) -> Result<Baseline> {
        let file = home().join(file);
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Baseline::parse(&text).with_context(|| format!("{} is damaged", file.display()))
    }

    /// Writes this baseline as the committed one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn commit(&self, file: &str, head: &str) -> Result<()> {
        let file = home().join(file);
        std::fs::write(&file, self.text(head)).with_context(|| format!("cannot write {}", file.display()))
    }

    fn parse(text: &str) -> Result<Baseline> {
        let mut baseline = Baseline::default();
        for line in text.lines() {
            match line.strip_prefix("# processor: ") {
                Some(processor) => baseline.processor = processor.to_owned(),
                None if line.starts_with('#') => {}
                None => {
                    let [program, kind, count] = line.split('\t').collect::<Vec<_>>()[..] else {
                        bail!("three columns are due in {line:?}");
                    };
                    baseline.counts.insert((program.to_owned(), kind.to_owned()), count.parse()?);
                }
            }
        }
        Ok(baseline)
    }

    fn text(&self, head: &str) -> String {
        let rows = self.counts.iter().map(|((program, kind), count)| format!("{program}\t{kind}\t{count}\n"));
        format!("# {head}\n# processor: {}\n{}", self.processor, rows.collect::<String>())
    }

    /// Returns the ratio of `count` to the baseline; `None` if the baseline has no such count.
    pub fn ratio(&self, program: &str, kind: &str, count: u64) -> Option<f64> {
        let known = *self.counts.get(&(program.to_owned(), kind.to_owned()))?;
        Some(count as f64 / known as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let key = |kind: &str| ("fib".to_owned(), kind.to_owned());
        let counts = [(key("off"), 100), (key("edges"), 110)].into();
        let baseline = Baseline { processor: "avx2 fma".to_owned(), counts };
        assert_eq!(Baseline::parse(&baseline.text("Of a test.")).unwrap(), baseline);
        assert_eq!(baseline.ratio("fib", "off", 120), Some(1.2));
        assert_eq!(baseline.ratio("fib", "paths", 120), None);
        assert!(Baseline::parse("fib\toff\tmany").is_err());
    }
}
