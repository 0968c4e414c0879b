//! Builds a [`Cfg`] from bytecode in one pass.
//!
//! The builder tracks the types of the operand stack (`types.rs`), which blocks record at their entry. Labels of
//! enclosing constructs become blocks when they are reached, if a branch or the preceding code leads there.

mod handlers;

use smallvec::SmallVec;
use wasmparser::{BlockType, FunctionBody, Operator, ValType};
#[cfg(debug_assertions)]
use wasmparser::{FuncToValidate, FuncValidator, FuncValidatorAllocations, ValidatorResources};

use super::liveness::Accesses;
use super::{
    Block, Call, Cfg, DirectCall, Edge, End, Known, Liveness, StackId, Target, TypeStacks, branch_on_cast,
    is_call, is_structure, is_throw, types,
};
use crate::module::ModuleInfo;
use crate::{CompileError, limits};

use handlers::{Handlers, Tries};

type Result<T> = std::result::Result<T, CompileError>;

/// Builds the CFG of defined function `func`.
///
/// # Errors
/// Returns an error if the function has too many edges, or if its bytes are not those that were validated.
pub fn build(info: &ModuleInfo, func: u32) -> Result<Cfg> {
    let body = body(info, func);
    let mut builder = Builder::new(info, func);
    builder.locals(&body)?;
    let mut reader = body.get_operators_reader()?;
    builder.begin(reader.original_position() as u32);
    #[cfg(debug_assertions)]
    let mut witness = {
        let mut validator = validator(info, func);
        validator.read_locals(&mut body.get_binary_reader())?;
        validator
    };
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        builder.operator(&op, &body, (at as u32, reader.original_position() as u32))?;
        #[cfg(debug_assertions)]
        {
            witness.op(at, &op)?;
            builder.agree(&witness, &op);
        }
    }
    builder.finish()
}

/// Returns the types of the operand stack of `func` before the instruction at byte `offset` of the module, which must
/// not be dead code, bottom first. In a handler of an older `try` the types include the exception, which lies below the
/// values that it carries.
///
/// # Errors
/// Returns an error if the bytes are not those that were validated.
pub fn operand_types(info: &ModuleInfo, func: u32, offset: u32) -> Result<Vec<ValType>> {
    let body = body(info, func);
    let mut builder = Builder::new(info, func);
    builder.locals(&body)?;
    let mut reader = body.get_operators_reader()?;
    builder.begin(reader.original_position() as u32);
    while !reader.eof() {
        let (op, at) = reader.read_with_offset()?;
        if at as u32 >= offset {
            break;
        }
        builder.operator(&op, &body, (at as u32, reader.original_position() as u32))?;
    }
    Ok(builder.stacks.types(builder.stack))
}

fn body(info: &ModuleInfo, func: u32) -> FunctionBody<'_> {
    let range = info.body(func);
    let bytes = &info.bytes[range.clone()];
    FunctionBody::new(wasmparser::BinaryReader::new_features(bytes, range.start as u64, info.features))
}

#[cfg(debug_assertions)]
fn validator(info: &ModuleInfo, func: u32) -> FuncValidator<ValidatorResources> {
    let resources = info.resources.clone().expect("a module with bodies has resources");
    let ty = info.funcs[func as usize];
    let to_validate = FuncToValidate { resources, index: func, ty, features: info.features };
    to_validate.into_validator(FuncValidatorAllocations::default())
}

/// A branch target, which may come later in the bytecode.
struct Label {
    /// `None` until the target is reached, if it lies ahead.
    target: Option<Target>,
    /// The operand stack at the target.
    stack: StackId,
    arity: u32,
    /// Whether any edge leads to the target.
    used: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Construct {
    Block,
    Loop,
    If,
    Else,
    /// The body of an older `try`.
    Try,
    /// A handler of an older `try`.
    Catch,
}

struct Frame {
    construct: Construct,
    /// The target of `br`.
    label: usize,
    /// The operand stack behind the construct.
    end_stack: StackId,
    /// For an `if`: the target of the false edge.
    else_label: Option<usize>,
    /// Whether control reaches the construct.
    reachable: bool,
    handlers: Handlers,
}

/// The block under construction.
struct Open {
    start: u32,
    stack: StackId,
    ops: u32,
}

struct Builder<'a> {
    info: &'a ModuleInfo,
    func: u32,
    locals: Vec<ValType>,
    params: u32,
    stacks: TypeStacks,
    /// The current operand stack.
    stack: StackId,
    blocks: Vec<Block>,
    calls: Vec<DirectCall>,
    is_leaf: bool,
    /// The labels of the edges of each finished block, resolved at the end.
    edge_labels: Vec<SmallVec<[usize; 2]>>,
    labels: Vec<Label>,
    frames: Vec<Frame>,
    accesses: Accesses,
    /// `None` in dead code.
    open: Option<Open>,
    /// The number of edges so far, and of values on them.
    edges: usize,
    /// The older `try`s of the function, once one was encountered.
    tries: Option<Tries>,
}

impl<'a> Builder<'a> {
    fn new(info: &'a ModuleInfo, func: u32) -> Builder<'a> {
        let params = info.func_type(func).params();
        Builder {
            info,
            func,
            locals: params.to_vec(),
            params: params.len() as u32,
            stacks: TypeStacks::default(),
            stack: TypeStacks::EMPTY,
            blocks: Vec::new(),
            calls: Vec::new(),
            is_leaf: true,
            edge_labels: Vec::new(),
            labels: Vec::new(),
            frames: Vec::new(),
            accesses: Accesses::new(0),
            open: None,
            edges: 0,
            tries: None,
        }
    }

    /// Asserts that the validator has the same stack, in reachable code.
    #[cfg(debug_assertions)]
    fn agree(&self, witness: &FuncValidator<ValidatorResources>, op: &Operator<'_>) {
        const LOOKED_AT: usize = 4;
        if self.open.is_none() {
            return;
        }
        let height = witness.operand_stack_height();
        let own = self.stacks.height(self.stack);
        assert_eq!(own - self.hidden_below(own), height, "{op:?}");
        let mut stack = self.stack;
        for depth in 0..LOOKED_AT.min(height as usize) {
            while self.is_hidden(self.stacks.height(stack) - 1) {
                stack = self.stacks.drop_top(stack, 1);
            }
            let (ty, below) = self.stacks.pop(stack).expect("as high as that");
            let expected = witness.get_operand_type(depth).flatten().expect("reachable values have types");
            assert!(
                ty == expected || ty.is_reference_type() && expected.is_reference_type(),
                "{op:?}: {ty} instead of {expected}"
            );
            stack = below;
        }
    }

    fn locals(&mut self, body: &FunctionBody<'_>) -> Result<()> {
        for group in body.get_locals_reader()? {
            let (count, ty) = group?;
            self.locals.extend(std::iter::repeat_n(ty, count as usize));
        }
        self.accesses = Accesses::new(self.locals.len());
        Ok(())
    }

    /// Opens the function's own construct, whose label is the function's exit.
    fn begin(&mut self, start: u32) {
        let results = self.info.func_type(self.func).results().to_vec();
        let end_stack = self.push_types(TypeStacks::EMPTY, &results);
        let arity = results.len() as u32;
        self.labels.push(Label { target: Some(Target::Exit), stack: end_stack, arity, used: false });
        self.frames.push(Frame {
            construct: Construct::Block,
            label: 0,
            end_stack,
            else_label: None,
            reachable: true,
            handlers: Handlers::default(),
        });
        self.open_block(start, TypeStacks::EMPTY);
    }

    /// Processes one instruction at byte `at`; the next one is at `next`.
    fn operator(&mut self, op: &Operator<'_>, body: &FunctionBody<'_>, (at, next): (u32, u32)) -> Result<()> {
        if let Some(open) = &mut self.open {
            open.ops += u32::from(!is_structure(op));
            let call = Call::new(op);
            self.is_leaf &= call.is_none() && !is_throw(op);
            if let Some(Call::Direct(callee)) = call {
                self.calls.push(DirectCall { block: self.blocks.len() as u32, callee });
            }
        }
        match op {
            Operator::Block { blockty } => self.enter(Construct::Block, *blockty, at, next),
            Operator::Loop { blockty } => self.enter(Construct::Loop, *blockty, at, next),
            Operator::If { blockty } => self.enter(Construct::If, *blockty, at, next),
            Operator::Else => self.or_else(at, next),
            Operator::End => self.end(at, next),
            Operator::Br { relative_depth } => self.jump(*relative_depth, at, next),
            Operator::BrIf { relative_depth } => self.br_if(*relative_depth, at, next),
            Operator::BrOnNull { relative_depth } => self.br_on(*relative_depth, true, at, next),
            Operator::BrOnNonNull { relative_depth } => self.br_on(*relative_depth, false, at, next),
            Operator::BrTable { targets } => self.br_table(targets, at, next)?,
            Operator::Return => self.jump(self.frames.len() as u32 - 1, at, next),
            Operator::Unreachable => self.close(End::Trap, &[], at, next),
            Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => {
                self.close(End::TailCall, &[0], at, next);
            }
            _ if self.exception(op, body, (at, next))? => {}
            _ if self.on_cast(op, at, next) => {}
            _ => {
                self.plain(op, at)?;
                if is_call(op) {
                    self.call(at, next);
                }
            }
        }
        self.check_limits()
    }

    fn check_limits(&self) -> Result<()> {
        let too_large = |what| Err(CompileError::TooLarge { func: self.func, what });
        if self.edges > limits::MAX_EDGES {
            let limit = limits::MAX_EDGES;
            return too_large(format!("more than {limit} edges in its control flow and values on them"));
        }
        if self.stacks.len() > limits::MAX_STACK_CELLS {
            let limit = limits::MAX_STACK_CELLS;
            return too_large(format!("more than {limit} types on its operand stacks"));
        }
        Ok(())
    }

    /// Processes an instruction without control flow.
    fn plain(&mut self, op: &Operator<'_>, at: u32) -> Result<()> {
        if self.open.is_none() {
            return Ok(());
        }
        match *op {
            Operator::LocalGet { local_index } => self.accesses.read(local_index),
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                self.accesses.write(local_index);
            }
            _ => {}
        }
        let after = types::after(self.info, &self.locals, op, (&mut self.stacks, self.stack));
        let unknown = || CompileError::Unsupported { offset: at as usize, what: format!("{op:?}") };
        self.stack = after.ok_or_else(unknown)?;
        Ok(())
    }

    fn enter(&mut self, construct: Construct, ty: BlockType, at: u32, next: u32) {
        let (params, results) = self.block_types(ty);
        let reachable = self.open.is_some();
        if !reachable {
            // Only the nesting matters in dead code.
            self.stack = TypeStacks::EMPTY;
        } else if construct == Construct::If {
            self.stack = self.stacks.drop_top(self.stack, 1);
        }
        let params_count = params.len() as u32;
        let inside = if reachable { self.stack } else { self.push_types(self.stack, &params) };
        let base = self.stacks.drop_top(inside, params_count);
        let end_stack = self.push_types(base, &results);
        let label = match construct {
            Construct::Loop => self.label(inside, params_count),
            _ => self.label(end_stack, results.len() as u32),
        };
        let mut else_label = None;
        match construct {
            Construct::Loop => {
                self.fall_into(label, at, next);
            }
            Construct::If => {
                let then_label = self.label(inside, params_count);
                let other = self.label(inside, params_count);
                else_label = Some(other);
                self.close(End::Branch, &[then_label, other], at, next);
                self.arrive(then_label, next);
            }
            _ => {}
        }
        let handlers = Handlers::default();
        let frame = Frame { construct, label, end_stack, else_label, reachable, handlers };
        self.frames.push(frame);
    }

    fn or_else(&mut self, at: u32, next: u32) {
        let frame = self.frames.last_mut().expect("validated");
        frame.construct = Construct::Else;
        let (label, else_label) = (frame.label, frame.else_label.take().expect("validated: else follows if"));
        self.close(End::Jump, &[label], at, at);
        self.arrive(else_label, next);
    }

    fn end(&mut self, at: u32, next: u32) {
        let frame = self.frames.pop().expect("validated");
        if frame.construct == Construct::Loop {
            self.stack = frame.end_stack;
            return;
        }
        if self.frames.is_empty() {
            return self.close(End::Jump, &[frame.label], at, next);
        }
        if let Some(else_label) = frame.else_label
            && frame.reachable
        {
            // An `if` without `else`: its false edge also arrives here, with the parameters as results.
            self.labels[frame.label].used = true;
            self.fall_into(frame.label, at, next);
            self.labels[else_label].target = self.labels[frame.label].target;
            return;
        }
        // The result of a handler of an older `try` leaves the exception behind.
        if self.labels[frame.label].used || frame.construct == Construct::Catch {
            self.fall_into(frame.label, at, next);
        } else if self.open.is_some() {
            self.stack = frame.end_stack;
        }
    }

    fn jump(&mut self, depth: u32, at: u32, next: u32) {
        let label = self.label_at(depth);
        self.close(End::Jump, &[label], at, next);
    }

    fn br_if(&mut self, depth: u32, at: u32, next: u32) {
        if self.open.is_none() {
            return;
        }
        self.stack = self.stacks.drop_top(self.stack, 1);
        let taken = self.label_at(depth);
        let not_taken = self.label(self.stack, 0);
        self.close(End::Branch, &[taken, not_taken], at, next);
        self.arrive(not_taken, next);
    }

    /// A branch on whether a reference is null; a non-null reference is passed along.
    fn br_on(&mut self, depth: u32, is_null: bool, at: u32, next: u32) {
        if self.open.is_none() {
            return;
        }
        let (reference, below) = self.stacks.pop(self.stack).expect("validated: there is a reference");
        let rest = if is_null { self.stacks.push(below, types::non_null(reference)) } else { below };
        let taken = self.label_at(depth);
        let not_taken = self.label(rest, 0);
        self.close(End::NullBranch, &[taken, not_taken], at, next);
        self.arrive(not_taken, next);
    }

    fn on_cast(&mut self, op: &Operator<'_>, at: u32, next: u32) -> bool {
        let Some((depth, ..)) = branch_on_cast(op) else { return false };
        if self.open.is_some() {
            let (taken, not_taken) = (self.label_at(depth), self.label(self.stack, 0));
            self.close(End::CastBranch, &[taken, not_taken], at, next);
            self.arrive(not_taken, next);
        }
        true
    }

    fn br_table(&mut self, targets: &wasmparser::BrTable<'_>, at: u32, next: u32) -> Result<()> {
        if self.open.is_none() {
            return Ok(());
        }
        self.stack = self.stacks.drop_top(self.stack, 1);
        let mut edge_of = hashbrown::HashMap::new();
        let mut labels = Vec::new();
        let mut table = Vec::with_capacity(targets.len() as usize + 1);
        for depth in targets.targets().chain(std::iter::once(Ok(targets.default()))) {
            let label = self.label_at(depth?);
            table.push(*edge_of.entry(label).or_insert_with(|| {
                labels.push(label);
                labels.len() as u32 - 1
            }));
        }
        self.close(End::Switch(table.into()), &labels, at, next);
        Ok(())
    }

    fn label(&mut self, stack: StackId, arity: u32) -> usize {
        self.labels.push(Label { target: None, stack, arity, used: false });
        self.labels.len() - 1
    }

    fn label_at(&self, depth: u32) -> usize {
        self.frames[self.frames.len() - 1 - depth as usize].label
    }

    fn block_types(&self, ty: BlockType) -> (Vec<ValType>, Vec<ValType>) {
        match ty {
            BlockType::Empty => (Vec::new(), Vec::new()),
            BlockType::Type(t) => (Vec::new(), vec![t]),
            BlockType::FuncType(i) => {
                let ty = self.info.types.func(i);
                (ty.params().to_vec(), ty.results().to_vec())
            }
        }
    }

    fn push_types(&mut self, below: StackId, types: &[ValType]) -> StackId {
        types.iter().fold(below, |stack, &ty| self.stacks.push(stack, ty))
    }

    fn open_block(&mut self, start: u32, stack: StackId) {
        self.stack = stack;
        self.accesses.begin_block();
        self.open = Some(Open { start, stack, ops: 0 });
    }

    /// Continues at `label`, which is placed here, with the preceding code, if it reaches this place.
    fn fall_into(&mut self, label: usize, at: u32, next: u32) {
        self.close(End::Jump, &[label], at, at);
        self.arrive(label, next);
    }

    /// Places `label` at the code at `start`.
    fn arrive(&mut self, label: usize, start: u32) {
        if self.labels[label].used {
            self.labels[label].target = Some(Target::Block(self.blocks.len() as u32));
            self.open_block(start, self.labels[label].stack);
        }
    }

    /// Ends the open block with the instruction at `end`; the code from `limit` on belongs to other blocks.
    fn close(&mut self, how: End, labels: &[usize], end: u32, limit: u32) {
        let Some(open) = self.open.take() else { return };
        for &label in labels {
            self.labels[label].used = true;
            self.edges += 1 + self.labels[label].arity as usize;
        }
        self.edge_labels.push(labels.iter().copied().collect());
        self.blocks.push(Block {
            start: open.start,
            end,
            limit,
            ops: open.ops,
            stack: open.stack,
            is_loop_header: false,
            how,
            edges: SmallVec::new(),
        });
    }

    fn finish(mut self) -> Result<Cfg> {
        let mut header = vec![false; self.blocks.len()];
        for (index, labels) in self.edge_labels.iter().enumerate() {
            for &label in labels {
                let label = &self.labels[label];
                let target = label.target.expect("validated: every label is reached");
                let height = self.stacks.height(label.stack) - label.arity;
                self.blocks[index].edges.push(Edge { target, arity: label.arity, height });
                if let Target::Block(to) = target
                    && to as usize <= index
                {
                    header[to as usize] = true;
                }
            }
        }
        for (block, is_header) in self.blocks.iter_mut().zip(header) {
            block.is_loop_header = is_header;
        }
        self.stacks.compact(self.blocks.iter_mut().map(|b| &mut b.stack));
        let liveness = Liveness::new(&self.blocks, self.accesses);
        let cfg = Cfg {
            func: self.func,
            locals: self.locals,
            params: self.params,
            blocks: self.blocks,
            calls: self.calls,
            is_leaf: self.is_leaf,
            stacks: self.stacks,
            liveness,
            known: Known::default(),
        };
        debug_assert_eq!(cfg.verify(), Ok(()));
        Ok(cfg)
    }
}
