//! The general registers that calls read and write.
//!
//! These sets follow from Cranelift's calling conventions, which may change in any version: the tests here compile
//! functions with Cranelift, so that a version with other conventions is noticed.

use super::Registers;

/// `rax`: the result register of functions with one result.
const RESULT: Registers = 1 << 0;

/// The callee-saved registers: `rbx`, `rsp`, `rbp` and `r12` to `r15`.
pub(super) const PRESERVED: Registers = 1 << 3 | 1 << 4 | 1 << 5 | 0xf << 12;

/// The registers that callers may read behind a return with at most one result.
pub(super) const KEPT_OR_RESULT: Registers = RESULT | PRESERVED;

/// The registers that neither hold arguments nor are callee-saved: `rax`, `r10` and `r11`. Their values from before a
/// call are dead.
pub(super) const DEAD_BEHIND_CALLS: Registers = RESULT | 1 << 10 | 1 << 11;

#[cfg(test)]
mod tests {
    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature, Type, Value, types};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
    use iced_x86::{
        Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
    };

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    const CONVENTIONS: [CallConv; 2] = [CallConv::Tail, CallConv::SystemV];

    /// What stands beside integers in lists of parameters, or is a result.
    const KINDS: [Type; 5] = [types::I64, types::I32, types::F32, types::F64, types::I8X16];

    fn signature(convention: CallConv, params: &[Type], results: &[Type]) -> Signature {
        let of = |all: &[Type]| all.iter().copied().map(AbiParam::new).collect();
        let mut signature = Signature::new(convention);
        (signature.params, signature.returns) = (of(params), of(results));
        signature
    }

    /// Returns the types of `count` integers, each with a value of another kind behind it.
    fn mixed(kind: Type, count: usize) -> Vec<Type> {
        [types::I64, kind].into_iter().cycle().take(2 * count).collect()
    }

    /// Compiles a function with parameters, and a result of the first's type, whose body `build` writes.
    fn code(
        convention: CallConv,
        params: &[Type],
        build: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]) -> Value,
    ) -> Vec<Instruction> {
        let mut context = Context::new();
        context.func.signature = signature(convention, params, &params[..1]);
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let params = builder.block_params(entry).to_vec();
        let result = build(&mut builder, &params);
        builder.ins().return_(&[result]);
        builder.seal_all_blocks();
        let isa = isa::rest(target::plain(), &CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        let code = context.compile(&*isa, &mut ControlPlane::default()).expect("within limits");
        Decoder::new(64, code.code_buffer(), DecoderOptions::NONE).into_iter().collect()
    }

    /// Returns the general registers that instructions read before writing them.
    fn read(insts: &[Instruction]) -> Registers {
        let mut usage = InstructionInfoFactory::new();
        let (mut read, mut written) = (0, 0);
        for inst in insts {
            let used = usage.info(inst).used_registers().to_vec();
            let general = used.iter().filter(|used| used.register().is_gpr());
            let set = |register: Register| 1 << register.full_register().number();
            let (mut reads, mut writes) = (0, 0);
            for used in general {
                match used.access() {
                    OpAccess::Write => writes |= set(used.register()),
                    OpAccess::None | OpAccess::NoMemAccess => {}
                    _ => reads |= set(used.register()),
                }
            }
            read |= reads & !written;
            written |= writes;
        }
        read
    }

    /// Stores all values, so that the function uses them.
    fn store(builder: &mut FunctionBuilder<'_>, at: Value, values: &[Value]) {
        for (index, &value) in values.iter().enumerate() {
            builder.ins().store(MemFlagsData::trusted(), value, at, 16 * index as i32);
        }
    }

    /// The cases: each convention with each kind of value.
    fn cases() -> impl Iterator<Item = (CallConv, Type)> {
        CONVENTIONS.into_iter().flat_map(|convention| KINDS.map(|kind| (convention, kind)))
    }

    #[test]
    fn arguments_are_in_no_register_that_is_dead_behind_calls() {
        for (convention, kind) in cases() {
            let used = code(convention, &mixed(kind, 12), |builder, params| {
                store(builder, params[0], params);
                params[0]
            });
            // The prologue also reads the callee-saved registers that it saves.
            let arguments = read(&used) & !PRESERVED;
            assert!(arguments.count_ones() >= 6, "{convention}, {kind}: {arguments:#x}");
            assert_eq!(arguments & DEAD_BEHIND_CALLS, 0, "{convention}, {kind}: {arguments:#x}");
        }
    }

    #[test]
    fn behind_a_call_there_are_a_result_and_what_callees_preserve() {
        for (convention, kind) in cases() {
            let insts = code(convention, &mixed(kind, 6), |builder, params| {
                let callee = builder.import_signature(signature(convention, &mixed(kind, 1), &[kind]));
                let call = builder.ins().call_indirect(callee, params[0], &params[..2]);
                let result = builder.inst_results(call)[0];
                store(builder, params[2], &[&[result], params].concat());
                params[0]
            });
            let call = insts.iter().position(|inst| inst.flow_control() == FlowControl::IndirectCall);
            let behind = read(&insts[call.expect("a call") + 1..]);
            assert_eq!(behind & !KEPT_OR_RESULT, 0, "{convention}, {kind}: {behind:#x}");
            // Other results are in vector registers.
            let result = if kind.is_int() { RESULT } else { 0 };
            assert_eq!(behind & RESULT, result, "{convention}, {kind}: {behind:#x}");
        }
    }

    #[test]
    fn a_single_result_is_in_rax() {
        for (convention, kind) in cases() {
            // The address is the second parameter, so that the first has the type of the result.
            let insts = code(convention, &[kind, types::I64], |builder, params| {
                builder.ins().load(kind, MemFlagsData::trusted(), params[1], 8)
            });
            let load = insts.iter().find(|inst| inst.memory_displacement64() == 8).expect("a load");
            let to = load.op0_register().full_register();
            let is_result = if kind.is_int() { 1 << to.number() == RESULT } else { to == Register::ZMM0 };
            assert!(is_result, "{convention}, {kind}: {load}");
        }
    }
}
