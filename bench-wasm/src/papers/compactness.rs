//! The compactness of the numbering of interesting paths, by the number of paths of a function: Vaswani 2007, figures
//! 3.17 and 3.18; and how far it is from the optimum, section 6.2.1.

use anyhow::Result;
use wprof::profiler::{FunctionProfile, PreferentialNumbering, optimal_range};

use super::Runs;
use super::runs::exact_paths;
use crate::stats::{Spread, geometric_mean};
use crate::table::Table;

/// Classes of functions: the name and the maximum number of paths that ran.
const CLASSES: [(&str, usize); 5] =
    [("1", 1), ("2 to 10", 10), ("11 to 30", 30), ("31 to 100", 100), ("more than 100", usize::MAX)];

/// The first column, which replaces that of programs.
const FIRST: &str = "paths of a function";
const HEAD: [&str; 8] = [
    "functions",
    "paths, average",
    "delta, median",
    "delta, most",
    "Ball-Larus delta, median",
    "ratio, geometric mean",
    "optimum known",
    "delta over the optimum, most",
];

/// Returns the table of the functions of all programs, by class.
pub fn by_paths(runs: &Runs<'_>) -> Result<Table> {
    let found = runs.functions(|program| exact_paths(program, &runs.args_of(program)), Figures::new)?;
    Ok(table(&found))
}

/// Returns the table of functions by class.
pub(super) fn table(found: &[Figures]) -> Table {
    let mut table = Table::new(HEAD);
    table.head[0] = FIRST.to_owned();
    let mut least = 0;
    for (name, most) in CLASSES {
        let class: Vec<&Figures> = found.iter().filter(|f| f.paths > least && f.paths <= most).collect();
        table.row(name, row(&class));
        least = most;
    }
    table
}

/// The figures of one function.
pub(super) struct Figures {
    paths: usize,
    delta: f64,
    ball_larus: f64,
    /// Its range over the least that is possible, where that is known.
    over_optimum: Option<f64>,
}

impl Figures {
    /// Returns the figures; `None` if the function has no paths, or too many for a numbering.
    pub(super) fn new(function: &FunctionProfile) -> Option<Figures> {
        let interesting = function.paths_by_count();
        let numbering = PreferentialNumbering::new(&function.path_numbering()?, &interesting)?;
        let (delta, ball_larus) = (numbering.delta(), numbering.ball_larus_delta());
        let optimum = optimal_range(&function.path_numbering()?, &interesting);
        let over_optimum = optimum.map(|least| numbering.range() as f64 / least as f64);
        (!interesting.is_empty()).then_some(Figures {
            paths: interesting.len(),
            delta,
            ball_larus,
            over_optimum,
        })
    }
}

fn row(class: &[&Figures]) -> Vec<String> {
    if class.is_empty() {
        return vec!["0".to_owned()];
    }
    let all = |figure: fn(&Figures) -> f64| class.iter().map(|f| figure(f)).collect::<Vec<f64>>();
    let (delta, ball_larus) = (Spread::new(&all(|f| f.delta)), Spread::new(&all(|f| f.ball_larus)));
    let paths = class.iter().map(|f| f.paths).sum::<usize>() as f64 / class.len() as f64;
    let known: Vec<f64> = class.iter().filter_map(|figures| figures.over_optimum).collect();
    let most = known.iter().copied().reduce(f64::max).map_or("-".to_owned(), |most| format!("{most:.2}"));
    vec![
        class.len().to_string(),
        format!("{paths:.1}"),
        format!("{:.2}", delta.median),
        format!("{:.2}", delta.max),
        format!("{:.1}", ball_larus.median),
        format!("{:.1}", geometric_mean(all(|f| f.ball_larus / f.delta))),
        known.len().to_string(),
        most,
    ]
}
