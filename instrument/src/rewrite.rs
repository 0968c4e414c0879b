//! The body of a function, rewritten.
//!
//! Input: the original body, its graph, what is done on each edge. Output: bytes, and where they were inserted.
//!
//! **Where the code of an edge stands.** Before the instruction that ends the block, if that always goes this way; at
//! the start of the block it leads to, if nothing else does; else on a way of its own: an `if` around a branch, a switch
//! before the switch, an `else` that was not there, a landing pad in front of a handler. A branch by a reference, which
//! cannot be looked at twice, is taken for granted, and what was done is undone behind it.

mod catches;
mod marks;
mod places;
mod probes;

use std::collections::BTreeMap;

use wasm_encoder::{BlockType, InstructionSink, ValType};
use wasmparser::{Operator, OperatorsReader};

use crate::Error;
use crate::calls::Calls;
use crate::cfg::{Block, Cfg, End, is_call};
use crate::hot::Hot;
use crate::layout::{Global, Layout, Support};
use crate::module::Source;
use crate::offsets::Insertions;
use crate::plan::FunctionPlan;
use crate::sites::{is_end, is_site, may_leave};
use crate::support::Code;
use catches::Pad;
pub use catches::Types;
use marks::Pushed;
use places::{Place, Places};

/// What the rewriting of a function needs.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The module.
    pub source: &'a Source<'a>,
    /// Where things are.
    pub layout: &'a Layout,
    /// Who calls whom.
    pub calls: &'a Calls,
    /// The function's graph.
    pub cfg: &'a Cfg,
    /// What it counts.
    pub plan: &'a FunctionPlan,
    /// Its first counter.
    pub first_counter: u32,
    /// Its first site.
    pub first_site: u32,
    /// Whether all instructions that may trap are sites.
    pub all_traps: bool,
}

/// A body without its size, and what was inserted into it.
pub struct Rewritten {
    /// Locals and code.
    pub body: Vec<u8>,
    /// Where bytes were inserted.
    pub insertions: Insertions,
}

/// Rewrites a function; types that it needs are added to `types`, counters that are variables to `hot`.
///
/// # Errors
/// If the bytes are not those that were validated.
pub fn rewrite(input: Input<'_>, types: &mut Types, hot: &mut Hot) -> Result<Rewritten, Error> {
    let body = input.source.body(input.cfg.func);
    let mut declared = input.source.func_type(input.cfg.func).params().len() as u64;
    let mut groups = 0;
    for group in body.get_locals_reader()? {
        declared += u64::from(group?.0);
        groups += 1;
    }
    let start = body.range().start as u32;
    let mut reader = body.get_operators_reader()?;
    let code = reader.original_position() as u32;
    let mut writer = Writer::new(input, (types, hot), declared as u32);
    writer.read(&mut reader)?;
    let Writer { out, mut inserted, locals, .. } = writer;
    // The locals: their groups are counted first.
    let mut head = Vec::new();
    crate::offsets::leb(&mut head, groups + locals.used.len() as u32);
    let written = leb_length(&input.source.bytes[start as usize..]);
    head.extend(&input.source.bytes[start as usize + written..code as usize]);
    for ty in locals.used {
        head.push(1);
        wasm_encoder::Encode::encode(&ty, &mut head);
    }
    if let Some(more) = (head.len() as u32).checked_sub(code - start).filter(|more| *more > 0) {
        inserted.entry(code).and_modify(|bytes| *bytes += more).or_insert(more);
    }
    let all = inserted.into_iter().map(|(before, bytes)| (before - start, bytes)).collect();
    head.extend(out);
    Ok(Rewritten { body: head, insertions: Insertions { original: start, all } })
}

/// How many bytes the number takes that stands first.
fn leb_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| byte & 0x80 == 0).map_or(bytes.len(), |last| last + 1)
}

/// The locals that are added, each when it is first used.
struct Locals {
    first: u32,
    used: Vec<ValType>,
    known: BTreeMap<Local, u32>,
}

/// A local of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Local {
    /// The place of this frame's entry.
    Place,
    /// The path register.
    Path,
    /// What the path register was before a branch that was not taken.
    Before,
    /// The operand of a branch or of a tail call that is needed twice.
    Operand,
    /// The same if it has 64 bits.
    WideOperand,
    /// An address that is needed twice.
    Address,
    /// The block whose call or throw is under way, in a function that catches.
    Thrower,
}

impl Locals {
    fn index(&mut self, local: Local) -> u32 {
        *self.known.entry(local).or_insert_with(|| {
            let is_wide = matches!(local, Local::Path | Local::Before | Local::WideOperand);
            self.used.push(if is_wide { ValType::I64 } else { ValType::I32 });
            self.first + self.used.len() as u32 - 1
        })
    }
}

/// What a branch to a construct takes along.
#[derive(Clone, Copy)]
enum Arrives {
    /// The results of the function.
    Function,
    /// Those of the construct.
    Results(wasmparser::BlockType),
    /// The parameters of a loop.
    Params(wasmparser::BlockType),
}

/// A construct that is open.
struct Frame {
    /// How many constructs were open around it, ours included.
    depth: u32,
    arrives: Arrives,
    /// Of an `if` without `else`: the edge that needs one.
    else_edge: Option<usize>,
    /// The landing pads behind it.
    pads: Vec<Pad>,
    /// Of an older `try`: where it begins, and how many of its handlers have.
    old_try: Option<(u32, u32)>,
}

struct Writer<'a, 't> {
    input: Input<'a>,
    types: &'t mut Types,
    hot: &'t mut Hot,
    places: Places,
    out: Vec<u8>,
    /// By offset in the module, how many bytes were inserted before it.
    inserted: BTreeMap<u32, u32>,
    locals: Locals,
    frames: Vec<Frame>,
    /// How many constructs are open, ours included.
    depth: u32,
    /// Whether the stack has an entry of this frame.
    pushed: Pushed,
    /// The same where each block begins.
    begins: Vec<Pushed>,
    next_site: u32,
    /// Whether the frame's place is in a local from the beginning.
    has_place: bool,
    /// Where the instruction at hand stands in `out`.
    op_start: usize,
}

impl<'a, 't> Writer<'a, 't> {
    fn new(input: Input<'a>, (types, hot): (&'t mut Types, &'t mut Hot), first_local: u32) -> Writer<'a, 't> {
        let function =
            Frame { depth: 0, arrives: Arrives::Function, else_edge: None, pads: Vec::new(), old_try: None };
        Writer {
            places: Places::new(input.cfg, input.plan),
            input,
            types,
            hot,
            out: Vec::new(),
            inserted: BTreeMap::new(),
            locals: Locals { first: first_local, used: Vec::new(), known: BTreeMap::new() },
            frames: vec![function],
            depth: 1,
            pushed: Pushed::No,
            begins: marks::begins(&input),
            next_site: input.first_site,
            has_place: marks::has_place(&input),
            op_start: 0,
        }
    }

    fn code(&mut self) -> Code<'_, 'a> {
        Code { layout: self.input.layout, sink: InstructionSink::new(&mut self.out) }
    }

    fn sink(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.out)
    }

    fn read(&mut self, reader: &mut OperatorsReader<'a>) -> Result<(), Error> {
        let cfg = self.input.cfg;
        let mut blocks = cfg.blocks.iter().zip(0..).peekable();
        self.prologue();
        self.insert(reader.original_position() as u32, self.out.len());
        while !reader.eof() {
            let (op, at) = reader.read_with_offset()?;
            let (at, next) = (at as u32, reader.original_position() as u32);
            let before = self.out.len();
            let block = blocks.peek().copied().filter(|(block, _)| block.start <= at);
            if let Some((block, number)) = block
                && block.start == at
            {
                self.begin(number);
            }
            match block {
                Some((block, number)) if block.end == at => {
                    self.terminate(block, number, &op, (at, next))?;
                    blocks.next();
                }
                block => self.plain(block.is_some(), &op, (at, next))?,
            }
            let own = (next - at) as usize;
            self.insert(at, self.op_start - before);
            self.insert(next, self.out.len() - self.op_start - own);
        }
        Ok(())
    }

    /// Notes that bytes were inserted before the instruction at `at`.
    fn insert(&mut self, at: u32, bytes: usize) {
        if bytes > 0 {
            *self.inserted.entry(at).or_default() += bytes as u32;
        }
    }

    /// What is done when the function is entered.
    fn prologue(&mut self) {
        let Input { source, cfg, plan, .. } = self.input;
        if source.escaped.contains(&cfg.func) {
            self.enter_from_outside();
        }
        if self.has_place {
            self.find_place();
        }
        if let Some(entry) = plan.entry().filter(|entry| *entry != 0) {
            let path = self.locals.index(Local::Path);
            self.sink().i64_const(entry).local_set(path);
        }
    }

    fn begin(&mut self, block: u32) {
        self.pushed = self.begins[block as usize];
        for edge in self.places.at_start(block) {
            self.edge_code(edge);
        }
    }

    /// The instruction that ends a block.
    fn terminate(
        &mut self,
        block: &Block,
        number: u32,
        op: &Operator<'a>,
        (at, next): (u32, u32),
    ) -> Result<(), Error> {
        match &block.how {
            End::TailCall if may_leave(op) => {
                self.leave(number, op);
                self.copy(op, (at, next))
            }
            End::Jump | End::TailCall => {
                self.pop_to_leave(block);
                self.edge_code_at(number, 0, Place::Before);
                self.copy(op, (at, next))
            }
            End::Trap | End::Throw => {
                self.note_thrower(number);
                self.mark(op);
                self.copy(op, (at, next))
            }
            End::Call => {
                self.note_thrower(number);
                self.site(op, (at, next))
            }
            End::Branch => {
                self.pop_to_leave(block);
                self.branch(number, op, (at, next))
            }
            End::Switch(table) => {
                self.pop_to_leave(block);
                self.switch(number, table, op, (at, next))
            }
        }
    }

    /// An instruction within a block, or in dead code.
    fn plain(&mut self, is_live: bool, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        if !is_live || !is_site(op, self.input.all_traps) {
            return self.copy(op, bytes);
        }
        debug_assert!(!is_end(op), "that ends a block");
        self.site(op, bytes)
    }

    /// An instruction that may be the last of the frame.
    fn site(&mut self, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        if !marks::is_marked(&self.input, op) {
            self.next_site += 1;
            return self.copy(op, bytes);
        }
        self.mark(op);
        self.copy(op, bytes)?;
        if is_call(op) {
            self.returned(op);
        }
        Ok(())
    }

    /// Before a tail call through a table: the frame stops if there is no function, and is left otherwise. A function of
    /// another type cannot be told before.
    fn leave(&mut self, block: u32, op: &Operator<'a>) {
        let Operator::ReturnCallIndirect { table_index: table, .. } = *op else { return };
        let is_wide = self.input.source.tables_are_64[table as usize];
        let operand = self.locals.index(if is_wide { Local::WideOperand } else { Local::Operand });
        let mut sink = self.sink();
        sink.local_tee(operand).table_size(table);
        if is_wide {
            sink.i64_ge_u()
        } else {
            sink.i32_ge_u()
        };
        sink.if_(BlockType::Result(ValType::I32)).i32_const(1).else_();
        sink.local_get(operand).table_get(table).ref_is_null().end();
        sink.if_(BlockType::Empty);
        let was_pushed = self.pushed;
        self.mark(op);
        self.sink().else_();
        self.pushed = was_pushed;
        self.pop();
        self.edge_code_at(block, 0, Place::Before);
        self.sink().end().local_get(operand);
    }

    fn branch(&mut self, block: u32, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        let taken = self.places.edge_at(block, 0, Place::Apart);
        match *op {
            Operator::If { .. } => {
                let not_taken = self.places.edge_at(block, 1, Place::Apart);
                self.copy(op, bytes)?;
                self.frames.last_mut().expect("just entered").else_edge = not_taken;
                Ok(())
            }
            Operator::BrIf { relative_depth } => {
                let Some(edge) = taken else { return self.copy(op, bytes) };
                if self.label_types(relative_depth).is_empty() {
                    let depth = self.depth_of(relative_depth);
                    self.op_start = self.out.len();
                    self.sink().if_(BlockType::Empty);
                    self.edge_code(edge);
                    self.sink().br(depth + 1).end();
                    return Ok(());
                }
                let operand = self.locals.index(Local::Operand);
                self.sink().local_tee(operand).if_(BlockType::Empty);
                self.edge_code(edge);
                self.sink().end().local_get(operand);
                self.copy(op, bytes)
            }
            _ => {
                let Some(edge) = taken else { return self.copy(op, bytes) };
                self.guess(edge);
                self.copy(op, bytes)?;
                self.undo(edge);
                Ok(())
            }
        }
    }

    fn switch(
        &mut self,
        block: u32,
        table: &[u32],
        op: &Operator<'a>,
        bytes: (u32, u32),
    ) -> Result<(), Error> {
        let edges = self.input.cfg.blocks[block as usize].edges.len();
        let apart: Vec<(u32, usize)> = (0..edges)
            .filter_map(|edge| Some((edge as u32, self.places.edge_at(block, edge, Place::Apart)?)))
            .collect();
        if apart.is_empty() {
            return self.copy(op, bytes);
        }
        let operand = self.locals.index(Local::Operand);
        let count = apart.len() as u32;
        let way =
            |edge: &u32| apart.iter().position(|(found, _)| found == edge).map_or(count, |way| way as u32);
        let ways: Vec<u32> = table.iter().map(way).collect();
        let (default, cases) = ways.split_last().expect("a switch has a default");
        let mut sink = self.sink();
        sink.local_set(operand);
        for _ in 0..=count {
            sink.block(BlockType::Empty);
        }
        sink.local_get(operand).br_table(cases.iter().copied(), *default);
        for (way, (_, edge)) in (0..).zip(&apart) {
            self.sink().end();
            self.edge_code(*edge);
            self.sink().br(count - 1 - way);
        }
        self.sink().end().local_get(operand);
        self.copy(op, bytes)
    }

    /// Writes an instruction as it is, but for labels, which may lie deeper now, and what asks for the memory's size.
    fn copy(&mut self, op: &Operator<'a>, (at, next): (u32, u32)) -> Result<(), Error> {
        self.op_start = self.out.len();
        self.copy_op(op, (at, next))?;
        // A number may have taken more bytes than it needs.
        while self.out.len() - self.op_start < (next - at) as usize {
            self.out.insert(self.op_start, NOP);
        }
        Ok(())
    }

    fn copy_op(&mut self, op: &Operator<'a>, (at, next): (u32, u32)) -> Result<(), Error> {
        match op {
            Operator::Block { blockty } | Operator::If { blockty } => {
                self.copy_bytes(at, next);
                self.open(Arrives::Results(*blockty), None);
            }
            Operator::Loop { blockty } => {
                self.copy_bytes(at, next);
                self.open(Arrives::Params(*blockty), None);
            }
            Operator::Try { blockty } => {
                self.copy_bytes(at, next);
                self.open(Arrives::Results(*blockty), Some((at, 0)));
            }
            Operator::TryTable { try_table } => self.try_table(try_table, at),
            Operator::Catch { .. } | Operator::CatchAll => {
                self.copy_bytes(at, next);
                self.caught();
            }
            Operator::End => self.end(),
            Operator::MemorySize { mem } if self.is_shared_memory(*mem) => {
                self.copy_bytes(at, next);
                let mut code = self.code();
                code.get(Global::Pages);
                code.sink.i32_sub();
            }
            Operator::MemoryGrow { mem } if self.is_shared_memory(*mem) => self.code().call(Support::Grow),
            _ => return self.copy_branch(op, (at, next)),
        }
        Ok(())
    }

    fn copy_branch(&mut self, op: &Operator<'a>, (at, next): (u32, u32)) -> Result<(), Error> {
        match op {
            Operator::Delegate { relative_depth } => {
                self.frames.pop();
                self.depth -= 1;
                self.copy_with_label(at, next, 1, *relative_depth);
            }
            Operator::Rethrow { relative_depth }
            | Operator::Br { relative_depth }
            | Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth } => self.copy_with_label(at, next, 1, *relative_depth),
            Operator::BrOnCast { relative_depth, .. } | Operator::BrOnCastFail { relative_depth, .. } => {
                // A prefix, a number, flags, and then the label.
                let number = leb_length(&self.input.source.bytes[at as usize + 1..]) as u32;
                self.copy_with_label(at, next, 2 + number, *relative_depth);
            }
            Operator::BrTable { targets } => {
                let depths = targets.targets().map(|depth| Ok(self.depth_of(depth?)));
                let depths = depths.collect::<Result<Vec<u32>, Error>>()?;
                let default = self.depth_of(targets.default());
                self.sink().br_table(depths, default);
            }
            _ => self.copy_bytes(at, next),
        }
        Ok(())
    }

    fn is_shared_memory(&self, memory: u32) -> bool {
        self.input.layout.is_shared && memory == self.input.layout.memory
    }

    fn copy_bytes(&mut self, at: u32, next: u32) {
        self.out.extend_from_slice(&self.input.source.bytes[at as usize..next as usize]);
    }

    /// The same with another label, which stands so many bytes behind the start.
    fn copy_with_label(&mut self, at: u32, next: u32, behind: u32, label: u32) {
        let depth = self.depth_of(label);
        let label = at + behind;
        let rest = label + leb_length(&self.input.source.bytes[label as usize..]) as u32;
        self.copy_bytes(at, label);
        crate::offsets::leb(&mut self.out, depth);
        self.copy_bytes(rest, next);
    }

    fn open(&mut self, arrives: Arrives, old_try: Option<(u32, u32)>) {
        self.frames.push(Frame { depth: self.depth, arrives, else_edge: None, pads: Vec::new(), old_try });
        self.depth += 1;
    }

    fn end(&mut self) {
        let frame = self.frames.pop().expect("validated");
        if let Some(edge) = frame.else_edge {
            self.sink().else_();
            self.edge_code(edge);
            self.op_start = self.out.len();
        }
        self.sink().end();
        self.depth -= 1;
        self.land(frame.pads);
    }

    /// What a label of the original is now.
    fn depth_of(&self, label: u32) -> u32 {
        self.depth - 1 - self.frame_of(label).depth
    }

    fn frame_of(&self, label: u32) -> &Frame {
        &self.frames[self.frames.len() - 1 - label as usize]
    }

    /// What a branch to a label takes along.
    fn label_types(&self, label: u32) -> Vec<wasmparser::ValType> {
        let source = self.input.source;
        match self.frame_of(label).arrives {
            Arrives::Function => source.func_type(self.input.cfg.func).results().to_vec(),
            Arrives::Results(ty) => source.block_types(ty).1,
            Arrives::Params(ty) => source.block_types(ty).0,
        }
    }
}

/// The instruction that does nothing.
const NOP: u8 = 0x01;
