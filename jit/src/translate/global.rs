//! Globals.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use wasmparser::Operator;

use super::Translator;
use super::region::Region;
use crate::abi::clif_type;
use crate::module::ConstOp;

impl Translator<'_> {
    pub(super) fn global(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::GlobalGet { global_index } => {
                let value = match self.constant_global(global_index) {
                    Some(value) => value,
                    None => self.load_global(global_index),
                };
                self.push(value);
            }
            Operator::GlobalSet { global_index } => {
                let value = self.pop();
                let (base, offset) = self.global_cell(global_index);
                let flags = self.global_flags(global_index);
                self.builder.ins().store(flags, value, base, offset);
            }
            _ => return false,
        }
        true
    }

    fn load_global(&mut self, index: u32) -> Value {
        let ty = clif_type(self.input.env().info.global_type(index));
        let (base, offset) = self.global_cell(index);
        let flags = self.global_flags(index);
        self.builder.ins().load(ty, flags, base, offset)
    }

    /// Returns the value of an immutable global that the module initialises with a constant.
    fn constant_global(&mut self, index: u32) -> Option<Value> {
        let global = &self.input.env().info.globals[index as usize];
        let init = global.init.as_ref().filter(|_| !global.ty.mutable)?;
        Some(match init.0[..] {
            [ConstOp::I32(value)] => self.builder.ins().iconst(types::I32, i64::from(value as u32)),
            [ConstOp::I64(value)] => self.builder.ins().iconst(types::I64, value),
            [ConstOp::F32(bits)] => self.builder.ins().f32const(f32::from_bits(bits)),
            [ConstOp::F64(bits)] => self.builder.ins().f64const(f64::from_bits(bits)),
            _ => return None,
        })
    }

    fn global_flags(&mut self, index: u32) -> MemFlagsData {
        let info = self.input.env().info;
        let region = match index < info.imported_globals {
            true => Region::ImportedGlobals,
            false => Region::Global(index),
        };
        let flags = self.definition_flags(region);
        match info.globals[index as usize].ty.mutable {
            true => flags,
            false => flags.with_readonly().with_can_move(),
        }
    }

    fn global_cell(&mut self, index: u32) -> (Value, i32) {
        match index.checked_sub(self.input.env().info.imported_globals) {
            Some(own) => (self.vmctx, self.input.env().layout.global(own) as i32),
            None => {
                let at = self.input.env().layout.global_import(index) as i32;
                (self.load_constant(types::I64, self.vmctx, at), 0)
            }
        }
    }
}
