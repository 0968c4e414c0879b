//! Vaswani 2007: interesting paths, untested paths, how paths are distributed, and the hot path table.

use super::{
    Experiment, How, Plot, Theirs, across_calls, compactness, hot_paths, instructions, segments, sizes,
    table_factors, table_superblocks, untested,
};
use crate::tables::What;

/// All experiments of the thesis; the thesis measures programs of SPEC CPU2000.
pub const ALL: &[Experiment] = &[
    Experiment {
        paper: "S003",
        item: "figure3.16",
        title: "Instructions executed with all paths counted, over plain code",
        rows: &[60, 61],
        how: How::Counted(|runs| instructions::over_plain(runs, &["paths"])),
        plot: Plot::Bars(1),
        theirs: &[Theirs {
            figure: "Ball-Larus (time, not instructions)",
            paper: "1.50, at most 2.32",
            column: 1,
        }],
        differs: "The thesis goes to a hash table above 2,500 paths, ours above 16,384, so that nearly all paths are counted in \
                  arrays.",
    },
    Experiment {
        paper: "S003",
        item: "figure3.16-times",
        title: "Run times with interesting and with untested paths (also figure 3.21)",
        rows: &[59, 61, 67, 70],
        how: How::Timed {
            command: "cargo run --release -p wprof-bench --bin compare -- profiles",
            record: "2026-11-22-quiet.md",
        },
        plot: Plot::None,
        theirs: &[],
        differs: "",
    },
    Experiment {
        paper: "S003",
        item: "figure3.17",
        title: "How compactly interesting paths are numbered, by how many a function has (also figure 3.18)",
        rows: &[58, 62, 73],
        how: How::Counted(compactness::by_paths),
        plot: Plot::Bars(6),
        theirs: &[],
        differs: "As in the thesis delta is close to 1 for nearly all functions, and the Ball-Larus numbers lie orders of \
                  magnitude apart where a function has many paths; the thesis has no table of its points. It names the optimum as \
                  an integer program, without figures; ours is a search for up to six paths.",
    },
    Experiment {
        paper: "S003",
        item: "chapter4",
        title: "Numberings as models of paths: bits a path, entropy and gamma",
        rows: &[58, 62, 72],
        how: How::Counted(|runs| runs.table(What::Delta)),
        plot: Plot::Points(7, 8),
        theirs: &[],
        differs: "What the Ball-Larus model takes beyond the entropy of the run is what a better model could save; the thesis \
                  has examples only.",
    },
    Experiment {
        paper: "S003",
        item: "table3.1",
        title: "Untested paths: of longer runs, with the runs of the tests as tests",
        rows: &[67, 69],
        how: How::Counted(untested::paths),
        plot: Plot::Bars(1),
        theirs: &[
            Theirs { figure: "untested paths", paper: "583", column: 1 },
            Theirs { figure: "of all paths", paper: "18.9%", column: 2 },
            Theirs { figure: "of all executions", paper: "4.5%", column: 3 },
            Theirs { figure: "functions with them", paper: "50.2", column: 4 },
            Theirs { figure: "untested edges", paper: "114.3", column: 5 },
            Theirs {
                figure: "untested paths in functions without untested edges",
                paper: "184.5",
                column: 7,
            },
            Theirs { figure: "the same, of untested paths", paper: "48.9%", column: 8 },
        ],
        differs: "Our longer runs are larger inputs of the same kind for small programs, so less is new in them, and a smaller \
                  part of that has no new edge.",
    },
    Experiment {
        paper: "S003",
        item: "table3.3",
        title: "Untested paths with one, two and four tests",
        rows: &[69],
        how: How::Counted(untested::with_more_tests),
        plot: Plot::Bars(3),
        theirs: &[],
        differs: "Tests are of other sizes than the longer run, and of the same kind, so further ones add little, where the sizes \
                  decide nothing. Our text of the thesis has lost the table's figures.",
    },
    Experiment {
        paper: "S003",
        item: "table3.2",
        title: "Untested paths across calls: of longer runs, with the runs of the tests as tests",
        rows: &[64, 68],
        how: How::Counted(across_calls::untested_paths),
        plot: Plot::Bars(1),
        theirs: &[
            Theirs { figure: "untested paths", paper: "314.8", column: 1 },
            Theirs { figure: "of all paths", paper: "35.9%", column: 2 },
            Theirs { figure: "of all executions", paper: "11.8%", column: 3 },
        ],
        differs: "As in the thesis more is new across calls than in functions alone (table 3.1); our longer runs are larger \
                  inputs of the same kind.",
    },
    Experiment {
        paper: "S003",
        item: "table3.2-segments",
        title: "Untested path segments across one call, by whole program paths: of longer runs, with the runs of the tests as tests",
        rows: &[63, 68],
        how: How::Counted(segments::untested),
        plot: Plot::Bars(1),
        theirs: &[
            Theirs {
                figure: "untested paths (of table 3.2, across calls that are inlined)",
                paper: "314.8",
                column: 1,
            },
            Theirs { figure: "of all paths", paper: "35.9%", column: 2 },
            Theirs { figure: "of all executions", paper: "11.8%", column: 3 },
        ],
        differs: "Segments end at back edges and at a second call, so they are shorter than paths through supergraphs, and there \
                  are other numbers of them; all calls are followed, those through tables too.",
    },
    Experiment {
        paper: "S003",
        item: "figure3.19",
        title: "Executions of paths without a counter of their own: of functions, across calls, and with interesting ones",
        rows: &[64, 66],
        how: How::Counted(across_calls::searched),
        plot: Plot::Bars(2),
        theirs: &[],
        differs: "The thesis has times: 2.25 with a table, 1.26 with preferential numbers, which avoid the search in it. Ours has \
                  what is searched for; runs are not timed here.",
    },
    Experiment {
        paper: "S003",
        item: "figure3.20",
        title: "How compactly paths across calls are numbered, by how many a function has",
        rows: &[64, 66],
        how: How::Counted(across_calls::by_paths),
        plot: Plot::Bars(6),
        theirs: &[],
        differs: "As in the thesis delta is close to 1; it has no table of its points.",
    },
    Experiment {
        paper: "S003",
        item: "table3.5",
        title: "Machine code for paths across calls, over plain code",
        rows: &[64, 66],
        how: How::Counted(across_calls::code),
        plot: Plot::Bars(4),
        theirs: &[],
        differs: "The thesis has code of 1.22 times that for paths of functions, on average.",
    },
    Experiment {
        paper: "S003",
        item: "table3.4",
        title: "Machine code with all paths counted, and with interesting ones, over plain code",
        rows: &[71],
        how: How::Counted(sizes::of_paths),
        plot: Plot::Bars(2),
        theirs: &[
            Theirs { figure: "Ball-Larus", paper: "3.21", column: 2 },
            Theirs { figure: "preferential", paper: "3.03", column: 3 },
        ],
        differs: "The thesis measures object files, whose tables of counters lie beside code; ours are in memory of the \
                  instance, and are not counted.",
    },
    Experiment {
        paper: "S003",
        item: "table3.4-kinds",
        title: "Machine code by kind of profile",
        rows: &[71],
        how: How::Counted(|runs| runs.table(What::Code)),
        plot: Plot::Bars(3),
        theirs: &[],
        differs: "The thesis has no other kinds.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.2",
        title: "Instructions along the hottest paths, and by the length of paths (also figure 5.3)",
        rows: &[85],
        how: How::Counted(|runs| runs.table(What::Distribution)),
        plot: Plot::Bars(4),
        theirs: &[
            Theirs { figure: "100 hottest paths", paper: "more than 80%", column: 4 },
            Theirs { figure: "paths of up to 16 branches", paper: "more than 90%", column: 7 },
        ],
        differs: "Our programs are smaller: a hundred paths are nearly all that they have.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.7",
        title: "Paths in a hot path table: overlap with all paths, by entries/ways and index",
        rows: &[80, 81],
        how: How::Counted(hot_paths::sweep),
        plot: Plot::Bars(2),
        theirs: &[Theirs { figure: "512 entries in sets of 4", paper: "88%", column: 6 }],
        differs: "Our programs have fewer paths than those of SPEC, so the smaller tables are the interesting ones; the thesis \
                  counts misses and mispredictions along paths as well, ours counts paths.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.7-factors",
        title: "What entries (64 or 512), ways (1 or 4) and the index (starts, or branches too) matter for the hot path table, in \
                points of overlap: of executions, misses and mispredictions",
        rows: &[78, 80, 81],
        how: How::Counted(table_factors::effects),
        plot: Plot::Bars(2),
        theirs: &[Theirs { figure: "512 entries in sets of 4, of executions", paper: "88%", column: 2 }],
        differs: "As in the thesis a Plackett-Burman design, of three factors here; misses are of a simulated cache of 32 KiB, \
                  mispredictions of a simulated gshare, and few of our programs have many paths.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.8",
        title: "Paths in a hot path table that is emptied after each 10,000 paths: mean overlap",
        rows: &[82],
        how: How::Counted(hot_paths::windows),
        plot: Plot::Bars(2),
        theirs: &[Theirs { figure: "512 entries in sets of 4", paper: "95.5%", column: 4 }],
        differs: "As in the thesis windows overlap more than whole runs, since they have fewer paths; its windows are of 100 \
                  million instructions.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.9",
        title: "Superblocks by the profile of a hot path table, by entries/ways, and by all paths",
        rows: &[83, 87],
        how: How::Counted(table_superblocks::by_table),
        plot: Plot::Bars(2),
        theirs: &[],
        differs: "The thesis has speed-ups of scheduled superblocks; ours has the superblocks that are formed, which decide them.",
    },
    Experiment {
        paper: "S003",
        item: "figure5.10",
        title: "Paths extended over back edges, and across a call, in a hot path table of 512 entries: how many, and overlap with all",
        rows: &[75, 84],
        how: How::Counted(hot_paths::extended),
        plot: Plot::Bars(4),
        theirs: &[Theirs { figure: "overlap over one back edge", paper: "78.35%", column: 4 }],
        differs: "Paths end at calls here, too, so that a loop with calls is extended to the next call of a round; segments begin \
                  with a path that calls and span that call alone. Our programs are smaller.",
    },
];
