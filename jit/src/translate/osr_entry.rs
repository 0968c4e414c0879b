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
use cranelift_frontend::{FunctionBuilder, Variable};
use hashbrown::HashMap;
use wprof_profiler::{BlockId, LoopId, Loops};

use super::Translator;
use crate::abi::LOOP_ENTRY;
use crate::cfg::Cfg;
use crate::graph::BlockGraph;

/// The blocks before loop headers.
pub(super) struct Preheaders {
    /// The blocks, outer loops first.
    before: Vec<Preheader>,
    /// Indices into `before`, by the header's node.
    by_header: HashMap<u32, usize>,
}

/// A block before a loop header.
pub(super) struct Preheader {
    id: LoopId,
    /// The header's node.
    header: u32,
    block: ir::Block,
    /// The number of edges to the block that are not translated yet.
    pending: u32,
    /// The block before the header of the next enclosing loop.
    around: Option<usize>,
    /// The numbers of the first and the last loop that frames enter through this block.
    entered: (i64, i64),
    /// Whether the first of them is the block's own loop.
    is_entered: bool,
    /// By node, whether it is in the loop; empty if edges from inside the loop lead here, too.
    is_inside: Vec<bool>,
}

impl Preheader {
    /// Records that one edge to the block is translated.
    pub fn arrived(&mut self, builder: &mut FunctionBuilder<'_>) {
        self.pending -= 1;
        if self.pending == 0 {
            builder.seal_block(self.block);
        }
    }

    /// Reports whether frames continue from here to inner loops.
    fn leads_inward(&self) -> bool {
        self.is_inside.is_empty()
    }
}

impl Preheaders {
    /// Creates the blocks of a graph that has loop entries. Edges that now lead to these blocks are subtracted from
    /// `pending`, by node.
    pub fn new(
        cfg: &Cfg,
        graph: &BlockGraph,
        pending: &mut [u32],
        builder: &mut FunctionBuilder<'_>,
    ) -> Option<Preheaders> {
        let loops = cfg.loops();
        let headed = |&node: &u32| loops.headed_by(BlockId(graph.nodes[node as usize].block));
        let entered: Vec<LoopId> = graph.loop_entries.iter().filter_map(headed).collect();
        if entered.is_empty() {
            return None;
        }
        let mut approach = Preheaders { before: Vec::new(), by_header: HashMap::new() };
        for id in with_loops_around(loops, &entered) {
            if let Some(header) = graph.node_of(cfg, loops.get(id).header.0) {
                approach.add(graph, loops, (id, header), &entered, builder.create_block());
            }
        }
        for (from, node) in graph.nodes.iter().enumerate() {
            for to in node.targets() {
                if let Some(before) = approach.before(from, to) {
                    before.pending += 1;
                    pending[to as usize] -= 1;
                }
            }
        }
        // Each block leads to its header.
        approach.before.iter().for_each(|before| pending[before.header as usize] += 1);
        Some(approach)
    }

    /// Adds the block before a loop's header; the blocks of enclosing loops exist already.
    fn add(
        &mut self,
        graph: &BlockGraph,
        loops: &Loops,
        (id, header): (LoopId, u32),
        entered: &[LoopId],
        block: ir::Block,
    ) {
        let is_in = |of: LoopId| loops.contains(id, loops.get(of).header);
        let first = entered.iter().position(|&of| is_in(of)).expect("a loop that is entered");
        let count = entered[first..].iter().take_while(|&&of| is_in(of)).count();
        let is_entered = entered[first] == id;
        let is_inside = |node: u32| loops.contains(id, BlockId(graph.own_block(node)));
        let is_inside = match is_entered && count == 1 {
            true => (0..graph.nodes.len() as u32).map(is_inside).collect(),
            false => Vec::new(),
        };
        let around = self.before.iter().rposition(|before| loops.contains(before.id, loops.get(id).header));
        let number = |index: usize| LOOP_ENTRY + index as i64;
        let entered = (number(first), number(first + count - 1));
        self.by_header.insert(header, self.before.len());
        // A frame comes from the block of the enclosing loop, or from the entry.
        let pending = 1;
        self.before.push(Preheader { id, header, block, pending, around, entered, is_entered, is_inside });
    }

    /// Returns the block that replaces the target of an edge, if any.
    pub fn before(&mut self, from: usize, to: u32) -> Option<&mut Preheader> {
        let at = self.position(from, to)?;
        Some(&mut self.before[at])
    }

    fn position(&self, from: usize, to: u32) -> Option<usize> {
        let at = *self.by_header.get(&to)?;
        let before = &self.before[at];
        (before.leads_inward() || !before.is_inside[from]).then_some(at)
    }

    /// Returns the CLIF block that replaces the target of an edge, if any.
    pub fn block(&self, from: usize, to: u32) -> Option<ir::Block> {
        Some(self.before[self.position(from, to)?].block)
    }

    /// Returns the blocks of the loops directly inside the one of `around`, or of the outermost loops.
    fn inside(&self, around: Option<usize>) -> Vec<usize> {
        (0..self.before.len()).filter(|&at| self.before[at].around == around).collect()
    }
}

/// Returns these loops and those that enclose them, outer ones first.
fn with_loops_around(loops: &Loops, inner: &[LoopId]) -> Vec<LoopId> {
    let outward = |&id: &LoopId| std::iter::successors(Some(id), |&id| loops.get(id).parent);
    let mut all: Vec<LoopId> = inner.iter().flat_map(outward).collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Translator<'_> {
    /// Translates the entry of a function that frames may also enter at loop headers: those pass a loop's number
    /// instead of the caller's vmctx.
    pub(super) fn enter_either_way(&mut self, mut approach: Preheaders) {
        let entry = self.builder.current_block().expect("the entry");
        let caller = self.builder.block_params(entry)[1];
        let count = self.graph.loop_entries.len() as i64;
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
        for at in 0..approach.before.len() {
            self.approach_header(&mut approach, at, goal);
        }

        self.approach = Some(approach);
        self.builder.switch_to_block(call);
        self.enter_function(entry);
        self.reach(goal, 0);
    }

    /// Translates one block before a header.
    fn approach_header(&mut self, approach: &mut Preheaders, at: usize, goal: Variable) {
        let Preheader { header, block, entered: (first, _), is_entered, .. } = approach.before[at];
        self.builder.switch_to_block(block);
        if !approach.before[at].leads_inward() {
            return self.reach(goal, header);
        }
        let (inward, arrived) = (self.builder.create_block(), self.builder.create_block());
        let number = self.builder.use_var(goal);
        self.builder.ins().brif(number, inward, &[], arrived, &[]);
        self.builder.seal_block(inward);
        // With a single loop entry the main loop is hot however frames come there: nothing indicates that better.
        if self.graph.loop_entries.len() > 1 {
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
        let taken = around.map(|at| self.header_block(&approach.before[at]));
        for (left, &at) in (0..inside.len()).rev().zip(&inside) {
            let before = &mut approach.before[at];
            let other =
                (left > 0).then(|| self.choose(number, (IntCC::SignedLessThanOrEqual, before.entered.1)));
            self.take_state(self.header_block(before), taken);
            self.builder.ins().jump(before.block, &[]);
            before.arrived(&mut self.builder);
            other.into_iter().for_each(|other| self.builder.switch_to_block(other));
        }
    }

    fn header_block(&self, before: &Preheader) -> u32 {
        self.graph.nodes[before.header as usize].block
    }

    /// Loads the locals that are live at a header, except those live at the header of the enclosing loop, which were
    /// loaded there. On the way to the only loop entry all locals are loaded, as in a version that resumes.
    fn take_state(&mut self, header: u32, taken: Option<u32>) {
        let all = self.graph.loop_entries.len() == 1 && taken.is_none();
        self.load_state(header, |translator, local| {
            let is_taken = taken.is_some_and(|around| translator.is_live(around, local));
            all || translator.is_live(header, local) && !is_taken
        });
    }

    /// Continues here if a number compares so, and otherwise in the returned block.
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

    /// Continues at a node with no frame entering any more.
    fn reach(&mut self, goal: Variable, node: u32) {
        let nothing = self.builder.ins().iconst(types::I32, 0);
        self.builder.def_var(goal, nothing);
        self.go_to(node);
    }
}
