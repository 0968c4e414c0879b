//! What bursts of an instance's module could not count: where they were due or came to, and what they would have counted.
//!
//! Input: bursts that were skipped, checks in bursts that found no code for bursts, and bursts that called functions without such code;
//! what was counted; and sampled time. Output: by function, an estimate of the instructions that bursts would have counted.
//!
//! * A function that some bursts counted has as many instructions in those that could not count it as in the others.
//! * Of the others those with sampled time have as many instructions as the counted functions have in as much time. Time is
//!   an independent sample: it does not matter to it what bursts can count.
//! * Without sampled time a called function is expected to run once from check to check, as its graph and those of its callees say.
//! * Skipped bursts have seen nothing. With sampled time, the checks that they stand for have as many instructions as others, and
//!   these belong to the functions that have more time than what was counted accounts for; else, or if other modules have run
//!   checks as well, to those in which bursts were due, as their graphs say.
//!
//! Source: Kish, *Survey Sampling*, 1965, section 13.4 (nonresponse), and 12.3 (ratio estimates by an auxiliary variable).
//! Oracle: exact profiles beside samples of the default configuration, in `vm/tests/profiles/unbiased_default.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use wprof_jit::plan::{Expected, FunctionPlan};
use wprof_profiler::{BlockId, Callee, Profile, SkippedBursts, SkippedIn};

use crate::runtime::burst::skipped_bursts::SkippedHere;
use crate::runtime::burst::store_bursts::StoreBursts;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_opaque::StoreOpaque;

/// The fewest samples of time by which instructions are divided among functions.
const FEWEST_SAMPLES: u64 = 5;

/// The largest share of bursts that could not count a function for its instructions in the others to tell how many it had.
const MOST_BLIND: f64 = 0.9;

/// How far the callees of a function that was not counted are followed.
const DEEPEST: u32 = 3;

/// The number of functions that are looked at for one that was not counted, since each is planned.
const MOST_FOLLOWED: u32 = 64;

/// Returns what bursts of a store could not count of instance number `index`, whose profile is known but for that; `None` if they
/// could count everything.
pub fn of_instance(store: &StoreOpaque, index: u32, profile: &Profile) -> Option<SkippedBursts> {
    let bursts = store.observed.bursts.as_ref()?;
    let module = &store.items.instance(index).module;
    let here: BTreeMap<u32, SkippedHere> = bursts.skipped().of_module(module).collect();
    let counts = Counts { store, module, bursts, here: &here, profile };
    let ops = counts.estimates();
    let skipped = |(&function, &ops): (&u32, &f64)| {
        let bursts = here.get(&function).map_or(0, |here| here.bursts);
        let name = module.func_name(function).map(str::to_string);
        SkippedIn { function, name, bursts, ops: ops.round() as u64 }
    };
    let functions: Vec<SkippedIn> =
        ops.iter().map(skipped).filter(|of| of.bursts > 0 || of.ops > 0).collect();
    let bursts = bursts.skipped().bursts();
    (bursts > 0 || !functions.is_empty()).then_some(SkippedBursts { bursts, functions })
}

/// Instructions by function.
type Ops = BTreeMap<u32, f64>;

/// What is known of an instance.
struct Counts<'a> {
    store: &'a StoreOpaque,
    module: &'a Arc<dyn LoadedModule>,
    bursts: &'a StoreBursts,
    here: &'a BTreeMap<u32, SkippedHere>,
    profile: &'a Profile,
}

impl Counts<'_> {
    /// Estimates the instructions that were not counted.
    fn estimates(&self) -> Ops {
        if self.here.is_empty() {
            return Ops::new();
        }
        let seen: Ops =
            self.profile.functions.iter().map(|function| (function.index, function.ops() as f64)).collect();
        let times = self.times();
        let mut unseen = self.in_bursts(&seen, times.as_ref());
        let skipped = self.in_skipped(&seen, &unseen, times.as_ref());
        for (function, ops) in skipped {
            *unseen.entry(function).or_default() += ops;
        }
        unseen
    }

    /// Returns the time of each function of the instance itself, if there are enough samples.
    fn times(&self) -> Option<Ops> {
        let time = self.profile.time.as_ref()?;
        let routines = time.routines();
        let own = routines.iter().filter_map(|routine| match routine.callee {
            Callee::Function { index, .. } => Some((*index, routine.own)),
            _ => None,
        });
        let own: Vec<_> = own.filter(|(_, own)| own.samples > 0).collect();
        let samples: u64 = own.iter().map(|(_, own)| own.samples).sum();
        (samples >= FEWEST_SAMPLES)
            .then(|| own.into_iter().map(|(function, own)| (function, own.time_ns as f64)).collect())
    }

    /// Returns the share of the bursts' checks in which a function could not be counted.
    fn blind(&self, function: u32) -> f64 {
        let here = self.here.get(&function).copied().unwrap_or_default();
        let (blind, seen) = ((here.uncounted + here.missed) as f64, self.bursts.checks_seen() as f64);
        if blind > 0.0 { (blind / (seen + here.missed as f64).max(blind)).min(1.0) } else { 0.0 }
    }

    /// Estimates what bursts would have counted that came to functions without code for bursts.
    fn in_bursts(&self, seen: &Ops, times: Option<&Ops>) -> Ops {
        let mut unseen = Ops::new();
        let counted = |function: u32| seen.get(&function).copied().unwrap_or(0.0);
        // Instructions in a unit of time, in functions that bursts could count.
        let of_time = times.map(|times| {
            let known = times.iter().filter(|&(&function, _)| self.blind(function) < 0.5);
            let known = known.filter(|&(&function, _)| counted(function) > 0.0);
            known.fold((0.0, 0.0), |(ops, time), (&function, own)| (ops + counted(function), time + own))
        });
        // If the timer found none of them, they have less time than one sample.
        let speed = of_time.map(|(ops, time)| match time > 0.0 {
            true => ops / time,
            false => seen.values().sum::<f64>() / self.time_of_sample(),
        });
        for (&function, here) in self.here {
            let blind = self.blind(function);
            if blind == 0.0 {
                continue;
            }
            if counted(function) > 0.0 && blind < MOST_BLIND {
                *unseen.entry(function).or_default() += counted(function) * blind / (1.0 - blind);
                continue;
            }
            match times.zip(speed) {
                Some((times, speed)) => {
                    let time = times.get(&function).copied().unwrap_or(0.0);
                    *unseen.entry(function).or_default() +=
                        (time * speed * blind - counted(function)).max(0.0);
                }
                None => {
                    self.add_calls(function, here.uncounted as f64, &mut unseen);
                    self.add_missed(function, here.missed, &mut unseen);
                }
            }
        }
        // What is called by functions that were not counted has time only.
        if let Some((times, speed)) = times.zip(speed).filter(|_| !unseen.is_empty()) {
            let others = times.iter().filter(|&(&function, _)| counted(function) == 0.0);
            for (&function, time) in others {
                unseen.entry(function).or_insert(time * speed);
            }
        }
        unseen
    }

    /// Estimates what skipped bursts would have counted, given what others have seen and what they should have.
    fn in_skipped(&self, seen: &Ops, unseen: &Ops, times: Option<&Ops>) -> Ops {
        let checks = |here: &SkippedHere| here.stands_for as f64 * self.bursts.checks_seen_per_due();
        let by_place = || {
            let place = |(&function, here): (&u32, &SkippedHere)| {
                (function, checks(here) * self.ops_per_check(function))
            };
            self.here.iter().filter(|(_, here)| here.bursts > 0).map(place).collect::<Ops>()
        };
        let known = seen.values().sum::<f64>() + unseen.values().sum::<f64>();
        // Checks are those of the whole store, instructions those of the module.
        let is_only =
            self.store.items.instances().iter().all(|other| loaded::same(&other.module, self.module));
        let (Some(times), true) = (times.filter(|_| is_only), known > 0.0) else { return by_place() };
        let per_check = known / (self.bursts.checks_seen() as f64).max(1.0);
        let skipped = self.here.values().map(checks).sum::<f64>() * per_check;
        let (all, time) = (known + skipped, times.values().sum::<f64>());
        let lacking = |(&function, own): (&u32, &f64)| {
            let has = [seen, unseen].map(|of| of.get(&function).copied().unwrap_or(0.0));
            (function, (own / time * all - has[0] - has[1]).max(0.0))
        };
        let lacking: Ops = times.iter().map(lacking).collect();
        let sum = lacking.values().sum::<f64>();
        match sum > 0.0 {
            true => lacking.into_iter().map(|(function, ops)| (function, ops / sum * skipped)).collect(),
            false => by_place(),
        }
    }

    /// Returns the time that a sample stands for, in nanoseconds.
    fn time_of_sample(&self) -> f64 {
        let all = self.profile.time.as_ref().map(|time| time.total()).unwrap_or_default();
        (all.time_ns as f64 / all.samples.max(1) as f64).max(1.0)
    }

    /// Adds what `calls` calls of a function execute, with callees that no check leads to code for bursts.
    fn add_calls(&self, function: u32, calls: f64, to: &mut Ops) {
        let (mut pending, mut left) = (vec![(function, calls, DEEPEST)], MOST_FOLLOWED);
        while let Some((function, calls, depth)) = pending.pop() {
            // Imported functions have no body here.
            if calls < 1.0 || function < self.module.info().imported_funcs || left == 0 {
                continue;
            }
            left -= 1;
            let Some(plan) = self.module.any_plan_of(function) else { continue };
            let weights = self.expected(&plan).block_weights(plan.cfg.shape());
            let entries = weights.get(BlockId(plan.cfg.blocks.len() as u32)).max(f64::MIN_POSITIVE);
            let of_call = |block: u32| weights.get(BlockId(block)) / entries;
            let ops: f64 =
                (0..).zip(&plan.cfg.blocks).map(|(block, of)| of_call(block) * f64::from(of.ops)).sum();
            *to.entry(function).or_default() += calls * ops;
            if depth > 0 {
                let callees = plan.cfg.calls.iter();
                pending.extend(callees.map(|call| (call.callee, calls * of_call(call.block), depth - 1)));
            }
        }
    }

    /// Adds what a function executes behind checks that found no code for bursts.
    fn add_missed(&self, function: u32, checks: u64, to: &mut Ops) {
        if checks > 0 {
            *to.entry(function).or_default() += checks as f64 * self.ops_per_check(function);
        }
    }

    /// Returns how many instructions of a function are expected from one check to the next. Only functions that can be
    /// planned run.
    fn ops_per_check(&self, function: u32) -> f64 {
        let Some(plan) = self.module.any_plan_of(function) else { return 0.0 };
        let Some(checks) = &plan.checks else { return 0.0 };
        checks.ops_per_check(&plan.cfg, &self.expected(&plan).block_weights(plan.cfg.shape()))
    }

    fn expected(&self, plan: &FunctionPlan) -> Expected {
        Expected::new(self.module.info(), self.store.engine().counted(), &plan.cfg)
    }
}
