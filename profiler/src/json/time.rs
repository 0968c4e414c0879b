//! The JSON shape of sampled time.

use std::collections::HashMap;

use serde::Serialize;

use super::contexts::CalleeShape;
use crate::{
    BlockId, Callee, FunctionProfile, Interval, LoopProfile, PlaceTime, RoutineTime, TimeProfile, Timed,
};

#[derive(Serialize)]
pub(super) struct TimeShape<'a> {
    rate: u32,
    lost: u64,
    #[serde(flatten)]
    total: Timed,
    routines: Vec<RoutineShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loops: Vec<LoopShape>,
    stacks: Vec<StackShape>,
}

#[derive(Serialize)]
struct RoutineShape<'a> {
    #[serde(flatten)]
    callee: CalleeShape<'a>,
    own: PartShape,
    total: PartShape,
}

/// A part of all time.
#[derive(Serialize)]
pub(super) struct PartShape {
    #[serde(flatten)]
    timed: Timed,
    #[serde(flatten)]
    share: ShareShape,
}

impl PartShape {
    pub(super) fn new(timed: Timed, all: Timed) -> Self {
        let Interval { share, least, most } = Interval::of_share(timed, all);
        Self { timed, share: ShareShape { share, least, most } }
    }
}

/// A share with its confidence interval.
#[derive(Serialize)]
pub(super) struct ShareShape {
    pub(super) share: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

#[derive(Serialize)]
struct LoopShape {
    function: u32,
    header: BlockId,
    own: PartShape,
    total: PartShape,
}

#[derive(Serialize)]
struct StackShape {
    caller: Option<u32>,
    routine: u32,
    offset: u32,
    inlined: bool,
    own: Timed,
}

impl<'a> TimeShape<'a> {
    /// Creates the shape of sampled time; loops are those of `functions`.
    pub(super) fn new(time: &'a TimeProfile, functions: &[FunctionProfile]) -> Self {
        let (all, basis) = (time.total(), time.basis());
        let routines = time.routines();
        let numbers: HashMap<_, u32> = routines.iter().map(|routine| routine.callee).zip(0..).collect();
        let number = |node: usize| numbers.get(time.callee(node)).copied().unwrap_or(0);
        let stacks = time.nodes.iter().enumerate().map(|(at, node)| StackShape {
            caller: node.caller,
            routine: number(at),
            offset: node.offset,
            inlined: node.is_inlined,
            own: node.own,
        });
        let stacks = stacks.collect();
        let routine = |&RoutineTime { callee, own, total }: &RoutineTime<'a>| RoutineShape {
            callee: CalleeShape::new(callee),
            own: PartShape::new(own, basis),
            total: PartShape::new(total, basis),
        };
        let routines = routines.iter().map(routine).collect();
        let loops = loops(time, functions);
        Self { rate: time.rate, lost: time.lost, total: all, routines, loops, stacks }
    }
}

/// Returns the loops that were sampled, those with most time of their own first: without inner loops and callees, which their
/// total has.
fn loops(time: &TimeProfile, functions: &[FunctionProfile]) -> Vec<LoopShape> {
    let mut known: HashMap<u32, Vec<LoopProfile>> = HashMap::new();
    let around = |node: usize| -> Vec<(u32, BlockId)> {
        let &Callee::Function { index, .. } = time.callee(node) else { return Vec::new() };
        let Ok(at) = functions.binary_search_by_key(&index, |function| function.index) else {
            return Vec::new();
        };
        let (function, offset) = (&functions[at], time.nodes[node].offset);
        let loops = known.entry(index).or_insert_with(|| function.loops());
        let holds = |block: &BlockId| {
            let code = function.blocks[block.index()].code;
            (code.start..code.end).contains(&offset)
        };
        // Outer loops come before inner ones.
        let around = loops.iter().rev().filter(|found| found.blocks.iter().any(holds));
        around.map(|found| (index, found.header)).collect()
    };
    let part = |timed| PartShape::new(timed, time.basis());
    let shape = |PlaceTime { place: (function, header), own, total }| LoopShape {
        function,
        header,
        own: part(own),
        total: part(total),
    };
    time.places(around).into_iter().map(shape).collect()
}
