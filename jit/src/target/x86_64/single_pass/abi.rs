//! The places of a call's arguments and results.
//!
//! Source: Cranelift's conventions for x86-64, which the code of both code generators follows: System V's, and `tail`,
//! whose callee pops its arguments off the stack, and which has more result registers. Oracle: code of the two
//! generators calls each other in all tests of baseline code.

use cranelift_codegen::ir::{AbiParam, ArgumentExtension, ArgumentPurpose, Signature};
use cranelift_codegen::isa::CallConv;
use smallvec::SmallVec;

use super::Unsupported;
use super::assembler::{R8, R9, R10, RAX, RCX, RDI, RDX, RSI, Reg};

/// The place of one argument or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Reg(Reg),
    /// Bytes above the stack pointer at the call.
    Stack(u32),
}

/// The places of the arguments or results of a call.
pub(super) struct Places {
    pub all: SmallVec<[Place; 8]>,
    /// Bytes on the stack, a multiple of 16.
    pub stack: u32,
}

const ARGUMENTS: [Reg; 6] = [RDI, RSI, RDX, RCX, R8, R9];
const TAIL_RESULTS: [Reg; 8] = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10];
const RESULTS: [Reg; 2] = [RAX, RDX];

/// Returns the places of arguments. Refuses signatures with results in memory, whose hidden pointer would move all
/// arguments.
pub(super) fn arguments(signature: &Signature) -> Result<Places, Unsupported> {
    results(signature)?;
    assign(&signature.params, &ARGUMENTS, 8)
}

/// Returns the places of results, all of which are in registers.
pub(super) fn results(signature: &Signature) -> Result<Places, Unsupported> {
    let places = match signature.call_conv {
        CallConv::Tail => assign(&signature.returns, &TAIL_RESULTS, 8)?,
        _ => assign(&signature.returns, &RESULTS, 2)?,
    };
    if places.stack == 0 { Ok(places) } else { Err(Unsupported) }
}

fn assign(params: &[AbiParam], general: &[Reg], vectors: u8) -> Result<Places, Unsupported> {
    let (mut next_general, mut next_vector) = (general.iter(), 0..vectors);
    let mut places = Places { all: SmallVec::new(), stack: 0 };
    for param in params {
        let ty = param.value_type;
        let is_plain = param.extension == ArgumentExtension::None && param.purpose == ArgumentPurpose::Normal;
        if !is_plain || ty.bits() > 64 || ty.is_vector() {
            return Err(Unsupported);
        }
        let reg = match ty.is_float() {
            true => next_vector.next().map(Reg::xmm),
            false => next_general.next().copied(),
        };
        let on_stack = Place::Stack(places.stack);
        places.stack += if reg.is_none() { 8 } else { 0 };
        places.all.push(reg.map_or(on_stack, Place::Reg));
    }
    places.stack = places.stack.next_multiple_of(16);
    Ok(places)
}
