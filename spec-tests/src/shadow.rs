//! The naive calling context tree: an explicit shadow stack, updated by each call and return of a trace.
//!
//! Input: the trace of a run, and the host functions that it called. Output: the tree of its calls, by definition: the
//! context of a call is the chain of its callers, with everything between two calls of one function removed.
//! Source: Ammons, Ball & Larus 1997, section 4.1.

mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::Cursor;

use wprof::Module;
use wprof_profiler::{
    BlockId, CallRecord, Callee, ContextLink, ContextLog, ContextTree, Metric, Routine, TraceEvent,
    TraceReader, TraceStep,
};

use crate::oracle::cache::Accesses;
use names::{Kind, Names};

/// Module and name of a host function.
pub type HostName = (String, String);

/// The host's view of a run.
#[derive(Clone, Debug, Default)]
pub struct HostLog {
    /// Host functions that wasm called, in order.
    pub from_wasm: VecDeque<HostName>,
    /// Host functions that the host called through exports, in order; traces do not contain these calls.
    pub from_host: Vec<HostName>,
}

/// The calls in a trace.
#[derive(Debug)]
pub struct Shadow {
    /// The tree of all calls.
    pub tree: ContextTree,
    /// Number of calls that ended before they did anything.
    ended_at_once: u64,
    /// Whether the missed lines of each context are known.
    knows_misses: bool,
}

/// A context: the callers and the function itself, each with the call site in its caller.
pub type Chain = Vec<(Callee, u32)>;

/// An activation.
struct Active {
    context: usize,
    /// The current part of the function; `None` in host functions.
    part: Option<(u32, BlockId)>,
    /// Whether nothing has happened in the activation yet.
    is_new: bool,
    /// Whether the part's call has returned.
    has_returned: bool,
}

/// Folds a trace of `module` into its tree.
///
/// # Errors
/// Returns an error if the trace is damaged, or contradicts the module or the host's log.
pub fn fold(module: &Module, trace: &[u8], host: HostLog) -> Result<Shadow, String> {
    let mut reader = TraceReader::open(Cursor::new(trace)).map_err(|e| e.to_string())?;
    let mut folding = Folding::new(module, host);
    for step in reader.steps_from(0) {
        match step.map_err(|e| e.to_string())? {
            TraceStep::Event(event) => {
                let missed = folding.accesses.before(event);
                folding.charge(missed);
                folding.event(event)?;
            }
            TraceStep::Reference(reference) => {
                let missed = folding.accesses.reference(&reference);
                folding.charge(missed);
            }
        }
    }
    for (module, name) in std::mem::take(&mut folding.host.from_host) {
        let context = folding.callee(0, 0, &Callee::Host { module, name });
        folding.calls[context] += 1;
    }
    let (ended_at_once, knows_misses) = (folding.ended_at_once, !folding.accesses.is_unsure);
    Ok(Shadow { tree: folding.tree(), ended_at_once, knows_misses })
}

/// A shadow stack, and the contexts that it has visited.
pub(crate) struct Folding {
    names: Names,
    host: HostLog,
    chains: Vec<Chain>,
    numbers: BTreeMap<Chain, usize>,
    /// Known contexts of callees, by the caller's context, the call site and the callee.
    callees: HashMap<(usize, u32, Callee), usize>,
    /// Calls, by context.
    calls: Vec<u64>,
    /// Recursive calls: caller's context, call site, callee's context.
    back: BTreeSet<(usize, u32, usize)>,
    stack: Vec<Active>,
    /// The context and call site of the tail call in progress.
    tail: Option<(usize, u32)>,
    ended_at_once: u64,
    accesses: Accesses,
    /// Lines missed in the simulated cache, by context.
    misses: Vec<u64>,
}

impl Folding {
    /// Creates the state before the run.
    pub(crate) fn new(module: &Module, host: HostLog) -> Folding {
        Folding {
            names: Names::new(module),
            host,
            chains: vec![Vec::new()],
            numbers: BTreeMap::from([(Vec::new(), 0)]),
            callees: HashMap::new(),
            calls: vec![0],
            back: BTreeSet::new(),
            stack: Vec::new(),
            tail: None,
            ended_at_once: 0,
            accesses: Accesses::default(),
            misses: vec![0],
        }
    }

    /// Returns the context of the innermost wasm frame.
    pub(crate) fn wasm_chain(&self) -> Option<&Chain> {
        let frame = self.stack.iter().rev().find(|active| active.part.is_some())?;
        Some(&self.chains[frame.context])
    }

    fn charge(&mut self, missed: u64) {
        let context = self.stack.last().map_or(0, |top| top.context);
        self.misses[context] += missed;
    }

    pub(crate) fn event(&mut self, event: TraceEvent) -> Result<(), String> {
        match event {
            TraceEvent::Enter(func) => {
                let (from, site) = self.caller()?;
                let callee = self.names.function(func);
                self.call(from, site, &callee, Some((func, BlockId::ENTRY)));
            }
            TraceEvent::Block(func, part) => {
                let top = self.stack.last_mut().ok_or("a block of no frame")?;
                top.is_new &= part == BlockId::ENTRY;
                (top.part, top.has_returned) = (Some((func, part)), false);
            }
            TraceEvent::HostCall(func, part) => {
                let (from, site) = self.caller()?;
                match self.host_callee(func, part)? {
                    Some(callee) => self.call(from, site, &callee, None),
                    None => self.stack.push(Active {
                        context: from,
                        part: None,
                        is_new: false,
                        has_returned: false,
                    }),
                }
            }
            TraceEvent::HostReturn(..) => {
                self.stack.pop();
                self.returned()?;
            }
            TraceEvent::Leave(func) => self.leave(func)?,
            TraceEvent::Unwound { .. } => self.unwind(),
        }
        Ok(())
    }

    /// Returns the context and call site of the next call.
    fn caller(&mut self) -> Result<(usize, u32), String> {
        if let Some(tail) = self.tail.take() {
            return Ok(tail);
        }
        let Some(top) = self.stack.last_mut() else { return Ok((0, 0)) };
        top.is_new = false;
        let Some((func, part)) = top.part else { return Ok((top.context, 0)) };
        Ok((top.context, self.names.call(func, part)?.0))
    }

    /// Returns the function of the host that a part calls; none if the part throws.
    fn host_callee(&mut self, func: u32, part: BlockId) -> Result<Option<Callee>, String> {
        let (at, kind) = self.names.call(func, part)?;
        if kind == Kind::Throw {
            return Ok(None);
        }
        let logged = self.host.from_wasm.pop_front();
        let (module, name) = match kind {
            Kind::Host(module, name) => (module, name),
            _ => logged.ok_or_else(|| format!("the host saw no call at {at:#x} of function {func}"))?,
        };
        Ok(Some(Callee::Host { module, name }))
    }

    fn call(&mut self, from: usize, site: u32, callee: &Callee, part: Option<(u32, BlockId)>) {
        let context = self.callee(from, site, callee);
        self.calls[context] += 1;
        self.stack.push(Active { context, part, is_new: true, has_returned: false });
    }

    /// Returns the context of a callee.
    fn callee(&mut self, from: usize, site: u32, callee: &Callee) -> usize {
        let key = (from, site, callee.clone());
        if let Some(&known) = self.callees.get(&key) {
            return known;
        }
        let mut chain = self.chains[from].clone();
        let above = chain.iter().position(|(function, _)| function == callee);
        match above {
            Some(above) => chain.truncate(above + 1),
            None => chain.push((callee.clone(), site)),
        }
        let next = self.chains.len();
        let context = *self.numbers.entry(chain.clone()).or_insert(next);
        if context == next {
            self.chains.push(chain);
            self.calls.push(0);
            self.misses.push(0);
        }
        if above.is_some() {
            self.back.insert((from, site, context));
        }
        self.callees.insert(key, context);
        context
    }

    fn returned(&mut self) -> Result<(), String> {
        self.stack.last_mut().ok_or("the host returns to nobody")?.has_returned = true;
        Ok(())
    }

    fn leave(&mut self, func: u32) -> Result<(), String> {
        let left = self.stack.pop().ok_or("nobody leaves")?;
        let (of, part) = left.part.ok_or("the host leaves as wasm")?;
        if of != func {
            return Err(format!("function {func} leaves {of}"));
        }
        if !left.has_returned && self.names.is_tail_call(func, part)? {
            self.tail = Some((left.context, self.names.call(func, part)?.0));
        } else if let Some(top) = self.stack.last_mut().filter(|top| top.part.is_some()) {
            top.has_returned = true;
        }
        Ok(())
    }

    /// Pops the innermost wasm frame, and the host frames above it.
    pub(crate) fn unwind(&mut self) {
        while let Some(top) = self.stack.pop() {
            self.ended_at_once += u64::from(top.is_new);
            if top.part.is_some() {
                return;
            }
        }
    }

    /// Builds the tree. A chain created later is never the caller of an earlier one.
    fn tree(self) -> ContextTree {
        let metrics = vec![Metric { name: "cache-misses".into(), taken_off: 0 }];
        let mut log = ContextLog { metrics, ..ContextLog::default() };
        let mut routines: BTreeMap<Callee, u32> = BTreeMap::new();
        for (chain, number) in self.chains.iter().zip(0_u32..) {
            let Some(((callee, site), above)) = chain.split_last() else {
                log.routines.push(Routine { callee: Callee::Root, sites: Vec::new() });
                log.records.push(CallRecord {
                    routine: 0,
                    parent: 0,
                    site: 0,
                    calls: 0,
                    back_edges: Vec::new(),
                    metrics: vec![0],
                    paths: Vec::new(),
                    unfinished: Vec::new(),
                });
                continue;
            };
            let routine = *routines.entry(callee.clone()).or_insert_with(|| {
                log.routines.push(self.names.routine(callee));
                log.routines.len() as u32 - 1
            });
            let (parent, calls) = (self.numbers[above] as u32, self.calls[number as usize]);
            let (back_edges, metrics) = (Vec::new(), vec![self.misses[number as usize]]);
            log.records.push(CallRecord {
                routine,
                parent,
                site: *site,
                calls,
                back_edges,
                metrics,
                paths: Vec::new(),
                unfinished: Vec::new(),
            });
        }
        let link =
            |&(from, site, to): &(usize, u32, usize)| ContextLink { from: from as u32, site, to: to as u32 };
        log.links = self.back.iter().map(link).collect();
        log.tree()
    }
}

impl Shadow {
    /// Checks that `tree` equals the tree of the trace.
    ///
    /// # Errors
    /// Returns an error if the trees differ.
    pub fn is(&self, tree: &ContextTree) -> Result<(), String> {
        tree.verify().map_err(|e| e.to_string())?;
        let is_same = match tree.metrics == self.tree.metrics && self.knows_misses {
            true => *tree == self.tree,
            false => without_metrics(tree) == without_metrics(&self.tree),
        };
        match is_same {
            true => Ok(()),
            false => Err(format!("by the trace: {:#?}\nfound: {tree:#?}", self.tree)),
        }
    }

    /// Checks a tree of a run that overflowed the stack: calls of frames that ended before they did anything may be
    /// missing, because a trace also names functions that could not be entered.
    ///
    /// # Errors
    /// Returns an error if other calls are missing, or if there are additional calls.
    pub fn allows(&self, tree: &ContextTree) -> Result<(), String> {
        tree.verify().map_err(|e| e.to_string())?;
        let missing = total(&self.tree).checked_sub(total(tree));
        let more = self.tree.merged(tree).records.len() - self.tree.records.len();
        match missing.is_some_and(|missing| missing <= self.ended_at_once) && more == 0 {
            true => Ok(()),
            false => {
                Err(format!("{missing:?} calls missing, {} may be; {more} more contexts", self.ended_at_once))
            }
        }
    }
}

/// Returns the tree without metrics.
pub fn without_metrics(tree: &ContextTree) -> ContextTree {
    let mut tree = tree.clone();
    tree.metrics.clear();
    tree.records.iter_mut().for_each(|record| record.metrics.clear());
    tree
}

/// Returns the tree with the call sites of each caller merged, by definition: chains that differ in their call sites
/// only are one. The call sites of routines, which this leaves out, tell more about another tree.
pub fn by_callee(tree: &ContextTree) -> ContextTree {
    let mut tree = if tree.merges_sites { tree.clone() } else { tree.with_sites_merged() };
    tree.routines.iter_mut().for_each(|routine| routine.sites.clear());
    tree
}

/// Returns the tree without calls of host functions by the host.
pub fn without_calls_by_host(tree: &ContextTree) -> ContextTree {
    let mut tree = tree.clone();
    for record in tree.records.iter_mut().skip(1).filter(|record| record.parent == ContextTree::ROOT) {
        if matches!(tree.routines[record.routine as usize].callee, Callee::Host { .. }) {
            record.calls = 0;
        }
    }
    tree.pruned()
}

/// Returns the number of calls by context, for contexts with calls.
pub fn calls_by_chain(tree: &ContextTree) -> BTreeMap<Chain, u64> {
    let mut chains: Vec<Chain> = vec![Vec::new()];
    for (record, number) in tree.records.iter().zip(0..).skip(1) {
        let mut chain = chains[record.parent as usize].clone();
        chain.push((tree.callee(number).clone(), record.site));
        chains.push(chain);
    }
    chains.into_iter().zip(tree.calls()).filter(|(_, calls)| *calls > 0).collect()
}

fn total(tree: &ContextTree) -> u64 {
    tree.records.iter().map(|record| record.calls).sum()
}
