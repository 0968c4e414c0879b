//! Keeps 32-bit indices that are extended to 64 bits in 64-bit form from their source on.
//!
//! Wasm computes addresses in 32 bits, and each access extends one. Most instructions of x86-64 zero-extend their
//! results, and Cranelift knows that of the previous instruction. It does not know it of block parameters, such as the
//! index that a loop counts up: each access of each round first moves the index to another register. So this pass makes
//! such parameters 64 bits wide, and users of the lower half take it at no cost; loads extend their result; and where a
//! value is known in both widths, one register serves for both.
//!
//! Input: an optimised function. Output: the same function with other types. Invariant: a 64-bit value that stands for
//! a 32-bit one has zeros in its upper half. Example: `block1(v1: i32): v2 = uextend.i64 v1; …; v3 = iadd_imm v1, 4;
//! brif v4, block1(v3), …` becomes `block1(v2: i64): v1 = ireduce.i32 v2; …; v3 = iadd_imm v1, 4; v5 = uextend.i64 v3;
//! brif v4, block1(v5), …`.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, InstBuilder, InstructionData, Opcode, Value, types};
use cranelift_codegen::loop_analysis::LoopAnalysis;

use super::params::for_each_arg;
use crate::clif::{replace, resolve_aliases};

/// The assumed number of rounds of a loop, as a power of two.
const ROUNDS: u32 = 3;
/// Deeper loops count as loops of this depth.
const DEEPEST: usize = 8;

/// For each 32-bit value, the 64-bit value that stands for it.
type Wide = SecondaryMap<Value, Option<Value>>;

/// Widens the values for which it pays.
pub(super) fn widen(context: &mut Context) {
    let func = &mut context.func;
    if extensions(func).next().is_none() {
        return;
    }
    let mut params = Params::new(func, &context.loop_analysis);
    params.choose(func);
    let mut wide = Wide::new();
    widen_loads(func, &params, &mut wide);
    widen_params(func, &params, &mut wide);
    let wider = extensions(func).filter_map(|(inst, narrow)| Some((inst, wide[narrow]?)));
    for (inst, value) in wider.collect::<Vec<_>>() {
        replace(func, inst, value);
    }
    resolve_aliases(func);
    share_extensions(func, &context.domtree);
    resolve_aliases(func);
}

fn insts(func: &Function) -> impl Iterator<Item = Inst> {
    func.layout.blocks().flat_map(|block| func.layout.block_insts(block))
}

/// Returns the instructions that zero-extend a 32-bit value, with that value.
fn extensions(func: &Function) -> impl Iterator<Item = (Inst, Value)> {
    insts(func).filter_map(|inst| Some((inst, extended(func, inst)?)))
}

/// Returns the 32-bit value that an instruction zero-extends.
fn extended(func: &Function, inst: Inst) -> Option<Value> {
    let InstructionData::Unary { opcode: Opcode::Uextend, arg } = func.dfg.insts[inst] else { return None };
    let is_wide = func.dfg.value_type(func.dfg.first_result(inst)) == types::I64;
    (is_wide && func.dfg.value_type(arg) == types::I32).then_some(arg)
}

/// The 32-bit block parameters, with the cost of extending them.
struct Params {
    all: Vec<Param>,
    of_value: SecondaryMap<Value, Option<u32>>,
}

struct Param {
    value: Value,
    block: Block,
    /// How often the parameter is extended.
    uses: u64,
    /// The arguments passed to the parameter, with their frequencies.
    sources: Vec<(Value, u64)>,
    /// Whether the parameter may become 64 bits wide: it may not if a call passes its result.
    may_be_wide: bool,
    /// Whether the parameter becomes 64 bits wide.
    is_wide: bool,
}

impl Params {
    fn new(func: &Function, loops: &LoopAnalysis) -> Params {
        let mut params = Params { all: Vec::new(), of_value: SecondaryMap::new() };
        // Parameters of the first block are the function's.
        for block in func.layout.blocks().skip(1) {
            for &value in func.dfg.block_params(block) {
                if func.dfg.value_type(value) == types::I32 {
                    params.of_value[value] = Some(params.all.len() as u32);
                    let (uses, sources) = (0, Vec::new());
                    params.all.push(Param { value, block, uses, sources, may_be_wide: true, is_wide: false });
                }
            }
        }
        for block in func.layout.blocks() {
            let weight = weight(func, loops, block);
            for inst in func.layout.block_insts(block) {
                if let Some(param) = extended(func, inst).and_then(|value| params.index(value)) {
                    params.all[param].uses += weight;
                }
            }
            for_each_arg(func, block, |param, arg| {
                let Some(param) = params.index(param).map(|at| &mut params.all[at]) else { return };
                match arg.as_value() {
                    Some(source) => param.sources.push((source, weight)),
                    None => param.may_be_wide = false,
                }
            });
        }
        params
    }

    fn index(&self, value: Value) -> Option<usize> {
        self.of_value[value].map(|index| index as usize)
    }

    fn wide(&self) -> impl Iterator<Item = &Param> {
        self.all.iter().filter(|param| param.is_wide)
    }

    /// Chooses the parameters to widen: those that are extended, and those passed to them, as long as that saves work.
    fn choose(&mut self, func: &Function) {
        let is_new = |param: &Param| param.may_be_wide && !param.is_wide;
        let is_extended = |&at: &usize| is_new(&self.all[at]) && self.all[at].uses > 0;
        let mut new: Vec<usize> = (0..self.all.len()).filter(is_extended).collect();
        new.iter().for_each(|&at| self.all[at].is_wide = true);
        while let Some(at) = new.pop() {
            for source in 0..self.all[at].sources.len() {
                let source = self.index(self.all[at].sources[source].0);
                if let Some(source) = source.filter(|&source| is_new(&self.all[source])) {
                    self.all[source].is_wide = true;
                    new.push(source);
                }
            }
        }
        // If one stays narrow, others gain less by being wide, never more: so all that gain nothing can go at once.
        loop {
            let gains = self.gains(func);
            let useless = |&at: &usize| self.all[at].is_wide && gains[at] <= 0;
            let useless: Vec<usize> = (0..self.all.len()).filter(useless).collect();
            if useless.is_empty() {
                return;
            }
            useless.into_iter().for_each(|at| self.all[at].is_wide = false);
        }
    }

    /// Returns what each wide parameter saves: its own extensions and those where it is passed to others, minus the
    /// extensions of its arguments.
    fn gains(&self, func: &Function) -> Vec<i64> {
        let mut gains: Vec<i64> = self.all.iter().map(|param| param.uses as i64).collect();
        for (at, param) in self.all.iter().enumerate().filter(|(_, param)| param.is_wide) {
            for &(source, weight) in &param.sources {
                match self.index(source) {
                    Some(own) if own == at => {}
                    Some(source) if self.all[source].is_wide => gains[source] += weight as i64,
                    _ if extends_itself(func, source) => {}
                    _ => gains[at] -= weight as i64,
                }
            }
        }
        gains
    }
}

/// Returns the estimated frequency of a block.
fn weight(func: &Function, loops: &LoopAnalysis, block: Block) -> u64 {
    match func.layout.is_cold(block) {
        true => 0,
        false => 1 << (ROUNDS * loops.loop_level(block).level().min(DEEPEST) as u32),
    }
}

/// Reports whether extending a value takes no instruction: it is a constant, loaded, or computed by a 32-bit
/// instruction.
fn extends_itself(func: &Function, value: Value) -> bool {
    use Opcode::{Band, Bor, Bxor, Iadd, Iconst, Imul, Ishl, Isub, Load, Ushr};
    let opcode = func.dfg.value_def(value).inst().map(|inst| func.dfg.insts[inst].opcode());
    matches!(opcode, Some(Band | Bor | Bxor | Iadd | Iconst | Imul | Ishl | Isub | Load | Ushr))
}

/// Makes loads extend their result where that result is extended.
fn widen_loads(func: &mut Function, params: &Params, wide: &mut Wide) {
    let extended = extensions(func).map(|(_, narrow)| narrow);
    let given = params.wide().flat_map(|param| &param.sources).map(|&(source, _)| source);
    let values: Vec<Value> = extended.chain(given).collect();
    for narrow in values {
        let Some(inst) = func.dfg.value_def(narrow).inst() else { continue };
        if let InstructionData::Load { opcode: Opcode::Load, arg, flags, offset } = func.dfg.insts[inst] {
            let location = func.srcloc(inst);
            let mut pos = FuncCursor::new(func).at_inst(inst).with_srcloc(location);
            let flags = pos.func.dfg.mem_flags[flags];
            let value = pos.ins().uload32(flags, arg, offset);
            pos.func.dfg.clear_results(inst);
            pos.ins().with_result(narrow).ireduce(types::I32, value);
            pos.remove_inst();
            wide[narrow] = Some(value);
        }
    }
}

/// Widens the chosen parameters and their arguments.
fn widen_params(func: &mut Function, params: &Params, wide: &mut Wide) {
    for param in params.wide() {
        let value = func.dfg.replace_block_param(param.value, types::I64);
        let first = func.layout.first_inst(param.block).expect("blocks have an end");
        FuncCursor::new(func).at_inst(first).ins().with_result(param.value).ireduce(types::I32, value);
        wide[param.value] = Some(value);
    }
    let blocks: Vec<Block> = func.layout.blocks().collect();
    for block in blocks {
        widen_args(func, block, wide);
    }
}

/// Extends the arguments that a block passes to wide parameters.
fn widen_args(func: &mut Function, block: Block, wide: &Wide) {
    let mut args: Vec<(Value, bool)> = Vec::new();
    for_each_arg(func, block, |param, arg| {
        let ty = |value| func.dfg.value_type(value);
        args.extend(arg.as_value().map(|value| (value, ty(value) != ty(param))));
    });
    if args.iter().all(|&(_, is_narrow)| !is_narrow) {
        return;
    }
    let end = func.layout.last_inst(block).expect("it gives something");
    let mut values = func.dfg.inst_args(end).to_vec();
    let mut pos = FuncCursor::new(func).at_inst(end);
    for (value, is_narrow) in args {
        values.push(if is_narrow { extension(&mut pos, value, wide) } else { value });
    }
    func.dfg.overwrite_inst_values(end, values.into_iter());
}

fn extension(pos: &mut FuncCursor<'_>, narrow: Value, wide: &Wide) -> Value {
    if let Some(value) = wide[narrow] {
        return value;
    }
    let inst = pos.func.dfg.value_def(narrow).inst();
    match inst.map(|inst| pos.func.dfg.insts[inst]) {
        Some(InstructionData::UnaryImm { opcode: Opcode::Iconst, imm }) => {
            pos.ins().iconst(types::I64, i64::from(imm.bits() as u32))
        }
        _ => pos.ins().uextend(types::I64, narrow),
    }
}

/// Takes the lower half of an extended value wherever that value is known, instead of keeping both in registers.
fn share_extensions(func: &mut Function, domtree: &DominatorTree) {
    // By value: its first extension, and the lower half right behind that.
    let mut first: SecondaryMap<Value, Option<(Inst, Value)>> = SecondaryMap::new();
    let worth_it = extensions(func).filter(|&(_, narrow)| !extends_itself(func, narrow));
    for (inst, narrow) in worth_it.collect::<Vec<_>>() {
        if first[narrow].is_none() {
            let wide = func.dfg.first_result(inst);
            let lower = FuncCursor::new(func).after_inst(inst).ins().ireduce(types::I32, wide);
            first[narrow] = Some((inst, lower));
        }
    }
    for inst in insts(func).collect::<Vec<_>>() {
        let lower = |func: &Function, value: Value| {
            let (extension, lower) = first[value]?;
            let is_behind = extension != inst && domtree.dominates(extension, inst, &func.layout);
            is_behind.then_some((extension, lower))
        };
        if let Some((extension, _)) = extended(func, inst).and_then(|narrow| lower(func, narrow)) {
            let wide = func.dfg.first_result(extension);
            replace(func, inst, wide);
            continue;
        }
        if func.dfg.inst_values(inst).any(|value| first[value].is_some()) {
            let taken = |value| lower(func, value).map_or(value, |(_, lower)| lower);
            let values: Vec<Value> = func.dfg.inst_values(inst).map(taken).collect();
            func.dfg.overwrite_inst_values(inst, values.into_iter());
        }
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::AbiParam;
    use cranelift_codegen::verifier::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::options::CompilerOptions;
    use crate::target::{self, isa};

    /// Builds and widens a function of two 32-bit numbers that returns a 64-bit one.
    fn widened(build: impl FnOnce(&mut FunctionBuilder<'_>, [Value; 2])) -> Function {
        let mut context = Context::new();
        context.func.signature.params.extend([AbiParam::new(types::I32); 2]);
        context.func.signature.returns.push(AbiParam::new(types::I64));
        let mut scratch = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let params = [0, 1].map(|at| builder.block_params(entry)[at]);
        build(&mut builder, params);
        builder.seal_all_blocks();
        let isa = isa::best(target::plain(), &CompilerOptions::default()).expect("this machine");
        builder.finalize(isa.frontend_config());
        context.compute_cfg();
        context.compute_domtree();
        context.compute_loop_analysis();
        widen(&mut context);
        verify_function(&context.func, &*isa).expect("valid");
        context.func
    }

    fn count(func: &Function, opcode: Opcode) -> usize {
        insts(func).filter(|&inst| func.dfg.insts[inst].opcode() == opcode).count()
    }

    #[test]
    fn a_constant_that_a_loop_begins_with_has_zeros_above() {
        let func = widened(|builder, [step, _]| {
            let [again, out] = [(); 2].map(|()| builder.create_block());
            let index = builder.append_block_param(again, types::I32);
            let first = builder.ins().iconst(types::I32, 0xffff_fff0);
            builder.ins().jump(again, &[first.into()]);
            builder.switch_to_block(again);
            let wide = builder.ins().uextend(types::I64, index);
            let next = builder.ins().iadd(index, step);
            builder.ins().brif(next, again, &[next.into()], out, &[]);
            builder.switch_to_block(out);
            builder.ins().return_(&[wide]);
        });
        let wide = insts(&func).filter_map(|inst| match func.dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                Some((type_of(&func, inst), imm.bits()))
            }
            _ => None,
        });
        assert!(wide.collect::<Vec<_>>().contains(&(types::I64, 0xffff_fff0)), "{func}");
    }

    fn type_of(func: &Function, inst: Inst) -> cranelift_codegen::ir::Type {
        func.dfg.value_type(func.dfg.first_result(inst))
    }

    #[test]
    fn extensions_are_shared_with_what_comes_behind_them_only() {
        // The extensions are in one block, and in two blocks neither of which leads to the other.
        let behind = widened(|builder, [number, _]| {
            let [first, second] = [(); 2].map(|()| builder.ins().uextend(types::I64, number));
            let sum = builder.ins().iadd(first, second);
            builder.ins().return_(&[sum]);
        });
        assert_eq!(count(&behind, Opcode::Uextend), 1, "{behind}");
        let apart = widened(|builder, [number, condition]| {
            let blocks = [(); 2].map(|()| builder.create_block());
            builder.ins().brif(condition, blocks[0], &[], blocks[1], &[]);
            for block in blocks {
                builder.switch_to_block(block);
                let wide = builder.ins().uextend(types::I64, number);
                builder.ins().return_(&[wide]);
            }
        });
        assert_eq!(count(&apart, Opcode::Uextend), 2, "{apart}");
    }
}
