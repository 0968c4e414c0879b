//! The tables and figures that can be made, one entry each.
//!
//! To add one: a row of [`EXPERIMENTS`] with the paper, what it is called there, and the function that makes it.

use std::cell::OnceCell;

use anyhow::{Context, Result};

use crate::placements::{self, Costs};
use crate::programs::Program;
use crate::table::Table;
use crate::tables::{self, What};

/// A table or a figure of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// The paper: S000 to S004.
    pub paper: &'static str,
    /// What it is called there, without spaces.
    pub item: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How it is made.
    pub how: How,
    /// The column that is plotted too.
    pub plot: Option<usize>,
    /// What the paper has, and why ours differs.
    pub paper_has: &'static str,
}

/// How a table is made.
#[derive(Clone, Copy)]
pub enum How {
    /// From runs of the programs, without a clock.
    Counted(fn(&Runs<'_>) -> Result<Table>),
    /// By another program, which measures times and so wants a quiet machine: its command.
    Timed(&'static str),
}

/// Runs that several experiments are made from, each made when the first one asks for it.
pub struct Runs<'a> {
    programs: &'a [Program],
    bench: bool,
    placements: OnceCell<Vec<Costs>>,
}

impl<'a> Runs<'a> {
    /// Runs of programs with their arguments for benches, or with those for tests.
    pub fn new(programs: &'a [Program], bench: bool) -> Runs<'a> {
        Runs { programs, bench, placements: OnceCell::new() }
    }

    fn placements(&self) -> Result<&[Costs]> {
        if self.placements.get().is_none() {
            let costs = placements::costs(self.programs, self.bench)?;
            return Ok(self.placements.get_or_init(|| costs));
        }
        self.placements.get().map(Vec::as_slice).context("it was there")
    }

    fn table(&self, what: What) -> Result<Table> {
        tables::of(&[what], self.bench, self.programs).pop().context("one table was asked for")
    }
}

/// All that can be made.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        paper: "S000",
        item: "table2",
        title: "Edges, counted edges, and jumps that counters need",
        how: How::Counted(|runs| Ok(placements::jumps(runs.placements()?))),
        plot: Some(7),
        paper_has: "The paper counts jumps after its optimisation of grey vertices; ours are all counters on critical edges, \
                    of which some can be fallen through.",
    },
    Experiment {
        paper: "S000",
        item: "graph2",
        title: "Increments by placement, by one counter per block",
        how: How::Counted(|runs| Ok(placements::increments(runs.placements()?))),
        plot: Some(6),
        paper_has: "The paper has a reduction by three to four for integer programs; the order of the placements is the same.",
    },
    Experiment {
        paper: "S000",
        item: "graph4",
        title: "Increments of edge counters by weighting, by one counter per block",
        how: How::Counted(|runs| Ok(placements::by_weighting(runs.placements()?))),
        plot: Some(1),
        paper_has: "As in the paper the static weighting is close to the exact one, and far from the minimum trees. Goldberg's, \
                    Wall's and Forman's weightings are of section 7.4, which has no figures of them.",
    },
    Experiment {
        paper: "S000",
        item: "table3",
        title: "Sizes and times of traces by method",
        how: How::Timed("cargo run --release -p wprof-bench --bin traces"),
        plot: None,
        paper_has: "",
    },
    Experiment {
        paper: "S000",
        item: "graph1",
        title: "Run times by placement",
        how: How::Timed("cargo run --release -p wprof-bench --bin compare -- placements"),
        plot: None,
        paper_has: "",
    },
    Experiment {
        paper: "S002",
        item: "table2",
        title: "What measuring cycles takes",
        how: How::Timed("cargo run --release -p wprof-bench --bin tables -- readings --bench"),
        plot: None,
        paper_has: "",
    },
    Experiment {
        paper: "S002",
        item: "table3",
        title: "The calling context tree",
        how: How::Counted(|runs| runs.table(What::Contexts)),
        plot: None,
        paper_has: "Our programs are smaller than those of SPEC95, and so are their trees. The heights are as low as the paper's, \
                    as recursion is folded.",
    },
    Experiment {
        paper: "S002",
        item: "table4",
        title: "Hot, dense, sparse and cold paths and procedures, by misses of a simulated cache (also table 5)",
        how: How::Counted(|runs| runs.table(What::Hot)),
        plot: None,
        paper_has: "The paper has misses of an UltraSPARC's cache of 16 KiB; ours are simulated, of 32 KiB in sets of 8.",
    },
    Experiment {
        paper: "S002",
        item: "section6.4.3",
        title: "Paths through hot blocks",
        how: How::Counted(|runs| runs.table(What::Blocks)),
        plot: Some(4),
        paper_has: "The paper has 16 paths through a block of a hot path on the average. Ours are blocks with 1% of the \
                    instructions, of smaller programs.",
    },
    Experiment {
        paper: "S003",
        item: "figure3.17",
        title: "How compactly interesting paths are numbered, and bits a path (also chapter 4)",
        how: How::Counted(|runs| runs.table(What::Delta)),
        plot: None,
        paper_has: "As in the thesis the preferential numbering is nearly without holes. What the Ball-Larus model takes beyond \
                    the entropy of the run is what a better model could save.",
    },
    Experiment {
        paper: "S003",
        item: "table3.4",
        title: "Machine code by kind of profile",
        how: How::Counted(|runs| runs.table(What::Code)),
        plot: Some(3),
        paper_has: "The thesis measures object files of C programs, where counters lie beside code.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.2",
        title: "Instructions along the hottest paths, and by the length of paths (also figure 5.3)",
        how: How::Counted(|runs| runs.table(What::Distribution)),
        plot: Some(4),
        paper_has: "The thesis has more than 80% of the instructions in the 100 hottest paths, and over 90% in paths of at most 16 \
                    branches.",
    },
    Experiment {
        paper: "S004",
        item: "figure6",
        title: "Basic overhead of checks",
        how: How::Timed("cargo run --release -p wprof-bench --bin compare -- bursts"),
        plot: None,
        paper_has: "",
    },
    Experiment {
        paper: "S004",
        item: "figure7",
        title: "Quality of samples by lengths of bursts",
        how: How::Timed("cargo run --release -p wprof-bench --bin sampling"),
        plot: None,
        paper_has: "",
    },
];
