//! Sites: the instructions at which a frame can stop, numbered across the whole module.
//!
//! Entries of the stack of calls in flight hold site numbers, which start at 1.

use wasmparser::{FunctionBody, Operator};

use crate::Error;
use crate::cfg::{Cfg, is_call, is_structure};

/// An instruction at which a frame can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Function index.
    pub func: u32,
    /// Block number.
    pub block: u32,
    /// Byte offset of the instruction.
    pub offset: u32,
    /// Number of the block's instructions that have begun, including this one.
    pub ops: u32,
}

/// Reports whether a frame always ends at `op`, or control continues elsewhere.
pub fn is_end(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Unreachable) || is_throw(op)
}

/// Reports whether a thread may wait at `op`, and be ended there by its host.
pub fn is_wait(op: &Operator<'_>) -> bool {
    matches!(op, Operator::MemoryAtomicWait32 { .. } | Operator::MemoryAtomicWait64 { .. })
}

/// Reports whether `op` throws an exception.
pub fn is_throw(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Throw { .. } | Operator::ThrowRef | Operator::Rethrow { .. })
}

/// Reports whether `op` may trap, conservatively, other than by a call. Only the most frequent instructions that just
/// compute, move values or branch are known not to trap.
fn may_trap(op: &Operator<'_>) -> bool {
    use Operator::*;
    let is_harmless = match op {
        Nop | Drop | Select | TypedSelect { .. } | LocalGet { .. } | LocalSet { .. } | LocalTee { .. } => {
            true
        }
        GlobalGet { .. } | GlobalSet { .. } | RefNull { .. } | RefIsNull | RefFunc { .. } | RefEq => true,
        I32Const { .. } | I64Const { .. } | F32Const { .. } | F64Const { .. } | V128Const { .. } => true,
        If { .. } | Br { .. } | BrIf { .. } | BrTable { .. } | Return => true,
        BrOnNull { .. } | BrOnNonNull { .. } | BrOnCast { .. } | BrOnCastFail { .. } => true,
        ReturnCall { .. } | ReturnCallIndirect { .. } | ReturnCallRef { .. } => true,
        MemorySize { .. } | MemoryGrow { .. } | TableSize { .. } | DataDrop { .. } | ElemDrop { .. } => true,
        I32Eqz | I32Eq | I32Ne | I32LtS | I32LtU | I32GtS | I32GtU | I32LeS | I32LeU | I32GeS | I32GeU => {
            true
        }
        I64Eqz | I64Eq | I64Ne | I64LtS | I64LtU | I64GtS | I64GtU | I64LeS | I64LeU | I64GeS | I64GeU => {
            true
        }
        I32Add | I32Sub | I32Mul | I32And | I32Or | I32Xor | I32Shl | I32ShrS | I32ShrU | I32Rotl
        | I32Rotr => true,
        I64Add | I64Sub | I64Mul | I64And | I64Or | I64Xor | I64Shl | I64ShrS | I64ShrU | I64Rotl
        | I64Rotr => true,
        I32Clz | I32Ctz | I32Popcnt | I64Clz | I64Ctz | I64Popcnt => true,
        I32WrapI64 | I64ExtendI32S | I64ExtendI32U | I32Extend8S | I32Extend16S => true,
        F64Add | F64Sub | F64Mul | F64Div | F64Eq | F64Ne | F64Lt | F64Gt | F64Le | F64Ge | F64Neg
        | F64Abs => true,
        F32Add | F32Sub | F32Mul | F32Div | F32Eq | F32Ne | F32Lt | F32Gt | F32Le | F32Ge | F32Neg
        | F32Abs => true,
        _ => is_structure(op),
    };
    !is_harmless
}

/// Reports whether `op` leaves the function, unless it traps before.
pub fn may_leave(op: &Operator<'_>) -> bool {
    matches!(op, Operator::ReturnCallIndirect { .. })
}

/// Reports whether a frame that stops at `op` is accounted for.
pub fn is_site(op: &Operator<'_>, all_traps: bool) -> bool {
    is_call(op) || may_leave(op) || is_end(op) || is_wait(op) || all_traps && may_trap(op)
}

/// Returns the byte offset of each call of a function that control can reach, tail calls included, in order: that of
/// callee slot k of its call records is number k.
///
/// # Errors
/// Returns an error if the bytes differ from those that were validated.
pub fn calls(cfg: &Cfg, body: &FunctionBody<'_>) -> Result<Vec<u32>, Error> {
    let mut reader = body.get_operators_reader()?;
    let mut blocks = cfg.blocks.iter().peekable();
    let mut calls = Vec::new();
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        while blocks.next_if(|block| u64::from(block.limit) <= at).is_some() {}
        let Some(block) = blocks.peek() else { break };
        if at >= u64::from(block.start) && (is_call(&op) || is_tail_call(&op)) {
            calls.push(at as u32);
        }
    }
    Ok(calls)
}

/// Reports whether `op` calls a function in place of the frame.
pub fn is_tail_call(op: &Operator<'_>) -> bool {
    matches!(
        op,
        Operator::ReturnCall { .. } | Operator::ReturnCallIndirect { .. } | Operator::ReturnCallRef { .. }
    )
}

/// Adds the sites of a function to `sites`.
///
/// # Errors
/// Returns an error if the bytes differ from those that were validated.
pub fn add(cfg: &Cfg, body: &FunctionBody<'_>, all_traps: bool, sites: &mut Vec<Site>) -> Result<(), Error> {
    let mut reader = body.get_operators_reader()?;
    let mut blocks = cfg.blocks.iter().zip(0..).peekable();
    let mut ops = 0;
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        let at = at as u32;
        while blocks.next_if(|(block, _)| block.limit <= at).is_some() {
            ops = 0;
        }
        let Some(&(block, number)) = blocks.peek() else { break };
        if at < block.start {
            continue;
        }
        ops += u32::from(!is_structure(&op));
        if is_site(&op, all_traps) {
            sites.push(Site { func: cfg.func, block: number, offset: at, ops });
        }
    }
    Ok(())
}
