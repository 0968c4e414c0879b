//! The registers that calls read and preserve, by the callee's signature.
//!
//! Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2.3; Cranelift's
//! conventions: `tail` has the same argument registers, eight result registers, the same callee-saved registers, and
//! pops its arguments off the stack; `preserve_all` preserves all registers. The pinned register belongs to no
//! convention.

use cranelift_codegen::ir::{AbiParam, DebugTag, Function, Signature, Type};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{Final, MachBufferFinalized, MachDebugTagPos};

/// The numbers of argument registers, in the order in which they are used.
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
const RESULTS: [usize; 2] = [0, 2];
const TAIL_RESULTS: [usize; 8] = [0, 1, 2, 6, 7, 8, 9, 10];
/// The number of vector registers for arguments.
const VECTORS: usize = 8;

/// The convention of calls with the same signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Convention {
    /// General registers that the callee may read, by their numbers, and the number of vector registers.
    pub reads: (Vec<usize>, usize),
    /// Registers that the caller may read on return, in the same form.
    pub results: (Vec<usize>, usize),
    /// Whether the callee preserves all registers.
    pub preserves_all: bool,
    /// Bytes of arguments on the stack.
    pub stack: u32,
    /// Bytes that the callee takes off the stack.
    pub pops: u32,
}

impl Convention {
    /// Returns the convention of a call of which nothing is known: it has no stack arguments.
    pub fn unknown() -> Convention {
        let all = |registers: &[usize]| (registers.to_vec(), VECTORS);
        Convention { reads: all(&ARGUMENTS), results: all(&RESULTS), preserves_all: false, stack: 0, pops: 0 }
    }

    pub fn new(signature: &Signature) -> Convention {
        let is_tail = signature.call_conv == CallConv::Tail;
        let general: &[usize] = if is_tail { &TAIL_RESULTS } else { &RESULTS };
        let results = Assigned::new(&signature.returns, (general, if is_tail { VECTORS } else { 2 }), 0);
        // For results in memory, the first argument is a hidden pointer.
        let reads = Assigned::new(&signature.params, (&ARGUMENTS, VECTORS), (results.stack > 0).into());
        Convention {
            reads: (ARGUMENTS[..reads.general].to_vec(), reads.vectors),
            results: (general[..results.general].to_vec(), results.vectors),
            preserves_all: signature.call_conv == CallConv::PreserveAll,
            stack: reads.stack,
            pops: if is_tail { reads.stack } else { 0 },
        }
    }
}

/// The number of registers and stack bytes that arguments or results take.
struct Assigned {
    general: usize,
    vectors: usize,
    stack: u32,
}

impl Assigned {
    fn new(params: &[AbiParam], (general, vectors): (&[usize], usize), taken: usize) -> Assigned {
        let mut assigned = Assigned { general: taken, vectors: 0, stack: 0 };
        for param in params {
            let ty: Type = param.value_type;
            let (next, count) = if ty.is_float() || ty.is_vector() {
                (&mut assigned.vectors, vectors)
            } else {
                (&mut assigned.general, general.len())
            };
            if *next < count {
                *next += 1;
            } else {
                let bytes = ty.bytes().max(8);
                assigned.stack = assigned.stack.next_multiple_of(bytes) + bytes;
            }
        }
        assigned.stack = assigned.stack.next_multiple_of(16);
        assigned
    }
}

/// The conventions of all calls in a function, and of the function itself.
#[derive(Clone, Debug)]
pub(super) struct Conventions {
    own: Convention,
    /// The conventions by number of signature; the last one is that of unknown calls.
    all: Vec<Convention>,
    /// The number of the convention of each call, by its return address, and of each tail call, by its own; ascending.
    calls: Vec<(u32, u32)>,
    tail_calls: Vec<(u32, u32)>,
}

impl Conventions {
    /// Returns the conventions of code whose calls are unknown, and which has one result in a general register.
    #[cfg(test)]
    pub(super) fn unknown() -> Conventions {
        let unknown = Convention::unknown();
        let own = Convention { results: (vec![0], VECTORS), ..unknown.clone() };
        Conventions { all: vec![unknown], own, calls: Vec::new(), tail_calls: Vec::new() }
    }

    /// Tags calls with their signatures, so that these are known once the function is compiled.
    pub fn tag(func: &mut Function) -> Conventions {
        let blocks: Vec<_> = func.layout.blocks().collect();
        for block in blocks {
            let insts: Vec<_> = func.layout.block_insts(block).collect();
            for inst in insts {
                if let Some(signature) = func.dfg.call_signature(inst) {
                    func.debug_tags.set(inst, [DebugTag::User(signature.as_u32())]);
                }
            }
        }
        let all = func.dfg.signatures.values().map(Convention::new).chain([Convention::unknown()]).collect();
        Conventions { own: Convention::new(&func.signature), all, calls: Vec::new(), tail_calls: Vec::new() }
    }

    /// Finds the places of calls in the machine code.
    pub fn locate(&mut self, buffer: &MachBufferFinalized<Final>) {
        let mut returns: Vec<u32> = buffer.call_sites().map(|call| call.ret_addr).collect();
        returns.sort_unstable();
        for tags in buffer.debug_tags() {
            let &[DebugTag::User(signature)] = tags.tags else { continue };
            match tags.pos {
                // Code that belongs to the call may follow it.
                MachDebugTagPos::Post => {
                    let behind = returns.partition_point(|&back| back <= tags.offset);
                    self.calls.extend(behind.checked_sub(1).map(|call| (returns[call], signature)));
                }
                MachDebugTagPos::Pre => self.tail_calls.push((tags.offset, signature)),
            }
        }
        self.calls.sort_unstable();
        self.tail_calls.sort_unstable();
    }

    /// Returns the function's own convention.
    pub(super) fn own(&self) -> &Convention {
        &self.own
    }

    pub(super) fn get(&self, number: u32) -> &Convention {
        &self.all[number as usize]
    }

    /// Returns the number of the convention of the call that returns to `back`.
    pub fn of_call(&self, back: u32) -> u32 {
        let found = self.calls.binary_search_by_key(&back, |&(back, _)| back);
        found.map_or(self.all.len() as u32 - 1, |at| self.calls[at].1)
    }

    /// Returns the number of the convention of the tail call at `at`: that of the last tag at or before it.
    pub fn of_tail_call(&self, at: u32) -> u32 {
        let behind = self.tail_calls.partition_point(|&(place, _)| place <= at);
        behind.checked_sub(1).map_or(self.all.len() as u32 - 1, |at| self.tail_calls[at].1)
    }
}
