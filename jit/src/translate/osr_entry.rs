//! The entry of a function that frames may also enter at loop headers by OSR: see `graph/loop_entry.rs`.
//!
//! For a frame that enters later, the values that the function's first blocks compute may differ. If both ways met at
//! the loop header itself, Cranelift would have to assume that all of these values change from round to round: each
//! back edge would have to pass them. So the ways meet in a block before the header, to which all edges from outside
//! the loop lead.
//!
//! If that block were the first one of a frame, the enclosing loops would be entered in their middle, and would no
//! longer be loops to Cranelift and to later loop analyses (`passes/spilling`). So frames pass a block before the
//! header of each enclosing loop, which replaces the header as the target of all edges; each such block tests whether a
//! frame is entering, and to which inner loop. Of the frame's locals, each of these blocks loads those that are live at
//! its header and were not loaded before: a local that only an inner loop reads is loaded there and not before, because
//! the enclosing loop would have to keep it from round to round.
//!
//! Example: `a -> b; b -> c; c -> c | d; d -> b | e`, entered at `c`, too, becomes `entry -> a | B; a -> B; B -> b | C;
//! b -> C; C -> c; c -> c | d; d -> B | e`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::Translator;
use super::state::{Preheader, Preheaders};
use crate::abi::LOOP_ENTRY;

impl Translator<'_> {
    /// Translates the entry of a function that frames may also enter at loop headers: those pass a loop's number
    /// instead of the caller's vmctx.
    pub(super) fn enter_either_way(&mut self, mut approach: Preheaders) {
        let entry = self.builder.current_block().expect("the entry");
        let caller = self.builder.block_params(entry)[1];
        let count = self.input.graph().loop_entries.len() as i64;
        let is_frame = match count {
            1 => self.builder.ins().icmp_imm_s(IntCC::Equal, caller, LOOP_ENTRY),
            _ => {
                let index = self.builder.ins().iadd_imm_s(caller, -LOOP_ENTRY);
                self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, index, count)
            }
        };
        let (resume, call) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_frame, resume, &[], call, &[]);
        [resume, call].into_iter().for_each(|block| self.builder.seal_block(block));
        // The number of the loop that a frame is entering, or 0.
        let goal = self.builder.declare_var(types::I32);

        self.builder.set_cold_block(resume);
        self.builder.switch_to_block(resume);
        let number = self.builder.ins().ireduce(types::I32, caller);
        self.builder.def_var(goal, number);
        self.go_inward(&mut approach, None, number);
        for at in 0..approach.count() {
            self.approach_header(&mut approach, at, goal);
        }

        self.blocks.lead_through(approach);
        self.builder.switch_to_block(call);
        self.enter_function(entry);
        self.reach(goal, 0);
    }

    /// Translates one block before a header.
    fn approach_header(&mut self, approach: &mut Preheaders, at: usize, goal: Variable) {
        let before = approach.get(at);
        let (header, (first, _), is_entered) = (before.header(), before.entered(), before.is_entered());
        self.builder.switch_to_block(before.block());
        if !before.leads_inward() {
            return self.reach(goal, header);
        }
        let (inward, arrived) = (self.builder.create_block(), self.builder.create_block());
        let number = self.builder.use_var(goal);
        self.builder.ins().brif(number, inward, &[], arrived, &[]);
        self.builder.seal_block(inward);
        // With a single loop entry the main loop is hot however frames come there: nothing indicates that better.
        if self.input.graph().loop_entries.len() > 1 {
            self.builder.set_cold_block(inward);
        }
        self.builder.switch_to_block(inward);
        if is_entered {
            let other = self.choose(number, (IntCC::Equal, first));
            self.builder.ins().jump(arrived, &[]);
            self.builder.switch_to_block(other);
        }
        self.go_inward(approach, Some(at), number);
        self.builder.seal_block(arrived);
        self.builder.switch_to_block(arrived);
        self.reach(goal, header);
    }

    /// Continues to the block, among those inside the one at `around`, through which a frame reaches the loop of the
    /// given number.
    fn go_inward(&mut self, approach: &mut Preheaders, around: Option<usize>, number: Value) {
        let inside = approach.inside(around);
        let taken = around.map(|at| self.header_block(approach.get(at)));
        for (left, &at) in (0..inside.len()).rev().zip(&inside) {
            let before = approach.get(at);
            let other =
                (left > 0).then(|| self.choose(number, (IntCC::SignedLessThanOrEqual, before.entered().1)));
            self.take_state(self.header_block(before), taken);
            self.builder.ins().jump(before.block(), &[]);
            approach.arrived(at, &mut self.builder);
            other.into_iter().for_each(|other| self.builder.switch_to_block(other));
        }
    }

    fn header_block(&self, before: &Preheader) -> u32 {
        self.input.graph().nodes[before.header() as usize].block
    }

    /// Loads the locals that are live at a header, except those live at the header of the enclosing loop, which were
    /// loaded there. On the way to the only loop entry all locals are loaded, as in a version that resumes.
    fn take_state(&mut self, header: u32, taken: Option<u32>) {
        let all = self.input.graph().loop_entries.len() == 1 && taken.is_none();
        let (input, cfg) = (self.input, self.position.cfg());
        self.load_state(header, |local| {
            let is_taken = taken.is_some_and(|around| input.is_live(cfg, around, local));
            all || input.is_live(cfg, header, local) && !is_taken
        });
    }

    /// Branches on a comparison of a number. Translation continues in the block where it holds; returns the other
    /// block.
    fn choose(&mut self, number: Value, (comparison, with): (IntCC, i64)) -> ir::Block {
        let is_it = self.builder.ins().icmp_imm_s(comparison, number, with);
        let [chosen, other] = [(); 2].map(|()| self.builder.create_block());
        self.builder.ins().brif(is_it, chosen, &[], other, &[]);
        for block in [chosen, other] {
            self.builder.seal_block(block);
            self.builder.set_cold_block(block);
        }
        self.builder.switch_to_block(chosen);
        other
    }

    /// Clears the number of the entered loop, and jumps to a node.
    fn reach(&mut self, goal: Variable, node: u32) {
        let nothing = self.builder.ins().iconst(types::I32, 0);
        self.builder.def_var(goal, nothing);
        self.go_to(node);
    }
}
