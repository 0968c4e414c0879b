//! The choice of inlined calls: the calls of the most frequent nodes are inlined first, until the function has its
//! maximum size.

use std::collections::BinaryHeap;
use std::sync::Arc;

use hashbrown::HashMap;
use wasmparser::Operator;

use super::{Decision, FunctionAdvice, Refusal, Reoptimizer, Verdict, Versions};
use crate::CompileError;
use crate::cfg::{Cfg, End, Operators, Target};
use crate::code::NoVectors;
use crate::graph::{BlockGraph, InlinedCall, Node, Site};
use crate::plan::FunctionPlan;
use crate::plan::Probe;

/// A function being enlarged by its callees.
pub(super) struct Inlining<'a> {
    by: &'a Reoptimizer<'a>,
    own: &'a Arc<Cfg>,
    versions: &'a dyn Versions,
    /// The loops of callees that cannot be vectorised.
    not_vectorized: &'a [(u32, NoVectors)],
    pub(super) graph: BlockGraph,
    /// Whether the entry of the function is checked.
    is_checked: bool,
    pub(super) decisions: Vec<Decision>,
    /// The nodes whose calls are not examined yet, by their number of executions; among equals the last node first.
    nodes: BinaryHeap<(u64, u32)>,
    /// The advice about the function itself.
    advice: Option<&'a FunctionAdvice>,
    callees: HashMap<u32, Callee<'a>>,
    /// The number of instructions that may still be added.
    room: u32,
}

/// A function that may be inlined.
#[derive(Clone)]
struct Callee<'a> {
    /// The advice about the callee.
    advice: Option<&'a FunctionAdvice>,
    cfg: Arc<Cfg>,
    /// The callee's graph, with superblocks if there is a profile of it.
    graph: BlockGraph,
    /// The number of the callee's calls in the profile, if there is one.
    calls: u64,
    ops: u32,
    /// The number of instructions executed per call.
    ops_a_call: u64,
    /// The reason why it cannot be inlined anywhere.
    why_not: Option<Refusal>,
}

/// A call in a node.
struct Call {
    at: u32,
    next: u32,
    /// The called or guessed function, with the number of its calls, and of those of other functions.
    callee: Result<u32, Refusal>,
    count: u64,
    wrong: u64,
    is_guess: bool,
}

impl<'a> Inlining<'a> {
    pub(super) fn new(
        by: &'a Reoptimizer<'a>,
        plan: &'a FunctionPlan,
        graph: BlockGraph,
        versions: &'a dyn Versions,
        decisions: Vec<Decision>,
    ) -> Inlining<'a> {
        let nodes = (0..).zip(&graph.nodes).filter_map(|(index, node)| Some((node.count?, index))).collect();
        let is_checked = plan.checks.as_ref().is_some_and(|checks| checks.entry);
        let (own, not_vectorized) = (&plan.cfg, &*plan.not_vectorized);
        let (advice, callees, room) = (by.advice_of(own), HashMap::new(), by.policy.room);
        Inlining {
            by,
            own,
            versions,
            not_vectorized,
            graph,
            is_checked,
            decisions,
            nodes,
            advice,
            callees,
            room,
        }
    }

    /// Examines the calls of all nodes that ran.
    ///
    /// # Errors
    /// Returns an error if a callee exceeds a limit.
    pub(super) fn run(&mut self) -> Result<(), CompileError> {
        while let Some((count, node)) = self.nodes.pop() {
            if count > 0 {
                self.node(node)?;
            }
        }
        Ok(())
    }

    /// Inlines the worthwhile calls of a node, in their order.
    fn node(&mut self, mut index: u32) -> Result<(), CompileError> {
        for call in self.calls(index)? {
            let func = self.graph.cfg_of(self.own, self.graph.nodes[index as usize].frame).func;
            let verdict = match self.refusal(index, &call)? {
                Some(why) => Verdict::Refused { callee: call.callee.ok(), why },
                None => {
                    let callee = call.callee.expect("it is not refused");
                    index = self.inline(index, &call, callee);
                    let calls = 1000.0 * call.count as f64 / self.by.advice.ops.max(1) as f64;
                    let guess = call.is_guess.then(|| call.count as f64 / (call.count + call.wrong) as f64);
                    Verdict::Inlined { callee, calls, guess }
                }
            };
            self.decisions.push(Decision { func, offset: call.at, verdict });
        }
        Ok(())
    }

    /// Returns the calls of a node.
    fn calls(&self, index: u32) -> Result<Vec<Call>, CompileError> {
        let node = &self.graph.nodes[index as usize];
        let cfg = self.graph.cfg_of(self.own, node.frame);
        let block = &cfg.blocks[node.block as usize];
        let limit = node.call.map_or(block.limit, |call| call.at);
        let mut operators = Operators::new(self.by.info, node.start, limit);
        let mut calls: Vec<Call> = Vec::new();
        let mut is_last_call = false;
        while let Some((op, at)) = operators.next()? {
            if let Some(call) = calls.last_mut().filter(|_| is_last_call) {
                call.next = at;
            }
            let call = self.call(node, cfg, &op, (at, limit));
            is_last_call = call.is_some();
            calls.extend(call);
        }
        Ok(calls)
    }

    fn call(&self, node: &Node, cfg: &Cfg, op: &Operator<'_>, (at, next): (u32, u32)) -> Option<Call> {
        let count = node.count?;
        match *op {
            Operator::Call { function_index } => {
                Some(Call { at, next, callee: Ok(function_index), count, wrong: 0, is_guess: false })
            }
            Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
                let guess = self.guess(cfg, at, type_index);
                let share = guess.as_ref().map_or(0.0, |&(_, share)| share);
                let right = (count as f64 * share) as u64;
                let callee = guess.map(|(callee, _)| callee);
                Some(Call { at, next, callee, count: right, wrong: count - right, is_guess: true })
            }
            _ => None,
        }
    }

    /// Returns the function that a call through a table or a reference reaches most often, and its share of the calls.
    fn guess(&self, cfg: &Cfg, at: u32, type_index: u32) -> Result<(u32, f64), Refusal> {
        let info = self.by.info;
        let targets =
            self.advice(cfg.func).and_then(|advice| advice.targets.get(&at)).ok_or(Refusal::ManyCallees)?;
        let (callee, share) = targets.most().ok_or(Refusal::Host)?;
        let fits = callee < info.funcs.len() as u32
            && info.is_func_of(callee, type_index)
            && info.escaped_index(callee).is_some();
        match fits && self.by.policy.is_guessed(share) {
            true => Ok((callee, share)),
            false => Err(Refusal::ManyCallees),
        }
    }

    /// Returns the advice about the function itself, or about an inlined one.
    fn advice(&self, func: u32) -> Option<&'a FunctionAdvice> {
        if func == self.own.func { self.advice } else { self.callees.get(&func)?.advice }
    }

    /// Returns the reason why a call is not inlined; `None` if it is.
    fn refusal(&mut self, index: u32, call: &Call) -> Result<Option<Refusal>, CompileError> {
        let callee = match call.callee {
            Ok(callee) if self.by.info.is_imported_func(callee) => return Ok(Some(Refusal::Host)),
            Ok(callee) => callee,
            Err(why) => return Ok(Some(why)),
        };
        let (depth, recursion) = self.nesting(self.graph.nodes[index as usize].frame, callee);
        let policy = self.by.policy;
        let most = policy.most_callee(call.count as f64 / self.by.advice.ops.max(1) as f64);
        let room = self.room;
        let callee = self.callee(callee)?;
        Ok(match callee.why_not {
            Some(why) => Some(why),
            None if depth >= policy.depth || recursion > policy.recursion => Some(Refusal::TooDeep),
            None if callee.ops_a_call > policy.longest_call => Some(Refusal::Long(callee.ops_a_call)),
            None if callee.ops > most => Some(Refusal::TooLarge(callee.ops)),
            None if callee.ops > room => Some(Refusal::NoRoom),
            None => None,
        })
    }

    /// Returns the depth of inlined calls around a frame, and the number of frames of function `func` among them and
    /// the frame itself.
    fn nesting(&self, mut frame: u32, func: u32) -> (u32, u32) {
        let is_func = |frame: u32| u32::from(self.graph.cfg_of(self.own, frame).func == func);
        let (mut depth, mut recursion) = (0, is_func(frame));
        while let Some(call) = self.graph.call_of(frame) {
            frame = call.caller;
            (depth, recursion) = (depth + 1, recursion + is_func(frame));
        }
        (depth, recursion)
    }

    fn callee(&mut self, func: u32) -> Result<&Callee<'a>, CompileError> {
        if !self.callees.contains_key(&func) {
            let callee = self.new_callee(func)?;
            self.callees.insert(func, callee);
        }
        Ok(&self.callees[&func])
    }

    fn new_callee(&self, func: u32) -> Result<Callee<'a>, CompileError> {
        let plan = FunctionPlan::new(self.by.info, func, self.by.collection, 0)?;
        let plan = plan.without_vectors(self.not_vectorized);
        let cfg = plan.cfg.clone();
        let returns = |end: &End| !matches!(end, End::TailCall);
        let has_exit = cfg.blocks.iter().any(|b| b.edges.iter().any(|e| e.target == Target::Exit));
        let ops = cfg.blocks.iter().map(|block| block.ops).sum();
        let why_not = match has_exit && cfg.blocks.iter().all(|block| returns(&block.how)) {
            true => cfg.is_entangled().then_some(Refusal::TooLarge(ops)),
            false => Some(Refusal::NoReturn),
        };
        let mut plain = self.versions.probed(&plan);
        if self.is_checked {
            // Control only arrives here from checked code.
            plain.nodes[0].probes.retain(|probe| *probe != Probe::Check);
        }
        let (advice, vectors) = (self.by.advice_of(&cfg), self.versions.vectors(&plan));
        let graph = match advice {
            Some(advice) => {
                let graph = self.by.with_superblocks((&plan, advice), plain, &mut Vec::new());
                self.by.with_vectors((&cfg, advice), vectors, graph, &mut Vec::new()).0
            }
            None => plain.vectorized(&cfg, vectors),
        };
        let (calls, executed) = advice.map_or((0, 0), |advice| (advice.calls, advice.ops));
        Ok(Callee {
            advice,
            calls,
            ops_a_call: executed / calls.max(1),
            ops,
            why_not,
            graph: self.versions.with_loops(graph, &plan),
            cfg,
        })
    }

    /// Reports whether the call at byte `at` in a node ends its block, since the caller catches its exceptions.
    fn is_caught(&self, node: u32, at: u32) -> bool {
        let node = &self.graph.nodes[node as usize];
        let block = &self.graph.cfg_of(self.own, node.frame).blocks[node.block as usize];
        matches!(block.how, End::Call(_)) && at == block.end
    }

    /// Inlines a call; returns the node with the rest of its block.
    fn inline(&mut self, node: u32, call: &Call, callee: u32) -> u32 {
        let callee = self.callees[&callee].clone();
        let mut graph = callee.graph;
        self.room -= graph
            .nodes
            .iter()
            .map(|node| callee.cfg.blocks[node.block as usize].ops)
            .sum::<u32>()
            .min(self.room);
        for node in &mut graph.nodes {
            node.count = node.count.map(|count| scaled(count, call.count, callee.calls));
        }
        let guess = call.is_guess.then_some(callee.cfg.func);
        let is_caught = self.is_caught(node, call.at);
        let site = Site {
            node,
            call: InlinedCall { at: call.at, guess },
            next: call.next,
            is_caught,
            wrong: call.wrong,
        };
        let first = self.graph.nodes.len() as u32;
        let (_, behind) = self.graph.inline(&site, &callee.cfg, graph);
        let added = first..behind;
        self.nodes.extend(added.filter_map(|node| Some((self.graph.nodes[node as usize].count?, node))));
        behind
    }
}

/// Scales the count of a callee's block to one of its call sites.
fn scaled(count: u64, site: u64, calls: u64) -> u64 {
    match calls {
        0 => count.min(site),
        _ => (u128::from(count) * u128::from(site) / u128::from(calls)).try_into().unwrap_or(u64::MAX),
    }
}
