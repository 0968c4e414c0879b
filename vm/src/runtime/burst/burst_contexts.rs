//! Calling contexts in bursts: the call record of a frame in which a burst begins, or into which it comes.
//!
//! Burst code passes callee slots and finds call records as code does that counts all contexts (`call_records`);
//! other code does neither. So when a frame moves from other code to burst code, the return addresses on the
//! stack determine what it would have been passed.
//!
//! Input: the stack. Output: the callee slot, or the call record, in the store's context, where burst code looks
//! for it. Invariant: a context follows from return addresses alone, so the result for a return address is
//! cached: a frame costs a look-up in a hash table. In each burst that ends at most a fixed number of frames are
//! examined; those beyond are called by [`Called::Beyond`](crate::runtime::counts::call_records::Called::Beyond).
//!
//! Source: Ammons, Ball & Larus 1997, section 4.2; the stack is walked once when a burst begins. A frame that a
//! tail call has replaced is not on the stack, so its callee seems to be called by its caller. Oracle: a burst
//! without end gives the exact tree, and others parts of it (`vm/tests/profiles/burst_contexts.rs`).

use std::sync::Arc;

use hashbrown::HashMap;
use wprof_jit::plan::{FunctionContexts, RecordCells};
use wprof_profiler::{BurstLengths, Bursts};

use crate::runtime::code::registry;
use crate::runtime::counts::call_records::{CallRecords, Called, Extent};
use crate::runtime::instances::abi::VmStoreContext;
use crate::runtime::instances::items::Items;
use crate::runtime::instances::loaded::{self, LoadedModule};
use crate::runtime::instances::store_ptr::StorePtr;
use crate::runtime::stacks::frames::{self, Frame};
use crate::runtime::stacks::walk::{self, Entry};

/// Maximum number of frames that are examined in one burst.
const MOST_FRAMES: usize = 20_000;

/// Maximum number of cached results.
const MOST_KNOWN: usize = 1 << 16;

/// The known part of the contexts on the stack.
#[derive(Debug)]
pub struct BurstContexts {
    /// Tells which activations are the store's, and where its innermost frame is.
    context: StorePtr<VmStoreContext>,
    /// The running host functions, outermost first: their routines, and the number of entries into wasm code
    /// below each.
    hosts: Vec<(u32, usize)>,
    /// The context that a frame passes to its callee, by the context that it was passed and its return address.
    known: HashMap<(Passed, usize), Passed>,
    /// The number of the burst, and the number of frames examined in it.
    burst: u64,
    looked_at: usize,
}

/// What a callee is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Passed {
    /// The callee slot.
    slot: usize,
    /// The instance in which the caller runs, or for a function that the host enters, its own instance.
    instance: u32,
}

impl BurstContexts {
    /// Creates the contexts of a new store: none is known.
    pub fn new(context: StorePtr<VmStoreContext>) -> BurstContexts {
        BurstContexts { context, hosts: Vec::new(), known: HashMap::new(), burst: 0, looked_at: 0 }
    }

    /// Returns the callee slot, or the call record, for the frame with this frame pointer, which moves into burst code at
    /// the check whose call returns to `pc`.
    pub fn slot_at_check(
        &mut self,
        records: &mut CallRecords,
        items: &Items,
        bursts: &Bursts,
        (pc, fp): (usize, usize),
    ) -> Option<usize> {
        let frames: Vec<Frame> = frames::all_of_return(pc).collect();
        let [own, callers @ ..] = &frames[..] else { return None };
        let mut search = Search { state: self, records, items };
        let mut passed = search.passed_to(fp, bursts);
        for caller in callers.iter().rev() {
            passed = search.pass_through(passed, caller);
        }
        Some(match own.origin.block {
            0 => passed.slot,
            _ => search
                .record_of(passed, own)
                .map_or(passed.slot, |(record, ..)| search.records.address(record)),
        })
    }

    /// Returns the callee slot of the running host functions; the innermost one was called with `depth` entries on the stack.
    pub fn slot_at_entry(
        &mut self,
        records: &mut CallRecords,
        items: &Items,
        bursts: &Bursts,
        depth: usize,
    ) -> usize {
        // SAFETY: the context lives as long as the store; wasm code of this thread has called the host, and left
        // the frame pointer of its trampoline there.
        let fp = unsafe { (*self.context.as_ptr()).exit_fp };
        let mut search = Search { state: self, records, items };
        let passed = search.passed_to(fp, bursts);
        search.through_hosts(passed.slot, depth)
    }

    /// Begins a host function, which is called with `depth` entries on the stack.
    pub fn enter_host(&mut self, routine: u32, depth: usize) {
        self.hosts.push((routine, depth));
    }

    /// Ends a host function.
    pub fn leave_host(&mut self) {
        self.hosts.pop();
    }

    /// Returns whether the current caller of the host passed this callee slot.
    pub fn was_passed(&self, records: &CallRecords, slot: usize) -> bool {
        // SAFETY: this is host code, which wasm code has just called.
        match unsafe { walk::caller_of_host() } {
            Some(pc) => registry::find_return(pc).is_some_and(|object| object.code.in_bursts),
            // The function that the host entered has left for this one, by a tail call.
            None => records.entry_slot() != slot,
        }
    }

    /// Returns how many frames may be examined in the current burst.
    fn frames_left(&mut self, bursts: &Bursts) -> usize {
        if bursts.begun != self.burst {
            (self.burst, self.looked_at) = (bursts.begun, 0);
        }
        // A burst without end need not be cheap.
        match bursts.lengths().instrumented {
            BurstLengths::FOREVER => usize::MAX,
            _ => MOST_FRAMES - self.looked_at.min(MOST_FRAMES),
        }
    }
}

/// A search for what a frame was passed.
struct Search<'a> {
    state: &'a mut BurstContexts,
    records: &'a mut CallRecords,
    items: &'a Items,
}

impl Search<'_> {
    /// Returns what the innermost frame, which has this frame pointer, would have been passed.
    fn passed_to(&mut self, fp: usize, bursts: &Bursts) -> Passed {
        let left = self.state.frames_left(bursts);
        // SAFETY: wasm code of this thread waits for the host, in the frame with this frame pointer.
        let entries = unsafe { walk::entries(self.state.context.as_ptr(), fp, left) };
        let frames: usize = entries.iter().map(|entry| entry.returns.len()).sum();
        self.state.looked_at += frames;
        if frames == left {
            return Passed { slot: self.records.unknown_caller(), instance: 0 };
        }
        let mut passed = Passed { slot: self.records.entry_slot(), instance: 0 };
        for (depth, entry) in entries.iter().enumerate() {
            passed.slot = self.through_hosts(passed.slot, depth);
            passed = self.through_entry(passed.slot, entry);
        }
        passed
    }

    /// Returns the slot that is passed by the host functions with `depth` entries below them.
    fn through_hosts(&mut self, mut slot: usize, depth: usize) -> usize {
        for &(routine, _) in self.state.hosts.iter().filter(|(_, of)| *of == depth) {
            let record = self.records.find(slot, routine, 0, Extent::ONE);
            slot = self.records.slot_address(record, 0);
        }
        slot
    }

    fn through_entry(&mut self, slot: usize, entry: &Entry) -> Passed {
        let mut passed = Passed { slot, instance: entry.instance };
        for &pc in entry.returns.iter().rev() {
            passed = match self.state.known.get(&(passed, pc)) {
                Some(&known) => known,
                None => self.through_frame(passed, pc),
            };
        }
        passed
    }

    /// Returns what a frame passes that continues at `pc`, including the inlined calls in it.
    fn through_frame(&mut self, first: Passed, pc: usize) -> Passed {
        let frames: Vec<Frame> = frames::all_of_return(pc).collect();
        let passed = frames.iter().rev().fold(first, |passed, frame| self.pass_through(passed, frame));
        let known = &mut self.state.known;
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert((first, pc), passed);
        passed
    }

    /// Returns what a frame passes at its current call.
    fn pass_through(&mut self, passed: Passed, frame: &Frame) -> Passed {
        let Some((record, instance, sites)) = self.record_of(passed, frame) else { return passed };
        let slot = sites.slot_at(frame.origin.offset).map(|slot| self.records.slot_address(record, slot));
        Passed { slot: slot.unwrap_or_else(|| self.records.unknown_caller()), instance }
    }

    /// Returns the call record of a frame, its instance, and the call sites of its function.
    fn record_of(&mut self, passed: Passed, frame: &Frame) -> Option<(u32, u32, Arc<FunctionContexts>)> {
        let (instance, func) = (self.instance_like(passed.instance, &frame.module)?, frame.origin.func);
        let sites = frame.module.call_sites(func);
        let key = self.items.instance(instance).vmctx.head().addr().get() + func as usize;
        let routine = self.records.routine(Called::Wasm(instance, func));
        let extent = Extent { sites: sites.slot_count(), cells: RecordCells::Counters(0) };
        Some((self.records.find(passed.slot, routine, key as u64, extent), instance, sites))
    }

    /// Returns the instance of `module` in which a frame runs whose caller runs in `caller`. A call stays in its
    /// instance, unless the callee belongs to another module; of several instances of that module the first is
    /// assumed.
    fn instance_like(&self, caller: u32, module: &Arc<dyn LoadedModule>) -> Option<u32> {
        let is_of = |index: u32| loaded::same(&self.items.instance(index).module, module);
        let all = 0..self.items.instances().len() as u32;
        std::iter::once(caller).filter(|caller| all.contains(caller)).chain(all.clone()).find(|&i| is_of(i))
    }
}
