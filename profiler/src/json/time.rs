//! The JSON shape of sampled time.

use std::collections::HashMap;

use serde::Serialize;

use super::contexts::CalleeShape;
use crate::{RoutineTime, TimeProfile, Timed};

#[derive(Serialize)]
pub(super) struct TimeShape<'a> {
    rate: u32,
    lost: u64,
    #[serde(flatten)]
    total: Timed,
    routines: Vec<RoutineShape<'a>>,
    stacks: Vec<StackShape>,
}

#[derive(Serialize)]
struct RoutineShape<'a> {
    #[serde(flatten)]
    callee: CalleeShape<'a>,
    own: Timed,
    total: Timed,
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
    pub(super) fn new(time: &'a TimeProfile) -> Self {
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
            own,
            total,
        };
        let routines = routines.iter().map(routine).collect();
        Self { rate: time.rate, lost: time.lost, total: time.total(), routines, stacks }
    }
}
