//! The classes of equal values, and the comparison of both versions by them.

use std::collections::BTreeMap;

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{Block, BlockCall, Function, Value};
use hashbrown::HashMap;

use super::execute::{Load, Machine, State, Trace, Version};
use super::rules::{self, Shapes};
use super::symbols::{Home, Key, Symbols};
use crate::validate::terms::{Args, Term, Terms};

/// The maximum number of rounds: each divides a class, and more are not worthwhile.
const MOST_ROUNDS: usize = 200;

/// Checks that a function behaves the same after a pass as before it.
pub(crate) fn check(before: &Function, after: &Function) -> Result<(), String> {
    if before == after {
        return Ok(());
    }
    let slots = before.sized_stack_slots.len();
    let are_kept =
        before.sized_stack_slots.iter().all(|(key, slot)| after.sized_stack_slots.get(key) == Some(slot));
    if !are_kept || before.signature != after.signature {
        return Err("the frame or the signature changed".into());
    }
    let flow = ControlFlowGraph::with_function(before);
    let mut classes = Classes {
        domtree: DominatorTree::with_function(before, &flow),
        order: SecondaryMap::new(),
        before: Version::new(before, slots),
        after: Version::new(after, slots),
        terms: Terms::default(),
        shapes: Shapes::default(),
        symbols: Symbols::default(),
        bindings: HashMap::new(),
        ways: HashMap::new(),
    };
    classes.terms.clear();
    let blocks: Vec<Block> = classes.domtree.cfg_rpo().copied().collect();
    blocks.iter().zip(0..).for_each(|(&block, order)| classes.order[block] = order);
    for _ in 0..MOST_ROUNDS {
        if !classes.round(&blocks)? {
            return Ok(());
        }
    }
    Err("no classes are found".into())
}

/// The binding of a block parameter, or of a variable at the beginning of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Binding {
    /// The term that is passed on all incoming edges.
    Given(Term),
    /// The class whose first parameter has this number.
    Class(u32),
}

struct Classes<'a> {
    before: Version<'a>,
    after: Version<'a>,
    domtree: DominatorTree,
    /// The position of each block in reverse postorder.
    order: SecondaryMap<Block, u32>,
    terms: Terms,
    shapes: Shapes,
    symbols: Symbols,
    /// For each block, the bindings of its parameters before, of those after, and of the variables.
    bindings: HashMap<Block, Vec<Binding>>,
    /// For each block, the terms passed on each incoming edge, by the predecessor and the number of its edge.
    ways: HashMap<Block, BTreeMap<(Block, usize), Args>>,
}

impl Classes<'_> {
    /// Executes all blocks; reports whether a class was divided. If none was, both versions do the same.
    fn round(&mut self, blocks: &[Block]) -> Result<bool, String> {
        let mut is_new = false;
        let mut difference = Ok(());
        for &block in blocks {
            is_new |= self.begin(block)?;
            let found = self.block(block)?;
            difference = difference.and(found);
        }
        if is_new || !blocks.iter().all(|&block| self.is_stable(block)) {
            return Ok(true);
        }
        difference.map(|()| false)
    }

    /// Reports whether the bindings of a block are still the same: terms passed on its incoming edges may have changed
    /// since it was executed.
    fn is_stable(&mut self, block: Block) -> bool {
        let bindings = self.bindings(block);
        bindings == self.bindings[&block]
    }

    /// Returns the parameters of a block, before and after.
    fn members(&self, block: Block) -> Vec<Value> {
        let versions = [&self.before, &self.after];
        versions.iter().flat_map(|version| version.func.dfg.block_params(block)).copied().collect()
    }

    /// Binds the parameters of a block; reports whether a binding is new.
    fn begin(&mut self, block: Block) -> Result<bool, String> {
        let bindings = self.bindings(block);
        let all: Vec<Term> = self.named(block, &bindings);
        let counts = [&self.before, &self.after].map(|version| version.func.dfg.block_params(block).len());
        for (at, param) in self.members(block).into_iter().enumerate() {
            let version = if at < counts[0] { &mut self.before } else { &mut self.after };
            version.bind(param, all[at]);
        }
        let old = self.bindings.insert(block, bindings);
        Ok(old.as_ref() != self.bindings.get(&block))
    }

    /// Computes the bindings of a block's parameters from the terms on its incoming edges.
    fn bindings(&mut self, block: Block) -> Vec<Binding> {
        let params = [&self.before, &self.after].map(|version| version.func.dfg.block_params(block).len());
        let count = params[0] + params[1];
        let all = count + self.after.variables();
        let Some(ways) = self.ways.remove(&block) else {
            // In the first block, parameters of the same number are equal.
            let class = |at: usize| if at < count { at % params[0].max(1) } else { at };
            return (0..all).map(|at| Binding::Class(class(at) as u32)).collect();
        };
        let old = self.bindings.get(&block).cloned();
        let own = self.order[block];
        let is_back = |from: Block| self.order[from] >= own;
        let given: Vec<(bool, &Args)> = ways.iter().map(|(&(from, _), way)| (is_back(from), way)).collect();
        let mut first: HashMap<(Option<Binding>, Vec<Term>), u32> = HashMap::new();
        let mut binding = |at: usize| {
            let old = old.as_ref().map(|old| old[at]);
            let all = given.iter().map(|&(is_back, way)| (is_back, way[at]));
            if let Some(term) = self.only(block, old, all) {
                return Binding::Given(term);
            }
            let class = old.filter(|old| matches!(old, Binding::Class(_)));
            let given = given.iter().map(|(_, way)| way[at]).collect();
            Binding::Class(*first.entry((class, given)).or_insert(at as u32))
        };
        let bindings = (0..all).map(&mut binding).collect();
        self.ways.insert(block, ways);
        bindings
    }

    /// Returns the term passed to a parameter on all edges. Back edges that pass the parameter's own value of the
    /// previous round do not count.
    fn only(
        &mut self,
        block: Block,
        old: Option<Binding>,
        given: impl Iterator<Item = (bool, Term)>,
    ) -> Option<Term> {
        let own = match old {
            Some(Binding::Class(_)) => return None,
            Some(Binding::Given(term)) => Some(term),
            None => None,
        };
        let mut others = given.filter(|&(is_back, term)| !is_back || Some(term) != own);
        let (_, term) = others.next().or(own.map(|term| (true, term)))?;
        (others.all(|(_, other)| other == term) && self.is_known_before(block, term)).then_some(term)
    }

    /// Reports whether all parts of a term are known in blocks that strictly dominate a block.
    fn is_known_before(&mut self, block: Block, term: Term) -> bool {
        match self.symbols.home(&self.terms, &self.domtree, term) {
            Home::Everywhere => true,
            Home::Block(home) => home != block && self.domtree.block_dominates(home, block),
            Home::Nowhere => false,
        }
    }

    fn named(&mut self, block: Block, bindings: &[Binding]) -> Vec<Term> {
        let dfg_type = |(at, value): (usize, Value)| {
            let version =
                if at < self.before.func.dfg.block_params(block).len() { &self.before } else { &self.after };
            rules::most(version.func.dfg.value_type(value))
        };
        let mut most: Vec<u64> = self.members(block).into_iter().enumerate().map(dfg_type).collect();
        most.resize(bindings.len(), u64::MAX);
        // All members of a class are equal, so each is at most the upper bound of any member.
        let mut of_class: HashMap<u32, u64> = HashMap::new();
        for (binding, &most) in bindings.iter().zip(&most) {
            if let Binding::Class(class) = binding {
                of_class.entry(*class).and_modify(|known| *known = most.min(*known)).or_insert(most);
            }
        }
        let name = |binding: &Binding| match *binding {
            Binding::Given(term) => term,
            Binding::Class(first) => {
                let most = of_class[&first];
                self.symbols.get(&mut self.terms, Key::Param { block, first, most })
            }
        };
        bindings.iter().map(name).collect()
    }

    /// Executes a block in both versions, and records the terms passed to its successors; reports whether both do the
    /// same.
    fn block(&mut self, block: Block) -> Result<Result<(), String>, String> {
        let bindings = self.bindings[&block].clone();
        let named = self.named(block, &bindings);
        let variables = named[named.len() - self.after.variables()..].to_vec();
        let Classes { before, after, terms, shapes, symbols, .. } = self;
        let mut machine = Machine { terms, shapes, symbols, block };
        let (mut old, mut new) = (Trace::default(), Trace::default());
        let (mut state_before, mut state) = (State::default(), State { variables, changes: 0 });
        before.execute(block, &mut machine, &mut state_before, &mut old)?;
        if !after.func.layout.is_block_inserted(block) {
            return Err(format!("{block} is gone"));
        }
        after.execute(block, &mut machine, &mut state, &mut new)?;
        let (targets, new_targets) = (before.targets(block), after.targets(block));
        if targets.len() != new_targets.len() {
            return Err(format!(
                "{block} leads to {} blocks instead of {}",
                new_targets.len(),
                targets.len()
            ));
        }
        for (way, (target, new_target)) in targets.iter().zip(new_targets).enumerate() {
            let to = target.block(&before.func.dfg.value_lists);
            let mut given = before.given(target, &mut machine, &old)?;
            let mut state = state.clone();
            let end = follow(before.func, after, new_target, &mut machine, &mut state, &mut new)?;
            if end.0 != to {
                return Err(format!("{block} leads to {} instead of {to}", end.0));
            }
            given.extend(end.1);
            given.extend(state.variables);
            self.ways.entry(to).or_default().insert((block, way), given);
        }
        Ok(self.compare(block, &old, &new))
    }

    fn compare(&self, block: Block, old: &Trace, new: &Trace) -> Result<(), String> {
        let shown = |(version, trace, at): (&Version<'_>, &Trace, usize)| match trace.events.get(at) {
            Some(event) => event.show(&self.terms, version.func),
            None => "nothing".into(),
        };
        let count = old.events.len().max(new.events.len());
        let differ = |&at: &usize| !matches!((old.events.get(at), new.events.get(at)), (Some(a), Some(b)) if a.is_same(b));
        if let Some(at) = (0..count).find(differ) {
            let [old, new] = [(&self.before, old, at), (&self.after, new, at)].map(shown);
            return Err(format!("in {block}, {old}\nbecame {new}"));
        }
        let is_new = |load: &&Load| !old.loads.iter().any(|other| load.is_as_good_as(other));
        match new.loads.iter().find(is_new) {
            Some(load) => {
                Err(format!("in {block}, only the new version loads {}", self.terms.show(load.value)))
            }
            None => Ok(()),
        }
    }
}

/// Continues through blocks that did not exist before; returns the first one that did, and the terms passed to it.
fn follow(
    before: &Function,
    after: &mut Version<'_>,
    target: &BlockCall,
    machine: &mut Machine<'_>,
    state: &mut State,
    trace: &mut Trace,
) -> Result<(Block, Args), String> {
    let mut target = *target;
    for _ in 0..after.func.dfg.num_blocks() {
        let to = target.block(&after.func.dfg.value_lists);
        let given = after.given(&target, machine, trace)?;
        if before.layout.is_block_inserted(to) {
            return Ok((to, given));
        }
        let params = after.func.dfg.block_params(to);
        params.iter().zip(given).for_each(|(&param, term)| after.bind(param, term));
        let events = trace.events.len();
        after.execute(to, machine, state, trace)?;
        let &[next] = after.targets(to) else { return Err(format!("{to} leads to several blocks")) };
        if trace.events.len() != events {
            return Err(format!("{to} does something"));
        }
        target = next;
    }
    Err("control runs around in new blocks".into())
}
