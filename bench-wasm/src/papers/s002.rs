//! Ammons, Ball & Larus 1997: metrics along paths, and calling contexts.

use super::{Experiment, How, Plot, Theirs, instructions, perturbation};
use crate::tables::What;

/// All experiments of the paper; the paper's figures are its averages of SPEC95.
pub const ALL: &[Experiment] = &[
    Experiment {
        paper: "S002",
        item: "section6.1",
        title: "Instructions executed for paths, and for contexts, over plain code",
        rows: &[39, 40, 46],
        how: How::Counted(|runs| instructions::over_plain(runs, &["edges", "paths", "contexts"])),
        plot: Plot::Bars(2),
        theirs: &[Theirs { figure: "paths (time, not instructions)", paper: "1.32", column: 2 }],
        differs: "Instructions say more than time where a processor has them to spare.",
    },
    Experiment {
        paper: "S002",
        item: "table1",
        title: "Run times of paths, contexts and paths in contexts, with metrics",
        rows: &[41, 43, 45, 52, 53],
        how: How::Timed {
            command: "cargo run --release -p wprof-bench --bin compare -- flow",
            record: "2026-11-22-contexts.md",
        },
        plot: Plot::None,
        theirs: &[],
        differs: "",
    },
    Experiment {
        paper: "S002",
        item: "table2",
        title: "What measuring cycles takes",
        rows: &[42, 44],
        how: How::Timed {
            command: "cargo run --release -p wprof-bench --bin tables -- readings --bench",
            record: "2026-11-22-tables.md",
        },
        plot: Plot::None,
        theirs: &[],
        differs: "",
    },
    Experiment {
        paper: "S002",
        item: "table2-counts",
        title: "What counting changes of what is counted: totals with it over those without",
        rows: &[41, 44],
        how: How::Counted(perturbation::of_metrics),
        plot: Plot::Bars(1),
        theirs: &[],
        differs: "The paper reads counters of the processor, which count what the instrumentation does as well; a simulated \
                  cache sees the program's own accesses alone, whatever else is counted.",
    },
    Experiment {
        paper: "S002",
        item: "table3",
        title: "The calling context tree, by call site and by callee",
        rows: &[46, 47, 48, 49, 50, 54],
        how: How::Counted(|runs| runs.table(What::Contexts)),
        plot: Plot::Bars(1),
        theirs: &[
            Theirs { figure: "bytes a record", paper: "291 to 812", column: 3 },
            Theirs { figure: "children of a record", paper: "2.4 to 6.4", column: 4 },
            Theirs { figure: "average height", paper: "5.2 to 15.2", column: 5 },
            Theirs { figure: "greatest height", paper: "12 to 30", column: 6 },
            Theirs { figure: "size by call site over size by callee", paper: "2 to 3", column: 14 },
        ],
        differs: "Our programs are smaller than those of SPEC95, and so are their trees: few functions are \
                  called at several sites, so that merging these saves less; a record's bytes are without its paths.",
    },
    Experiment {
        paper: "S002",
        item: "table4",
        title: "Hot, dense, sparse and cold paths and procedures, by misses of a simulated cache (also table 5)",
        rows: &[41, 55, 56],
        how: How::Counted(|runs| runs.table(What::Hot)),
        plot: Plot::Bars(2),
        theirs: &[
            Theirs { figure: "dense paths", paper: "11.7", column: 2 },
            Theirs { figure: "their share of the misses", paper: "57.3%", column: 3 },
            Theirs { figure: "their share of the instructions", paper: "28.4%", column: 4 },
            Theirs { figure: "sparse paths", paper: "4.3", column: 5 },
            Theirs { figure: "their share of the misses", paper: "17.9%", column: 6 },
            Theirs { figure: "dense procedures", paper: "7.7", column: 9 },
            Theirs { figure: "their share of the misses", paper: "62.8%", column: 10 },
            Theirs { figure: "sparse procedures", paper: "3.9", column: 12 },
        ],
        differs: "The paper has misses of an UltraSPARC's direct-mapped cache of 16 KiB; ours are simulated, of 32 KiB in sets \
                  of 8, and our programs have fewer hot places.",
    },
    Experiment {
        paper: "S002",
        item: "section6.4.3",
        title: "Paths through the blocks of hot paths",
        rows: &[57],
        how: How::Counted(|runs| runs.table(What::Blocks)),
        plot: Plot::Bars(5),
        theirs: &[Theirs { figure: "paths through a block of a hot path", paper: "16", column: 5 }],
        differs: "Hot paths are those with 1% of the misses, as in the paper; our programs are smaller.",
    },
];
