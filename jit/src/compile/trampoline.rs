//! Trampolines: the code between host and wasm.

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    BlockArg, BlockCall, ExceptionTableData, ExceptionTableItem, InstBuilder, MemFlagsData, Signature,
    StackSlotData, StackSlotKind, Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use wasmparser::{FuncType, ValType};

use super::{Output, prepare};
use crate::CompileError;
use crate::abi::{
    Builtin, LOOP_ENTRY, TrapCode, activation, array_call_signature, clif_type, host_call_signature,
    host_context, resume_signature, store_context, trial as trial_bits, value, vmctx, wasm_signature,
};
use crate::clif::{explicit_traps, trace, zero};
use crate::code::{MachineCode, Origins};
use crate::options::{CompilerOptions, Passes};
use crate::target;

/// Compiles the function that `build` writes, which does not trap.
fn compile(
    isa: &dyn TargetIsa,
    signature: Signature,
    build: impl FnOnce(&mut FunctionBuilder<'_>, Vec<Value>),
) -> Result<MachineCode, CompileError> {
    compile_trapping(isa, signature, None, build)
}

/// Compiles the function that `build` writes. If traps are explicit, `explicit` is the number of the parameter that is the
/// vmctx of an instance.
fn compile_trapping(
    isa: &dyn TargetIsa,
    signature: Signature,
    explicit: Option<usize>,
    build: impl FnOnce(&mut FunctionBuilder<'_>, Vec<Value>),
) -> Result<MachineCode, CompileError> {
    let mut context = Context::new();
    let mut builder_context = FunctionBuilderContext::new();
    context.func.signature = signature;
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let params = builder.block_params(entry).to_vec();
    let vmctx = explicit.map(|index| params[index]);
    build(&mut builder, params);
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
    if let Some(vmctx) = vmctx {
        let convention = isa.default_call_conv();
        explicit_traps::make_explicit(&mut context.func, 0, convention, vmctx)?;
    }
    prepare(0, &mut context, isa)?;
    let mut registers = regalloc2::Ctx::default();
    let origins = &Origins::default();
    let (target, passes) = (target::plain(), Passes::NONE);
    let output = Output {
        target,
        func: 0,
        origins,
        with_positions: false,
        passes,
        proofs: None,
        unproven: None,
        largest_frame: None,
    };
    output.generate(&mut context, &mut registers, isa)
}

fn load_values(builder: &mut FunctionBuilder<'_>, types: &[ValType], from: Value) -> Vec<Value> {
    let offsets = (0..).step_by(value::SIZE as usize);
    let mut load = |(&ty, offset): (&ValType, i32)| {
        builder.ins().load(clif_type(ty), MemFlagsData::trusted(), from, offset)
    };
    types.iter().zip(offsets).map(&mut load).collect()
}

fn store_values(builder: &mut FunctionBuilder<'_>, values: &[Value], to: Value) {
    for (&value, offset) in values.iter().zip((0..).step_by(value::SIZE as usize)) {
        builder.ins().store(MemFlagsData::trusted(), value, to, offset);
    }
}

/// Loads a cell of the store's context into the pinned register.
fn load_pinned(builder: &mut FunctionBuilder<'_>, store: Value, cell: i32) {
    let value = builder.ins().load(types::I64, MemFlagsData::trusted(), store, cell);
    builder.ins().set_pinned_reg(value);
}

/// Stores the pinned register to a cell of the store's context.
fn store_pinned(builder: &mut FunctionBuilder<'_>, store: Value, cell: i32) {
    let value = builder.ins().get_pinned_reg(types::I64);
    builder.ins().store(MemFlagsData::trusted(), value, store, cell);
}

/// Compiles the code described at [`array_call_signature`]. It fills the activation so that the signal handler can
/// continue at the handler, with this frame's stack and frame pointers: Cranelift keeps nothing in registers across an
/// exceptional edge.
///
/// If the pinned register holds a value of the store, it is loaded for wasm, and the host's value is restored at the
/// end; when wasm traps, the signal handler has stored the store's value.
pub(super) fn host_to_wasm(
    isa: &dyn TargetIsa,
    options: &CompilerOptions,
    ty: &FuncType,
) -> Result<MachineCode, CompileError> {
    compile(isa, array_call_signature(isa.default_call_conv()), |builder, params| {
        let [vmctx, caller, code, values, activation] = params[..] else { unreachable!("five parameters") };
        let returned = builder.create_block();
        let trapped = builder.create_block();
        let call_block = builder.create_block();
        builder.ins().jump(call_block, &[]);
        builder.switch_to_block(call_block);
        let trusted = MemFlagsData::trusted();
        let stack_pointer = builder.ins().get_stack_pointer(types::I64);
        let frame_pointer = builder.ins().get_frame_pointer(types::I64);
        let handler = builder.ins().get_exception_handler_address(types::I64, call_block, 0);
        builder.ins().store(trusted, stack_pointer, activation, activation::SP);
        builder.ins().store(trusted, frame_pointer, activation, activation::FP);
        builder.ins().store(trusted, handler, activation, activation::HANDLER);

        let pinned = options.pinned_cell().map(|cell| {
            let of_host = builder.ins().get_pinned_reg(types::I64);
            let store = builder.ins().load(types::I64, trusted, vmctx, vmctx::STORE);
            load_pinned(builder, store, cell);
            (of_host, store, cell)
        });
        let mut args = vec![vmctx, caller];
        args.extend(load_values(builder, ty.params(), values));
        let signature = wasm_signature(ty);
        let results: Vec<Value> =
            signature.returns.iter().map(|r| builder.append_block_param(returned, r.value_type)).collect();
        let signature = builder.import_signature(signature);
        let normal: Vec<BlockArg> = (0..results.len() as u32).map(BlockArg::TryCallRet).collect();
        let pool = &mut builder.func.dfg.value_lists;
        let normal = BlockCall::new(returned, normal, pool);
        let exceptional = BlockCall::new(trapped, [], pool);
        let table = ExceptionTableData::new(signature, normal, [ExceptionTableItem::Default(exceptional)]);
        let table = builder.func.dfg.exception_tables.push(table);
        builder.ins().try_call_indirect(code, &args, table);

        builder.switch_to_block(returned);
        if let Some((of_host, store, cell)) = pinned {
            store_pinned(builder, store, cell);
            builder.ins().set_pinned_reg(of_host);
        }
        store_values(builder, &results, values);
        let zero = builder.ins().iconst(types::I32, 0);
        builder.ins().return_(&[zero]);
        builder.switch_to_block(trapped);
        if let Some((of_host, ..)) = pinned {
            builder.ins().set_pinned_reg(of_host);
        }
        let one = builder.ins().iconst(types::I32, 1);
        builder.ins().return_(&[one]);
    })
}

/// Compiles code that stands for two versions of function `func`, of type `ty`: the runtime chooses a version for each
/// call, and whether the call is timed. A call that is not timed leaves no frame behind.
pub(super) fn trial(
    isa: &dyn TargetIsa,
    ty: &FuncType,
    func: u32,
    versions: [u64; 2],
) -> Result<MachineCode, CompileError> {
    compile(isa, wasm_signature(ty), |builder, params| {
        let func = builder.ins().iconst(types::I32, i64::from(func));
        let bits = builtin(isa, builder, Builtin::BeginTrial, &[params[0], func]);
        let [before, after] = versions.map(|code| builder.ins().iconst(types::I64, code as i64));
        let is_after = builder.ins().band_imm_u(bits, i64::from(trial_bits::AFTER));
        let code = builder.ins().select(is_after, after, before);
        let is_timed = builder.ins().band_imm_u(bits, i64::from(trial_bits::TIMED));
        let (timed, plain) = (builder.create_block(), builder.create_block());
        builder.ins().brif(is_timed, timed, &[], plain, &[]);
        let signature = builder.import_signature(wasm_signature(ty));
        builder.switch_to_block(plain);
        builder.ins().return_call_indirect(signature, code, &params);
        builder.switch_to_block(timed);
        let call = builder.ins().call_indirect(signature, code, &params);
        let results = builder.inst_results(call).to_vec();
        builtin(isa, builder, Builtin::EndTrial, &params[..1]);
        builder.ins().return_(&results);
    })
}

/// Makes a frame whose state is in the OSR buffer enter a function's code at the loop header of this number.
pub(super) fn loop_entry(
    isa: &dyn TargetIsa,
    ty: &FuncType,
    (code, number): (u64, usize),
) -> Result<MachineCode, CompileError> {
    compile(isa, resume_signature(ty), |builder, params| {
        let signature = wasm_signature(ty);
        let mut args = vec![params[0], builder.ins().iconst(types::I64, LOOP_ENTRY + number as i64)];
        // The callee does not read these arguments.
        args.extend(ty.params().iter().map(|&param| zero(builder, clif_type(param))));
        let code = builder.ins().iconst(types::I64, code as i64);
        let signature = builder.import_signature(signature);
        builder.ins().return_call_indirect(signature, code, &args);
    })
}

/// Makes a frame without a profiling state enter burst code that expects one: its path begins with the given register,
/// if there is one, and nothing is measured yet.
pub(super) fn burst_entry(
    isa: &dyn TargetIsa,
    options: &CompilerOptions,
    ty: &FuncType,
    (path, code): (Option<i64>, u64),
) -> Result<MachineCode, CompileError> {
    let signature = resume_signature(ty);
    compile(isa, signature.clone(), |builder, params| {
        let trusted = MemFlagsData::trusted();
        let store = builder.ins().load(types::I64, trusted, params[0], vmctx::STORE);
        let path = path.map(|first| (store_context::PATH, first));
        let sums = (0..options.metrics).map(|metric| (store_context::measured(metric), 0));
        for (cell, first) in path.into_iter().chain(sums) {
            let first = builder.ins().iconst(types::I64, first);
            builder.ins().store(trusted, first, store, cell);
        }
        let code = builder.ins().iconst(types::I64, code as i64);
        let signature = builder.import_signature(signature);
        builder.ins().return_call_indirect(signature, code, &params);
    })
}

/// Calls a builtin; the first of `args` is the vmctx.
fn builtin(
    isa: &dyn TargetIsa,
    builder: &mut FunctionBuilder<'_>,
    builtin: Builtin,
    args: &[Value],
) -> Value {
    let trusted = MemFlagsData::trusted();
    let table = builder.ins().load(types::I64, trusted, args[0], vmctx::BUILTINS);
    let code = builder.ins().load(types::I64, trusted, table, builtin.offset());
    let signature = builder.import_signature(builtin.signature(isa.default_call_conv()));
    let call = builder.ins().call_indirect(signature, code, args);
    builder.inst_results(call)[0]
}

/// Compiles a wasm function that calls the host function of its [`host_context`]: it leaves its frame pointer for
/// backtraces, refuses to start when too little stack is left for the host, and traps when the host reports failure.
pub(super) fn wasm_to_host(
    isa: &dyn TargetIsa,
    options: &CompilerOptions,
    ty: &FuncType,
) -> Result<MachineCode, CompileError> {
    let explicit = options.explicit_traps.then_some(1);
    compile_trapping(isa, wasm_signature(ty), explicit, |builder, params| {
        let (context, caller) = (params[0], params[1]);
        let trusted = MemFlagsData::trusted();
        let store = builder.ins().load(types::I64, trusted, caller, vmctx::STORE);
        let frame_pointer = builder.ins().get_frame_pointer(types::I64);
        builder.ins().store(trusted, frame_pointer, store, store_context::EXIT_FP);
        let limit = builder.ins().load(types::I64, trusted, store, store_context::STACK_LIMIT);
        let stack_pointer = builder.ins().get_stack_pointer(types::I64);
        let low = builder.ins().icmp(IntCC::UnsignedLessThan, stack_pointer, limit);
        builder.ins().trapnz(low, TrapCode::Host.to_clif());

        let count = ty.params().len().max(ty.results().len()).max(1) as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, count * value::SIZE, 4);
        let slot = builder.create_sized_stack_slot(slot);
        let values = builder.ins().stack_addr(types::I64, slot, 0);
        store_values(builder, &params[2..], values);
        let signature = builder.import_signature(host_call_signature(isa.default_call_conv()));
        let func = builder.ins().load(types::I64, trusted, context, host_context::FUNC);
        if let Some(cell) = options.pinned_cell() {
            store_pinned(builder, store, cell);
        }
        let call = builder.ins().call_indirect(signature, func, &[context, caller, values]);
        if let Some(cell) = options.pinned_cell() {
            load_pinned(builder, store, cell);
        }
        let status = builder.inst_results(call)[0];
        let (failed, succeeded) = (builder.create_block(), builder.create_block());
        builder.ins().brif(status, failed, &[], succeeded, &[]);
        builder.switch_to_block(failed);
        builder.set_cold_block(failed);
        // The builtin returns if the function failed with something other than an exception.
        let none = builder.ins().iconst(types::I64, 0);
        self::builtin(isa, builder, Builtin::Throw, &[caller, none]);
        builder.ins().trap(TrapCode::Host.to_clif());
        builder.switch_to_block(succeeded);
        if options.traced {
            // The trace records that the call of the host has returned.
            let (origins, returned) = (&mut Origins::default(), trace::Bits::Constant { value: 0, bits: 1 });
            trace::append(builder, origins, options.has_pinned_register, returned, |_| store);
        }
        let results = load_values(builder, ty.results(), values);
        builder.ins().return_(&results);
    })
}
