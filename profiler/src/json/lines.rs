//! The JSON shape of source lines.

use serde::Serialize;

use super::time::PartShape;
use crate::{TimeProfile, Timed};

/// A source line with its figures, as debug information tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineFigures {
    /// The path of the file in the debug information.
    pub file: String,
    /// The line number, from 1.
    pub line: u32,
    /// The sampled time of the line itself, and with all that it calls.
    pub time: Option<(Timed, Timed)>,
    /// The instructions that the line executed, without those of called functions.
    pub ops: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct LineShape<'a> {
    file: &'a str,
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<LineTimeShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ops: Option<u64>,
}

#[derive(Serialize)]
struct LineTimeShape {
    own: PartShape,
    total: PartShape,
}

impl<'a> LineShape<'a> {
    /// Creates the shape of a line; its time is a part of `all`.
    pub(super) fn new(of: &'a LineFigures, all: Option<&TimeProfile>) -> Self {
        let all = all.map(TimeProfile::basis).unwrap_or_default();
        let time = of.time.map(|(own, total)| LineTimeShape {
            own: PartShape::new(own, all),
            total: PartShape::new(total, all),
        });
        Self { file: &of.file, line: of.line, time, ops: of.ops }
    }
}
