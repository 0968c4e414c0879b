//! Builtins: the runtime functions that machine code calls for operations it does not inline.
//!
//! A builtin uses the platform's C calling convention and takes the vmctx as its first parameter. The vmctx points to a
//! table of builtin addresses in the order of [`Builtin::ALL`]. A builtin that returns a *status* returns 0 (i32) on
//! success; otherwise the caller traps with `TrapCode::Host`.

use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::CallConv;

const I32: Type = types::I32;
const I64: Type = types::I64;

macro_rules! builtins {
    ($($(#[doc = $doc:literal])* $name:ident($($param:ident),*) -> $result:ident;)*) => {
        /// A runtime function. The documentation of each variant lists the parameters after the vmctx.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Builtin { $($(#[doc = $doc])* $name,)* }

        impl Builtin {
            /// All builtins, in table order.
            pub const ALL: &'static [Builtin] = &[$(Builtin::$name),*];

            /// Returns the CLIF signature, including the vmctx parameter.
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

/// The result of a grow builtin, in place of an old size or -1, that tells the caller to trap with `TrapCode::Host`.
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
    /// `(function, block) -> code address or 0`: baseline code reports that a function is hot. If `block` is a loop
    /// header, a nonzero result is the address of a better version that resumes there by OSR; see
    /// [`super::store_context::OSR_BUFFER`].
    Promote(I32, I32) -> I64;
    /// `(function, number) -> status`: counts a path in the instance's path table.
    CountPath(I32, I64) -> I32;
    /// `(function, address of a row, key) -> status`: assigns a row of the path table to another path, see
    /// [`super::path_row`].
    TakeRow(I32, I64, I64) -> I32;
    /// `(first cell of the call, function reference) -> status`: reports that the callee of an indirect call differs
    /// from the previous callee.
    CountTarget(I32, I64) -> I32;
    /// `(function, block, path register, 1 if it counts or 0) -> 0`: ends a path of burst code before a block that
    /// contains a check.
    CutPath(I32, I32, I64, I64) -> I32;
    /// `(function, number, or -1 if it is entered, whether the path leaves it) -> status`: reports the end of a path,
    /// or the entry of a function, in a recorded burst.
    RecordBurst(I32, I64, I32) -> I32;
    /// `(byte offset of the instruction, address, bytes) -> status`: reports a memory access in a recorded burst.
    RecordAccess(I32, I64, I64) -> I32;
    /// `(call record) -> status`: reports the first entry of an allocator in a context, of which the runtime fills in
    /// [`super::call_record::allocates`].
    EnterAllocator(I64) -> I32;
    /// `(call record, its [`super::call_record::allocates`], code of `NewBlock`, result) -> status`: reports the return of
    /// an allocator, whose request is at [`super::store_context::ASKED`]: size, count, and the freed block or the address
    /// that receives the new one, see [`crate::module::Allocator`].
    LeaveAllocator(I64, I64, I32, I64) -> I32;
    /// `(call record, function, type index, bytes) -> status`: reports the allocation of an object.
    CountObject(I64, I32, I32, I64) -> I32;
    /// `(function) -> trial bits`: reports a call of a function with two timed versions. See [`super::trial`].
    BeginTrial(I32) -> I32;
    /// `() -> 0`: reports the return of the timed call.
    EndTrial() -> I32;
    /// `(tag, address of the values) -> exception, or 0 if too little stack is left`: creates an exception.
    MakeException(I32, I64) -> I64;
    /// `(exception, or 0 for the one with which a host function failed) -> 1`: continues at the handler. Returns only
    /// if no handler exists, or if too little stack is left. Uses the `tail` convention, so that no register is
    /// preserved for a handler.
    Throw(I64) -> I32;
    /// `(memory, address, bytes, expected, nanoseconds) -> 0 if woken, 1 if the value differs from the expected one, 2
    /// if the wait timed out, or 3 if it failed`. A negative timeout waits forever.
    MemoryWait(I32, I64, I32, I64, I64) -> I32;
    /// `(memory, address, maximum number of waiters) -> number of woken waiters, or -1 if it failed`
    MemoryNotify(I32, I64, I32) -> I32;
    /// `(type id, length) -> object, or 0 if there is no room`: see [`super::object`]. May run a garbage collection.
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
    /// `() -> never`: ends the wasm code as the trap does whose site is the next one in the calling code, where code must
    /// not fault.
    Raise() -> I32;
    /// `() -> 0 to continue, 1 to trap with TrapCode::Interrupt, 2 to trap with TrapCode::Host`: a poll found a request,
    /// where code must not fault.
    Poll() -> I32;
}

impl Builtin {
    /// Returns the byte offset of this builtin's address in the builtin table.
    pub fn offset(self) -> i32 {
        self as i32 * 8
    }
}
