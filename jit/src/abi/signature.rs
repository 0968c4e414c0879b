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

/// Reports whether a function of type `ty` returns more results than so many registers of each class hold.
pub(crate) fn returns_in_memory(ty: &FuncType, registers: usize) -> bool {
    let is_vector = |ty: &&ValType| matches!(ty, ValType::F32 | ValType::F64 | ValType::V128);
    let vectors = ty.results().iter().filter(is_vector).count();
    vectors.max(ty.results().len() - vectors) > registers
}

/// The signature of a version that resumes in the middle of a function of type `ty` (OSR):
/// `tail`, `(vmctx, caller_vmctx) -> results`. The OSR buffer holds the locals and operands.
pub fn resume_signature(ty: &FuncType) -> Signature {
    let mut sig = wasm_signature(ty);
    sig.params.truncate(2);
    sig
}

/// The host-to-wasm trampoline:
/// `(callee vmctx, caller vmctx, code address, values, activation) -> 1 if it trapped`.
/// `values` holds the arguments on entry and the results on return, 16 bytes each.
pub fn array_call_signature(conv: CallConv) -> Signature {
    let mut sig = Signature::new(conv);
    sig.params.extend([AbiParam::new(types::I64); 5]);
    sig.returns.push(AbiParam::new(types::I32));
    sig
}

/// The signature of a host function as the wasm-to-host trampoline calls it:
/// `(host context, caller vmctx, values) -> status`, 0 on success. `values` is as in [`array_call_signature`].
pub fn host_call_signature(conv: CallConv) -> Signature {
    let mut sig = Signature::new(conv);
    sig.params.extend([AbiParam::new(types::I64); 3]);
    sig.returns.push(AbiParam::new(types::I32));
    sig
}

/// The signature of the code that runs when a check fires: `(store context)`. The return address identifies the check.
/// On return, `store_context::GO_ON` holds the address of the version that continues the frame, or 0 if the frame
/// stays. The code changes no register except the one with the count of checks, if there is one, and does nothing if
/// too little stack is left for the host.
pub fn check_signature() -> Signature {
    preserving(&[types::I64])
}

/// The signature of the code that runs when a check that counts in the pinned register fires. The pinned register holds
/// the store's context on entry, so that no other register is needed, and the count of checks on return.
pub fn check_pinned_signature() -> Signature {
    preserving(&[])
}

/// The signature of the tail call by which a frame leaves for another version. The frame has stored its state in the
/// OSR buffer and its vmctx in `store_context::LEAVING`; `store_context::GO_ON` holds the address of the version,
/// of the same type, and the pinned register holds the store's context. No argument therefore needs a register of its
/// own, which would constrain Cranelift's register allocator over the argument's whole live range.
pub fn leave_signature(ty: &FuncType) -> Signature {
    let mut sig = resume_signature(ty);
    sig.params.clear();
    sig
}

/// The signature of the code that runs when a callee slot does not hold the record of the entered function: `(vmctx,
/// function index, its call sites, callee slot)`. On return the slot holds it. The caller has made sure that there is
/// stack for the host. The code changes no register, so that a rare call costs its caller nothing else.
pub fn find_record_signature() -> Signature {
    preserving(&[types::I64, types::I32, types::I32, types::I64])
}

/// The signature of the code that updates the metric readings in the store's context, for which it shows simulations what
/// they have yet to see: `(store context)`. The code changes no register and needs no stack beyond the return address.
pub fn read_metrics_signature() -> Signature {
    preserving(&[types::I64])
}

/// Returns the signature of code that changes no register and has no results.
fn preserving(params: &[Type]) -> Signature {
    let mut sig = Signature::new(CallConv::PreserveAll);
    sig.params.extend(params.iter().copied().map(AbiParam::new));
    sig
}
