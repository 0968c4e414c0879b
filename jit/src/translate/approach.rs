//! The entry of a function that frames enter at the header of its main loop, too: see `graph/loop_entry.rs`.
//!
//! What the function's first blocks have computed may be something else for a frame that comes later. If both came to
//! the header itself, all of that would change from round to round, as far as Cranelift can tell: each back edge would
//! have to bring it along. So they meet in a block before the header, to which everything leads that comes from outside
//! the loop.
//!
//! If that block were the first one of a frame, the loops around would be entered in their middle, and be loops no more
//! to Cranelift and to what looks for loops after it (`compile/crossing`). So frames come by a block before the header
//! of each loop around, to which all leads that leads to that header; there it is asked whether a frame is on its way.
//!
//! Example: `a -> b; b -> c; c -> c | d; d -> b | e`, entered at `c`, too, becomes `entry -> a | B; a -> B;
//! B -> b | C; b -> C; C -> c; c -> c | d; d -> B | e`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use wprof_profiler::BlockId;

use super::Translator;
use crate::abi::LOOP_ENTRY;
use crate::cfg::Cfg;
use crate::graph::BlockGraph;

/// The blocks before headers.
pub(super) struct Approach {
    /// Before the main loop's, and before those of the loops around it, outward.
    before: Vec<BeforeHeader>,
    /// By node, whether it is in the main loop.
    is_inside: Vec<bool>,
}

/// A block before a header.
pub(super) struct BeforeHeader {
    /// The header's node.
    header: u32,
    block: ir::Block,
    /// What leads to it and is not translated yet.
    pending: u32,
}

impl BeforeHeader {
    /// One way that leads to it is translated.
    pub fn arrived(&mut self, builder: &mut FunctionBuilder<'_>) {
        self.pending -= 1;
        if self.pending == 0 {
            builder.seal_block(self.block);
        }
    }
}

impl Approach {
    /// That of a graph, if it has one. It takes the wires that lead here off those that are `pending`, by node.
    pub fn new(
        cfg: &Cfg,
        graph: &BlockGraph,
        pending: &mut [u32],
        builder: &mut FunctionBuilder<'_>,
    ) -> Option<Approach> {
        let (loops, header) = (cfg.loops(), graph.loop_entry?);
        let main = loops.headed_by(BlockId(graph.nodes[header as usize].block))?;
        let is_inside = |node: u32| loops.contains(main, BlockId(graph.own_block(node)));
        let is_inside: Vec<bool> = (0..graph.nodes.len() as u32).map(is_inside).collect();
        let outward = std::iter::successors(loops.get(main).parent, |&id| loops.get(id).parent);
        let around = outward.filter_map(|id| graph.node_of(cfg, loops.get(id).header.0));
        let before = std::iter::once(header).chain(around);
        // A frame comes to each of them from the one before, or from the entry.
        let before = before.map(|header| BeforeHeader { header, block: builder.create_block(), pending: 1 });
        let mut approach = Approach { before: before.collect(), is_inside };
        for (from, node) in graph.nodes.iter().enumerate() {
            for to in node.targets() {
                if let Some(before) = approach.before(from, to) {
                    before.pending += 1;
                    pending[to as usize] -= 1;
                }
            }
        }
        // And each leads to its header.
        approach.before.iter().for_each(|before| pending[before.header as usize] += 1);
        Some(approach)
    }

    /// Where the wire from one node to another leads instead, if it leads here.
    pub fn before(&mut self, from: usize, to: u32) -> Option<&mut BeforeHeader> {
        let at = self.position(from, to)?;
        Some(&mut self.before[at])
    }

    fn position(&self, from: usize, to: u32) -> Option<usize> {
        let at = self.before.iter().position(|before| before.header == to)?;
        (at > 0 || !self.is_inside[from]).then_some(at)
    }

    /// The block there.
    pub fn block(&self, from: usize, to: u32) -> Option<ir::Block> {
        Some(self.before[self.position(from, to)?].block)
    }
}

impl Translator<'_> {
    /// The entry of a function that frames enter at the header of its main loop, too: these give a number instead of
    /// the caller's vmctx.
    pub(super) fn enter_either_way(&mut self, mut approach: Approach) {
        let entry = self.builder.current_block().expect("the entry");
        let caller = self.builder.block_params(entry)[1];
        let is_frame = self.builder.ins().icmp_imm_s(IntCC::Equal, caller, LOOP_ENTRY);
        let (resume, call) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(is_frame, resume, &[], call, &[]);
        [resume, call].into_iter().for_each(|block| self.builder.seal_block(block));
        // Whether a frame is on its way to the main loop.
        let comes = self.builder.declare_var(types::I8);

        self.builder.set_cold_block(resume);
        self.builder.switch_to_block(resume);
        self.load_state(self.graph.nodes[approach.before[0].header as usize].block);
        self.say(comes, true);
        let outermost = approach.before.last_mut().expect("the main loop's");
        self.builder.ins().jump(outermost.block, &[]);
        outermost.arrived(&mut self.builder);

        for level in (1..approach.before.len()).rev() {
            let [inner, outer] = &mut approach.before[level - 1..=level] else { unreachable!("two of them") };
            self.builder.switch_to_block(outer.block);
            let comes = self.builder.use_var(comes);
            self.builder.ins().brif(comes, inner.block, &[], self.blocks[outer.header as usize], &[]);
            inner.arrived(&mut self.builder);
            self.arrived(outer.header);
        }
        let BeforeHeader { header, block, .. } = approach.before[0];
        self.builder.switch_to_block(block);
        self.say(comes, false);
        self.go_to(header);

        self.approach = Some(approach);
        self.builder.switch_to_block(call);
        self.enter_function(entry);
        self.say(comes, false);
        self.go_to(0);
    }

    fn say(&mut self, comes: Variable, value: bool) {
        let value = self.builder.ins().iconst(types::I8, i64::from(value));
        self.builder.def_var(comes, value);
    }
}
