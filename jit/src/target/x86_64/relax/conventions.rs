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
    use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature, Value, types};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
    use iced_x86::{
        Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
    };

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    const CONVENTIONS: [CallConv; 2] = [CallConv::Tail, CallConv::SystemV];

    fn signature(convention: CallConv, params: usize, results: usize) -> Signature {
        let of = |count| vec![AbiParam::new(types::I64); count];
        let mut signature = Signature::new(convention);
        (signature.params, signature.returns) = (of(params), of(results));
        signature
    }

    /// Compiles a function of `params` integers with one result, whose body `build` writes.
    fn code(
        convention: CallConv,
        params: usize,
        build: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]) -> Value,
    ) -> Vec<Instruction> {
        let mut context = Context::new();
        context.func.signature = signature(convention, params, 1);
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

    /// Adds up the parameters, so that the function uses them all.
    fn sum(builder: &mut FunctionBuilder<'_>, values: &[Value]) -> Value {
        values.iter().skip(1).fold(values[0], |sum, &value| builder.ins().iadd(sum, value))
    }

    #[test]
    fn arguments_are_in_no_register_that_is_dead_behind_calls() {
        for convention in CONVENTIONS {
            // The prologue also reads the callee-saved registers that it saves.
            let arguments = read(&code(convention, 12, sum)) & !PRESERVED;
            assert!(arguments.count_ones() >= 6, "{convention}: {arguments:#x}");
            assert_eq!(arguments & DEAD_BEHIND_CALLS, 0, "{convention}: {arguments:#x}");
        }
    }

    #[test]
    fn behind_a_call_there_are_a_result_and_what_callees_preserve() {
        for convention in CONVENTIONS {
            let insts = code(convention, 6, |builder, params| {
                let callee = builder.import_signature(signature(convention, 0, 1));
                let call = builder.ins().call_indirect(callee, params[0], &[]);
                let result = builder.inst_results(call)[0];
                let all = [&[result], params].concat();
                sum(builder, &all)
            });
            let call = insts.iter().position(|inst| inst.flow_control() == FlowControl::IndirectCall);
            let behind = read(&insts[call.expect("a call") + 1..]);
            assert_eq!(behind & !KEPT_OR_RESULT, 0, "{convention}: {behind:#x}");
            assert_eq!(behind & RESULT, RESULT, "{convention}: {behind:#x}");
        }
    }

    #[test]
    fn a_single_result_is_in_rax() {
        for convention in CONVENTIONS {
            let insts = code(convention, 1, |builder, params| {
                builder.ins().load(types::I64, MemFlagsData::trusted(), params[0], 8)
            });
            let loads = insts.iter().find(|inst| inst.memory_displacement64() == 8).expect("a load");
            assert_eq!(1 << loads.op0_register().number(), RESULT, "{convention}");
        }
    }
}
