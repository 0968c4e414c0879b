//! Rewriting of a function's body.
//!
//! Input: the original body, its graph and the probes of its edges. Output: the new bytes and the insertions.
//!
//! **Placement of an edge's code.** Before the instruction that ends the block, if that always takes this edge; at the
//! start of the target block, if no other edge leads there; otherwise on a path of its own: an `if` around a branch, a
//! switch before the switch, an added `else`, a landing pad in front of a handler. A branch on a reference cannot test
//! its operand twice, so the code assumes that it is taken, and code behind the branch undoes that.

mod branches;
mod catches;
mod contexts;
mod lengths;
mod marks;
mod places;
mod probes;
mod traces;

use std::collections::BTreeMap;

use wasm_encoder::{BlockType, InstructionSink, ValType};
use wasmparser::{Operator, OperatorsReader};

use crate::Error;
use crate::calls::Calls;
use crate::cfg::{Block, Cfg, End, is_call};
use crate::event_kind::EventKind;
use crate::events::FunctionEvents;
use crate::hot::Hot;
use crate::layout::{Layout, Support};
use crate::module::Source;
use crate::offsets::Insertions;
use crate::plan::FunctionPlan;
use crate::shims::Shims;
use crate::sites::{is_end, is_site, is_wait, may_leave};
use crate::support::Code;
use catches::Pad;
pub use catches::Types;
use marks::Pushed;
use places::{Place, Places};

/// The input for the rewriting of a function.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The original module.
    pub source: &'a Source<'a>,
    /// The layout of the additions.
    pub layout: &'a Layout,
    /// The functions that replace imported functions where they are used as values.
    pub shims: &'a Shims,
    /// The call graph.
    pub calls: &'a Calls,
    /// The function's graph.
    pub cfg: &'a Cfg,
    /// The function's counting plan.
    pub plan: &'a FunctionPlan,
    /// The events of the function, if any are counted.
    pub events: Option<&'a FunctionEvents>,
    /// The kinds of events.
    pub kinds: &'a [EventKind],
    /// The number of the function's first counter.
    pub first_counter: u32,
    /// The number of the function's first site.
    pub first_site: u32,
    /// Whether all instructions that may trap are sites.
    pub all_traps: bool,
    /// Whether it matters where frames stop.
    pub tracks: bool,
}

/// A rewritten body, without its size, and the insertions.
pub struct Rewritten {
    /// Locals and code.
    pub body: Vec<u8>,
    /// The insertions into the original body.
    pub insertions: Insertions,
}

/// Rewrites a function. Types that the code needs are added to `types`, counters that become variables to `hot`.
///
/// # Errors
/// Returns an error if the bytes differ from those that were validated.
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
    // Locals come first: a count of groups, and then the groups.
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

/// Returns the encoded length of the LEB128 number at the start of the bytes.
fn leb_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| byte & 0x80 == 0).map_or(bytes.len(), |last| last + 1)
}

/// The added locals, each of which is allocated when it is first used.
struct Locals {
    first: u32,
    used: Vec<ValType>,
    known: BTreeMap<Local, u32>,
}

/// An added local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Local {
    /// The place of this frame's entry.
    Place,
    /// The path register.
    Path,
    /// The value of the path register before a branch that was not taken.
    Before,
    /// The operand of a branch or a tail call that is needed twice.
    Operand,
    /// An operand of 64 bits that is needed twice.
    WideOperand,
    /// The number of a path, below that of its call record.
    Number,
    /// An address that is needed twice.
    Address,
    /// The number of the block whose call or throw is in progress, in a function that catches.
    Thrower,
    /// The frame's call record.
    Record,
    /// The slot from which the host called when the frame began.
    Outer,
}

impl Locals {
    fn index(&mut self, local: Local) -> u32 {
        *self.known.entry(local).or_insert_with(|| {
            let is_wide = matches!(local, Local::Path | Local::Before | Local::Number | Local::WideOperand);
            self.used.push(if is_wide { ValType::I64 } else { ValType::I32 });
            self.first + self.used.len() as u32 - 1
        })
    }
}

/// The types of the operands that a branch to a construct carries.
#[derive(Clone, Copy)]
enum Arrives {
    /// The results of the function.
    Function,
    /// The results of the construct.
    Results(wasmparser::BlockType),
    /// The parameters of a loop.
    Params(wasmparser::BlockType),
}

/// An open construct.
struct Frame {
    /// The number of open constructs around it, including added ones.
    depth: u32,
    arrives: Arrives,
    /// For an `if` without `else`: the edge that needs one.
    else_edge: Option<usize>,
    /// The landing pads behind the construct.
    pads: Vec<Pad>,
    /// For a legacy `try`: its offset, and the number of its handlers that have begun.
    old_try: Option<(u32, u32)>,
}

struct Writer<'a, 't> {
    input: Input<'a>,
    types: &'t mut Types,
    hot: &'t mut Hot,
    places: Places,
    out: Vec<u8>,
    /// By offset in the module, the number of bytes inserted before it.
    inserted: BTreeMap<u32, u32>,
    locals: Locals,
    frames: Vec<Frame>,
    /// The number of open constructs, including added ones.
    depth: u32,
    /// Whether the stack has an entry of this frame.
    pushed: Pushed,
    /// For each block, whether the stack has an entry of this frame at the block's start.
    begins: Vec<Pushed>,
    next_site: u32,
    /// The number of the next callee slot.
    next_slot: u32,
    /// Whether the function puts back from where the host calls.
    has_outer: bool,
    /// Whether a local holds the frame's place from the beginning.
    has_place: bool,
    /// The start in `out` of the current instruction.
    op_start: usize,
    /// The byte offset of the current instruction.
    at: u32,
}

impl<'a, 't> Writer<'a, 't> {
    fn new(input: Input<'a>, (types, hot): (&'t mut Types, &'t mut Hot), first_local: u32) -> Writer<'a, 't> {
        let function =
            Frame { depth: 0, arrives: Arrives::Function, else_edge: None, pads: Vec::new(), old_try: None };
        Writer {
            places: Places::new(input.cfg, input.plan, input.events),
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
            next_slot: 0,
            has_outer: contexts::has_outer(&input),
            has_place: marks::has_place(&input),
            op_start: 0,
            at: 0,
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
            self.at = at;
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

    fn is_traced(&self) -> bool {
        self.input.layout.trace.is_some()
    }

    /// Records that bytes were inserted before the instruction at `at`.
    fn insert(&mut self, at: u32, bytes: usize) {
        if bytes > 0 {
            *self.inserted.entry(at).or_default() += bytes as u32;
        }
    }

    /// Writes the code at function entry.
    fn prologue(&mut self) {
        let Input { source, cfg, plan, .. } = self.input;
        if source.escaped.contains(&cfg.func) {
            self.enter_from_outside();
        }
        self.enter_traced();
        self.enter_context();
        let events = self.input.events;
        for &(kind, amount) in events.iter().flat_map(|events| &events.at_entry) {
            self.add_events(kind, amount);
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
        if matches!(self.input.plan, FunctionPlan::EveryBlock(_)) {
            let is_hot = self.is_hot();
            self.count(block, 1, is_hot);
        }
        for edge in self.places.at_start(block) {
            self.edge_code(edge);
        }
    }

    /// Writes the instruction that ends a block.
    fn terminate(
        &mut self,
        block: &Block,
        number: u32,
        op: &Operator<'a>,
        (at, next): (u32, u32),
    ) -> Result<(), Error> {
        match &block.how {
            End::TailCall if self.is_traced() => self.tail_call_traced(number, op, (at, next)),
            End::TailCall if may_leave(op) && self.input.tracks => {
                self.leave(number, op);
                self.copy_call(op, (at, next))
            }
            End::Jump | End::TailCall => {
                self.pop_to_leave(block);
                self.edge_code_at(number, 0, Place::Before);
                match block.how {
                    End::TailCall => self.copy_call(op, (at, next)),
                    _ => self.copy(op, (at, next)),
                }
            }
            End::Trap | End::Throw => {
                self.events_before(at);
                self.note_thrower(number);
                match self.is_traced() {
                    true => self.site_traced(op, (at, next)),
                    false => {
                        self.mark(op);
                        self.copy(op, (at, next))
                    }
                }
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

    /// Writes an instruction within a block, or in dead code.
    fn plain(&mut self, is_live: bool, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        if is_live {
            self.count_length(op);
        }
        if !is_live || !is_site(op, self.input.all_traps) {
            return self.copy(op, bytes);
        }
        debug_assert!(!is_end(op), "that ends a block");
        self.site(op, bytes)
    }

    /// Writes an instruction that may be the last of the frame.
    fn site(&mut self, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        if self.is_traced() {
            return self.site_traced(op, bytes);
        }
        self.events_before(bytes.0);
        let is_marked = marks::is_marked(&self.input, op);
        self.next_site += u32::from(!is_marked);
        if is_marked {
            self.mark(op);
        }
        if !is_call(op) {
            return self.copy_at_site(op, bytes);
        }
        self.copy_call(op, bytes)?;
        if is_marked {
            self.returned(op);
        } else if !self.input.tracks {
            self.code().settle();
        }
        Ok(())
    }

    /// Copies an instruction that is no call. While a thread waits, its host may end it: so it leaves a region that others
    /// can read.
    fn copy_at_site(&mut self, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        if !self.input.layout.is_threaded || !is_wait(op) {
            return self.copy(op, bytes);
        }
        let mut code = self.code();
        code.call(Support::Flush);
        code.sink.drop();
        self.copy(op, bytes)?;
        let mut code = self.code();
        code.region();
        let magic = code.at(0, 2);
        code.sink.i32_const(0).i32_store(magic);
        Ok(())
    }

    /// Writes the code before a tail call through a table: the frame stops if the table has no function there, and
    /// leaves otherwise. A function of another type cannot be detected beforehand.
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

    /// Copies an instruction; adjusts labels, whose depth may have changed, and instructions that ask for the memory's
    /// size.
    fn copy(&mut self, op: &Operator<'a>, (at, next): (u32, u32)) -> Result<(), Error> {
        self.op_start = self.out.len();
        self.copy_op(op, (at, next))?;
        // A number may have been encoded in more bytes than necessary.
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
            Operator::RefFunc { function_index } if self.input.shims.shim(*function_index).is_some() => {
                let shim = self.input.shims.shim(*function_index).unwrap_or_default();
                self.sink().ref_func(shim);
            }
            Operator::MemorySize { mem } if self.is_shared_memory(*mem) => {
                self.copy_bytes(at, next);
                self.code().without_region();
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
                // The encoding: a prefix, a number, flags, and then the label.
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

    /// Copies an instruction with another label, which stands `behind` bytes after its start.
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

    /// Returns the new depth of an original label.
    fn depth_of(&self, label: u32) -> u32 {
        self.depth - 1 - self.frame_of(label).depth
    }

    fn frame_of(&self, label: u32) -> &Frame {
        &self.frames[self.frames.len() - 1 - label as usize]
    }

    /// Returns the types of the operands that a branch to a label carries.
    fn label_types(&self, label: u32) -> Vec<wasmparser::ValType> {
        let source = self.input.source;
        match self.frame_of(label).arrives {
            Arrives::Function => source.func_type(self.input.cfg.func).results().to_vec(),
            Arrives::Results(ty) => source.block_types(ty).1,
            Arrives::Params(ty) => source.block_types(ty).0,
        }
    }
}

/// The opcode of `nop`.
const NOP: u8 = 0x01;
