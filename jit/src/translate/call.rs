//! Calls: direct through code slots, to imports and through tables through function references.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, SigRef, Value, types};
use wasmparser::Operator;

use super::Translator;
use super::region::Region;
use crate::abi::{TrapCode, code_slots, func_import, func_ref, wasm_signature};
use crate::graph::Probes;

/// A resolved callee: its signature, code address, and all arguments.
struct Callee {
    signature: SigRef,
    code: Value,
    args: Vec<Value>,
}

impl Translator<'_> {
    pub(super) fn call(&mut self, op: &Operator<'_>) -> bool {
        let Some(callee) = self.callee(op) else { return false };
        let call = self.builder.ins().call_indirect(callee.signature, callee.code, &callee.args);
        for index in 0..self.builder.inst_results(call).len() {
            let result = self.builder.inst_results(call)[index];
            self.push(result);
        }
        true
    }

    /// A tail call ends the frame: its edge is crossed once nothing can trap here any more.
    pub(super) fn tail_call(&mut self, op: &Operator<'_>, probes: &Probes) {
        let callee = self.callee(op).expect("the block ends in a tail call");
        self.probes(probes);
        self.builder.ins().return_call_indirect(callee.signature, callee.code, &callee.args);
    }

    /// Resolves the callee of a call instruction and pops what it takes.
    fn callee(&mut self, op: &Operator<'_>) -> Option<Callee> {
        match *op {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                Some(self.direct(function_index))
            }
            Operator::CallIndirect { type_index, table_index }
            | Operator::ReturnCallIndirect { type_index, table_index } => {
                Some(self.through_table(type_index, table_index))
            }
            _ => None,
        }
    }

    fn direct(&mut self, func: u32) -> Callee {
        let (slots, vmctx) = if self.env.info.is_imported_func(func) {
            let import = self.env.layout.func_import(func) as i32;
            let slots = self.load_constant(types::I64, self.vmctx, import + func_import::SLOTS);
            (slots, self.load_constant(types::I64, self.vmctx, import + func_import::VMCTX))
        } else {
            let row = self.env.slots + u64::from(func) * u64::from(code_slots::SIZE);
            (self.builder.ins().iconst(types::I64, row as i64), self.vmctx)
        };
        self.resolve(self.env.info.funcs[func as usize], slots, vmctx)
    }

    fn through_table(&mut self, type_index: u32, table: u32) -> Callee {
        let index = self.pop();
        let reference = self.load_element(table, index);
        // Loading the type of a null reference faults; that is the null check.
        let null = TrapCode::IndirectCallToNull.to_clif();
        let flags = MemFlagsData::new().with_aligned().with_readonly().with_trap_code(Some(null));
        let ty = self.builder.ins().load(types::I32, flags, reference, func_ref::TYPE);
        let expected = i64::from(self.env.type_ids[type_index as usize]);
        let expected = self.builder.ins().iconst(types::I32, expected);
        let differs = self.builder.ins().icmp(IntCC::NotEqual, ty, expected);
        self.builder.ins().trapnz(differs, TrapCode::BadSignature.to_clif());
        let flags = MemFlagsData::trusted().with_readonly();
        let slots = self.builder.ins().load(types::I64, flags, reference, func_ref::SLOTS);
        let vmctx = self.builder.ins().load(types::I64, flags, reference, func_ref::VMCTX);
        self.resolve(type_index, slots, vmctx)
    }

    /// The callee behind a row of code slots.
    fn resolve(&mut self, type_index: u32, slots: Value, vmctx: Value) -> Callee {
        let ty = &self.env.info.types[type_index as usize];
        let operands = self.pop_many(ty.params().len());
        let args = [vmctx, self.vmctx].into_iter().chain(operands).collect();
        let signature = self.builder.import_signature(wasm_signature(ty));
        let flags = self.definition_flags(Region::Code);
        let code = self.builder.ins().load(types::I64, flags, slots, code_slots::ENTRY);
        Callee { signature, code, args }
    }
}
