//! Notes facts for the passes over finished machine code at the source locations of CLIF.

use cranelift_codegen::ir::{Block, Function, Inst};

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

fn is_transparent(func: &Function, inst: Inst) -> bool {
    let signature = func.dfg.call_signature(inst);
    signature.is_some_and(|sig| func.dfg.signatures[sig].params.is_empty()) && !clobbers(func, inst)
}
