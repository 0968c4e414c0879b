//! Calls: direct calls through code slots; calls to imports, through tables, and through function references.
//!
//! A table may hold functions whose type is a subtype of the call's type; the displays of types decide
//! (`abi::display`). Final types have no subtypes, so one comparison is enough for them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, SigRef, Value, types};
use wasmparser::Operator;
use wprof_profiler::HOST_CALLEE;

use super::Translator;
use super::region::Region;
use crate::abi::{
    TrapCode, code_slots, dispatch_cell, display, func_import, func_ref, trace_word, wasm_signature,
};
use crate::cfg::Call;
use crate::clif::trace::Bits;
use crate::options::Pass;
use crate::plan::{Probe, Probes};

/// A resolved callee: its signature, code address, and all arguments.
pub(super) struct Callee {
    pub(super) signature: SigRef,
    pub(super) code: Value,
    pub(super) args: Vec<Value>,
    /// The callee's token in the trace, an `i64`, if it is known only at run time.
    token: Option<Value>,
}

impl Translator<'_> {
    pub(super) fn call(&mut self, op: &Operator<'_>) -> bool {
        let Some(callee) = self.named_callee(op) else { return false };
        self.settle();
        let results = self.call_or_land(callee.signature, callee.code, &callee.args);
        results.into_iter().for_each(|result| self.push(result));
        true
    }

    /// Returns the callee of a call, and emits its token into the trace.
    pub(super) fn named_callee(&mut self, op: &Operator<'_>) -> Option<Callee> {
        let callee = self.callee(op)?;
        if let Some(token) = callee.token {
            // Nothing of the call has happened before the callee is emitted: see `FunctionTrace::frame`.
            self.emit(Bits::Token { token, value: 0, bits: 0 }, self.position.offset() - 1);
        }
        Some(callee)
    }

    /// Translates a tail call, which ends the frame: crosses its edge once nothing can trap here any more.
    pub(super) fn tail_call(&mut self, op: &Operator<'_>, probes: &Probes) {
        let mut callee = self.callee(op).expect("the block ends in a tail call");
        if self.input.options().traced {
            callee = match self.traced_tail_call(op, callee, probes) {
                Some(callee) => callee,
                None => return,
            };
        } else {
            self.probes(probes);
        }
        self.leave_frame();
        self.builder.ins().return_call_indirect(callee.signature, callee.code, &callee.args);
    }

    /// Crosses the edge and emits the callee, as one step. A host function is called and returned from instead, since
    /// its caller must be visible on the stack; returns `None` if the callee is always a host function.
    fn traced_tail_call(&mut self, op: &Operator<'_>, callee: Callee, probes: &Probes) -> Option<Callee> {
        let token = match (op, callee.token) {
            (Operator::ReturnCall { function_index }, _)
                if self.input.env().info.is_imported_func(*function_index) =>
            {
                self.call_and_return(&callee, probes);
                return None;
            }
            (Operator::ReturnCall { function_index }, _) => {
                let token = trace_word::in_word(*function_index, 32);
                self.builder.ins().iconst(types::I64, token as i64)
            }
            (_, token) => token.expect("the callee is read from a table"),
        };
        if callee.token.is_some() {
            self.call_host_and_return(token, &callee, probes);
        }
        let (mut value, mut bits) = (0, 0);
        for probe in probes {
            match *probe {
                Probe::Emit { value: v, bits: b } => (value, bits) = (v, b),
                _ => self.probe(probe),
            }
        }
        self.emit(Bits::Token { token, value, bits }, self.position.offset() - 1);
        Some(callee)
    }

    /// Calls a host function and ends the frame if the token is the host's.
    fn call_host_and_return(&mut self, token: Value, callee: &Callee, probes: &Probes) {
        let host = i64::from(HOST_CALLEE);
        let is_host = self.builder.ins().icmp_imm_s(IntCC::Equal, token, host);
        let (host, wasm) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_host, host, &[], wasm, &[]);
        self.builder.seal_block(host);
        self.builder.seal_block(wasm);
        self.builder.switch_to_block(host);
        self.emit(Bits::Token { token, value: 0, bits: 0 }, self.position.offset() - 1);
        self.call_and_return(callee, probes);
        self.builder.switch_to_block(wasm);
    }

    fn call_and_return(&mut self, callee: &Callee, probes: &Probes) {
        self.stop_metrics();
        let call = self.builder.ins().call_indirect(callee.signature, callee.code, &callee.args);
        let results = self.builder.inst_results(call).to_vec();
        self.start_metrics();
        self.probes(probes);
        self.leave_frame();
        self.builder.ins().return_(&results);
    }

    /// Resolves the callee of a call instruction and pops the instruction's operands.
    fn callee(&mut self, op: &Operator<'_>) -> Option<Callee> {
        if Call::new(op).is_some() {
            self.pass_counted();
        }
        match *op {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                Some(self.direct(function_index))
            }
            Operator::CallIndirect { type_index, table_index } => Some(
                self.dispatched(type_index, table_index)
                    .unwrap_or_else(|| self.through_table(type_index, table_index)),
            ),
            // A trap at a dispatch cell occurs in the callee, so its caller must be on the stack.
            Operator::ReturnCallIndirect { type_index, table_index } => {
                Some(self.through_table(type_index, table_index))
            }
            Operator::CallRef { type_index } | Operator::ReturnCallRef { type_index } => {
                let reference = self.pop();
                Some(self.referenced(type_index, reference, TrapCode::NullReference))
            }
            _ => None,
        }
    }

    fn direct(&mut self, func: u32) -> Callee {
        let (slots, vmctx) = if self.input.env().info.is_imported_func(func) {
            let import = self.input.env().layout.func_import(func) as i32;
            let slots = self.load_constant(types::I64, self.vmctx, import + func_import::SLOTS);
            (slots, self.load_constant(types::I64, self.vmctx, import + func_import::VMCTX))
        } else {
            let row = self.input.env().slots + u64::from(func) * u64::from(code_slots::SIZE);
            (self.builder.ins().iconst(types::I64, row as i64), self.vmctx)
        };
        self.resolve(self.input.env().info.funcs[func as usize], slots, vmctx, None)
    }

    /// Resolves the callee by its dispatch cell, if there is one: the code comes from the cell, and the instance is
    /// this one.
    fn dispatched(&mut self, type_index: u32, table: u32) -> Option<Callee> {
        // The stop position, or the callee, must be visible.
        if self.input.options().precise
            || self.input.graph().in_bursts
            || !self.input.has(Pass::ConstantTables)
        {
            return None;
        }
        let (info, cells) = (self.input.env().info, self.input.env().dispatch_cells?);
        let number = info.constant_tables.find(info, table, type_index)?;
        let dispatch = &info.constant_tables.dispatches()[number];
        self.output.add_dispatch(number as u32);
        let index = self.pop();
        let index = self.extend_index(index, false);
        let len = self.builder.ins().iconst(types::I64, i64::from(dispatch.len));
        let is_out = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, len);
        let index = self.builder.ins().select_spectre_guard(is_out, len, index);
        let offset = self.builder.ins().ishl_imm_u(index, i64::from(dispatch_cell::SIZE.ilog2()));
        let first = cells + u64::from(dispatch.first) * u64::from(dispatch_cell::SIZE);
        let first = self.builder.ins().iconst(types::I64, first as i64);
        let cell = self.builder.ins().iadd(first, offset);
        let slots =
            self.builder.ins().uload32(MemFlagsData::trusted().with_readonly().with_can_move(), cell, 0);
        Some(self.resolve(type_index, slots, self.vmctx, None))
    }

    fn through_table(&mut self, type_index: u32, table: u32) -> Callee {
        let index = self.pop();
        let reference = self.load_element(table, index);
        if !self.holds_only(table, type_index) {
            self.check_type(reference, type_index);
        }
        self.referenced(type_index, reference, TrapCode::IndirectCallToNull)
    }

    /// Reports whether all non-null elements of a table have a type.
    fn holds_only(&self, table: u32, type_index: u32) -> bool {
        let info = self.input.env().info;
        let element = info.tables[table as usize].element_type.type_index();
        let element = element.and_then(|index| index.as_module_index());
        element.is_some_and(|element| info.types.is_subtype(element, type_index))
    }

    /// Traps unless a function, possibly null, has a type or a subtype of it. Loading the type of a null reference
    /// faults.
    fn check_type(&mut self, reference: Value, type_index: u32) {
        let null = TrapCode::IndirectCallToNull.to_clif();
        let flags = MemFlagsData::new().with_aligned().with_readonly().with_trap_code(Some(null));
        let ty = self.builder.ins().load(types::I32, flags, reference, func_ref::TYPE);
        let differs = self.is_other_type(ty, type_index);
        if self.input.env().info.types.get(type_index).is_final {
            self.builder.ins().trapnz(differs, TrapCode::BadSignature.to_clif());
            return;
        }
        let (other, fits) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(differs, other, &[], fits, &[]);
        self.builder.seal_block(other);
        self.builder.switch_to_block(other);
        let flags = MemFlagsData::trusted().with_readonly();
        let display = self.builder.ins().load(types::I64, flags, reference, func_ref::DISPLAY);
        self.check_above(display, type_index);
        self.builder.ins().jump(fits, &[]);
        self.builder.seal_block(fits);
        self.builder.switch_to_block(fits);
    }

    /// Traps unless a type equals the type with this display or is a supertype of it.
    fn check_above(&mut self, display: Value, type_index: u32) {
        let depth = self.input.env().info.types.depth(type_index);
        let flags = MemFlagsData::trusted().with_readonly();
        let len = self.builder.ins().load(types::I32, flags, display, display::LEN);
        let is_short = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, len, i64::from(depth));
        self.builder.ins().trapnz(is_short, TrapCode::BadSignature.to_clif());
        let place = display::IDS + depth as i32 * display::ID_SIZE;
        let id = self.builder.ins().load(types::I32, flags, display, place);
        let differs = self.is_other_type(id, type_index);
        self.builder.ins().trapnz(differs, TrapCode::BadSignature.to_clif());
    }

    fn is_other_type(&mut self, id: Value, type_index: u32) -> Value {
        let expected = i64::from(self.input.env().type_ids[type_index as usize]);
        let expected = self.builder.ins().iconst(types::I32, expected);
        self.builder.ins().icmp(IntCC::NotEqual, id, expected)
    }

    /// Resolves the callee of a reference, which may be null.
    fn referenced(&mut self, type_index: u32, reference: Value, null: TrapCode) -> Callee {
        // The load from a null reference faults: this is the null check, before anything of the call is counted.
        let flags = MemFlagsData::new().with_aligned().with_readonly().with_trap_code(Some(null.to_clif()));
        let slots = self.builder.ins().load(types::I64, flags, reference, func_ref::SLOTS);
        self.count_target(reference);
        let flags = MemFlagsData::trusted().with_readonly();
        let vmctx = self.builder.ins().load(types::I64, flags, reference, func_ref::VMCTX);
        let token = self.input.options().traced.then(|| {
            let token = self.builder.ins().load(types::I32, flags, reference, func_ref::TRACE_TOKEN);
            self.builder.ins().uextend(types::I64, token)
        });
        self.resolve(type_index, slots, vmctx, token)
    }

    /// Resolves the callee of a row of code slots.
    fn resolve(&mut self, type_index: u32, slots: Value, vmctx: Value, token: Option<Value>) -> Callee {
        let ty = self.input.env().info.types.func(type_index);
        let operands = self.pop_many(ty.params().len());
        let args = [vmctx, self.vmctx].into_iter().chain(operands).collect();
        let signature = self.signature_of(type_index);
        let flags = self.definition_flags(Region::Code);
        let entry = match self.input.graph().in_bursts {
            true => code_slots::INSTRUMENTED_ENTRY,
            false => code_slots::ENTRY,
        };
        let code = self.builder.ins().load(types::I64, flags, slots, entry);
        Callee { signature, code, args, token }
    }

    fn signature_of(&mut self, type_index: u32) -> SigRef {
        let env = self.input.env();
        let new = || wasm_signature(env.info.types.func(type_index));
        self.interned.function(env.type_ids[type_index as usize], &mut self.builder, new)
    }
}
