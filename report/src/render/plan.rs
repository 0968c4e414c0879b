//! The counters of a function, shown on its control-flow graph.

use std::fmt::Write as _;

use wprof_jit::cfg::{Block, Cfg, End, Target};
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::{Collection, Expected, FunctionPlan, Plan, edge_weights};
use wprof_profiler::{BlockId, EdgeId, EdgeWeights, SpanningTree};

use super::event_plan::EventNotes;
use super::numbers::count_of;
use super::path_plan::PathNotes;
use super::trace_plan::TraceNotes;

/// Lists blocks with their edges: tree edges, chords with counters, and the weights that decided.
pub fn text(info: &ModuleInfo, plan: &FunctionPlan, collection: &Collection, name: &str) -> String {
    let cfg = &plan.cfg;
    let placement = Placement::new(info, plan, collection);
    let notes = EventNotes::new(plan, collection);
    let paths = PathNotes::new(plan);
    let trace = TraceNotes::new(plan);
    let budget = BudgetNotes::new(plan, collection);
    let heads = [paths.head(), notes.head(), trace.head(), budget.head()].concat();
    let mut text = head(&placement, name) + &heads + "\n";
    let closing = placement.shape.closing_edge();
    if plan.events.is_some() {
        let line =
            format!("      call {:>24} {:<10.4} {}", "weight", placement.weights.get(closing), notes.entry());
        writeln!(text, "{}", line.trim_end()).unwrap();
    }
    let mut edge_ids = placement.shape.edges();
    for (index, block) in cfg.blocks.iter().enumerate() {
        let header = if block.is_loop_header { "  loop" } else { "" };
        let ops = count_of(block.ops.into(), "instruction");
        let counter = placement.of_block(index) + &separated(paths.block(index));
        let query = separated(notes.query(index));
        let check = separated(budget.block(index));
        writeln!(
            text,
            "b{index:<4} {:#x}..{:#x}  {ops}{header}{counter}{query}{check}",
            block.start, block.limit
        )
        .unwrap();
        let calls = [notes.calls(index), trace.calls(index), budget.calls(index)].concat();
        calls.into_iter().for_each(|note| writeln!(text, "      {note}").unwrap());
        for ((position, edge), id) in block.edges.iter().enumerate().zip(&mut edge_ids) {
            let to = match edge.target {
                Target::Block(to) => format!("b{to}"),
                Target::Exit => "exit".to_owned(),
            };
            let (way, weight, number) = (way(block, position), placement.weights.get(id), id.index());
            let role = placement.of_edge(id)
                + &paths.edge(id)
                + &separated(notes.edge(index, position))
                + &separated(trace.edge(index, position));
            let line =
                format!("      e{number:<4} {way:<10} → {to:<6} weight {weight:<10.4} {}", role.trim_start());
            writeln!(text, "{}", line.trim_end()).unwrap();
        }
    }
    text
}

fn separated(note: String) -> String {
    if note.is_empty() { note } else { format!("  {note}") }
}

/// The places where a function checks the budget.
struct BudgetNotes<'a> {
    plan: &'a FunctionPlan,
    kind: Option<&'a str>,
    /// The blocks and byte offsets of the calls after which the budget is checked.
    calls: Vec<(u32, u32)>,
}

impl<'a> BudgetNotes<'a> {
    fn new(plan: &'a FunctionPlan, collection: &'a Collection) -> Self {
        let kind = collection.metered.map(|kind| collection.events[kind as usize].name.as_str());
        let calls = plan.events.as_ref().filter(|_| kind.is_some());
        let calls = calls.and_then(|events| events.checked_calls()).into_iter().flatten().collect();
        Self { plan, kind, calls }
    }

    fn head(&self) -> String {
        let Some(kind) = self.kind else { return String::new() };
        format!("budget: {kind}, checked where noted\n")
    }

    fn block(&self, index: usize) -> String {
        let is_checked = index == 0 || self.plan.cfg.blocks[index].is_loop_header;
        if self.kind.is_some() && is_checked { "budget check".to_owned() } else { String::new() }
    }

    fn calls(&self, index: usize) -> Vec<String> {
        let of_block = self.calls.iter().filter(|(block, _)| *block as usize == index);
        of_block.map(|(_, call)| format!("call at {call:#x}  then budget check")).collect()
    }
}

/// The placement of a function's counters, and the reasons for it.
struct Placement<'a> {
    cfg: &'a Cfg,
    plan: &'a Plan,
    shape: &'a wprof_profiler::Cfg,
    weights: EdgeWeights,
    /// The source of the weights.
    source: &'static str,
    tree: SpanningTree,
}

impl<'a> Placement<'a> {
    fn new(info: &ModuleInfo, plan: &'a FunctionPlan, collection: &Collection) -> Self {
        let shape = plan.cfg.shape();
        let expected = Expected::new(info, collection, &plan.cfg);
        let weights = edge_weights(shape, &expected, &plan.loops);
        let tree = SpanningTree::maximum(shape, &weights);
        let source = match &expected {
            Expected::Measured(_) => "counts of an earlier run",
            Expected::Estimated { likely } if likely.is_empty() => "an estimate",
            Expected::Estimated { .. } => "an estimate, by the module's branch hints",
        };
        Self { cfg: &plan.cfg, plan: &plan.plan, shape, weights, source, tree }
    }

    fn of_block(&self, block: usize) -> String {
        match self.plan {
            Plan::Blocks => format!("  counter {block}"),
            Plan::BlockCounters(plan) => {
                // EXIT stands for the calls, which are counted at the entry.
                let counts =
                    |counted: BlockId| counted.index() == block || block == 0 && counted == self.shape.exit();
                let found = (0..).zip(&plan.counted).filter(|(_, counted)| counts(**counted));
                found.map(|(counter, _): (usize, _)| format!("  counter {counter}")).collect()
            }
            _ => String::new(),
        }
    }

    fn of_edge(&self, edge: EdgeId) -> String {
        let chord = |counter: Option<usize>| match (self.tree.contains(edge), counter) {
            (true, _) => "tree".to_owned(),
            (false, Some(counter)) => format!("chord, counter {counter}"),
            // The chord's cycle has no pipe: see `VertexPlan`.
            (false, None) => "chord, dropped: the counts of blocks do not need it".to_owned(),
        };
        match self.plan {
            Plan::Chords(chords) => chord(chords.counter_of(edge)),
            Plan::Vertex(vertex) => chord(vertex.counter_of(edge)),
            Plan::Edges => format!("counter {}", edge.index()),
            Plan::Off | Plan::Paths(_) | Plan::Preferential(_) | Plan::Blocks | Plan::BlockCounters(_) => {
                String::new()
            }
        }
    }
}

fn head(placement: &Placement<'_>, name: &str) -> String {
    let Placement { cfg, plan, shape, .. } = placement;
    let [blocks, edges] = [(shape.block_count(), "block"), (shape.edge_count(), "edge")]
        .map(|(count, noun)| count_of(count as u64, noun));
    let counters = count_of(plan.counters(cfg).into(), "counter");
    let remark = match plan {
        Plan::Off => "the code has no counters of its own",
        Plan::Chords(_) => "on the chords of a maximum spanning tree; what is in the tree follows from them",
        Plan::Vertex(_) => "on those chords of a maximum spanning tree that the counts of blocks need",
        Plan::Paths(_) => "one for each path; a register adds up its number",
        Plan::Preferential(_) => "one for each interesting path; a register adds up two numbers",
        Plan::BlockCounters(_) => "in blocks from which the counts of all others follow",
        Plan::Blocks => "one in each block",
        Plan::Edges => "one on each edge",
    };
    let weights = placement.source;
    format!("{name}: {blocks}, {edges}, {counters}\n{remark}\nweights: {weights}\n")
}

fn way(block: &Block, position: usize) -> String {
    match &block.how {
        End::Jump if block.edges[position].target == Target::Exit => "return".to_owned(),
        End::Jump => "jump".to_owned(),
        End::Branch | End::NullBranch | End::CastBranch => ["taken", "not taken"][position.min(1)].to_owned(),
        End::Switch(table) => cases(table, position as u32),
        End::TailCall => "tail call".to_owned(),
        End::Trap => "trap".to_owned(),
        End::Call(_) | End::Throw(..) => {
            let (first, catches) = block.how.catches();
            match position.checked_sub(first).map(|handler| catches[handler].tag) {
                None => "return of the call".to_owned(),
                Some(Some(tag)) => format!("catch {tag}"),
                Some(None) => "catch all".to_owned(),
            }
        }
    }
}

/// Returns the first case of a switch that takes the edge.
fn cases(table: &[u32], edge: u32) -> String {
    match table.iter().position(|&taken| taken == edge) {
        Some(case) if case + 1 < table.len() => format!("case {case}"),
        _ => "default".to_owned(),
    }
}
