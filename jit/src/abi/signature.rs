//! CLIF signatures of wasm functions and of the trampolines between wasm and host.

use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::CallConv;
use wasmparser::{FuncType, ValType};

/// The CLIF type that carries a wasm value.
pub fn clif_type(ty: ValType) -> Type {
    match ty {
        ValType::I32 => types::I32,
        ValType::I64 | ValType::Ref(_) => types::I64,
        ValType::F32 => types::F32,
        ValType::F64 => types::F64,
        ValType::V128 => types::I8X16,
    }
}

/// The signature of a wasm function: `tail`, `(vmctx, caller_vmctx, params…) -> results`.
pub fn wasm_signature(ty: &FuncType) -> Signature {
    let mut sig = Signature::new(CallConv::Tail);
    sig.params.extend([AbiParam::new(types::I64); 2]);
    sig.params.extend(ty.params().iter().map(|&t| AbiParam::new(clif_type(t))));
    sig.returns.extend(ty.results().iter().map(|&t| AbiParam::new(clif_type(t))));
    sig
}

/// Whether the results of a function of type `ty` are too many for so many registers of each class.
pub(crate) fn returns_in_memory(ty: &FuncType, registers: usize) -> bool {
    let is_vector = |ty: &&ValType| matches!(ty, ValType::F32 | ValType::F64 | ValType::V128);
    let vectors = ty.results().iter().filter(is_vector).count();
    vectors.max(ty.results().len() - vectors) > registers
}

/// A version of a function of type `ty` that resumes in its middle: `tail`, `(vmctx, caller_vmctx) -> results`. Locals
/// and operands come through the transfer buffer.
pub fn resume_signature(ty: &FuncType) -> Signature {
    let mut sig = wasm_signature(ty);
    sig.params.truncate(2);
    sig
}

/// The host-to-wasm trampoline:
/// `(callee vmctx, caller vmctx, code address, values, activation) -> 1 if it trapped`.
/// `values` holds the arguments and afterwards the results, 16 bytes each.
pub fn array_call_signature(conv: CallConv) -> Signature {
    let mut sig = Signature::new(conv);
    sig.params.extend([AbiParam::new(types::I64); 5]);
    sig.returns.push(AbiParam::new(types::I32));
    sig
}

/// A host function as the wasm-to-host trampoline calls it:
/// `(host context, caller vmctx, values) -> status`, 0 if it succeeded. `values` as above.
pub fn host_call_signature(conv: CallConv) -> Signature {
    let mut sig = Signature::new(conv);
    sig.params.extend([AbiParam::new(types::I64); 3]);
    sig.returns.push(AbiParam::new(types::I32));
    sig
}

/// What machine code calls where a check fires: `(store context)`. The place of the call says which check it is.
/// Afterwards `store_context::GO_ON` has the address of the version in which the frame goes on, or 0 if it stays. It
/// changes no register but that with the count of checks, if there is one, and does nothing if too little stack is
/// left for the host.
pub fn check_signature() -> Signature {
    preserving(&[types::I64])
}

/// The same where a check that counts in the pinned register fires: that holds the store's context instead, so that
/// no other register is needed, and afterwards the count.
pub fn check_pinned_signature() -> Signature {
    preserving(&[])
}

/// What a frame tail-calls that leaves its state in the transfer buffer and its vmctx in `store_context::LEAVING`, to
/// go on in the version that is in `store_context::GO_ON`, of the same type. The pinned register holds the store's
/// context. So no argument has to be in a register of its own, which Cranelift's register allocator would heed
/// wherever the argument lives.
pub fn leave_signature(ty: &FuncType) -> Signature {
    let mut sig = resume_signature(ty);
    sig.params.clear();
    sig
}

/// What machine code calls where a callee slot does not hold the record of the function that is entered: `(vmctx,
/// function index, its call sites, callee slot)`. Afterwards the slot does. The caller has made sure that there is
/// stack for the host. It changes no register, so that code that has to call it only seldom is none the worse.
pub fn find_record_signature() -> Signature {
    preserving(&[types::I64, types::I32, types::I32, types::I64])
}

/// Brings the readings of metrics in the store's context up to date: `(store context)`. It changes no register and
/// needs no stack but for the return address.
pub fn read_metrics_signature() -> Signature {
    preserving(&[types::I64])
}

/// Lets the simulated cache see an access that is not all in the line that was touched last: `(store context, address
/// in the host of the memory's byte 0, address in the memory, bytes)`. As above.
pub fn touch_lines_signature() -> Signature {
    preserving(&[types::I64; 4])
}

/// Lets the simulated predictor see a branch: `(store context, byte offset in the module, not 0 if it is taken, vmctx)`. As
/// above.
pub fn see_branch_signature() -> Signature {
    preserving(&[types::I64, types::I32, types::I32, types::I64])
}

/// Code that changes no register and has no results.
fn preserving(params: &[Type]) -> Signature {
    let mut sig = Signature::new(CallConv::PreserveAll);
    sig.params.extend(params.iter().copied().map(AbiParam::new));
    sig
}
