//! Sampled time by loop.

use std::collections::HashMap;

use wprof_profiler::{BlockId, BlockProfile, Callee, FunctionProfile, PlaceTime};

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

/// Returns the loops that take the most time, at most `limit`. The time of a loop itself excludes inner loops and called
/// functions, which its time with callees includes. Loops of functions that no burst saw are known from the module.
pub fn table(view: &View<'_>, limit: usize, style: Style) -> Table {
    let mut table = Table::new(&[
        ("time", Side::Right),
        ("share", Side::Right),
        ("±", Side::Right),
        ("with all in it", Side::Right),
        ("depth", Side::Right),
        ("place", Side::Place),
        ("loop in", Side::Left),
    ]);
    let Some(time) = sampled(view) else { return table };
    let mut functions: HashMap<u32, Vec<Loop>> = HashMap::new();
    let mut around = |node: usize| {
        let &Callee::Function { index, .. } = time.callee(node) else { return Vec::new() };
        let loops = functions.entry(index).or_insert_with(|| loops(view, index));
        loops_around(loops, time.nodes[node].offset).map(|at| (index, at)).collect()
    };
    let found = time.places(&mut around);
    for PlaceTime { place: (index, at), own, total } in found.into_iter().take(limit) {
        let Loop { depth, blocks } = &functions[&index][at];
        let mut row = figures(own, total, time.basis());
        let is_it = |callee: &&Callee| matches!(callee, Callee::Function { index: of, .. } if *of == index);
        let name = time.callees.iter().find(is_it).map(shown).unwrap_or_default();
        let depth = if style.is_wide { depth.to_string() } else { String::new() };
        row.extend([span(depth, Ink::Faint), plain(place::of_blocks(view, blocks)), span(name, Ink::Name)]);
        table.row(row);
    }
    table
}

/// Returns the loops of a function, outer before inner; none if they are not known.
fn loops(view: &View<'_>, index: u32) -> Vec<Loop> {
    let idle = || view.module.and_then(|module| module.idle_function(index).ok());
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
