//! Execution of one version's blocks on terms.
//!
//! Invariant: the events of a block include all that can be observed of it, in order.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, ExceptionTable, ExceptionTableItem, FuncRef, Function, Inst, InstructionData,
    MemFlagsData, Opcode, SigRef, SourceLoc, StackSlot, Type, Value,
};
use smallvec::smallvec;

use super::rules::{self, Shapes};
use super::symbols::{Key, Symbols};
use crate::validate::terms::{Args, Op, Term, Terms};

/// The number of the first value that an exception brings, among the results of a call.
const EXCEPTIONS: u32 = 1 << 31;

/// An observable action of an instruction, with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub what: What,
    pub values: Args,
    location: SourceLoc,
    inst: Inst,
}

impl Event {
    /// Reports whether another version's event is the same.
    pub fn is_same(&self, other: &Event) -> bool {
        (self.what, &self.values, self.location) == (other.what, &other.values, other.location)
    }

    pub fn show(&self, terms: &Terms, func: &Function) -> String {
        let values: Vec<String> = self.values.iter().map(|&value| terms.show(value)).collect();
        format!("{} of ({})", func.dfg.display_inst(self.inst), values.join(", "))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Stores that many bytes; the values are the address and the stored value.
    Store(u32, MemFlagsData),
    /// Loads that many bytes and may trap; the value is the address.
    Load(u32, MemFlagsData),
    Call(Opcode, FuncRef),
    CallIndirect(Opcode, SigRef),
    /// A call that ends its block, with a block for its return and that many for exceptions.
    TryCall(Opcode, SigRef, usize),
    /// Branches to one of that many blocks, by the values, or leaves the function with them.
    End(Opcode, usize),
    /// An instruction of this shape.
    Other(u32, Option<MemFlagsData>),
}

/// A version of the function, with the terms of its values.
pub(super) struct Version<'a> {
    pub func: &'a Function,
    values: SecondaryMap<Value, Option<Term>>,
    /// The first stack slot that is a variable.
    pub first_variable: usize,
}

/// The state of a version in a block.
#[derive(Clone, Default)]
pub(super) struct State {
    /// The contents of the variables, each with its type.
    pub variables: Vec<Term>,
    /// The number of possible changes of memory in the block.
    pub changes: u32,
}

/// The actions of a version in a block.
#[derive(Default)]
pub(super) struct Trace {
    pub events: Vec<Event>,
    /// The loads that are no events.
    pub loads: Vec<Load>,
}

/// A load that cannot trap, because it stands where its address is known to be valid.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub value: Term,
    flags: MemFlagsData,
    /// The number of events before the load, from which its address may be known to be valid.
    after: usize,
}

impl Load {
    /// Reports whether another load shows that this one is valid.
    pub fn is_as_good_as(&self, other: &Load) -> bool {
        (self.value, self.flags) == (other.value, other.flags) && self.after >= other.after
    }
}

/// The context in which a block is executed.
pub(super) struct Machine<'m> {
    pub terms: &'m mut Terms,
    pub shapes: &'m mut Shapes,
    pub symbols: &'m mut Symbols,
    /// The block, in both versions: new blocks on the way to the next one belong to it.
    pub block: Block,
}

impl Machine<'_> {
    /// Returns the symbol of a result of the last event: it is only known to be the same in both versions.
    fn result(&mut self, trace: &Trace, at: u32, most: u64) -> Term {
        let event = (trace.events.len() as u32).saturating_sub(1);
        self.symbols.get(self.terms, Key::Result { block: self.block, event, at, most })
    }
}

impl<'a> Version<'a> {
    pub fn new(func: &'a Function, first_variable: usize) -> Version<'a> {
        Version { func, values: SecondaryMap::new(), first_variable }
    }

    pub fn variables(&self) -> usize {
        self.func.sized_stack_slots.len() - self.first_variable
    }

    pub fn bind(&mut self, value: Value, term: Term) {
        self.values[value] = Some(term);
    }

    /// Returns the term of a value.
    pub fn term(&self, value: Value) -> Result<Term, String> {
        let value = self.func.dfg.resolve_aliases(value);
        self.values[value].ok_or_else(|| match self.variable(value) {
            Some(slot) => format!("the address of {slot} is {value}, which is not only loaded and stored to"),
            None => format!("{value} is not known where it is used"),
        })
    }

    /// Returns the variable whose address a value is.
    fn variable(&self, value: Value) -> Option<StackSlot> {
        match self.func.dfg.insts[self.func.dfg.value_def(value).inst()?] {
            InstructionData::StackAddr { stack_slot, offset, .. } if i32::from(offset) == 0 => {
                Some(stack_slot).filter(|slot| slot.as_u32() as usize >= self.first_variable)
            }
            _ => None,
        }
    }

    /// Executes the instructions of a block.
    pub fn execute(
        &mut self,
        block: Block,
        machine: &mut Machine<'_>,
        state: &mut State,
        trace: &mut Trace,
    ) -> Result<(), String> {
        let func = self.func;
        for inst in func.layout.block_insts(block) {
            Step { version: self, machine, state, trace, inst }.execute()?;
        }
        Ok(())
    }

    /// Returns the targets at the end of a block.
    pub fn targets(&self, block: Block) -> &'a [BlockCall] {
        let dfg = &self.func.dfg;
        let end = self.func.layout.last_inst(block).expect("blocks have an end");
        dfg.insts[end].branch_destination(&dfg.jump_tables, &dfg.exception_tables)
    }

    /// Returns the terms passed to a block at the end of another one, whose actions are `trace`.
    pub fn given(&self, call: &BlockCall, machine: &mut Machine<'_>, trace: &Trace) -> Result<Args, String> {
        let dfg = &self.func.dfg;
        let to = call.block(&dfg.value_lists);
        let given = |(arg, &param): (BlockArg, &Value)| {
            let at = match arg {
                BlockArg::Value(value) => return self.term(value),
                BlockArg::TryCallRet(at) => at,
                BlockArg::TryCallExn(at) => EXCEPTIONS + at,
            };
            Ok(machine.result(trace, at, rules::most(dfg.value_type(param))))
        };
        call.args(&dfg.value_lists).zip(dfg.block_params(to)).map(given).collect()
    }
}

/// The execution of one instruction.
struct Step<'s, 'a, 'm> {
    version: &'s mut Version<'a>,
    machine: &'s mut Machine<'m>,
    state: &'s mut State,
    trace: &'s mut Trace,
    inst: Inst,
}

impl Step<'_, '_, '_> {
    fn execute(&mut self) -> Result<(), String> {
        let func = self.version.func;
        let data = func.dfg.insts[self.inst];
        let flags = data.memflags_data(&func.dfg);
        let opcode = data.opcode();
        match data {
            InstructionData::StackAddr { stack_slot, .. }
                if stack_slot.as_u32() as usize >= self.version.first_variable =>
            {
                // The address has no term: its uses show whether it is that of a variable.
                Ok(())
            }
            InstructionData::Load { arg, offset, .. } if loaded(func, self.inst).is_some() => {
                match self.version.variable(func.dfg.resolve_aliases(arg)) {
                    Some(slot) => self.read(slot, i32::from(offset)),
                    None => self.load(arg, i32::from(offset), flags.unwrap_or(MemFlagsData::new())),
                }
            }
            InstructionData::Store { args: [value, address], offset, .. } => {
                match self.version.variable(func.dfg.resolve_aliases(address)) {
                    Some(slot) => self.write(slot, i32::from(offset), value),
                    None => {
                        self.store([value, address], i32::from(offset), flags.unwrap_or(MemFlagsData::new()))
                    }
                }
            }
            InstructionData::Call { func_ref, .. } => self.call(What::Call(opcode, func_ref)),
            InstructionData::CallIndirect { sig_ref, .. } => self.call(What::CallIndirect(opcode, sig_ref)),
            _ if opcode.is_terminator() => self.end(),
            _ => self.other(flags),
        }
    }

    fn args(&mut self) -> Result<Args, String> {
        let args = self.version.func.dfg.inst_args(self.inst);
        args.iter().map(|&arg| self.version.term(arg)).collect()
    }

    fn note(&mut self, what: What, values: Args) {
        let location = self.version.func.srcloc(self.inst);
        self.trace.events.push(Event { what, values, location, inst: self.inst });
    }

    /// Returns the state of memory.
    fn memory(&mut self) -> Term {
        let Machine { terms, symbols, block, .. } = self.machine;
        symbols.get(terms, Key::Memory(*block, self.state.changes))
    }

    fn result(&self) -> (Value, Type) {
        let value = self.version.func.dfg.first_result(self.inst);
        (value, self.version.func.dfg.value_type(value))
    }

    fn address(&mut self, address: Value, offset: i32) -> Result<Term, String> {
        let address = self.version.term(address)?;
        Ok(self.machine.terms.add_constant(address, i64::from(offset) as u64))
    }

    fn load(&mut self, address: Value, offset: i32, flags: MemFlagsData) -> Result<(), String> {
        let (bytes, is_signed) = loaded(self.version.func, self.inst).expect("it is a load");
        let address = self.address(address, offset)?;
        let memory = self.memory();
        let terms = &mut *self.machine.terms;
        let mut value = terms.apply(Op::Load(bytes), &[address, memory]);
        match flags.trap_code() {
            Some(_) => self.note(What::Load(bytes, flags), smallvec![address]),
            None => {
                let after = self.trace.events.len();
                self.trace.loads.push(Load { value, flags, after });
            }
        }
        let (result, ty) = self.result();
        if is_signed {
            let terms = &mut *self.machine.terms;
            value = terms.sign_extended(8 * bytes as u8, value);
            value = terms.low(ty.bits() as u8, value);
        }
        self.version.bind(result, value);
        Ok(())
    }

    fn store(
        &mut self,
        [value, address]: [Value; 2],
        offset: i32,
        flags: MemFlagsData,
    ) -> Result<(), String> {
        let func = self.version.func;
        let ty = func.dfg.value_type(value);
        let bytes = match func.dfg.insts[self.inst].opcode() {
            Opcode::Istore8 => 1,
            Opcode::Istore16 => 2,
            Opcode::Istore32 => 4,
            _ => ty.bytes(),
        };
        let address = self.address(address, offset)?;
        let value = self.version.term(value)?;
        let value = if bytes < 8 { self.machine.terms.low(8 * bytes as u8, value) } else { value };
        self.note(What::Store(bytes, flags), smallvec![address, value]);
        self.state.changes += 1;
        Ok(())
    }

    // Variables.

    fn variable(&self, slot: StackSlot, offset: i32, ty: Type) -> Result<usize, String> {
        let slots = &self.version.func.sized_stack_slots;
        match offset == 0 && ty.bytes() <= slots[slot].size {
            true => Ok(slot.as_u32() as usize - self.version.first_variable),
            false => Err(format!("what is beside {slot} is accessed")),
        }
    }

    fn write(&mut self, slot: StackSlot, offset: i32, value: Value) -> Result<(), String> {
        let func = self.version.func;
        let ty = func.dfg.value_type(value);
        let at = self.variable(slot, offset, ty)?;
        if func.dfg.insts[self.inst].opcode() != Opcode::Store {
            return Err(format!("a part of {slot} is written"));
        }
        let value = self.version.term(value)?;
        self.state.variables[at] = self.machine.terms.apply(content(ty), &[value]);
        Ok(())
    }

    fn read(&mut self, slot: StackSlot, offset: i32) -> Result<(), String> {
        let (result, ty) = self.result();
        let held = self.state.variables[self.variable(slot, offset, ty)?];
        let is_whole = self.version.func.dfg.insts[self.inst].opcode() == Opcode::Load;
        let value = match self.machine.terms.as_apply(held) {
            Some((op, &[value])) if op == content(ty) && is_whole => value,
            // A load of another type or width yields an uninterpreted function of the contents.
            _ => {
                let what = self.machine.shapes.number(self.version.func, self.inst);
                let op = Op::Instruction { code: what, part: 1, more: 0 };
                let value = self.machine.terms.apply(op, &[held]);
                rules::bits(ty).map_or(value, |bits| self.machine.terms.low(bits, value))
            }
        };
        self.version.bind(result, value);
        Ok(())
    }

    // The rest.

    fn call(&mut self, what: What) -> Result<(), String> {
        let values = self.args()?;
        self.note(what, values);
        self.bind_results();
        self.state.changes += 1;
        Ok(())
    }

    /// Binds the results of the last event.
    fn bind_results(&mut self) {
        let func = self.version.func;
        for (at, &value) in func.dfg.inst_results(self.inst).iter().enumerate() {
            let most = rules::most(func.dfg.value_type(value));
            let term = self.machine.result(self.trace, at as u32, most);
            self.version.bind(value, term);
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let func = self.version.func;
        let data = func.dfg.insts[self.inst];
        let values = self.args()?;
        let opcode = data.opcode();
        if let Some(table) = data.exception_table() {
            let what = try_call(func, opcode, table)?;
            self.note(what, values);
            return Ok(());
        }
        let targets = data.branch_destination(&func.dfg.jump_tables, &func.dfg.exception_tables).len();
        match data {
            // The target is compared, and a jump has no other observable effect.
            InstructionData::Jump { .. } => {}
            InstructionData::Trap { .. } => {
                let shape = self.machine.shapes.number(func, self.inst);
                self.note(What::Other(shape, None), values);
            }
            _ => self.note(What::End(opcode, targets), values),
        }
        Ok(())
    }

    /// Executes an instruction that computes, or one that is only known to have effects.
    fn other(&mut self, flags: Option<MemFlagsData>) -> Result<(), String> {
        let func = self.version.func;
        let opcode = func.dfg.insts[self.inst].opcode();
        if opcode == Opcode::Nop {
            return Ok(());
        }
        let args = self.args()?;
        let shape = self.machine.shapes.number(func, self.inst);
        let acts = opcode.can_store() || opcode.other_side_effects() || opcode.is_call();
        if acts {
            self.note(What::Other(shape, flags), args);
            self.bind_results();
            self.state.changes += 1;
            return Ok(());
        }
        if opcode.can_trap() || opcode.can_load() {
            self.note(What::Other(shape, flags), args.clone());
        }
        let mut args = rules::taken(self.machine.terms, func, self.inst, args);
        let known = rules::known(self.machine.terms, func, self.inst, &args);
        if opcode.can_load() {
            args.push(self.memory());
        }
        for (part, &value) in func.dfg.inst_results(self.inst).iter().enumerate() {
            let terms = &mut *self.machine.terms;
            let term = known.unwrap_or_else(|| {
                let op = Op::Instruction { code: shape, part: part as u8, more: 1 };
                let term = terms.apply(op, &args);
                let bits = rules::bits(func.dfg.value_type(value));
                bits.map_or(term, |bits| terms.low(bits, term))
            });
            self.version.bind(value, term);
        }
        Ok(())
    }
}

/// Returns the event of a call that ends its block.
fn try_call(func: &Function, opcode: Opcode, table: ExceptionTable) -> Result<What, String> {
    let table = &func.dfg.exception_tables[table];
    if table.items().any(|item| !matches!(item, ExceptionTableItem::Default(_))) {
        return Err("a handler of some exceptions only is not understood".into());
    }
    Ok(What::TryCall(opcode, table.signature(), table.items().count()))
}

/// Returns the number of bytes of a load, and whether it sign-extends them; none for other kinds of loads.
fn loaded(func: &Function, inst: Inst) -> Option<(u32, bool)> {
    Some(match func.dfg.insts[inst].opcode() {
        Opcode::Load => (func.dfg.value_type(func.dfg.first_result(inst)).bytes(), false),
        Opcode::Uload8 => (1, false),
        Opcode::Sload8 => (1, true),
        Opcode::Uload16 => (2, false),
        Opcode::Sload16 => (2, true),
        Opcode::Uload32 => (4, false),
        Opcode::Sload32 => (4, true),
        _ => return None,
    })
}

/// Returns the operation that marks a variable's contents as written with a type.
fn content(ty: Type) -> Op {
    Op::Instruction { code: u32::MAX, part: 0, more: ty.index() as u32 }
}
