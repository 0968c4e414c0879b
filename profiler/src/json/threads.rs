//! The JSON shape of threads.

use serde::Serialize;

use super::contexts::ContextsShape;
use super::time::TimeShape;
use crate::{FunctionProfile, ThreadFunction, ThreadProfile};

#[derive(Serialize)]
pub(super) struct ThreadShape<'a> {
    number: u32,
    cpu_ns: u64,
    calls: u64,
    ops: u64,
    functions: &'a [ThreadFunction],
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contexts: Option<ContextsShape<'a>>,
}

impl<'a> ThreadShape<'a> {
    pub(super) fn new(thread: &'a ThreadProfile, functions: &[FunctionProfile]) -> Self {
        Self {
            number: thread.number,
            cpu_ns: thread.cpu_ns,
            calls: thread.calls(),
            ops: thread.ops(),
            functions: &thread.functions,
            time: thread.time.as_ref().map(|time| TimeShape::new(time, functions)),
            contexts: thread.contexts.as_ref().map(ContextsShape::new),
        }
    }
}
