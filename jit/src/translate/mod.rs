//! The translator from block graphs to CLIF.
//!
//! Input: a [`Cfg`] and a [`BlockGraph`] over it. Output: a CLIF function, the wasm [`Origin`] of each source location
//! in it, and the meaning of its marks. A node is translated from its block's bytes, given the locals and the operand
//! stack at its entry, which are either frontend variables, which Cranelift converts to SSA form, or in the frame
//! (`variables.rs`).
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
mod strip;
mod switch;
mod table;
mod target;
mod variables;

use std::collections::{BTreeSet, VecDeque};

use cranelift_codegen::ir::{self, Function, InstBuilder, MemFlagsData, SigRef, Value, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::OptLevel;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use hashbrown::HashMap;
use smallvec::SmallVec;
use wasmparser::Operator;

use crate::CompileError;
use crate::abi::{Builtin, TrapCode, clif_type, resume_signature, vmctx, wasm_signature};
use crate::cfg::{Cfg, Operators, may_stop};
use crate::clif::check::Check;
use crate::clif::zero;
use crate::code::{Fact, Origin, Origins};
use crate::graph::{BlockGraph, Node};
use crate::options::{CompilerOptions, Passes};
use crate::target::Target;
pub use env::ModuleEnv;
use inlined::AroundCalls;
use osr_entry::Preheaders;
use path::PathRegister;
use region::{Region, Regions};
use stack::OperandStack;
use strip::OpenStrip;
use variables::{HomeKind, Local};

type Result<T> = std::result::Result<T, CompileError>;

/// The results of translating a function.
pub(crate) struct Translated {
    /// The meaning of its source locations.
    pub origins: Origins,
    /// The checks that its marks refer to.
    pub checks: Vec<Check>,
    /// The dispatches whose cells it reads, ascending.
    pub dispatches: Vec<u32>,
    /// The loops that may be vectorised: their header, and the byte offset in the module of their first instruction.
    pub vectors: Vec<(ir::Block, u32)>,
}

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
    let homes = match isa.flags().opt_level() {
        OptLevel::None => HomeKind::Frame,
        _ => HomeKind::Variables,
    };
    let builder = FunctionBuilder::new(func, context);
    let mut translator = Translator::new(env, options, (isa, target), cfg, graph, homes, builder);
    if options.precise {
        translator.find_stops()?;
        translator.enter_visibly();
    } else if options.explicit_traps {
        translator.enter_where_it_fits();
    }
    translator.begin_counted();
    translator.begin_path();
    translator.begin_metrics();
    match Preheaders::new(cfg, graph, &mut translator.pending, &mut translator.builder) {
        Some(approach) => translator.enter_either_way(approach),
        None if graph.resumes => translator.resume(),
        None => translator.enter_function(translator.blocks[0]),
    }
    for node in 0..graph.nodes.len() {
        translator.node(node)?;
    }
    translator.builder.finalize(isa.frontend_config());
    let dispatches = translator.dispatches.into_iter().collect();
    let Translator { origins, checks, vectors, .. } = translator;
    Ok(Translated { origins, checks, dispatches, vectors })
}

struct Translator<'a> {
    env: &'a ModuleEnv<'a>,
    options: &'a CompilerOptions,
    /// The passes enabled for this function.
    passes: Passes,
    isa: &'a dyn TargetIsa,
    target: &'a dyn Target,
    /// The CFG of the function itself.
    own: &'a Cfg,
    cfg: &'a Cfg,
    graph: &'a BlockGraph,
    builder: FunctionBuilder<'a>,
    /// Index of the node being translated.
    node: usize,
    /// Open strips by the header's node: strips of loops with untranslated latches.
    strips: HashMap<u32, OpenStrip>,
    regions: Regions,
    /// The CLIF block of each node.
    blocks: Vec<ir::Block>,
    /// Number of untranslated incoming wires of each node.
    pending: Vec<u32>,
    /// The code that leads to some of the blocks, if frames enter a loop by OSR.
    approach: Option<Preheaders>,
    vmctx: Value,
    /// The locals of each frame; empty for a frame that has not been entered.
    locals: Vec<Vec<Local>>,
    /// The locals with known values.
    known: Vec<u32>,
    /// Number of locals that stay known across calls.
    settled: usize,
    homes: HomeKind,
    /// The frame of the node being translated, as in [`Node::frame`](crate::graph::Node::frame); `cfg` belongs to its
    /// function.
    frame: u32,
    /// The operand stacks around inlined calls.
    around_calls: AroundCalls,
    /// The frame's call record, if calling contexts are counted.
    record: Option<Variable>,
    /// The results, while an edge that returns from the function is crossed.
    leaving: SmallVec<[Value; 1]>,
    /// The counter cell for the callee of the next indirect call.
    target_cell: Option<u32>,
    stack: OperandStack,
    /// A memory and the address of its byte 0, if the node has already loaded it.
    base: Option<(u32, Value)>,
    /// The most recent addresses that the node has computed, with their memory and index.
    addresses: VecDeque<(u32, Value, Value)>,
    /// Signatures of functions by type id.
    signatures: HashMap<u32, SigRef>,
    /// Signatures of builtins.
    builtins: HashMap<Builtin, SigRef>,
    /// By node of a leaf function, whether a frame may stop or be inspected there.
    stops: Option<Vec<bool>>,
    path: Option<PathRegister>,
    /// The frame's measurements, by metric.
    sums: Option<ir::StackSlot>,
    /// In burst code, the frame's increment of counters.
    counted: Option<ir::StackSlot>,
    /// Where throws store the values of an exception.
    carried: Option<ir::StackSlot>,
    /// The exception on its way to the landing of an inlined call.
    thrown: Option<Variable>,
    origins: Origins,
    checks: Vec<Check>,
    dispatches: BTreeSet<u32>,
    vectors: Vec<(ir::Block, u32)>,
    /// The exit of the node by which a frame moves to better code, if its check may use it too; it has the
    /// address as a parameter.
    leave_when_hot: Option<ir::Block>,
    /// The block being translated, and the byte offset of the instruction.
    block: u32,
    offset: u32,
    /// The rounds of the node: see [`Node::rounds`](crate::graph::Node::rounds).
    rounds: u32,
}

impl<'a> Translator<'a> {
    fn new(
        env: &'a ModuleEnv<'a>,
        options: &'a CompilerOptions,
        (isa, target): (&'a dyn TargetIsa, &'a dyn Target),
        cfg: &'a Cfg,
        graph: &'a BlockGraph,
        homes: HomeKind,
        mut builder: FunctionBuilder<'a>,
    ) -> Translator<'a> {
        let blocks: Vec<ir::Block> = graph.nodes.iter().map(|_| builder.create_block()).collect();
        let mut pending = vec![0; blocks.len()];
        for to in graph.nodes.iter().flat_map(Node::targets) {
            pending[to as usize] += 1;
        }
        let entry = if graph.is_entered_apart() { builder.create_block() } else { blocks[0] };
        pending[0] += u32::from(graph.is_entered_apart());
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let vmctx = builder.block_params(entry)[0];
        let mut locals = vec![Vec::new(); graph.inlined.len() + 1];
        locals[0] = cfg.locals.iter().map(|&ty| Local::new(ty)).collect();
        Translator {
            env,
            options,
            passes: options.passes.for_function(cfg.func),
            isa,
            target,
            own: cfg,
            cfg,
            graph,
            builder,
            node: 0,
            strips: HashMap::new(),
            regions: Regions::default(),
            blocks,
            pending,
            approach: None,
            vmctx,
            locals,
            known: Vec::new(),
            settled: 0,
            homes,
            frame: 0,
            around_calls: AroundCalls::default(),
            record: None,
            leaving: SmallVec::new(),
            target_cell: None,
            stack: OperandStack::default(),
            base: None,
            addresses: VecDeque::new(),
            signatures: HashMap::new(),
            builtins: HashMap::new(),
            stops: None,
            path: None,
            sums: None,
            counted: None,
            carried: None,
            thrown: None,
            origins: Origins::default(),
            checks: Vec::new(),
            dispatches: BTreeSet::new(),
            vectors: Vec::new(),
            leave_when_hot: None,
            block: 0,
            offset: 0,
            rounds: 0,
        }
    }

    /// Begins instrumented code: a stop here is a stop before the first block's first instruction.
    fn enter_visibly(&mut self) {
        self.enter_where_it_fits();
        if self.options.frames_hold_vmctx && self.stops.as_ref().is_none_or(|stops| stops.contains(&true)) {
            self.keep_vmctx();
        }
    }

    /// Traps unless the frame fits on the stack.
    fn enter_where_it_fits(&mut self) {
        let first = &self.cfg.blocks[self.graph.nodes[0].block as usize];
        self.block = self.graph.nodes[0].block;
        self.at(first.start - 1);
        match self.options.explicit_traps {
            true => self.check_stack(),
            false => self.touch_stack(),
        }
    }

    /// Determines where a frame of a leaf function may stop or be inspected.
    fn find_stops(&mut self) -> Result<()> {
        if self.own.is_leaf {
            let stops = |node: &Node| Ok(node.may_stop() || self.operators_may_stop(node)?);
            self.stops = Some(self.graph.nodes.iter().map(stops).collect::<Result<_>>()?);
        }
        Ok(())
    }

    fn operators_may_stop(&self, node: &Node) -> Result<bool> {
        let block = &self.graph.cfg_of(self.own, node.frame).blocks[node.block as usize];
        let mut operators = Operators::new(self.env.info, node.start, block.limit);
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
        for (index, &ty) in self.cfg.locals.iter().enumerate() {
            let clif = clif_type(ty);
            let value = if index < self.cfg.params as usize {
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
        if !self.graph.nodes[0].probes.contains(&crate::plan::Probe::Check) {
            self.enter_frame();
        }
    }

    fn node(&mut self, index: usize) -> Result<()> {
        self.copy_of_block(index)?;
        if let Some(landing) = self.graph.nodes[index].lands {
            self.arrived(landing);
        }
        Ok(())
    }

    fn copy_of_block(&mut self, index: usize) -> Result<()> {
        let node = &self.graph.nodes[index];
        self.enter_node(index);
        let block = &self.cfg.blocks[node.block as usize];
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
            None => self.note_vectors(node, self.blocks[index]),
        }
        let mut operators = Operators::new(self.env.info, node.start, block.limit);
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
        self.forget_locals(0);
        Ok(())
    }

    /// Begins a node: its frame, its CLIF block, its operand stack.
    fn enter_node(&mut self, index: usize) {
        let node = &self.graph.nodes[index];
        self.node = index;
        (self.frame, self.block, self.rounds) = (node.frame, node.block, node.rounds);
        self.cfg = self.graph.cfg_of(self.own, node.frame);
        self.forget_addresses();
        self.place_path();
        if index > 0 || self.graph.is_entered_apart() {
            self.builder.switch_to_block(self.blocks[index]);
        }
        let block = &self.cfg.blocks[node.block as usize];
        let is_jump = node.sure.is_some() || node.caught.is_some();
        let is_rare = node.count == Some(0) || (block.how.is_failure() && !is_jump);
        // Cranelift would move the entry behind the rest, too.
        if index > 0 && is_rare {
            self.builder.set_cold_block(self.blocks[index]);
        }
        self.stack.base = self.around_calls.base(node.frame);
        // Handlers keep the operands below those they get, which are in their places.
        match node.start == block.start || node.is_landing {
            true => self.stack.enter(block.stack, &self.cfg.stacks),
            false => self.enter_around_call(node),
        }
    }

    /// Attributes the following code to the instruction at byte `offset` of the module.
    fn at(&mut self, offset: u32) {
        self.offset = offset;
        let location = self.origins.at(self.origin(offset));
        self.builder.set_srcloc(location);
    }

    /// Translates operations on the pinned register alone: see [`Fact::InPlace`].
    fn in_place(&mut self, translate: impl FnOnce(&mut Self)) {
        let location = self.builder.srcloc();
        self.builder.set_srcloc(self.origins.with(location, Fact::InPlace));
        translate(self);
        self.builder.set_srcloc(location);
    }

    fn origin(&self, offset: u32) -> Origin {
        let (func, frame) = (self.cfg.func, self.frame);
        let path = self.path.as_ref().and_then(PathRegister::known);
        Origin { func, frame, block: self.block, rounds: self.rounds, path, offset }
    }

    /// Returns the trap code of the access being translated, which is unique to the access, so that a frame is found to
    /// stop at the right instruction, in optimised code too.
    fn access_code(&mut self, code: TrapCode) -> ir::TrapCode {
        self.origins.access(code)
    }

    /// Returns the CLIF block that wires from the node being translated to node `to` lead to.
    fn block_of(&self, to: u32) -> ir::Block {
        let before = self.approach.as_ref().and_then(|approach| approach.block(self.node, to));
        before.unwrap_or(self.blocks[to as usize])
    }

    /// Jumps to node `to`.
    fn go_to(&mut self, to: u32) {
        let block = self.block_of(to);
        self.builder.ins().jump(block, &[]);
        self.arrived(to);
    }

    /// Records that one of the wires to node `to` is translated.
    fn arrived(&mut self, to: u32) {
        if let Some(before) = self.approach.as_mut().and_then(|approach| approach.before(self.node, to)) {
            return before.arrived(&mut self.builder);
        }
        let pending = &mut self.pending[to as usize];
        *pending -= 1;
        if *pending == 0 {
            self.builder.seal_block(self.blocks[to as usize]);
        }
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
            Operator::Drop => self.drop(),
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
        let convention = self.isa.default_call_conv();
        let new = || self.builder.import_signature(builtin.signature(convention));
        let signature = *self.builtins.entry(builtin).or_insert_with(new);
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
        let region = self.regions.get(Region::Counters, self.builder.func);
        MemFlagsData::trusted().with_alias_region(Some(region))
    }

    /// Loads a value that never changes while the instance lives.
    fn load_constant(&mut self, ty: ir::Type, base: Value, offset: i32) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.builder.ins().load(ty, flags, base, offset)
    }
}
