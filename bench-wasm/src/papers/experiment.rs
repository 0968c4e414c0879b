//! A table or a figure of a paper that can be made here.

use anyhow::Result;

use super::Runs;
use crate::table::Table;

/// A table or a figure of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The paper: S000 to S004.
    pub paper: &'static str,
    /// Its name in the paper, without spaces.
    pub item: &'static str,
    /// Its subject.
    pub title: &'static str,
    /// The rows of `papers.tsv` to which it belongs.
    pub rows: &'static [u32],
    /// The maker of the table.
    pub how: How,
    /// The part of the table that is plotted.
    pub plot: Plot,
    /// The paper's own figures.
    pub theirs: &'static [Theirs],
    /// Why our figures differ, in one sentence.
    pub differs: &'static str,
}

/// A function that makes a table.
#[derive(Clone, Copy)]
pub enum How {
    /// Counted in runs of the programs, without a clock.
    Counted(fn(&Runs<'_>) -> Result<Table>),
    /// Timed by a program, which needs a quiet machine: its command, and the record of a run.
    Timed {
        /// Its command.
        command: &'static str,
        /// A file of `bench-wasm/records`.
        record: &'static str,
    },
}

/// The part of a table that is plotted.
#[derive(Clone, Copy)]
pub enum Plot {
    /// Nothing.
    None,
    /// A column, as bars.
    Bars(usize),
    /// Two columns against each other, as points.
    Points(usize, usize),
}

/// A figure that the paper gives for its programs.
#[derive(Clone, Copy)]
pub struct Theirs {
    /// The name of the figure.
    pub figure: &'static str,
    /// The value in the paper.
    pub paper: &'static str,
    /// The column of our table whose mean is compared with it.
    pub column: usize,
}
