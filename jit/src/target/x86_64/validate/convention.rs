//! The registers that calls read and preserve, by the callee's signature.
//!
//! Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2.3; Cranelift's
//! conventions: `tail` has the same argument registers, eight result registers, the same callee-saved registers, and
//! pops its arguments off the stack; `preserve_all` preserves all registers. The pinned register belongs to no
//! convention.

use cranelift_codegen::ir::{
    AbiParam, DebugTag, ExceptionTableData, ExceptionTableItem, ExceptionTag, Function, SigRef, Signature,
    Type,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{Final, FinalizedMachExceptionHandler, MachBufferFinalized, MachDebugTagPos};

use super::machine;

/// The numbers of argument registers, in the order in which they are used.
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
const RESULTS: [usize; 2] = [0, 2];
const TAIL_RESULTS: [usize; 8] = [0, 1, 2, 6, 7, 8, 9, 10];
/// The number of vector registers for arguments.
const VECTORS: usize = 8;
/// The number of bits of a whole register.
const WHOLE: u8 = 64;

/// The convention of calls with the same signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Convention {
    /// The locations of the registers that the callee may read, and how many of their bits.
    pub reads: Vec<(usize, u8)>,
    /// Registers that the caller may read on return, in the same form.
    pub results: Vec<(usize, u8)>,
    /// The places of arguments on the stack, and how many of their bits the callee may read. Empty if only stores there
    /// are compared.
    pub on_stack: Vec<(u32, u8)>,
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
        let vectors = (0..VECTORS).map(|number| (machine::VECTORS + number, WHOLE));
        let all = |registers: &[usize]| {
            registers.iter().map(|&register| (register, WHOLE)).chain(vectors.clone()).collect()
        };
        Convention {
            reads: all(&ARGUMENTS),
            results: all(&RESULTS),
            on_stack: Vec::new(),
            preserves_all: false,
            stack: 0,
            pops: 0,
        }
    }

    /// Returns the convention of a signature, by which whole registers are read.
    pub fn new(signature: &Signature) -> Convention {
        let mut convention = Convention::exact(signature);
        convention.reads.iter_mut().chain(&mut convention.results).for_each(|(_, bits)| *bits = WHOLE);
        convention.on_stack.clear();
        convention
    }

    /// Returns the convention of a signature, by which only the bits of arguments and results are read. Bits above an
    /// integer's or a float's are unspecified.
    pub fn exact(signature: &Signature) -> Convention {
        let is_tail = signature.call_conv == CallConv::Tail;
        let general: &[usize] = if is_tail { &TAIL_RESULTS } else { &RESULTS };
        let results = Assigned::new(&signature.returns, (general, if is_tail { VECTORS } else { 2 }), 0);
        // For results in memory, the first argument is a hidden pointer.
        let reads = Assigned::new(&signature.params, (&ARGUMENTS, VECTORS), (results.stack > 0).into());
        let hidden = (results.stack > 0).then_some((ARGUMENTS[0], WHOLE));
        Convention {
            reads: hidden.into_iter().chain(reads.registers).collect(),
            results: results.registers,
            on_stack: reads.on_stack,
            preserves_all: signature.call_conv == CallConv::PreserveAll,
            stack: reads.stack,
            pops: if is_tail { reads.stack } else { 0 },
        }
    }
}

/// Tags the landings of a call with its signature: the tag of the call itself goes if the call falls through to the code
/// behind it.
fn tag_landings(table: &mut ExceptionTableData) {
    let signature = table.signature();
    let tagged = |item| match item {
        ExceptionTableItem::Default(to) => {
            ExceptionTableItem::Tag(ExceptionTag::from_u32(signature.as_u32()), to)
        }
        other => other,
    };
    let items: Vec<ExceptionTableItem> = table.items().map(tagged).collect();
    *table = ExceptionTableData::new(signature, *table.normal_return(), items);
}

/// The places that arguments or results take, with their numbers of bits: in registers, and on the stack.
struct Assigned {
    registers: Vec<(usize, u8)>,
    on_stack: Vec<(u32, u8)>,
    /// Bytes on the stack.
    stack: u32,
}

impl Assigned {
    fn new(params: &[AbiParam], (general, vectors): (&[usize], usize), taken: usize) -> Assigned {
        let mut assigned = Assigned { registers: Vec::new(), on_stack: Vec::new(), stack: 0 };
        let (mut general, mut vectors) = (general.iter().copied().skip(taken), 0..vectors);
        for param in params {
            let ty: Type = param.value_type;
            let register = match ty.is_float() || ty.is_vector() {
                true => vectors.next().map(|number| machine::VECTORS + number),
                false => general.next(),
            };
            let bits = ty.bits().min(WHOLE.into()) as u8;
            match register {
                Some(register) => assigned.registers.push((register, bits)),
                None => {
                    let bytes = ty.bytes().max(8);
                    let place = assigned.stack.next_multiple_of(bytes);
                    assigned.on_stack.push((place, bits));
                    assigned.stack = place + bytes;
                }
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
        let vectors = (0..VECTORS).map(|number| (machine::VECTORS + number, WHOLE));
        let own =
            Convention { results: [(0, WHOLE)].into_iter().chain(vectors).collect(), ..unknown.clone() };
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
                if let Some(table) = func.dfg.insts[inst].exception_table() {
                    tag_landings(&mut func.dfg.exception_tables[table]);
                }
            }
        }
        let all = func.dfg.signatures.values().map(Convention::new).chain([Convention::unknown()]).collect();
        Conventions { own: Convention::new(&func.signature), all, calls: Vec::new(), tail_calls: Vec::new() }
    }

    /// Returns the conventions of a function's signatures, none of whose calls is known yet. Only the bits of arguments
    /// and results are read.
    pub fn exact(func: &Function) -> Conventions {
        let all =
            func.dfg.signatures.values().map(Convention::exact).chain([Convention::unknown()]).collect();
        Conventions {
            own: Convention::exact(&func.signature),
            all,
            calls: Vec::new(),
            tail_calls: Vec::new(),
        }
    }

    /// Adds a call that returns to `back`, which is behind all others.
    pub fn add_call(&mut self, back: u32, signature: SigRef) {
        self.calls.push((back, signature.as_u32()));
    }

    /// Adds a tail call at `at`, which is behind all others.
    pub fn add_tail_call(&mut self, at: u32, signature: SigRef) {
        self.tail_calls.push((at, signature.as_u32()));
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
        for call in buffer.call_sites() {
            let signature = call.exception_handlers.iter().find_map(|handler| match handler {
                FinalizedMachExceptionHandler::Tag(signature, _) => Some(signature.as_u32()),
                _ => None,
            });
            self.calls.extend(signature.map(|signature| (call.ret_addr, signature)));
        }
        self.calls.sort_unstable();
        self.calls.dedup();
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
