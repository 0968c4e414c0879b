//! The simulated cache and the simulated predictor of a store, and the log of what they have yet to see.
//!
//! Machine code only appends to the log (`wprof_jit::abi::simulation_log`). It is emptied wherever a reading of metrics is
//! taken, and when it is full: so readings are those of simulations that see everything at once, while what they cost is paid
//! in few places, at which the clock of the program stops.
//! Invariant: accesses and branches are seen in the order in which the program executes them, those before a trap as well.
//! Oracle: the data references of traces (`spec-tests/src/oracle/paths.rs`), and branches that a program logs itself
//! (`vm/tests/profiles/branches.rs`).

use std::ptr::{self, NonNull};

use hashbrown::HashMap;
use wprof_jit::abi::simulation_log;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::Metric;
use wprof_profiler::{BranchOutcome, BranchPredictor, CacheLevels, LevelMisses};

use crate::runtime::instances::abi::{LogEntry, VmContext};
use crate::runtime::instances::store_ptr::StorePtr;

/// The log itself, at a multiple of its size.
#[derive(Debug)]
#[repr(C, align(4096))]
struct Log([LogEntry; (simulation_log::SIZE / simulation_log::ENTRY) as usize]);

const _: () = assert!(align_of::<Log>() == simulation_log::SIZE as usize);
const _: () = assert!(size_of::<Log>() == simulation_log::SIZE as usize);

/// What a store simulates.
#[derive(Debug)]
pub struct Simulations {
    cache: Option<CacheLevels>,
    predictor: Option<BranchPredictor>,
    /// Outcomes by instance and byte offset; the function is determined later.
    outcomes: HashMap<(u32, u32), BranchOutcome>,
    /// Absent if nothing is simulated.
    log: Option<StorePtr<Log>>,
}

/// What simulations have seen at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Number of entries of the log.
    pub entries: u64,
    /// Lines used and missed.
    pub lines: LevelMisses,
    /// Number of branches mispredicted.
    pub mispredictions: u64,
}

impl Simulations {
    /// Creates the simulations that metrics need.
    pub fn new(metrics: &[Metric]) -> Simulations {
        let second = metrics.iter().find_map(Metric::second_level);
        let cache = metrics.iter().find_map(Metric::cache).map(|first| CacheLevels::new(first, second));
        let predictor = metrics.contains(&Metric::Mispredictions).then(BranchPredictor::default);
        let is_any = cache.is_some() || predictor.is_some();
        let new_log = || {
            let log = Log([[0; 2]; (simulation_log::SIZE / simulation_log::ENTRY) as usize]);
            // SAFETY: the log is freed with the simulations, thus with the store.
            unsafe { StorePtr::new(NonNull::from(Box::leak(Box::new(log)))) }
        };
        Simulations { cache, predictor, outcomes: HashMap::new(), log: is_any.then(new_log) }
    }

    /// Reports whether anything is simulated.
    pub fn are_any(&self) -> bool {
        self.log.is_some()
    }

    /// Returns the address of the log; null if there is none.
    pub fn log(&self) -> *mut LogEntry {
        self.log.as_ref().map_or(ptr::null_mut(), |log| log.as_ptr().cast())
    }

    /// Shows simulations the entries of the log before `next`.
    ///
    /// # Safety
    /// Machine code has written these entries to this log, and waits.
    pub unsafe fn see(&mut self, next: *const LogEntry) -> Seen {
        let log = self.log();
        // SAFETY: both pointers are into the log, or both are null, and the entries are written.
        let entries = unsafe {
            match log.is_null() {
                true => &[],
                false => std::slice::from_raw_parts(log, next.offset_from_unsigned(log)),
            }
        };
        let mut seen = Seen { entries: entries.len() as u64, ..Seen::default() };
        for &[what, place] in entries {
            if what & 7 == simulation_log::BRANCH {
                let vmctx =
                    ptr::with_exposed_provenance::<VmContext>((what - simulation_log::BRANCH) as usize);
                // SAFETY: the code's own vmctx, of an instance of this store, lives as long as the store.
                let instance = unsafe { (*vmctx).instance } as u32;
                seen.mispredictions += self.see_branch(instance, place as u32, place >> 32 != 0);
            } else {
                let bytes = what % (2 * simulation_log::MOST_BYTES);
                seen.lines.add(self.touch(what - bytes, place, bytes));
            }
        }
        seen
    }

    /// Shows the cache, if there is one, an access to the memory whose byte 0 is at `start`. Returns the lines used and
    /// missed.
    pub fn touch(&mut self, start: u64, address: u64, bytes: u64) -> LevelMisses {
        self.cache.as_mut().map(|cache| cache.touch(start, address, bytes)).unwrap_or_default()
    }

    /// Returns by how much the reading of a metric grows by what simulations have seen; 0 if they do not tell.
    pub fn growth(&self, metric: &Metric, seen: &Seen) -> u64 {
        match metric {
            Metric::CacheMisses(_) => seen.lines.first,
            Metric::SecondLevelMisses(_) => seen.lines.second,
            Metric::Energy(costs) => self.cache.as_ref().map_or(0, |cache| cache.energy(seen.lines, *costs)),
            Metric::Mispredictions => seen.mispredictions,
            Metric::Cycles | Metric::System(_) | Metric::Lengths(_) => 0,
        }
    }

    /// Shows the predictor a branch of an instance. Returns 1 if it is mispredicted, 0 otherwise.
    fn see_branch(&mut self, instance: u32, offset: u32, is_taken: bool) -> u64 {
        let Some(predictor) = &mut self.predictor else { return 0 };
        let missed = u64::from(!predictor.predict(offset, is_taken));
        let none = BranchOutcome { offset, ..BranchOutcome::default() };
        let found = self.outcomes.entry((instance, offset)).or_insert(none);
        found.executed += 1;
        found.taken += u64::from(is_taken);
        found.mispredicted += missed;
        missed
    }

    /// Returns the outcomes of branches in the functions of an instance, in no order.
    pub fn branches(&self, instance: u32, info: &ModuleInfo) -> Vec<BranchOutcome> {
        let own = self.outcomes.iter().filter(|((of, _), _)| *of == instance);
        own.map(|(_, found)| BranchOutcome {
            function: info.func_at(found.offset as usize).unwrap_or(0),
            ..*found
        })
        .collect()
    }
}

impl Drop for Simulations {
    fn drop(&mut self) {
        if let Some(log) = self.log.take() {
            // SAFETY: it was leaked in `new`, and no machine code of the store runs again.
            drop(unsafe { Box::from_raw(log.as_ptr()) });
        }
    }
}
