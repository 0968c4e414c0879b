//! The places at which calls trapped, frame by frame.
//!
//! In traced code a tail call of a host function is a call and a return, so the frame is still on the stack when the host
//! reenters wasm; elsewhere it is gone. Backtraces of both are compared without such frames.

use std::collections::HashSet;

use wprof_jit::cfg::{self, End};
use wprof_jit::module::parse;

use crate::engines::ours::Place;

/// The functions and byte offsets of tail calls.
pub(super) type TailCalls = HashSet<(u32, usize)>;

/// The number of frames at which the engine cuts a backtrace.
const MOST_FRAMES: usize = 64;

/// Returns the tail calls of a module as function indices and byte offsets in the module.
pub(super) fn tail_calls(wasm: &[u8]) -> Result<TailCalls, String> {
    let info = parse(wasm.to_vec()).map_err(|e| e.to_string())?;
    let mut all = TailCalls::new();
    for func in info.imported_funcs..info.funcs.len() as u32 {
        let cfg = cfg::build(&info, func).map_err(|e| e.to_string())?;
        let blocks = cfg.blocks.iter().filter(|block| block.how == End::TailCall);
        all.extend(blocks.map(|block| (func, block.end as usize)));
    }
    Ok(all)
}

/// Checks that calls trapped at the same places, frame by frame, except frames of the `ignored` tail calls.
pub(super) fn same_places(found: &[Place], expected: &[Place], ignored: &TailCalls) -> Result<(), String> {
    for (call, (found, expected)) in found.iter().zip(expected).enumerate() {
        let kept = |place: &Place| -> Place {
            place.iter().filter(|frame| !ignored.contains(*frame)).copied().collect()
        };
        let [mut these, mut those] = [kept(found), kept(expected)];
        // A cut backtrace lacks as many frames at its end as are left out of it here.
        let known = |place: &Place, kept: &Place| match place.len() {
            MOST_FRAMES => kept.len(),
            _ => usize::MAX,
        };
        let most = known(found, &these).min(known(expected, &those));
        these.truncate(most);
        those.truncate(most);
        if these != those {
            return Err(format!("call {call} trapped at {these:x?} or {those:x?}"));
        }
    }
    Ok(())
}
