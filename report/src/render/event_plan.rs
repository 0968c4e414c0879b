//! Event counting of a function, as notes on its control-flow graph.

use wprof_jit::plan::{Collection, FunctionEvents, FunctionPlan};
use wprof_profiler::{BlockId, EdgeId, EventPlan};

/// The notes of a function; all are empty if no events are counted.
pub struct EventNotes<'a> {
    events: Option<&'a FunctionEvents>,
    kinds: Vec<&'a str>,
}

impl<'a> EventNotes<'a> {
    /// Creates the notes of a function.
    pub fn new(plan: &'a FunctionPlan, collection: &'a Collection) -> Self {
        let kinds = collection.events.iter().map(|kind| kind.name.as_str()).collect();
        Self { events: plan.events.as_ref(), kinds }
    }

    /// Returns for each kind the number of places that update its sum.
    pub fn head(&self) -> String {
        let Some(events) = self.events else { return String::new() };
        let places = |plan: &EventPlan| plan.increments.len() + 2 * plan.around.len();
        let kinds = self.kinds.iter().zip(&events.plans);
        let list: Vec<String> = kinds.map(|(kind, plan)| format!("{kind} {}", places(plan))).collect();
        format!(
            "events: a sum for each kind, updated where it says so; places: {}\n\
             query: what to add to the sums for a frame that has come there\n",
            list.join(", ")
        )
    }

    /// Returns what a call of the function adds.
    pub fn entry(&self) -> String {
        self.events.map(|events| self.added(events, events.split.shape.closing_edge())).unwrap_or_default()
    }

    /// Returns what crossing a block's edge adds.
    pub fn edge(&self, block: usize, position: usize) -> String {
        let Some(events) = self.events else { return String::new() };
        let next = events.split.first_part.get(block + 1).copied();
        let last = next.unwrap_or(events.split.parts.len() as u32) - 1;
        self.added(events, events.split.shape.out_edges(BlockId(last))[position])
    }

    /// Returns what to add at the start of a block.
    pub fn query(&self, block: usize) -> String {
        self.events.map(|events| self.query_at(events, events.split.first_part[block])).unwrap_or_default()
    }

    /// Returns the calls in the middle of a block, each with the amounts added before and after it.
    pub fn calls(&self, block: usize) -> Vec<String> {
        let Some(events) = self.events else { return Vec::new() };
        let parts = (0..).zip(&events.split.parts).filter(|(_, part)| part.block as usize == block);
        let calls = parts.filter_map(|(part, found)| Some((part, found.call?)));
        let note = |(part, offset): (u32, u32)| {
            let edge = events.split.shape.out_edges(BlockId(part))[0];
            let notes =
                [self.added(events, edge), self.around(events, part + 1), self.query_at(events, part + 1)];
            let notes: Vec<&str> = notes.iter().map(String::as_str).filter(|note| !note.is_empty()).collect();
            format!("call at {offset:#x}  {}", notes.join("  "))
        };
        calls.map(note).collect()
    }

    fn added(&self, events: &FunctionEvents, edge: EdgeId) -> String {
        self.amounts(events, |plan| {
            let found = plan.increments.iter().find(|(at, _)| *at == edge);
            found.map_or(0, |&(_, amount)| amount)
        })
    }

    fn around(&self, events: &FunctionEvents, part: u32) -> String {
        let amounts = self.amounts(events, |plan| {
            let found = plan.around.iter().find(|(at, _)| at.0 == part);
            found.map_or(0, |&(_, amount)| amount)
        });
        if amounts.is_empty() { amounts } else { format!("during the call {amounts}") }
    }

    fn query_at(&self, events: &FunctionEvents, part: u32) -> String {
        let amounts = self.amounts(events, |plan| plan.queries[part as usize]);
        if amounts.is_empty() { amounts } else { format!("query {amounts}") }
    }

    /// Formats amounts: `loads +3, fuel -1`; kinds with 0 are left out.
    fn amounts(&self, events: &FunctionEvents, amount: impl Fn(&EventPlan) -> i64) -> String {
        let kinds = self.kinds.iter().zip(&events.plans).map(|(kind, plan)| (kind, amount(plan)));
        let shown =
            kinds.filter(|&(_, amount)| amount != 0).map(|(kind, amount)| format!("{kind} {amount:+}"));
        shown.collect::<Vec<_>>().join(", ")
    }
}
