//! Hirzel & Chilimbi 2001: bursts.

use super::{Experiment, How, Plot, Theirs, bursts, instructions, quality};

/// All experiments of the paper. The paper's figures are plots without numbers, except the named ones.
pub const ALL: &[Experiment] = &[
    Experiment {
        paper: "S004",
        item: "figure6",
        title: "Basic overhead: instructions executed with checks and without bursts, over plain code",
        rows: &[91, 94, 95, 96, 98],
        how: How::Counted(|runs| instructions::over_plain(runs, &["checks", "checks by time"])),
        plot: Plot::Bars(1),
        theirs: &[Theirs { figure: "checks (time, not instructions)", paper: "1.03 to 1.18", column: 1 }],
        differs: "Ours are in code that we compile, which counts down in a register and checks counted loops once in 64 \
                  rounds; the paper rewrites executables.",
    },
    Experiment {
        paper: "S004",
        item: "figure6-times",
        title: "Basic overhead in time, by where checks are",
        rows: &[94, 95, 97, 98],
        how: How::Timed {
            command: "cargo run --release -p wprof-bench --bin compare -- bursts",
            record: "2026-11-25-sampling.md",
        },
        plot: Plot::None,
        theirs: &[],
        differs: "",
    },
    Experiment {
        paper: "S004",
        item: "figure7",
        title: "Quality by lengths of bursts: overlap of the paths that they saw with all paths",
        rows: &[89, 90, 99, 101, 102],
        how: How::Counted(quality::by_lengths),
        plot: Plot::Bars(3),
        theirs: &[],
        differs: "As in the paper longer bursts see more at the same rate; its overlap is of hot data streams, this one of \
                  paths, and the shortest of our runs have hardly a burst.",
    },
    Experiment {
        paper: "S004",
        item: "figure7-streams",
        title: "Quality by lengths of bursts: overlap of the hot data streams that they saw with those of the whole run",
        rows: &[100, 102],
        how: How::Counted(bursts::streams_by_lengths),
        plot: Plot::Bars(4),
        theirs: &[],
        differs: "A loop is the same stream wherever a burst sees it, as in lists, which walks through one list 40 times. Other \
                  streams are told by the order of their instructions, and come again a few times only in runs as short as \
                  ours, of which a burst sees one or none: overlaps are then far below the paper's.",
    },
    Experiment {
        paper: "S004",
        item: "irregularity",
        title: "How irregular bursts of 1000:50 are: mean and relative standard deviation of what one sees, and of their distance",
        rows: &[89, 92],
        how: How::Counted(bursts::irregularity),
        plot: Plot::Bars(3),
        theirs: &[],
        differs: "The paper says that bursts are irregular, without a figure: a call returns to the version that its caller was in, \
                  and what a check in a burst begins counts to its end.",
    },
    Experiment {
        paper: "S004",
        item: "figure8",
        title: "Quality by where checks are, with bursts of 1000:50",
        rows: &[94, 95, 103],
        how: How::Counted(quality::by_checks),
        plot: Plot::Bars(8),
        theirs: &[],
        differs: "As in the paper fewer checks of entries change little; without checks in hot loops the paths there are in no \
                  burst.",
    },
    Experiment {
        paper: "S004",
        item: "figure8-streams",
        title: "Quality by where checks are, with bursts of 1000:50, of hot data streams",
        rows: &[103],
        how: How::Counted(bursts::streams_by_checks),
        plot: Plot::Bars(9),
        theirs: &[],
        differs: "Streams of the paper are of programs with large heaps, as that of lists; our others come again too seldom.",
    },
    Experiment {
        paper: "engine",
        item: "accuracy",
        title: "The overlap that samples predict of themselves, and the real one, of instructions by function",
        rows: &[101, 110],
        how: How::Counted(quality::predicted),
        plot: Plot::None,
        theirs: &[],
        differs: "Of the papers none predicts it; differences are in points, and where a program ends after less than a \
                  hundred bursts nothing is predicted. With hardly more than that sort is 2.4 points better than predicted.",
    },
];
