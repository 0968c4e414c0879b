//! The translator from block graphs to CLIF.
//!
//! Input: a [`Cfg`] and a [`BlockGraph`] over it. Output: a CLIF function, the wasm [`Origin`] of each source location
//! in it, and the meaning of its marks. A node is translated from its block's bytes, given the locals and the operand
//! stack at its entry, which are either frontend variables, which Cranelift converts to SSA form, or in the frame
//! (`state/homes.rs`).
//!
//! The state of a translation is in parts with private fields (`state`); the other modules translate with them, one
//! kind of instruction or probe each.
//!
//! Source: the order of branch targets and the sealing of loop headers follow measurements with Cranelift: a
//! header is sealed as soon as its last predecessor is translated, since otherwise redundant phis remain.

mod allocation;
mod atomic;
mod bulk;
mod call;
mod check;
mod context;
mod counted;
mod depth;
mod divisible;
mod env;
mod exception;
mod flow;
mod fold;
mod follow;
mod gc;
mod global;
mod heap;
mod inlined;
mod interesting;
mod landing;
mod memory;
mod metric;
mod numeric;
mod osr;
mod osr_entry;
mod path;
mod path_row;
mod probe;
mod range;
mod reference;
mod region;
mod simd;
mod stack;
mod state;
mod strip;
mod switch;
mod table;
mod target;

use cranelift_codegen::ir::{self, Function, InstBuilder, MemFlagsData, SourceLoc, Value, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use wasmparser::Operator;

use crate::CompileError;
use crate::abi::{Builtin, TrapCode, clif_type, resume_signature, vmctx, wasm_signature};
use crate::cfg::{Cfg, Operators, may_stop};
use crate::clif::zero;
use crate::code::{Fact, Origins};
use crate::graph::{BlockGraph, Node};
use crate::options::CompilerOptions;
use crate::target::Target;
pub use env::ModuleEnv;
use region::Region;
pub(crate) use state::Translated;
use state::{
    AddressCache, Blocks, FrameSlots, Input, Interned, Locals, OperandStack, Output, PathRegister, Position,
};

type Result<T> = std::result::Result<T, CompileError>;

/// Translates `graph` into `func`, which `isa` compiles to machine code.
pub(crate) fn translate(
    env: &ModuleEnv<'_>,
    options: &CompilerOptions,
    (isa, target): (&dyn TargetIsa, &dyn Target),
    cfg: &Cfg,
    graph: &BlockGraph,
    func: &mut Function,
    context: &mut FunctionBuilderContext,
) -> Result<Translated> {
    debug_assert_eq!(graph.verify(cfg), Ok(()));
    let ty = env.info.func_type(cfg.func);
    func.signature = if graph.resumes { resume_signature(ty) } else { wasm_signature(ty) };
    func.name = ir::UserFuncName::user(0, cfg.func);
    Origins::count_from_zero(func);
    let builder = FunctionBuilder::new(func, context);
    let mut translator = Translator::new(Input::new(env, options, (isa, target), cfg, graph), builder);
    let stops = if options.precise { translator.find_stops()? } else { None };
    if options.precise {
        translator.enter_visibly(stops.as_deref());
    } else if options.explicit_traps {
        translator.enter_where_it_fits();
    }
    translator.begin_counted();
    translator.begin_path(stops.as_deref());
    translator.begin_metrics();
    match translator.blocks.make_preheaders(&translator.input, &mut translator.builder) {
        Some(approach) => translator.enter_either_way(approach),
        None if graph.resumes => translator.resume(),
        None => translator.enter_function(translator.blocks.block(0)),
    }
    for node in 0..graph.nodes.len() {
        translator.node(node)?;
    }
    translator.builder.finalize(isa.frontend_config());
    Ok(translator.output.finish())
}

/// A translation: its input, the CLIF builder, and the parts of its state, each of which says what it promises.
struct Translator<'a> {
    input: Input<'a>,
    builder: FunctionBuilder<'a>,
    /// The vmctx of the function's instance, which inlined functions share.
    vmctx: Value,
    position: Position<'a>,
    blocks: Blocks,
    locals: Locals,
    stack: OperandStack,
    addresses: AddressCache,
    interned: Interned,
    /// The path register, if the graph has one.
    path: Option<PathRegister>,
    slots: FrameSlots,
    output: Output,
}

impl<'a> Translator<'a> {
    fn new(input: Input<'a>, mut builder: FunctionBuilder<'a>) -> Translator<'a> {
        let (graph, cfg) = (input.graph(), input.own());
        let blocks = Blocks::new(graph, &mut builder);
        let entry = if graph.is_entered_apart() { builder.create_block() } else { blocks.block(0) };
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let vmctx = builder.block_params(entry)[0];
        Translator {
            input,
            builder,
            vmctx,
            position: Position::new(&input),
            blocks,
            locals: Locals::new(&cfg.locals, graph.inlined.len(), input.homes()),
            stack: OperandStack::new(input.homes()),
            addresses: AddressCache::default(),
            interned: Interned::default(),
            path: None,
            slots: FrameSlots::default(),
            output: Output::default(),
        }
    }

    /// Begins instrumented code: a stop here is a stop before the first block's first instruction.
    fn enter_visibly(&mut self, stops: Option<&[bool]>) {
        self.enter_where_it_fits();
        if self.input.options().frames_hold_vmctx && stops.is_none_or(|stops| stops.contains(&true)) {
            self.keep_vmctx();
        }
    }

    /// Traps unless the frame fits on the stack.
    fn enter_where_it_fits(&mut self) {
        let entry = self.position.move_to_first_block(&self.input);
        self.at(entry);
        match self.input.options().explicit_traps {
            true => self.check_stack(),
            false => self.touch_stack(),
        }
    }

    /// Returns for each node of a leaf function whether a frame may stop or be inspected there.
    fn find_stops(&self) -> Result<Option<Vec<bool>>> {
        let stops = |node: &Node| Ok(node.may_stop() || self.operators_may_stop(node)?);
        let nodes = self.input.graph().nodes.iter();
        self.input.own().is_leaf.then(|| nodes.map(stops).collect()).transpose()
    }

    fn operators_may_stop(&self, node: &Node) -> Result<bool> {
        let block = &self.input.cfg_of(node.frame).blocks[node.block as usize];
        let mut operators = Operators::new(self.input.env().info, node.start, block.limit);
        while let Some((op, _)) = operators.next()? {
            if may_stop(&op) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Defines the locals: the parameters of block `entry`, then zeros.
    fn enter_function(&mut self, entry: ir::Block) {
        let mut zeros: Vec<(ir::Type, Value)> = Vec::new();
        for (index, &ty) in self.position.cfg().locals.iter().enumerate() {
            let clif = clif_type(ty);
            let value = if index < self.position.cfg().params as usize {
                self.builder.block_params(entry)[index + 2]
            } else if let Some(&(_, zero)) = zeros.iter().find(|(t, _)| *t == clif) {
                zero
            } else {
                let zero = zero(&mut self.builder, clif);
                zeros.push((clif, zero));
                zero
            };
            self.write_local(index as u32, value);
        }
        if !self.input.graph().nodes[0].probes.contains(&crate::plan::Probe::Check) {
            self.enter_frame();
        }
    }

    fn node(&mut self, index: usize) -> Result<()> {
        self.copy_of_block(index)?;
        if let Some(landing) = self.input.graph().nodes[index].lands {
            self.arrived(landing);
        }
        Ok(())
    }

    fn copy_of_block(&mut self, index: usize) -> Result<()> {
        let node = &self.input.graph().nodes[index];
        self.enter_node(index);
        let block = &self.position.cfg().blocks[node.block as usize];
        if node.is_landing {
            self.at(block.end);
            self.land_from_inlined(node);
            return Ok(());
        }
        // The position before the first instruction: see `cfg::ops_executed`.
        self.at(node.start - 1);
        if let Some(elsewhere) = node.elsewhere {
            self.go_elsewhere(elsewhere);
            return Ok(());
        }
        self.keep_path();
        if let Some(guard) = &node.guard {
            self.guard(guard);
        }
        if !node.probes.is_empty() {
            self.send_parameters_home();
        }
        self.probes(&node.probes);
        match &node.strip {
            Some(countdown) => self.begin_strip(countdown),
            None => self.note_vectors(node, self.blocks.block(index as u32)),
        }
        let mut operators = Operators::new(self.input.env().info, node.start, block.limit);
        let mut last = None;
        let mut inner = node.inner.iter().peekable();
        while let Some((op, at)) = operators.next()? {
            self.at(at);
            let inner = inner.next_if(|inner| inner.offset == at);
            if let Some(inner) = inner {
                self.probes(&inner.before);
            }
            if let Some(call) = node.call.filter(|call| call.at == at) {
                self.inlined_call(call, &op, node);
                return Ok(());
            }
            if at == block.end {
                last = Some(op);
                break;
            }
            self.operator(&op, at as usize)?;
            if let Some(inner) = inner {
                self.probes(&inner.after);
            }
        }
        self.at(block.end);
        self.end_of_node(index, last.as_ref());
        self.locals.forget(self.position.frame(), 0);
        Ok(())
    }

    /// Begins a node: its frame, its CLIF block, its operand stack.
    fn enter_node(&mut self, index: usize) {
        let node = &self.input.graph().nodes[index];
        self.position.enter(index, &self.input);
        self.addresses.forget();
        self.place_path();
        if index > 0 || self.input.graph().is_entered_apart() {
            self.builder.switch_to_block(self.blocks.block(index as u32));
        }
        let block = &self.position.cfg().blocks[node.block as usize];
        let is_jump = node.sure.is_some() || node.caught.is_some();
        let is_rare = node.count == Some(0) || (block.how.is_failure() && !is_jump);
        // Cranelift would move the entry behind the rest, too.
        if index > 0 && is_rare {
            self.builder.set_cold_block(self.blocks.block(index as u32));
        }
        self.stack.enter_frame(node.frame);
        // Handlers keep the operands below those they get, which are in their places.
        match node.start == block.start || node.is_landing {
            true => self.stack.enter(block.stack, &self.position.cfg().stacks),
            false => self.enter_around_call(node),
        }
    }

    /// Attributes the following code to the instruction at byte `offset` of the module.
    fn at(&mut self, offset: u32) {
        self.position.move_to(offset);
        let location = self.location_of(offset);
        self.builder.set_srcloc(location);
    }

    /// Translates operations on the pinned register alone: see [`Fact::InPlace`].
    fn in_place(&mut self, translate: impl FnOnce(&mut Self)) {
        let location = self.builder.srcloc();
        self.builder.set_srcloc(self.output.origins().with(location, Fact::InPlace));
        translate(self);
        self.builder.set_srcloc(location);
    }

    /// Returns the location of code for the instruction at byte `offset` of the module.
    fn location_of(&mut self, offset: u32) -> SourceLoc {
        let path = self.path.as_ref().and_then(PathRegister::known);
        self.output.origins().at(self.position.origin(offset, path))
    }

    /// Returns the trap code of the access being translated, which is unique to the access, so that a frame is found to
    /// stop at the right instruction, in optimised code too.
    fn access_code(&mut self, code: TrapCode) -> ir::TrapCode {
        self.output.origins().access(code)
    }

    /// Returns the CLIF block that wires from the node being translated to node `to` lead to.
    fn block_of(&self, to: u32) -> ir::Block {
        self.blocks.target(self.position.node(), to)
    }

    /// Jumps to node `to`.
    fn go_to(&mut self, to: u32) {
        let block = self.block_of(to);
        self.builder.ins().jump(block, &[]);
        self.arrived(to);
    }

    /// Records that one of the wires to node `to` is translated.
    fn arrived(&mut self, to: u32) {
        self.blocks.arrived(self.position.node(), to, &mut self.builder);
    }

    fn operator(&mut self, op: &Operator<'_>, at: usize) -> Result<()> {
        self.count_length(op);
        let done = crate::cfg::is_structure(op)
            || self.variable(op)
            || self.numeric(op)
            || self.memory(op)
            || self.global(op)
            || self.call(op)
            || self.table(op)
            || self.bulk(op)
            || self.simd(op)
            || self.gc(op)
            || self.atomic(op);
        match done {
            true => Ok(()),
            false => Err(CompileError::Unsupported { offset: at, what: format!("{op:?}") }),
        }
    }

    /// Translates accesses to locals, and instructions that only move operands.
    fn variable(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::Nop => {}
            Operator::Drop => self.stack.drop(&self.position.cfg().stacks),
            Operator::LocalGet { local_index } => {
                let value = self.read_local(local_index);
                self.push(value);
            }
            Operator::LocalSet { local_index } => {
                let value = self.pop();
                self.write_local(local_index, value);
            }
            Operator::LocalTee { local_index } => {
                let value = self.pop();
                self.write_local(local_index, value);
                self.push(value);
            }
            Operator::Select | Operator::TypedSelect { .. } => {
                let (condition, otherwise, value) = (self.pop(), self.pop(), self.pop());
                let condition = self.condition(condition);
                let chosen = self.builder.ins().select(condition, value, otherwise);
                self.push(chosen);
            }
            _ => return false,
        }
        true
    }

    /// Calls a builtin; `args` follow the vmctx.
    fn builtin(&mut self, builtin: Builtin, args: &[Value]) -> Value {
        let convention = self.input.isa().default_call_conv();
        let signature = self.interned.builtin(builtin, convention, &mut self.builder);
        let table = self.load_constant(types::I64, self.vmctx, vmctx::BUILTINS);
        let address = self.load_constant(types::I64, table, builtin.offset());
        let args: Vec<Value> = std::iter::once(self.vmctx).chain(args.iter().copied()).collect();
        let call = self.builder.ins().call_indirect(signature, address, &args);
        self.builder.inst_results(call)[0]
    }

    /// Returns the context of the store that owns the instance.
    fn store_context(&mut self) -> Value {
        self.load_constant(types::I64, self.vmctx, vmctx::STORE)
    }

    /// Returns the flags of accesses that only probes make: counters, call records, cells of the store's context.
    fn counter_flags(&mut self) -> MemFlagsData {
        self.interned.flags(MemFlagsData::trusted(), Region::Counters, self.builder.func)
    }

    /// Loads a value that never changes while the instance lives.
    fn load_constant(&mut self, ty: ir::Type, base: Value, offset: i32) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.builder.ins().load(ty, flags, base, offset)
    }
}
