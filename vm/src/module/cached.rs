//! Storing a module's code in the code cache, and restoring it.
//!
//! Code contains the address of its module's slots and the ids of its types as constants, so cached code is used
//! only where both are the same again. Code compiled ahead of time has stand-ins for them and can be used at any
//! address.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use wprof_jit::code::stand_ins::{Constants, StandIns};
use wprof_jit::compile::{MachineCode, Tier};

use super::ModuleInner;
use super::code::Compiled;
use super::counters::Counters;
use crate::artifact::{Codes, Numbers};
use crate::code_cache::{
    CachedCode, CachedConstants, CachedFunction, CachedModule, CachedTrampoline, Placed,
};
use crate::runtime::code::no_code_memory;
use crate::runtime::counts::cpu_time;
use crate::runtime::values::type_ids::TypeEntry;
use crate::{Engine, Error, Module, Result};

/// Code is stored again when at least one function in this many is new or better.
const WORTHWHILE: u32 = 32;

/// The shortest time for which a short program waits for a version that is being compiled; otherwise the next run
/// would start that compilation anew.
const LEAST_WAIT: Duration = Duration::from_millis(100);

/// Nanoseconds per byte: code is also stored again when compiling better versions took longer than storing all
/// code takes.
const STORING: u64 = 5;

/// Where the stored code of a module is at load.
pub(super) enum Kept<'c> {
    /// The entry in the engine's code cache, if any, for the next number of its hash.
    InCache(&'c mut Numbers),
    /// This code.
    Artifact(CachedModule),
    /// That of the same hash among these, if there is any.
    Among(&'c mut Codes),
    /// Nowhere; the compiled code gets stand-ins for its constants.
    StandIns(StandIns),
}

/// The stored code of a module, if there is any.
pub(super) struct Stored {
    pub(super) cached: Option<CachedModule>,
    /// How many modules of its component with the same hash came before it, if that decides which code it gets.
    pub(super) number: u32,
    pub(super) stand_ins: Option<StandIns>,
}

impl Kept<'_> {
    /// Loads the code of a module, whose hash is computed if that is needed.
    pub(super) fn load(self, engine: &Engine, hash: impl FnOnce() -> [u8; 32]) -> Stored {
        let (mut number, mut stored_for) = (0, None);
        let cached = match self {
            Kept::InCache(numbers) => engine.code_cache().and_then(|cache| {
                let hash = hash();
                number = numbers.next(&hash);
                cache.load(&hash, number)
            }),
            Kept::Artifact(code) => Some(code),
            Kept::Among(codes) => codes.take(&hash()),
            Kept::StandIns(stand_ins) => {
                stored_for = Some(stand_ins);
                None
            }
        };
        Stored { cached, number, stand_ins: stored_for }
    }
}

impl Module {
    /// Stores the code compiled so far in the engine's code cache, for the next time this module is loaded; see
    /// [`Config::code_cache`](crate::Config::code_cache). Does nothing if there is no cache, or if the cache
    /// lacks little of the code. Waits for a better version that is being compiled, but no longer than a tenth of
    /// a second or twice the CPU time of the process, and a tenth of a second for one that only the next run needs:
    /// without waiting, the next run would start that compilation anew and be as slow. Returns whether code was stored.
    ///
    /// # Errors
    /// Returns an error if the system refuses to store the code.
    pub fn update_code_cache(&self) -> Result<bool> {
        let inner = self.inner();
        let Some(cache) = inner.engine.code_cache() else { return Ok(false) };
        if let Some(background) = inner.engine.background() {
            background.finish_version(LEAST_WAIT.max(2 * cpu_time::of_process()), LEAST_WAIT);
        }
        let (functions, bytes) = self.compiled();
        let changes = inner.code.changes.swap(0, Ordering::Relaxed);
        let took = inner.code.better.swap(0, Ordering::Relaxed);
        if changes <= functions as u32 / WORTHWHILE && took <= STORING * bytes as u64 {
            return Ok(false);
        }
        cache
            .store(&self.hash(), inner.number, &inner.snapshot())
            .map_err(|e| Error::system("machine code not stored in the code cache", e))?;
        Ok(true)
    }
}

impl ModuleInner {
    pub(super) fn snapshot(&self) -> CachedModule<Placed> {
        // The lock keeps counters from being assigned, and functions from being called for the first time,
        // meanwhile.
        let first = self.code.first.lock();
        let functions = self.code.functions.read().unwrap_or_else(PoisonError::into_inner);
        // Streams, like what burst code counts, have other counters in the next run.
        let is_kept = |(_, compiled): &(&u32, &Compiled)| !compiled.prefetching.has_streams();
        let cached = |(&func, compiled): (&u32, &Compiled)| {
            // Only baseline code continues in parts.
            let parts = compiled.part_code.iter().filter(|_| !compiled.promoted);
            let all = std::iter::once((func, compiled.address)).chain(parts.map(|(&row, &code)| (row, code)));
            let of_row = |(row, address)| {
                let code = CachedCode::new(self.code.arena.placed(address)?);
                let (saved, known, is_left_soon) = (compiled.saves(), compiled.known, compiled.is_left_soon);
                let is_optimized = compiled.is_optimized();
                Some(CachedFunction { row, code, saved, known, is_left_soon, is_optimized })
            };
            all.filter_map(of_row).collect::<Vec<_>>()
        };
        let mut functions: Vec<_> =
            functions.iter().chain(&first.ready).filter(is_kept).flat_map(cached).collect();
        functions.sort_unstable_by_key(|function| function.row);
        CachedModule {
            constants: self.stand_ins.is_none().then(|| CachedConstants {
                slots: self.slots.address() as u64,
                type_ids: self.type_ids.clone(),
            }),
            counters: first.counters.all(),
            functions,
            trampolines: self.trampolines(),
        }
    }

    fn trampolines(&self) -> Vec<CachedTrampoline<Placed>> {
        let entries = (0..).zip(&self.types);
        let pair = |(ty, entry): (u32, &Arc<TypeEntry>)| {
            let of = |address: Option<&usize>, is_entry| {
                let code = CachedCode::new(self.engine.core().trampoline_code(*address?)?);
                Some(CachedTrampoline { ty, is_entry, code })
            };
            [of(entry.host_to_wasm.get(), true), of(entry.wasm_to_host.get(), false)]
        };
        entries.flat_map(pair).flatten().collect()
    }

    /// Places the cached code of this module, whose slots and types are at their old addresses. Functions are
    /// published when they are called.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the code.
    pub(super) fn restore(self: &Arc<Self>, cached: CachedModule) -> Result<()> {
        let CachedModule { counters, functions, trampolines, .. } = cached;
        let is_here = |row: u32| row >= self.info.imported_funcs && row < self.part_rows.count();
        let Some(counters) = Counters::restored(&counters, self.counter_capacity()) else { return Ok(()) };
        let is_known = |row: u32| is_here(row) && counters.get(self.part_rows.func(row)).is_some();
        if functions.iter().any(|function| !is_known(function.row)) {
            return Ok(());
        }
        self.code.first.lock().counters = counters;
        self.restore_functions(functions)?;
        let (entries, wanted): (Vec<_>, Vec<_>) = trampolines
            .into_iter()
            .filter_map(|t| {
                let entry = self.types.get(t.ty as usize)?.clone();
                Some(((entry, t.is_entry), t.code.into_code(self.constants())?))
            })
            .unzip();
        let places = self.engine.core().place_trampolines(wanted)?;
        for ((entry, is_entry), address) in entries.into_iter().zip(places) {
            let place = if is_entry { &entry.host_to_wasm } else { &entry.wasm_to_host };
            self.engine.core().keep_one(place, address);
        }
        Ok(())
    }

    fn constants(&self) -> Constants<'_> {
        Constants { slots: self.slots.address() as u64, type_ids: &self.type_ids }
    }

    fn restore_functions(self: &Arc<Self>, functions: Vec<CachedFunction<MachineCode>>) -> Result<()> {
        let mut rows = Vec::with_capacity(functions.len());
        let mut pieces = Vec::with_capacity(functions.len());
        for CachedFunction { row, code, saved, known, is_left_soon, is_optimized } in functions {
            // Code that does not fit is compiled when it is called.
            let Some(code) = code.into_code(self.constants()) else { continue };
            self.slots.fill(&self.info, &code.dispatches);
            let tier = if is_optimized { Tier::Optimized } else { Tier::Baseline };
            rows.push((row, saved, known, is_left_soon, tier));
            pieces.push((code, Some(self.owner(self.part_rows.func(row)))));
        }
        let addresses = self.code.arena.place_all(pieces).map_err(no_code_memory)?;
        let mut first = self.code.first.lock();
        // The rows of functions precede the rows of parts.
        for ((row, saved, known, is_left_soon, tier), address) in rows.into_iter().zip(addresses) {
            if self.is_part(row) {
                let of = first.ready.get_mut(&self.part_rows.func(row));
                of.map(|compiled| compiled.part_code.insert(row, address));
                self.slots.publish(row, address);
            } else if let Some(counters) = first.counters.get(row) {
                let compiled = Compiled::new(address, counters.first, counters.count);
                let restored = Compiled { restored: Some(tier), saved, known, is_left_soon, ..compiled };
                first.ready.insert(row, restored);
            }
        }
        Ok(())
    }
}
