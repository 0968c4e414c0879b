//! Tests of references: types, casts, i31, identity.
//!
//! The test of an object against a type that may have subtypes first compares the types, which mostly suffices, and
//! then looks into the object's display (Cohen, "Type-Extension Type Tests Can Be Performed In Constant Time", TOPLAS
//! 1991).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types};
use wasmparser::{AbstractHeapType, CompositeInnerType, HeapType, Operator, RefType, UnpackedIndex};

use crate::abi::object::{self, TAG_MASK};
use crate::abi::{TrapCode, display, func_ref, store_context};
use crate::translate::Translator;

impl Translator<'_> {
    pub(super) fn cast(&mut self, op: &Operator<'_>) -> bool {
        match *op {
            Operator::RefTestNonNull { hty } => self.ref_test(hty, false),
            Operator::RefTestNullable { hty } => self.ref_test(hty, true),
            Operator::RefCastNonNull { hty } => self.cast_to(hty, false),
            Operator::RefCastNullable { hty } => self.cast_to(hty, true),
            // Internal and external references have the same representation.
            Operator::AnyConvertExtern | Operator::ExternConvertAny => {}
            Operator::RefEq => {
                let (b, a) = (self.pop(), self.pop());
                let is_same = self.builder.ins().icmp(IntCC::Equal, a, b);
                let is_same = self.builder.ins().uextend(types::I32, is_same);
                self.push(is_same);
            }
            Operator::RefI31 => {
                let value = self.pop();
                let one = self.builder.ins().iconst(types::I32, object::I31.cast_signed());
                let word = self.builder.ins().ishl(value, one);
                let word = self.builder.ins().bor(word, one);
                let word = self.builder.ins().uextend(types::I64, word);
                self.push(word);
            }
            Operator::I31GetS | Operator::I31GetU => {
                let reference = self.pop();
                self.check_null(reference);
                let word = self.builder.ins().ireduce(types::I32, reference);
                let one = self.builder.ins().iconst(types::I32, object::I31.cast_signed());
                let value = match op {
                    Operator::I31GetS => self.builder.ins().sshr(word, one),
                    _ => self.builder.ins().ushr(word, one),
                };
                self.push(value);
            }
            _ => return false,
        }
        true
    }

    fn ref_test(&mut self, ty: HeapType, is_nullable: bool) {
        let reference = self.pop();
        let is_one = self.is_of(reference, ty, is_nullable);
        let is_one = self.builder.ins().uextend(types::I32, is_one);
        self.push(is_one);
    }

    fn cast_to(&mut self, ty: HeapType, is_nullable: bool) {
        let reference = self.pop();
        let is_one = self.is_of(reference, ty, is_nullable);
        self.builder.ins().trapz(is_one, TrapCode::CastFailure.to_clif());
        self.push(reference);
    }

    /// Tests whether the top operand, which stays, has a type, or lacks it unless `is_wanted`: the condition of a
    /// branch.
    pub(in crate::translate) fn is_top_of(&mut self, ty: RefType, is_wanted: bool) -> Value {
        let reference = self.top(1)[0];
        let is_one = self.is_of(reference, ty.heap_type(), ty.is_nullable());
        match is_wanted {
            true => is_one,
            false => self.builder.ins().icmp_imm_s(IntCC::Equal, is_one, 0),
        }
    }

    /// Tests whether a reference has a type, as a CLIF truth value.
    fn is_of(&mut self, reference: Value, ty: HeapType, is_nullable: bool) -> Value {
        let (answer, other) = (self.builder.create_block(), self.builder.create_block());
        let result = self.builder.append_block_param(answer, types::I8);
        let of_null = self.builder.ins().iconst(types::I8, i64::from(is_nullable));
        self.builder.ins().brif(reference, other, &[], answer, &[of_null.into()]);
        self.builder.switch_to_block(other);
        self.builder.seal_block(other);
        let is_one = match ty {
            HeapType::Abstract { ty, .. } => self.is_of_abstract(reference, ty, answer),
            HeapType::Concrete(index) | HeapType::Exact(index) => {
                self.is_of_defined(reference, index, answer)
            }
        };
        self.builder.ins().jump(answer, &[is_one.into()]);
        self.builder.switch_to_block(answer);
        self.builder.seal_block(answer);
        result
    }

    /// Tests whether a non-null reference has an abstract type. Jumps to `answer` with the result, or returns it in the
    /// current block.
    fn is_of_abstract(&mut self, reference: Value, ty: AbstractHeapType, answer: ir::Block) -> Value {
        use AbstractHeapType::*;
        match ty {
            Any | Func | Extern | Exn => self.truth(true),
            None | NoFunc | NoExtern | NoExn => self.truth(false),
            I31 => {
                let tag = self.builder.ins().band_imm_s(reference, object::I31.cast_signed());
                self.builder.ins().icmp_imm_s(IntCC::NotEqual, tag, 0)
            }
            Eq => {
                let tag = self.tag(reference);
                self.builder.ins().icmp_imm_s(IntCC::NotEqual, tag, object::HOST.cast_signed())
            }
            Struct | Array => {
                let word = self.type_word(reference, answer);
                let bit = self.builder.ins().band_imm_s(word, i64::from(object::IS_ARRAY));
                let condition = if ty == Array { IntCC::NotEqual } else { IntCC::Equal };
                self.builder.ins().icmp_imm_s(condition, bit, 0)
            }
            Cont | NoCont => unreachable!("the proposal is off"),
        }
    }

    fn truth(&mut self, value: bool) -> Value {
        self.builder.ins().iconst(types::I8, i64::from(value))
    }

    fn tag(&mut self, reference: Value) -> Value {
        self.builder.ins().band_imm_s(reference, TAG_MASK.cast_signed())
    }

    /// Loads the first word of an object. For a reference to something else, jumps to `answer` with no.
    fn type_word(&mut self, reference: Value, answer: ir::Block) -> Value {
        let tag = self.tag(reference);
        let object = self.builder.create_block();
        let no = self.truth(false);
        self.builder.ins().brif(tag, answer, &[no.into()], object, &[]);
        self.builder.switch_to_block(object);
        self.builder.seal_block(object);
        let flags = self.head_flags();
        self.builder.ins().load(types::I32, flags, reference, object::TYPE)
    }

    fn is_of_defined(&mut self, reference: Value, index: UnpackedIndex, answer: ir::Block) -> Value {
        let index = index.as_module_index().expect("a type as it was read");
        let ty = self.input.env().info.types.get(index);
        let (id, is_final) = (self.input.env().type_ids[index as usize], ty.is_final);
        let (found, expected) = match ty.composite_type.inner {
            CompositeInnerType::Func(_) => {
                let flags = ir::MemFlagsData::trusted().with_readonly();
                (self.builder.ins().load(types::I32, flags, reference, func_ref::TYPE), id)
            }
            CompositeInnerType::Array(_) => (self.type_word(reference, answer), object::type_word(id, true)),
            _ => (self.type_word(reference, answer), object::type_word(id, false)),
        };
        let is_it = self.builder.ins().icmp_imm_s(IntCC::Equal, found, i64::from(expected.cast_signed()));
        if is_final {
            return is_it;
        }
        let (other, yes) = (self.builder.create_block(), self.truth(true));
        self.builder.ins().brif(is_it, answer, &[yes.into()], other, &[]);
        self.builder.switch_to_block(other);
        self.builder.seal_block(other);
        let above = match self.input.env().info.types.get(index).composite_type.inner {
            CompositeInnerType::Func(_) => {
                let flags = ir::MemFlagsData::trusted().with_readonly();
                self.builder.ins().load(types::I64, flags, reference, func_ref::DISPLAY)
            }
            _ => self.display_of(found),
        };
        self.is_above(above, index, id, answer)
    }

    /// Loads the display of the type in an object's first word.
    fn display_of(&mut self, word: Value) -> Value {
        let store = self.store_context();
        let flags = self.head_flags();
        let displays = self.builder.ins().load(types::I64, flags, store, store_context::DISPLAYS);
        // The word already is twice the id, except for its lowest bit.
        let word = self.builder.ins().uextend(types::I64, word);
        let word = self.builder.ins().band_imm_s(word, -2);
        let two = self.builder.ins().iconst(types::I64, 2);
        let offset = self.builder.ins().ishl(word, two);
        let place = self.builder.ins().iadd(displays, offset);
        self.builder.ins().load(types::I64, flags, place, 0)
    }

    /// Tests whether type `index` is in a display.
    fn is_above(&mut self, above: Value, index: u32, id: u32, answer: ir::Block) -> Value {
        let depth = self.input.env().info.types.depth(index);
        let flags = ir::MemFlagsData::trusted();
        let count = self.builder.ins().load(types::I32, flags, above, display::LEN);
        let has_it = self.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, count, i64::from(depth));
        let (look, no) = (self.builder.create_block(), self.truth(false));
        self.builder.ins().brif(has_it, look, &[], answer, &[no.into()]);
        self.builder.switch_to_block(look);
        self.builder.seal_block(look);
        let at = display::IDS + display::ID_SIZE * depth as i32;
        let found = self.builder.ins().load(types::I32, flags, above, at);
        self.builder.ins().icmp_imm_s(IntCC::Equal, found, i64::from(id.cast_signed()))
    }
}
