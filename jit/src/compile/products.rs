//! Products with 3, 5 and 9 as sums.
//!
//! A multiplication takes three cycles; `x + 4 * x` is one instruction of one or two. Cranelift has sums with a shifted
//! operand as `lea`, but makes none of products.
//!
//! Input: an optimised function. Output: the same, with such sums.
//! Source: Bernstein, *Multiplication by Integer Constants*, Software: Practice and Experience 16(7), 1986, of which these
//! are the simplest cases. Of two sums, or a sum and a shift, it was not tried whether they are worth it.
//! Example: `v2 = imul v1, 5` becomes `v3 = ishl v1, 2; v2 = iadd v1, v3`, which is `lea (%rdi,%rdi,4), %eax`.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Function, Inst, InstBuilder, Opcode, types};

use super::constants::computed;
use super::{replace, resolve_aliases};

/// Makes sums of products.
pub(super) fn simplify(func: &mut Function) {
    let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    let found: Vec<(Inst, i64)> = insts.filter_map(|inst| Some((inst, shift(func, inst)?))).collect();
    for (inst, shift) in found {
        let (_, value, _) = computed(func, inst).expect("it is a product with a constant");
        let mut pos = FuncCursor::new(func).at_inst(inst);
        let by = pos.ins().iconst(types::I8, shift);
        let shifted = pos.ins().ishl(value, by);
        let sum = pos.ins().iadd(value, shifted);
        replace(func, inst, sum);
    }
    resolve_aliases(func);
}

/// The product of a value with a constant is the value and the value shifted by this.
fn shift(func: &Function, inst: Inst) -> Option<i64> {
    let (opcode, value, constant) = computed(func, inst)?;
    let ty = func.dfg.value_type(value);
    let shift = match constant {
        3 => 1,
        5 => 2,
        9 => 3,
        _ => return None,
    };
    (opcode == Opcode::Imul && matches!(ty, types::I32 | types::I64)).then_some(shift)
}
