//! The operand stacks around the translated inlined calls.

use cranelift_codegen::ir::Type;
use hashbrown::HashMap;
use wasmparser::ValType;

use crate::abi::clif_type;
use crate::cfg::StackId;

/// The operand stack in the middle of a block: what is left of its entry stack, and the types of the operands above.
#[derive(Clone, Debug)]
pub struct Operands {
    pub below: StackId,
    pub above: Vec<Type>,
}

/// The operand stacks around the translated inlined calls.
///
/// **Invariant**: a frame has a base, and its call has operands, once its call is translated, and so before any of its
/// nodes is.
#[derive(Debug, Default)]
pub struct AroundCalls {
    /// By frame and byte offset of the call: the operands before it, including its arguments, and those behind it.
    operands: HashMap<(u32, u32), (Operands, Operands)>,
    /// By frame, from the first inlined call on: the number of operands below its own.
    bases: Vec<u32>,
}

impl AroundCalls {
    /// Returns the number of callers' operands below those of a frame.
    pub fn base(&self, frame: u32) -> u32 {
        frame.checked_sub(1).map_or(0, |call| self.bases[call as usize])
    }

    /// Sets the number of callers' operands below those of an inlined frame.
    pub fn set_base(&mut self, frame: u32, base: u32) {
        let call = frame as usize - 1;
        self.bases.resize(self.bases.len().max(call + 1), 0);
        self.bases[call] = base;
    }

    /// Records the operands before a call, by frame and byte offset, and those behind it, without results.
    pub fn record(&mut self, call: (u32, u32), before: Operands, behind: Operands) {
        self.operands.insert(call, (before, behind));
    }

    /// Returns the operands before a call, if it is translated.
    pub fn before(&self, call: (u32, u32)) -> Option<Operands> {
        Some(self.operands.get(&call)?.0.clone())
    }

    /// Returns the operands behind a translated call with these results.
    ///
    /// # Panics
    /// If the call is not translated.
    pub fn behind(&self, call: (u32, u32), results: &[ValType]) -> Operands {
        let (_, mut operands) = self.operands[&call].clone();
        operands.above.extend(results.iter().map(|&ty| clif_type(ty)));
        operands
    }
}
