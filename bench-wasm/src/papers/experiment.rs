//! A table or a figure of a paper, as one that can be made here.

use anyhow::Result;

use super::Runs;
use crate::table::Table;

/// A table or a figure of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The paper: S000 to S004.
    pub paper: &'static str,
    /// What it is called there, without spaces.
    pub item: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The rows of `papers.tsv` that it belongs to.
    pub rows: &'static [u32],
    /// How it is made.
    pub how: How,
    /// What of it is plotted too.
    pub plot: Plot,
    /// The paper's own figures.
    pub theirs: &'static [Theirs],
    /// Why ours differ, in a sentence.
    pub differs: &'static str,
}

/// How a table is made.
#[derive(Clone, Copy)]
pub enum How {
    /// From runs of the programs, without a clock.
    Counted(fn(&Runs<'_>) -> Result<Table>),
    /// By a program that measures times, and so wants a quiet machine: its command, and the record of a run of it.
    Timed {
        /// Its command.
        command: &'static str,
        /// A file of `bench-wasm/records`.
        record: &'static str,
    },
}

/// What of a table is plotted.
#[derive(Clone, Copy)]
pub enum Plot {
    /// Nothing.
    None,
    /// A column, as bars.
    Bars(usize),
    /// Two columns against each other, as points.
    Points(usize, usize),
}

/// A figure that the paper has of its programs.
#[derive(Clone, Copy)]
pub struct Theirs {
    /// What it is.
    pub figure: &'static str,
    /// What the paper says.
    pub paper: &'static str,
    /// The column of our table whose mean it is to be compared with.
    pub column: usize,
}
