//! Reports of code that does not do what its original did.

use std::fmt::Write;

use iced_x86::{Formatter, GasFormatter};

use super::image::Image;
use super::machine::X86;
use crate::validate::{Mismatch, Side};

/// The number of instructions shown before and behind the difference.
const BEFORE: usize = 24;
const BEHIND: usize = 4;

/// Returns both versions around a difference.
pub(super) fn text(x86: &X86<'_>, mismatch: &Mismatch) -> String {
    let Mismatch { begin, found, what } = mismatch;
    let mut text = format!("{what}\n");
    for (side, name, begin, found) in
        [(Side::Before, "before", begin.0, found.0), (Side::After, "after", begin.1, found.1)]
    {
        let _ = writeln!(text, "{name} the passes, from {begin:#x} on, at {found:#x}:");
        text += &listing(x86.image(side), begin, found);
    }
    text
}

/// Lists the instructions from one place to shortly behind another, which jumps may have reached.
fn listing(image: &Image, begin: u32, found: u32) -> String {
    let mut formatter = GasFormatter::new();
    let (mut lines, mut at, mut behind): (Vec<String>, _, _) = (Vec::new(), begin, None);
    for _ in 0..1 << 12 {
        let Ok(inst) = image.decode(at) else { break };
        let mut line = format!("  {at:>8x}  ");
        formatter.format(&inst, &mut line);
        lines.push(line);
        if at == found || behind.is_some() {
            behind = Some(behind.map_or(0, |count| count + 1));
        }
        if behind == Some(BEHIND) {
            break;
        }
        let is_jump = inst.flow_control() == iced_x86::FlowControl::UnconditionalBranch;
        at = if is_jump { inst.near_branch64() as u32 } else { inst.next_ip() as u32 };
    }
    let first = lines.len().saturating_sub(BEFORE + BEHIND);
    lines[first..].join("\n") + "\n"
}
