//! Resolution of pcs to wasm frames: the function and the instruction of each frame.

use std::ops::ControlFlow;
use std::sync::Arc;

use wprof_jit::abi::TrapCode;
use wprof_jit::compile::Origin;

use super::activation::TrapRecord;
use super::raw_frame::RawFrame;
use super::walk;
use crate::runtime::code::registry::{self, CodeObject};
use crate::runtime::instances::loaded::LoadedModule;

/// A wasm frame: its module, and its position in it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The module.
    pub module: Arc<dyn LoadedModule>,
    /// Function, block, and offset of the instruction.
    pub origin: Origin,
}

/// Maximum number of frames in a backtrace.
const LIMIT: usize = 64;

/// Returns the frame of the call that returns to `pc`; `None` for trampolines.
pub fn of_return(pc: usize) -> Option<Frame> {
    let object = registry::find_return(pc)?;
    let (module, _) = object.function.as_ref()?;
    Some(Frame { module: module.upgrade()?, origin: object.origin_of_return(pc)? })
}

/// Returns the frame that faulted at `pc`; `None` for trampolines.
pub fn of_fault(pc: usize) -> Option<Frame> {
    let object = registry::find(pc)?;
    let (module, _) = object.function.as_ref()?;
    let module = module.upgrade()?;
    let origin = object.origin_of_fault(pc)?;
    Some(Frame { module, origin })
}

/// Returns whether the frame of a trap did not even fit on the stack.
pub fn is_unborn(record: &TrapRecord) -> bool {
    let overflowed = matches!(record.code, None | Some(TrapCode::StackOverflow));
    overflowed && registry::find(record.top.pc).is_some_and(|object| object.is_entry(record.top.pc))
}

/// Returns the frames of a trap and below, innermost first.
pub fn of_trap(record: &TrapRecord) -> Vec<Frame> {
    let callers = record.callers.iter().flat_map(|caller| all_of_return(caller.pc));
    let mut frames: Vec<Frame> = all_of_fault(record.top.pc).chain(callers).take(LIMIT).collect();
    add_live(&mut frames);
    frames
}

/// Returns the frames with these return addresses, and the live frames of this thread while it runs host code.
pub fn of_returns(returns: &[usize]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = returns.iter().flat_map(|&pc| all_of_return(pc)).take(LIMIT).collect();
    add_live(&mut frames);
    frames
}

/// Returns the live wasm frames of this thread while it runs host code, innermost first.
pub fn live() -> Vec<Frame> {
    let mut frames = Vec::new();
    add_live(&mut frames);
    frames
}

fn add_live(frames: &mut Vec<Frame>) {
    let add = |frame: RawFrame, _| {
        if frames.len() >= LIMIT {
            return ControlFlow::Break(());
        }
        frames.extend(all_of_return(frame.pc));
        ControlFlow::Continue(())
    };
    // SAFETY: this is host code.
    unsafe { walk::live(add) };
    frames.truncate(LIMIT);
}

/// Returns the frame of [`of_return`], and the frames around it into which its call is inlined. If no call
/// returns to `pc`, the frame is that of the instruction at `pc`, which faulted on purpose to call the host.
pub fn all_of_return(pc: usize) -> impl Iterator<Item = Frame> {
    let called = of_return(pc);
    let object = if called.is_some() { registry::find_return(pc) } else { registry::find(pc) };
    let faulted = || object.as_ref()?.trap_at(pc).and_then(|_| of_fault(pc));
    let frame = called.or_else(faulted);
    with_callers(object, frame)
}

/// Returns the frame of [`of_fault`], and the frames around it into which its call is inlined.
fn all_of_fault(pc: usize) -> impl Iterator<Item = Frame> {
    with_callers(registry::find(pc), of_fault(pc))
}

fn with_callers(object: Option<Arc<CodeObject>>, frame: Option<Frame>) -> impl Iterator<Item = Frame> {
    let all = object.zip(frame).map(|(object, Frame { module, origin })| {
        let frame = |origin| Frame { module: module.clone(), origin };
        object.code.frames(origin).map(frame).collect::<Vec<_>>()
    });
    all.unwrap_or_default().into_iter()
}
