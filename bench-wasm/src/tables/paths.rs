//! Tables on the paths that ran: hot paths, paths through their blocks, and path numbers.

use std::collections::BTreeSet;

use anyhow::Result;
use wprof::profiler::{
    BlockId, Density, FunctionProfile, Group, HotPath, MetricView, PathModel, PreferentialNumbering, Profile,
    entropy,
};

use super::percent;
use super::runs::Runs;

/// The minimum share of a metric that a hot path or function has (Ammons, Ball & Larus).
const HOT_SHARE: f64 = 0.01;

/// For paths, then for functions: the number of dense and of sparse ones, with their shares of the misses and of the
/// instructions, and the number of cold ones.
pub const HOT: &[&str] = &[
    "misses",
    "dense paths",
    "misses",
    "instructions",
    "sparse paths",
    "misses",
    "instructions",
    "cold paths",
    "dense functions",
    "misses",
    "paths each",
    "sparse functions",
    "misses",
    "paths each",
    "cold functions",
];

/// Returns a program's row of [`HOT`].
pub fn hot(runs: &Runs<'_>) -> Result<Vec<String>> {
    let profile = runs.counted()?;
    let view = MetricView::new(profile, 0, HOT_SHARE);
    let (misses, ops) = (view.amount(), profile.ops());
    let (paths, functions) = (view.over_paths(), view.over_functions());
    let both =
        |group: Group| [group.members.to_string(), percent(group.amount, misses), percent(group.ops, ops)];
    let of_functions = |group: Group| {
        let each = group.paths as f64 / group.members.max(1) as f64;
        [group.members.to_string(), percent(group.amount, misses), format!("{each:.1}")]
    };
    let cells = [misses.to_string()].into_iter().chain(both(paths.dense)).chain(both(paths.sparse));
    let cells = cells.chain([paths.cold.members.to_string()]).chain(of_functions(functions.dense));
    let cells = cells.chain(of_functions(functions.sparse)).chain([functions.cold.members.to_string()]);
    Ok(cells.collect())
}

/// The blocks of hot paths, and the paths that ran through them.
pub const BLOCKS: &[&str] =
    &["paths", "hot paths", "blocks of these", "instructions in them", "paths through one, average", "most"];

/// Returns a program's row of [`BLOCKS`].
pub fn blocks(runs: &Runs<'_>) -> Result<Vec<String>> {
    let profile = runs.counted()?;
    let view = MetricView::new(profile, 0, HOT_SHARE);
    let is_hot = |(path, amount): &(HotPath, u64)| view.density(*amount, path.ops) != Density::Cold;
    let hot: Vec<HotPath> = view.paths().into_iter().filter(is_hot).map(|(path, _)| path).collect();
    let (mut through, mut ops) = (Vec::new(), 0);
    for function in &profile.functions {
        let ids = hot.iter().filter(|path| path.function == function.index).map(|path| path.id);
        let of_blocks = (function.paths_through().unwrap_or_default(), function.block_ops());
        for block in blocks_of(function, ids) {
            through.push(of_blocks.0[block.index()]);
            ops += of_blocks.1[block.index()];
        }
    }
    let average = through.iter().sum::<u64>() as f64 / through.len().max(1) as f64;
    Ok(vec![
        paths_of(profile).to_string(),
        hot.len().to_string(),
        through.len().to_string(),
        percent(ops, profile.ops()),
        format!("{average:.1}"),
        through.iter().max().unwrap_or(&0).to_string(),
    ])
}

/// Returns the blocks of some paths of a function.
fn blocks_of(function: &FunctionProfile, ids: impl Iterator<Item = u64>) -> BTreeSet<BlockId> {
    let Some((cfg, numbering)) = function.cfg().ok().zip(function.path_numbering()) else {
        return BTreeSet::new();
    };
    ids.filter_map(|id| numbering.path(id)).flat_map(|path| path.blocks(&cfg).to_vec()).collect()
}

/// The ratio of numbers to paths that ran: in the preferential numbering, and in that of all paths.
///
/// The other columns follow chapter 4 of the thesis: bits per path by the Ball-Larus model, in which all paths are
/// equally likely, and by the entropy of the run, each averaged over functions weighted by their number of paths that
/// ran; and gamma of the run, which is two to the power of the run's entropy, divided by the number of paths that ran
/// (1 if all ran equally often). The gamma of a numbering under its own model is its delta.
pub const DELTA: &[&str] = &[
    "functions",
    "paths",
    "delta, average",
    "delta, most",
    "Ball-Larus delta, average",
    "most",
    "bits a path, Ball-Larus",
    "entropy of the run",
    "gamma of the run",
];

/// Returns a program's row of [`DELTA`].
pub fn delta(runs: &Runs<'_>) -> Result<Vec<String>> {
    let profile = runs.counted()?;
    let numberings: Vec<PreferentialNumbering> = profile.functions.iter().filter_map(preferential).collect();
    let figures = |delta: fn(&PreferentialNumbering) -> f64| {
        let all = numberings.iter().map(delta);
        let (sum, most) = all.fold((0.0, 0.0), |(sum, most): (f64, f64), one| (sum + one, most.max(one)));
        [sum / numberings.len().max(1) as f64, most]
    };
    let [[delta, most], [ball_larus, ball_larus_most]] =
        [PreferentialNumbering::delta, PreferentialNumbering::ball_larus_delta].map(figures);
    Ok([
        numberings.len().to_string(),
        paths_of(profile).to_string(),
        format!("{delta:.2}"),
        format!("{most:.2}"),
        format!("{ball_larus:.1}"),
        format!("{ball_larus_most:.1}"),
    ]
    .into_iter()
    .chain(bits(profile).map(|figure| format!("{figure:.2}")))
    .collect())
}

/// Returns the bits per path by the Ball-Larus model and by the entropy of the run, and gamma of the run.
fn bits(profile: &Profile) -> [f64; 3] {
    let (mut sums, mut all) = ([0.0; 3], 0.0);
    for function in &profile.functions {
        let (Some(numbering), Some(paths)) = (function.path_numbering(), function.paths()) else { continue };
        let counts = paths.finished.iter().map(|path| path.count);
        let times = counts.clone().map(|count| count as f64).sum::<f64>();
        if times > 0.0 {
            let of_run = entropy(counts);
            let gamma = of_run.exp2() / paths.finished.len() as f64;
            let figures = [PathModel::new(&numbering).entropy(), of_run, gamma];
            sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += times * figure);
            all += times;
        }
    }
    sums.map(|sum| if all > 0.0 { sum / all } else { 0.0 })
}

fn preferential(function: &FunctionProfile) -> Option<PreferentialNumbering> {
    PreferentialNumbering::new(&function.path_numbering()?, &function.paths_by_count())
}

/// Returns the number of paths that ran to their end.
fn paths_of(profile: &Profile) -> usize {
    profile.functions.iter().filter_map(|function| function.paths()).map(|p| p.finished.len()).sum()
}
