//! Ball & Larus 1994: counters by placement, and traces.

use super::{Experiment, How, Plot, Theirs, instructions, sizes, traces};
use crate::placements;

/// All experiments of the paper. Our text of the paper has lost its figures except the named ones.
pub const ALL: &[Experiment] = &[
    Experiment {
        paper: "S000",
        item: "table1",
        title: "Machine code by where counters are, over plain code",
        rows: &[27],
        how: How::Counted(sizes::of_edges),
        plot: Plot::Bars(4),
        theirs: &[],
        differs: "The paper has the growth of executables that it rewrites, of 5 instructions a counter; ours is one \
                  instruction, and code is compiled with it.",
    },
    Experiment {
        paper: "S000",
        item: "graph1",
        title: "Instructions executed with edge counters on chords, over plain code",
        rows: &[2, 4, 25],
        how: How::Counted(|runs| instructions::over_plain(runs, &["edges"])),
        plot: Plot::Bars(1),
        theirs: &[],
        differs: "The paper has times, which the records have for ours; of instructions there is no noise.",
    },
    Experiment {
        paper: "S000",
        item: "graph1-times",
        title: "Run times by placement (also graph 5)",
        rows: &[25],
        how: How::Timed {
            command: "cargo run --release -p wprof-bench --bin compare -- placements",
            record: "2026-11-22-quiet.md",
        },
        plot: Plot::None,
        theirs: &[],
        differs: "",
    },
    Experiment {
        paper: "S000",
        item: "graph2",
        title: "Increments by placement, over one counter in each block (also graph 3)",
        rows: &[3, 4, 8, 9, 10, 13, 14, 23],
        how: How::Counted(|runs| Ok(placements::increments(runs.placements()?))),
        plot: Plot::Bars(7),
        theirs: &[Theirs {
            figure: "edge counters, static weighting",
            paper: "a third to a quarter in programs that branch much",
            column: 7,
        }],
        differs: "Programs whose loops have many blocks gain what the paper's do; a loop of a single block has to count each \
                  round, whatever the placement.",
    },
    Experiment {
        paper: "S000",
        item: "table2",
        title: "Edges, counted edges, and jumps that counters need",
        rows: &[17, 23, 24],
        how: How::Counted(|runs| Ok(placements::jumps(runs.placements()?))),
        plot: Plot::Bars(7),
        theirs: &[],
        differs: "The paper counts jumps after its optimisation of grey vertices; ours are all counters on critical edges, of \
                  which some can be fallen through.",
    },
    Experiment {
        paper: "S000",
        item: "table3",
        title: "Sizes of traces by what is recorded",
        rows: &[18, 19, 20, 22, 28],
        how: How::Counted(traces::sizes),
        plot: Plot::Bars(4),
        theirs: &[],
        differs: "Every branch takes a word of 32 bits here, as in the oldest way; bits are words of a prefix code for each branch, \
                  and beside them witnesses gain little, and nothing where paths are short.",
    },
    Experiment {
        paper: "S000",
        item: "table3-times",
        title: "Times of traces by method",
        rows: &[21, 28],
        how: How::Timed {
            command: "cargo run --release -p wprof-bench --bin traces",
            record: "2026-11-22-quiet.md",
        },
        plot: Plot::None,
        theirs: &[],
        differs: "",
    },
    Experiment {
        paper: "S000",
        item: "graph4",
        title: "Increments of edge counters by weighting, over one counter in each block",
        rows: &[12, 13, 14, 15, 26],
        how: How::Counted(|runs| Ok(placements::by_weighting(runs.placements()?))),
        plot: Plot::Bars(1),
        theirs: &[],
        differs: "As in the paper the static weighting is close to the exact one, and far from the minimum trees. Goldberg's, \
                  Wall's and Forman's weightings are of section 7.4, which has no figures of them.",
    },
];
