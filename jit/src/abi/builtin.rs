//! Builtins: the runtime functions that machine code calls for what it does not do inline.
//!
//! They have the platform's C convention and take the vmctx first. Their addresses stand in a table that the vmctx
//! points to, in the order of [`Builtin::ALL`]. One whose result is a *status* returns 0 (i32) if it succeeded; the
//! caller traps with `TrapCode::Host` otherwise.

use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::CallConv;

const I32: Type = types::I32;
const I64: Type = types::I64;

macro_rules! builtins {
    ($($(#[doc = $doc:literal])* $name:ident($($param:ident),*) -> $result:ident;)*) => {
        /// One runtime function. Its documentation gives the parameters that follow the vmctx.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Builtin { $($(#[doc = $doc])* $name,)* }

        impl Builtin {
            /// All builtins, in table order.
            pub const ALL: &'static [Builtin] = &[$(Builtin::$name),*];

            /// CLIF signature, the vmctx included.
            pub fn signature(self, conv: CallConv) -> Signature {
                let (params, result): (&[Type], Type) = match self {
                    $(Builtin::$name => (&[$($param),*], $result),)*
                };
                let conv = if self == Builtin::Throw { CallConv::Tail } else { conv };
                let mut sig = Signature::new(conv);
                sig.params.push(AbiParam::new(I64));
                sig.params.extend(params.iter().map(|&t| AbiParam::new(t)));
                sig.returns.push(AbiParam::new(result));
                sig
            }
        }
    };
}

/// What the builtins that make memories and tables grow give, instead of an old size or -1, if the caller is to trap with
/// `TrapCode::Host`.
pub const GROW_TRAPS: i64 = -2;

builtins! {
    /// `(memory index, delta pages) -> old size in pages, -1 or [GROW_TRAPS]`. For a 32-bit memory the result's low half counts.
    MemoryGrow(I32, I64) -> I64;
    /// `(dst memory, src memory, dst, src, len) -> status`
    MemoryCopy(I32, I32, I64, I64, I64) -> I32;
    /// `(memory, dst, byte, len) -> status`
    MemoryFill(I32, I64, I32, I64) -> I32;
    /// `(memory, data segment, dst, src, len) -> status`
    MemoryInit(I32, I32, I64, I32, I32) -> I32;
    /// `(data segment) -> 0`
    DataDrop(I32) -> I32;
    /// `(table, delta, init value) -> old size, or -1`
    TableGrow(I32, I64, I64) -> I64;
    /// `(dst table, src table, dst, src, len) -> status`
    TableCopy(I32, I32, I64, I64, I64) -> I32;
    /// `(table, dst, value, len) -> status`
    TableFill(I32, I64, I64, I64) -> I32;
    /// `(table, element segment, dst, src, len) -> status`
    TableInit(I32, I32, I64, I32, I32) -> I32;
    /// `(element segment) -> 0`
    ElemDrop(I32) -> I32;
    /// `(function, block) -> code address or 0`: called by baseline code when a function turns out to be hot. Where
    /// `block` heads a loop, an address is that of a better version which resumes there; see
    /// [`super::store_context::TRANSFER`].
    Promote(I32, I32) -> I64;
    /// `(function, number) -> status`: counts a path in the instance's table.
    CountPath(I32, I64) -> I32;
    /// `(function, address of a row, key) -> status`: makes a row of the table of paths that of another path, see
    /// [`super::path_row`].
    TakeRow(I32, I64, I64) -> I32;
    /// `(first cell of the call, function reference) -> status`: an indirect call calls another function than the
    /// last time.
    CountTarget(I32, I64) -> I32;
    /// `(function, block, path register, 1 if it counts or 0) -> 0`: a path of code for bursts ends before a block in which
    /// there is a check.
    CutPath(I32, I32, I64, I64) -> I32;
    /// `(function, number, or -1 if it is entered, whether the path leaves it) -> status`: a path has ended, or a
    /// function begun, in a burst that is recorded.
    RecordBurst(I32, I64, I32) -> I32;
    /// `(byte offset of the instruction, address, bytes) -> status`: memory is touched in a burst that is recorded.
    RecordAccess(I32, I64, I64) -> I32;
    /// `(call record, size, count, block to be taken back or where the new one is to be told) -> status`: an allocator is
    /// entered, see [`crate::module::Allocator`].
    EnterAllocator(I64, I64, I64, I64) -> I32;
    /// `(call record, code of `NewBlock`, result) -> status`: it returns.
    LeaveAllocator(I64, I32, I64) -> I32;
    /// `(call record, function, type index, bytes) -> status`: an object has been made.
    CountObject(I64, I32, I32, I64) -> I32;
    /// `(function) -> trial bits`: a function is called of which two versions are timed. See [`super::trial`].
    BeginTrial(I32) -> I32;
    /// `() -> 0`: the call that is timed has returned.
    EndTrial() -> I32;
    /// `(tag, address of the values) -> exception, or 0 if too little stack is left`.
    MakeException(I32, I64) -> I64;
    /// `(exception, or 0 for that with which a host function has failed) -> 1`: goes on where it is caught, and comes back
    /// only if there is none, or too little stack. Of the `tail` convention, so that no register is kept for a handler.
    Throw(I64) -> I32;
    /// `(memory, address, bytes, expected, nanoseconds) -> 0 if it was woken, 1 if something else than expected is there,
    /// 2 if the time has passed, or 3 if it failed`. Time that is negative has no end.
    MemoryWait(I32, I64, I32, I64, I64) -> I32;
    /// `(memory, address, at most so many) -> how many were woken, or -1 if it failed`
    MemoryNotify(I32, I64, I32) -> I32;
    /// `(type id, length) -> object, or 0 if there is no room`: see [`super::object`]. May collect.
    Allocate(I32, I32) -> I64;
    /// `(type id, data segment, src, len) -> array, or 0 if it failed`
    ArrayNewData(I32, I32, I32, I32) -> I64;
    /// `(type id, element segment, src, len) -> array, or 0 if it failed`
    ArrayNewElem(I32, I32, I32, I32) -> I64;
    /// `(array, start, low and high half of the value, len) -> status`
    ArrayFill(I64, I32, I64, I64, I32) -> I32;
    /// `(dst array, dst, src array, src, len) -> status`
    ArrayCopy(I64, I32, I64, I32, I32) -> I32;
    /// `(array, data segment, dst, src, len) -> status`
    ArrayInitData(I64, I32, I32, I32, I32) -> I32;
    /// `(array, element segment, dst, src, len) -> status`
    ArrayInitElem(I64, I32, I32, I32, I32) -> I32;
}

impl Builtin {
    /// Byte offset of this builtin's address in the builtin table.
    pub fn offset(self) -> i32 {
        self as i32 * 8
    }
}
