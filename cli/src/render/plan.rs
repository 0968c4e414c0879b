//! The counters of a function, shown on its control-flow graph.

use std::fmt::Write as _;

use wprof_jit::cfg::{Block, Cfg, End, Target};
use wprof_jit::plan::Plan;
use wprof_profiler::{BlockId, EdgeId, EdgeWeights};

use super::numbers::count_of;

/// The blocks with their edges: which have counters, which follow from the others, and the weights that decided.
pub fn text(cfg: &Cfg, plan: &Plan, name: &str) -> String {
    let weights = EdgeWeights::estimate(&cfg.shape());
    let mut text = head(cfg, plan, name);
    let mut edge_id = 0;
    for (index, block) in cfg.blocks.iter().enumerate() {
        let header = if block.is_loop_header { "  loop" } else { "" };
        let ops = count_of(block.ops.into(), "instruction");
        let counter = block_counter(plan, index);
        writeln!(text, "b{index:<4} {:#x}..{:#x}  {ops}{header}{counter}", block.start, block.limit).unwrap();
        for (position, edge) in block.edges.iter().enumerate() {
            let to = match edge.target {
                Target::Block(to) => format!("b{to}"),
                Target::Exit => "exit".to_owned(),
            };
            let id = EdgeId::new(edge_id);
            let (way, weight, role) = (way(block, position), weights.get(id), edge_role(plan, id));
            writeln!(text, "      e{edge_id:<4} {way:<10} → {to:<6} weight {weight:<10.4} {role}").unwrap();
            edge_id += 1;
        }
    }
    text
}

fn head(cfg: &Cfg, plan: &Plan, name: &str) -> String {
    let edges = cfg.blocks.iter().map(|block| block.edges.len()).sum::<usize>();
    let (blocks, edges) = (count_of(cfg.blocks.len() as u64, "block"), count_of(edges as u64, "edge"));
    let counters = count_of(plan.counters(cfg).into(), "counter");
    let remark = match plan {
        Plan::Off => "nothing is counted",
        Plan::Chords(_) => "on the chords of a maximum spanning tree; what is in the tree follows from them",
        Plan::Vertex(_) => "on chords of a maximum spanning tree, without those that only edges would need",
        Plan::BlockCounters(_) => "in the blocks from which all others follow",
        Plan::Blocks => "one in each block",
        Plan::Edges => "one on each edge",
    };
    format!("{name}: {blocks}, {edges}, {counters}\n{remark}\n\n")
}

fn block_counter(plan: &Plan, block: usize) -> String {
    match plan {
        Plan::Blocks => format!("  counter {block}"),
        Plan::BlockCounters(plan) => {
            let found = plan.counted.iter().position(|&counted| counted == BlockId::new(block));
            found.map(|counter| format!("  counter {counter}")).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn edge_role(plan: &Plan, edge: EdgeId) -> String {
    match plan {
        Plan::Chords(chords) => match chords.counter_of(edge) {
            Some(counter) => format!("chord, counter {counter}"),
            None => "tree".to_owned(),
        },
        Plan::Edges => format!("counter {}", edge.index()),
        Plan::Vertex(vertex) => match vertex.counter_of(edge) {
            Some(counter) => format!("counter {counter}"),
            None => String::new(),
        },
        Plan::Off | Plan::Blocks | Plan::BlockCounters(_) => String::new(),
    }
}

fn way(block: &Block, position: usize) -> String {
    match &block.how {
        End::Jump if block.edges[position].target == Target::Exit => "return".to_owned(),
        End::Jump => "jump".to_owned(),
        End::Branch => ["taken", "not taken"][position.min(1)].to_owned(),
        End::Switch(table) => cases(table, position as u32),
        End::TailCall => "tail call".to_owned(),
        End::Trap => "trap".to_owned(),
    }
}

/// The first case of a switch that takes the edge.
fn cases(table: &[u32], edge: u32) -> String {
    match table.iter().position(|&taken| taken == edge) {
        Some(case) if case + 1 < table.len() => format!("case {case}"),
        _ => "default".to_owned(),
    }
}
