//! Traps without faults: code that finds by tests what the processor would find, and then calls the runtime.
//!
//! A process that owns its signals wants none to be raised. So what may fault is preceded by a test, and each trap by a
//! call of [`Builtin::Raise`], which ends the wasm code. The trap instruction itself stays behind that call: it is never
//! reached, but its trap site tells the runtime what has happened, and where, as it tells the signal handler otherwise.
//!
//! Input: any function whose accesses to memories and tables are tested already. Output: the same, in which no
//! instruction faults. **Invariant**: behind a call of `Raise` the next trap site in the code is the trap's own.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    self, Block, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Opcode, SigRef, Type, Value,
    types,
};
use cranelift_codegen::isa::CallConv;

use crate::CompileError;
use crate::abi::{Builtin, TrapCode, vmctx};

/// Makes all traps of a function explicit; `context` is its vmctx.
///
/// # Errors
/// Returns an error if an instruction is to fault for a reason that no test finds.
pub(crate) fn make_explicit(
    func: &mut Function,
    index: u32,
    convention: CallConv,
    context: Value,
) -> Result<(), CompileError> {
    let all: Vec<Inst> = func.layout.blocks().flat_map(|block| func.layout.block_insts(block)).collect();
    let signature = func.import_signature(Builtin::Raise.signature(convention));
    let mut rewriter = Rewriter { func, context, signature };
    for inst in all {
        rewriter.rewrite(inst).map_err(|message| CompileError::Codegen { func: index, message })?;
    }
    Ok(())
}

struct Rewriter<'a> {
    func: &'a mut Function,
    context: Value,
    signature: SigRef,
}

impl Rewriter<'_> {
    fn rewrite(&mut self, inst: Inst) -> Result<(), String> {
        match self.func.dfg.insts[inst] {
            InstructionData::Trap { .. } => {
                let mut pos = at(self.func, inst);
                call_raise(&mut pos, self.context, self.signature);
            }
            InstructionData::CondTrap { opcode, arg, code } => self.branch(inst, opcode, arg, code),
            InstructionData::IntAddTrap { args: [a, b], code, .. } => {
                self.func.replace(inst).iadd(a, b);
                let sum = self.func.dfg.first_result(inst);
                let mut pos = at(self.func, inst);
                pos.next_inst();
                let wraps = pos.ins().icmp(IntCC::UnsignedLessThan, sum, a);
                let next = pos.current_inst().ok_or("a sum ends a block")?;
                let location = self.func.srcloc(inst);
                self.trap_at(next, location, wraps, code);
            }
            InstructionData::Binary { opcode, args: [dividend, divisor] } => {
                self.divide(inst, opcode, dividend, divisor);
            }
            InstructionData::Unary { opcode: opcode @ (Opcode::FcvtToSint | Opcode::FcvtToUint), arg } => {
                self.convert(inst, opcode, arg);
            }
            _ => self.access(inst)?,
        }
        Ok(())
    }

    /// Replaces a conditional trap by a branch.
    fn branch(&mut self, inst: Inst, opcode: Opcode, condition: Value, code: ir::TrapCode) {
        let mut pos = at(self.func, inst);
        let traps = match opcode {
            Opcode::Trapnz => condition,
            _ => pos.ins().icmp_imm_u(IntCC::Equal, condition, 0),
        };
        self.trap_before(inst, traps, code);
        self.func.layout.remove_inst(inst);
    }

    /// Traps in front of an instruction if the condition is not zero.
    fn trap_before(&mut self, inst: Inst, condition: Value, code: ir::TrapCode) {
        self.trap_at(inst, self.func.srcloc(inst), condition, code);
    }

    /// Traps in front of an instruction as the code at this location.
    fn trap_at(&mut self, inst: Inst, location: ir::SourceLoc, condition: Value, code: ir::TrapCode) {
        let block = self.func.layout.inst_block(inst).expect("it is in the layout");
        let [behind, cold] = [(); 2].map(|()| self.func.dfg.make_block());
        self.func.layout.split_block(behind, inst);
        self.func.layout.append_block(cold);
        self.func.layout.set_cold(cold);
        let mut pos = FuncCursor::new(self.func).with_srcloc(location).at_bottom(block);
        pos.ins().brif(condition, cold, &[], behind, &[]);
        pos.goto_bottom(cold);
        call_raise(&mut pos, self.context, self.signature);
        pos.ins().trap(code);
    }

    /// Tests the divisor of a division.
    fn divide(&mut self, inst: Inst, opcode: Opcode, dividend: Value, divisor: Value) {
        let is_signed = match opcode {
            Opcode::Sdiv => true,
            Opcode::Udiv | Opcode::Urem | Opcode::Srem => false,
            _ => return,
        };
        let ty = self.func.dfg.value_type(divisor);
        let known = self.constant(divisor);
        if known.is_none_or(|divisor| divisor == 0) {
            let is_zero = at(self.func, inst).ins().icmp_imm_u(IntCC::Equal, divisor, 0);
            self.trap_before(inst, is_zero, TrapCode::DivisionByZero.to_clif());
        }
        if is_signed && known.is_none_or(|divisor| divisor == -1) {
            let mut pos = at(self.func, inst);
            let is_minus_one = pos.ins().icmp_imm_s(IntCC::Equal, divisor, -1);
            let least = pos.ins().iconst(ty, least_of(ty));
            let is_least = pos.ins().icmp(IntCC::Equal, dividend, least);
            let overflows = pos.ins().band(is_minus_one, is_least);
            self.trap_before(inst, overflows, TrapCode::IntegerOverflow.to_clif());
        }
    }

    fn constant(&self, value: Value) -> Option<i64> {
        let inst = self.func.dfg.value_def(value).inst()?;
        let InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } = self.func.dfg.insts[inst] else {
            return None;
        };
        let shift = 64 - self.func.dfg.value_type(value).bits();
        Some(imm.bits() << shift >> shift)
    }

    /// Tests the operand of a conversion to an integer, which then never has to saturate.
    fn convert(&mut self, inst: Inst, opcode: Opcode, value: Value) {
        let (from, to) = (self.func.dfg.value_type(value), self.func.dfg.ctrl_typevar(inst));
        let is_signed = opcode == Opcode::FcvtToSint;
        let is_nan = at(self.func, inst).ins().fcmp(FloatCC::Unordered, value, value);
        self.trap_before(inst, is_nan, TrapCode::BadConversion.to_clif());
        let mut pos = at(self.func, inst);
        let (low, low_is_in, high) = bounds(from, to, is_signed);
        let (low, high) = (float(&mut pos, from, low), float(&mut pos, from, high));
        let below = if low_is_in { FloatCC::LessThan } else { FloatCC::LessThanOrEqual };
        let is_below = pos.ins().fcmp(below, value, low);
        let is_above = pos.ins().fcmp(FloatCC::GreaterThanOrEqual, value, high);
        let overflows = pos.ins().bor(is_below, is_above);
        self.trap_before(inst, overflows, TrapCode::IntegerOverflow.to_clif());
        match is_signed {
            true => self.func.replace(inst).fcvt_to_sint_sat(to, value),
            false => self.func.replace(inst).fcvt_to_uint_sat(to, value),
        };
    }

    /// Tests the address of an access that would find a null reference by faulting.
    fn access(&mut self, inst: Inst) -> Result<(), String> {
        let data = &self.func.dfg.insts[inst];
        let Some(code) = data.memflags_data(&self.func.dfg).and_then(|flags| flags.trap_code()) else {
            return Ok(());
        };
        match TrapCode::from_clif(code) {
            Some(TrapCode::NullReference | TrapCode::IndirectCallToNull) => {
                let address = self.func.dfg.inst_args(inst)[0];
                let is_null = at(self.func, inst).ins().icmp_imm_u(IntCC::Equal, address, 0);
                self.trap_before(inst, is_null, code);
                Ok(())
            }
            // The translator has tested the index.
            Some(TrapCode::MemoryOutOfBounds | TrapCode::TableOutOfBounds) | None => Ok(()),
            Some(code) => Err(format!("an access faults to report {code:?}, where faults are not allowed")),
        }
    }
}

fn at(func: &mut Function, inst: Inst) -> FuncCursor<'_> {
    let location = func.srcloc(inst);
    FuncCursor::new(func).with_srcloc(location).at_inst(inst)
}

fn call_raise(pos: &mut FuncCursor<'_>, context: Value, signature: SigRef) {
    let flags = MemFlagsData::trusted().with_readonly();
    let table = pos.ins().load(types::I64, flags, context, vmctx::BUILTINS);
    let code = pos.ins().load(types::I64, flags, table, Builtin::Raise.offset());
    pos.ins().call_indirect(signature, code, &[context]);
}

/// Returns the least integer of a type.
fn least_of(ty: Type) -> i64 {
    if ty == types::I32 { i64::from(i32::MIN) } else { i64::MIN }
}

/// Returns the bounds of the floats of type `from` whose integral part is an integer of type `to`: the lower one, whether
/// it is itself such a float, and the upper one, which is not.
fn bounds(from: Type, to: Type, is_signed: bool) -> (f64, bool, f64) {
    let power = |bits: u32| 2.0_f64.powi(bits as i32);
    match (is_signed, from == types::F64 && to == types::I32) {
        (false, _) => (-1.0, false, power(to.bits())),
        (true, true) => (-power(31) - 1.0, false, power(31)),
        // No float lies between the least integer and the integer below it.
        (true, false) => (-power(to.bits() - 1), true, power(to.bits() - 1)),
    }
}

fn float(pos: &mut FuncCursor<'_>, ty: Type, value: f64) -> Value {
    match ty {
        types::F32 => pos.ins().f32const(value as f32),
        _ => pos.ins().f64const(value),
    }
}

/// Returns the vmctx of a function with this entry block, whose first parameter it is.
pub(crate) fn context_of(func: &Function) -> Option<Value> {
    let entry: Block = func.layout.entry_block()?;
    func.dfg.block_params(entry).first().copied()
}
