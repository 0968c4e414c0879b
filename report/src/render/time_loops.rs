//! Sampled time by loop.

use std::collections::HashMap;

use wprof_profiler::{BlockId, BlockProfile, Callee, FunctionProfile, PlaceTime, Timed};

use super::contexts::shown;
use super::page::{Ink, plain, span};
use super::place;
use super::style::Style;
use super::table::{Side, Table};
use super::time::{figures, sampled};
use super::view::View;

/// A loop of a function.
struct Loop {
    depth: u32,
    blocks: Vec<BlockProfile>,
}

/// A loop and its time.
pub struct LoopTime {
    /// The function.
    pub function: u32,
    /// The display name of the function.
    pub name: String,
    /// The nesting depth; 1 for an outermost loop.
    pub depth: u32,
    /// The first source place of the loop, or else its offset.
    pub place: String,
    /// The time of the loop itself, without inner loops and called functions.
    pub own: Timed,
    /// The time with all in it.
    pub total: Timed,
}

/// Returns the loops that take the most time, at most `limit`.
pub fn table(view: &View<'_>, limit: usize, style: Style) -> Table {
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("with all in it", Side::Right),
        ("±", Side::Right),
        ("depth", Side::Right),
        ("place", Side::Place),
        ("loop in", Side::Left),
    ]);
    let Some(time) = sampled(view) else { return table };
    for LoopTime { name, depth, place, own, total, .. } in hottest(view, limit) {
        let mut row = figures(own, total, time.basis());
        let depth = if style.is_wide { depth.to_string() } else { String::new() };
        row.extend([span(depth, Ink::Faint), plain(place), span(name, Ink::Name)]);
        table.row(row);
    }
    table
}

/// Returns the loops that take the most time, in order. Loops of functions that no burst saw are known from the module.
pub fn hottest(view: &View<'_>, limit: usize) -> Vec<LoopTime> {
    let Some(time) = sampled(view) else { return Vec::new() };
    let mut functions: HashMap<u32, Vec<Loop>> = HashMap::new();
    let mut around = |node: usize| {
        let &Callee::Function { index, .. } = time.callee(node) else { return Vec::new() };
        let loops = functions.entry(index).or_insert_with(|| loops(view, index));
        loops_around(loops, time.nodes[node].offset).map(|at| (index, at)).collect()
    };
    let found = time.places(&mut around);
    let shape = |PlaceTime { place: (index, at), own, total }: PlaceTime<(u32, usize)>| {
        let Loop { depth, blocks } = &functions[&index][at];
        let is_it = |callee: &&Callee| matches!(callee, Callee::Function { index: of, .. } if *of == index);
        let name = time.callees.iter().find(is_it).map(shown).unwrap_or_default();
        let (depth, place) = (*depth, place::of_blocks(view, blocks));
        LoopTime { function: index, name, depth, place, own, total }
    };
    found.into_iter().take(limit).map(shape).collect()
}

/// Returns the loops of a function, outer before inner; none if they are not known.
fn loops(view: &View<'_>, index: u32) -> Vec<Loop> {
    let idle = || view.program.and_then(|program| program.idle_function(index).ok());
    let function = view.profile.function(index).cloned().or_else(idle);
    let of = |function: FunctionProfile| -> Vec<Loop> {
        let blocks = |found: &[BlockId]| {
            found.iter().filter_map(|block| function.blocks.get(block.index()).cloned()).collect()
        };
        let found = function.loops();
        found.iter().map(|found| Loop { depth: found.depth, blocks: blocks(&found.blocks) }).collect()
    };
    function.map(of).unwrap_or_default()
}

/// Returns the positions of the loops around an offset, the innermost first.
fn loops_around(loops: &[Loop], offset: u32) -> impl Iterator<Item = usize> {
    let holds = move |code: &BlockProfile| (code.code.start..code.code.end).contains(&offset);
    let around = loops.iter().enumerate().rev().filter(move |(_, found)| found.blocks.iter().any(holds));
    around.map(|(at, _)| at)
}
