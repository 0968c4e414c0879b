//! Notes facts for the passes over finished machine code at the source locations of CLIF, and withdraws those that do
//! not hold.

use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value, types};

use super::constants::clobbers;
use crate::code::{Fact, Origins};

/// Notes at the source locations of cold blocks that they are cold, so that the passes find them, and which calls
/// neither read nor change registers.
pub(super) fn note(func: &mut Function, origins: &mut Origins) {
    let blocks: Vec<Block> = func.layout.blocks().collect();
    for block in blocks {
        let is_cold = func.layout.is_cold(block);
        let mut next = func.layout.first_inst(block);
        while let Some(inst) = next {
            let facts = [(is_cold, Fact::Cold), (is_transparent(func, inst), Fact::Transparent)];
            for (_, fact) in facts.into_iter().filter(|&(is_so, _)| is_so) {
                let location = origins.with(func.srcloc(inst), fact);
                if !location.is_default() {
                    func.set_srcloc(inst, location);
                }
            }
            next = func.layout.next_inst(inst);
        }
    }
}

/// Withdraws [`Fact::InPlace`] where code without it uses a result of code with it: the target's pass would leave the
/// register of that result without its value. A translator that marks too much, or an optimiser that merges more than
/// it does today, then costs a few instructions, and never a wrong value.
pub(super) fn withdraw(func: &mut Function, origins: &mut Origins) {
    let all = || func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    let is_marked = |inst| origins.has(func.srcloc(inst), Fact::InPlace);
    if !all().any(is_marked) {
        return;
    }
    let insts: Vec<Inst> = all().collect();
    let is_marked: Vec<bool> = insts.iter().map(|&inst| is_marked(inst)).collect();
    let read = read_elsewhere(func, &insts, &is_marked);
    for (&inst, _) in insts.iter().zip(is_marked).filter(|(_, is_marked)| *is_marked) {
        // The result of a comparison is in the flags.
        let is_word = |&result: &Value| func.dfg.value_type(result) == types::I64;
        let mut words = func.dfg.inst_results(inst).iter().filter(|result| is_word(result));
        if words.any(|&result| read.contains(result)) {
            let location = origins.without(func.srcloc(inst), Fact::InPlace);
            func.set_srcloc(inst, location);
        }
    }
}

/// Returns the values that instructions without the fact read. The countdown of a check and its comparison may have lost
/// their locations, and with them the fact: they count as marked if only marked instructions read what they yield.
fn read_elsewhere(func: &Function, insts: &[Inst], is_marked: &[bool]) -> EntitySet<Value> {
    let others = insts.iter().zip(is_marked).filter(|(_, is_marked)| !**is_marked).map(|(&inst, _)| inst);
    let mut read = EntitySet::new();
    let add = |read: &mut EntitySet<Value>, inst| {
        func.dfg.inst_values(inst).for_each(|value| {
            read.insert(value);
        });
    };
    others.filter(|&inst| !is_of_check(func, inst)).for_each(|inst| add(&mut read, inst));
    // Without them the read of the register must not be in place either.
    for &inst in insts.iter().filter(|&&inst| is_of_check(func, inst)) {
        if func.dfg.inst_results(inst).iter().any(|&result| read.contains(result)) {
            add(&mut read, inst);
        }
    }
    read
}

/// Reports whether an instruction adds to the pinned register, or compares it.
fn is_of_check(func: &Function, inst: Inst) -> bool {
    let is_pinned = |value| {
        let def = func.dfg.value_def(value).inst();
        def.is_some_and(|def| func.dfg.insts[def].opcode() == Opcode::GetPinnedReg)
    };
    matches!(func.dfg.insts[inst].opcode(), Opcode::Iadd | Opcode::Icmp)
        && func.dfg.inst_args(inst).iter().copied().any(is_pinned)
}

fn is_transparent(func: &Function, inst: Inst) -> bool {
    let signature = func.dfg.call_signature(inst);
    signature.is_some_and(|sig| func.dfg.signatures[sig].params.is_empty()) && !clobbers(func, inst)
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::cursor::{Cursor, FuncCursor};
    use cranelift_codegen::ir::{InstBuilder, MemFlagsData};

    use super::*;
    use crate::code::Origin;

    /// Builds a countdown in place. `reader` reads the register, or what the countdown yields, elsewhere; `is_lost` says
    /// whether the countdown has lost its location. Returns whether the read and the countdown are in place in the end.
    fn in_place(reads_old: bool, reads_new: bool, is_lost: bool) -> [bool; 2] {
        let mut origins = Origins::default();
        let mut func = Function::new();
        Origins::count_from_zero(&mut func);
        let origin = Origin { func: 0, frame: 0, block: 0, rounds: 0, path: None, offset: 7 };
        let elsewhere = origins.at(origin);
        let marked = origins.with(elsewhere, Fact::InPlace);
        let block = func.dfg.make_block();
        func.layout.append_block(block);
        let mut pos = FuncCursor::new(&mut func).at_bottom(block).with_srcloc(marked);
        let old = pos.ins().get_pinned_reg(types::I64);
        if is_lost {
            pos.set_srcloc(Default::default());
        }
        let new = pos.ins().iadd_imm_s(old, -1);
        pos.set_srcloc(marked);
        pos.ins().set_pinned_reg(new);
        pos.set_srcloc(elsewhere);
        for (_, value) in [(reads_old, old), (reads_new, new)].into_iter().filter(|(reads, _)| *reads) {
            let nowhere = pos.ins().iconst(types::I64, 0);
            pos.ins().store(MemFlagsData::new(), value, nowhere, 0);
        }
        pos.ins().return_(&[]);
        withdraw(&mut func, &mut origins);
        [old, new].map(|value| {
            let inst = func.dfg.value_def(value).inst().expect("instructions define both");
            origins.has(func.srcloc(inst), Fact::InPlace)
        })
    }

    #[test]
    fn a_result_that_is_read_elsewhere_is_not_computed_in_place() {
        assert_eq!(in_place(false, false, false), [true, true]);
        assert_eq!(in_place(true, false, false), [false, true]);
        assert_eq!(in_place(false, true, false), [false, false]);
        assert_eq!(in_place(false, false, true), [true, false], "the countdown has no location");
        assert_eq!(in_place(false, true, true), [false, false]);
    }
}
