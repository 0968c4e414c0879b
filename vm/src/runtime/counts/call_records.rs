//! The call records of a store (nodes of the calling context tree), and the handling of calls without a known record.
//!
//! Machine code reads keys and slots, and counts calls (`abi::call_record`); the runtime does the rest. A slot holds
//! the record of its most recent callee. If a site has had several callees, a list holds them, most recent first.
//! Source: Ammons, Ball & Larus 1997, section 4.2. New here: slots without tags; the memory bound.
//! Invariant: a record never moves, and lives as long as its store. The record of the running host function, or the
//! root, is `current`; the frames of wasm code hold their own records, so a trap restores them with the frames.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::metrics::Measured;
use hashbrown::HashMap;
use wprof_jit::abi::{call_record, path_row};
use wprof_jit::plan::RecordCells;
use wprof_profiler::CALLEE_SLOT_BYTES;

/// The subject of a call record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Called {
    /// No function: the root.
    Root,
    /// A function of an instance, by instance and function index.
    Wasm(u32, u32),
    /// A host function, by module and name if it has these.
    Host(Option<(String, String)>),
    /// No function: the parent of records beyond the memory bound.
    Beyond,
}

/// A call record, and its place in the tree.
#[derive(Debug)]
struct Record {
    /// The words that machine code accesses. The record's address is behind the measurements.
    words: Box<[AtomicU64]>,
    /// Number of words before the record's address.
    before: u32,
    /// Number of words behind the callee slots.
    cells: u32,
    routine: u32,
    parent: u32,
    /// The parent's slot of the first call.
    slot: u32,
}

impl Record {
    /// Returns the address that machine code uses.
    fn address(&self) -> usize {
        self.words[self.before as usize..].as_ptr().expose_provenance()
    }

    /// Returns the word at a byte offset from the start.
    fn word(&self, offset: u32) -> &AtomicU64 {
        &self.words[self.before as usize + offset as usize / 8]
    }

    /// Returns the word at a byte offset before the start.
    fn word_before(&self, offset: i32) -> &AtomicU64 {
        &self.words[self.before as usize - offset.unsigned_abs() as usize / 8]
    }

    fn slots(&self) -> u32 {
        ((self.words.len() as u32 - self.before - self.cells) * 8 - call_record::slot(0))
            / CALLEE_SLOT_BYTES as u32
    }
}

/// The contents of a call record, for readers.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Number of the callee's routine.
    pub routine: u32,
    /// Number of the caller's record.
    pub parent: u32,
    /// The caller's slot of the first call.
    pub slot: u32,
    /// Number of calls.
    pub calls: u64,
}

/// The size of a record.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Number of callee slots.
    pub sites: u32,
    /// The cells behind the slots.
    pub cells: RecordCells,
}

impl Extent {
    /// One callee slot and no cells, as in the root.
    pub const ONE: Extent = Extent { sites: 1, cells: RecordCells::Counters(0) };

    /// Returns the size in bytes, without the words before the record.
    fn bytes(self) -> usize {
        call_record::slot(self.sites) as usize + 8 * self.cells.words() as usize
    }
}

/// All callees of a slot.
#[derive(Debug)]
struct Callees {
    /// The record that contains the slot.
    from: u32,
    /// The slot's number in the record.
    slot: u32,
    /// The callees' records, most recent first.
    records: Vec<u32>,
}

/// A cache of the records that recent calls from slots with several callees reached: pairs of a slot and a record,
/// indexed by a hash of the slot and the record's key. `entries::find_record` reads it before it calls the runtime.
#[derive(Debug)]
pub struct RecentCalls(Box<[AtomicUsize]>);

impl RecentCalls {
    /// Number of bits of a pair's index.
    const BITS: u32 = 10;
    /// Hash multiplier, an odd factor near 2^32 over the golden ratio; the high bits of the 32-bit product are the
    /// index.
    pub const FACTOR: i32 = 0x9e37_79b1_u32.cast_signed();
    /// Number of product bits below the index.
    pub const SHIFT: u32 = u32::BITS - Self::BITS;

    fn none() -> RecentCalls {
        RecentCalls((0..2 << Self::BITS).map(|_| AtomicUsize::new(0)).collect())
    }

    fn keep(&self, slot: usize, key: u64, record: usize) {
        let hash = (slot as u32).wrapping_add(key as u32).wrapping_mul(Self::FACTOR.cast_unsigned());
        let pair = 2 * (hash >> Self::SHIFT) as usize;
        self.0[pair].store(slot, Ordering::Relaxed);
        self.0[pair + 1].store(record, Ordering::Relaxed);
    }
}

/// All call records of a store.
#[derive(Debug)]
pub struct CallRecords {
    routines: Vec<Called>,
    routine_of: HashMap<Called, u32>,
    /// The records, the root first.
    records: Vec<Record>,
    by_address: BTreeMap<usize, u32>,
    /// By address of the slot, if it has had several callees.
    lists: HashMap<usize, Callees>,
    /// The callees' records by caller's record and routine, if call sites are merged: a function that is called both
    /// directly and indirectly has two slots, and one record.
    by_callee: HashMap<(u32, u32), u32>,
    recent: RecentCalls,
    current: u32,
    /// Number of bytes that new records may still take.
    room: usize,
    /// The parent of all records since memory ran out, and of those with unknown callers.
    beyond: Option<u32>,
    has: Figures,
}

/// The figures of records besides calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Number of measured metrics.
    pub metrics: u32,
    /// Number of counted event kinds.
    pub events: u32,
    /// Whether records count paths.
    pub paths: bool,
    /// Whether a record has one callee for each function that it calls, not for each call site.
    pub merges_sites: bool,
    /// Whether records count instructions in bursts; then they count no events.
    pub in_bursts: bool,
    /// Whether records tell of allocators whether their calls count.
    pub allocations: bool,
}

impl Figures {
    /// Returns the number of words before a record's address.
    fn words_before(self) -> u32 {
        let figures = call_record::words_before(self.metrics, self.events + u32::from(self.in_bursts));
        figures + u32::from(self.allocations)
    }
}

/// Approximate number of bytes of bookkeeping per record, besides those that machine code accesses.
const BOOKKEEPING: usize = 96;

/// The number of the root record.
pub const ROOT: u32 = 0;

impl CallRecords {
    /// Creates an empty tree. Records may take `room` bytes, and beyond that one more record per function.
    pub fn new(room: usize, has: Figures) -> CallRecords {
        let mut all = CallRecords {
            routines: Vec::new(),
            routine_of: HashMap::new(),
            records: Vec::new(),
            by_address: BTreeMap::new(),
            lists: HashMap::new(),
            by_callee: HashMap::new(),
            recent: RecentCalls::none(),
            current: ROOT,
            room,
            beyond: None,
            has,
        };
        let root = all.routine(Called::Root);
        all.add(root, ROOT, 0, 0, Extent::ONE);
        all
    }

    /// Returns the address of the cache of recent calls that `entries::find_record` reads.
    pub fn recent_calls(&self) -> *const AtomicUsize {
        self.recent.0.as_ptr()
    }

    /// Returns the number of a routine.
    pub fn routine(&mut self, called: Called) -> u32 {
        *self.routine_of.entry(called).or_insert_with_key(|called| {
            self.routines.push(called.clone());
            self.routines.len() as u32 - 1
        })
    }

    /// Returns the slot for the function that the host enters now.
    pub fn entry_slot(&self) -> usize {
        self.slot_address(self.current, 0)
    }

    /// Records a call of a host function's routine from wasm, through a slot. Returns the record to restore afterwards.
    pub fn enter_host(&mut self, slot: usize, routine: u32) -> u32 {
        let record = self.count(slot, routine, 0, Extent::ONE);
        std::mem::replace(&mut self.current, record)
    }

    /// Records the end of a host function.
    pub fn leave_host(&mut self, outer: u32) {
        self.current = outer;
    }

    /// Counts a call that does not count itself; arguments and result are those of `find`.
    pub fn count(&mut self, slot: usize, routine: u32, key: u64, extent: Extent) -> u32 {
        let record = self.find(slot, routine, key, extent);
        self.records[record as usize].word(call_record::CALLS as u32).fetch_add(1, Ordering::Relaxed);
        record
    }

    /// Runs `find` for machine code, which will find the record itself the next time.
    pub fn find_and_keep(&mut self, slot: usize, routine: u32, key: u64, extent: Extent) {
        let found = self.find(slot, routine, key, extent);
        self.recent.keep(slot, key, self.address(found));
    }

    /// Returns the record of a routine called through a slot, and stores it in the slot. A new record gets the given
    /// key and size.
    pub fn find(&mut self, slot: usize, routine: u32, key: u64, extent: Extent) -> u32 {
        if let Some(found) = self.in_list(slot, routine) {
            return found;
        }
        let (from, number) = self.place(slot);
        let last = self.in_slot(from, number);
        if let Some(last) = last.filter(|&last| self.records[last as usize].routine == routine) {
            return last;
        }
        let known = self.on_the_way(from, routine).or_else(|| self.by_callee.get(&(from, routine)).copied());
        let found = known.unwrap_or_else(|| self.make(routine, from, number, key, extent));
        if let Some(last) = last {
            let list = || Callees { from, slot: number, records: vec![last] };
            self.lists.entry(slot).or_insert_with(list).records.insert(0, found);
        }
        self.set_slot(from, number, found);
        found
    }

    /// Finds the record of a routine in a slot's list, and moves it to the list's front and into the slot.
    fn in_list(&mut self, slot: usize, routine: u32) -> Option<u32> {
        let list = self.lists.get_mut(&slot)?;
        let at = list.records.iter().position(|&record| self.records[record as usize].routine == routine)?;
        list.records[..=at].rotate_right(1);
        let (from, number, found) = (list.from, list.slot, list.records[0]);
        self.set_slot(from, number, found);
        Some(found)
    }

    fn set_slot(&self, record: u32, slot: u32, callee: u32) {
        let address = self.records[callee as usize].address() as u64;
        self.records[record as usize].word(call_record::slot(slot)).store(address, Ordering::Relaxed);
    }

    /// Returns the record of a routine on the path from `from` up; if there is one, the call is recursive.
    fn on_the_way(&self, from: u32, routine: u32) -> Option<u32> {
        let mut at = from;
        while at != ROOT {
            if self.records[at as usize].routine == routine {
                return Some(at);
            }
            at = self.records[at as usize].parent;
        }
        None
    }

    /// Creates a record. If there is no room for one, returns the record that all further calls of the routine share.
    fn make(&mut self, routine: u32, from: u32, slot: u32, key: u64, extent: Extent) -> u32 {
        let before = self.has.words_before() as usize * 8;
        let bytes = before + extent.bytes() + BOOKKEEPING;
        if bytes <= self.room {
            self.room -= bytes;
            let record = self.add(routine, from, slot, key, extent);
            if self.has.merges_sites {
                self.by_callee.insert((from, routine), record);
            }
            return record;
        }
        // No further context gets a record.
        self.room = 0;
        let beyond = self.beyond();
        let shared = self.slot_address(beyond, 0);
        self.in_list(shared, routine).unwrap_or_else(|| {
            let record = self.add(routine, beyond, 0, key, extent);
            let list = || Callees { from: beyond, slot: 0, records: Vec::new() };
            self.lists.entry(shared).or_insert_with(list).records.insert(0, record);
            record
        })
    }

    /// Returns the callee slot for calls with unknown callers.
    pub fn unknown_caller(&mut self) -> usize {
        let beyond = self.beyond();
        self.slot_address(beyond, 0)
    }

    fn beyond(&mut self) -> u32 {
        self.beyond.unwrap_or_else(|| {
            let routine = self.routine(Called::Beyond);
            let beyond = self.add(routine, ROOT, 0, 0, Extent::ONE);
            self.beyond = Some(beyond);
            beyond
        })
    }

    fn add(&mut self, routine: u32, parent: u32, slot: u32, key: u64, extent: Extent) -> u32 {
        let before = self.has.words_before();
        let words = before as usize + extent.bytes() / 8;
        let words: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        let number = u32::try_from(self.records.len()).expect("records take memory");
        let record = Record { words, before, cells: extent.cells.words(), routine, parent, slot };
        let root = self.records.first().unwrap_or(&record).address();
        record.word(call_record::KEY as u32).store(key, Ordering::Relaxed);
        for slot in 0..extent.sites {
            record.word(call_record::slot(slot)).store(root as u64, Ordering::Relaxed);
        }
        if matches!(extent.cells, RecordCells::Number { .. }) {
            record.word(call_record::slot(extent.sites)).store(path_row::first_in(number), Ordering::Relaxed);
        }
        self.by_address.insert(record.address(), number);
        self.records.push(record);
        number
    }

    /// Returns the address of a record that machine code uses.
    pub fn address(&self, record: u32) -> usize {
        self.records[record as usize].address()
    }

    /// Returns the subjects of the record at an address and of its ancestors, the nearest first.
    pub fn way_up(&self, address: u64) -> impl Iterator<Item = &Called> {
        let called = |record: u32| &self.routines[self.records[record as usize].routine as usize];
        let up = |&record: &u32| (record != ROOT).then(|| self.records[record as usize].parent);
        std::iter::successors(self.record_at(address), up).map(called)
    }

    /// Returns the record at an address.
    pub fn record_at(&self, address: u64) -> Option<u32> {
        self.by_address.get(&(address as usize)).copied()
    }

    /// Returns the address of a record's slot.
    pub fn slot_address(&self, record: u32, slot: u32) -> usize {
        self.records[record as usize].address() + call_record::slot(slot) as usize
    }

    /// Returns the record that contains a slot, and the slot's number in it.
    fn place(&self, slot: usize) -> (u32, u32) {
        let (start, &record) = self.by_address.range(..=slot).next_back().expect("a slot of this store's");
        let number = (slot - start - call_record::slot(0) as usize) / CALLEE_SLOT_BYTES as usize;
        assert!((number as u32) < self.records[record as usize].slots(), "a slot of this store's");
        (record, number as u32)
    }

    /// Returns the record in a slot; `None` if nothing has been called through it.
    fn in_slot(&self, record: u32, slot: u32) -> Option<u32> {
        let address = self.records[record as usize].word(call_record::slot(slot)).load(Ordering::Relaxed);
        let found = self.by_address[&(address as usize)];
        (found != ROOT).then_some(found)
    }

    /// Charges the record at an address with measurements.
    pub fn charge(&self, address: u64, measured: &Measured) {
        let Some(record) = self.record_at(address) else { return };
        let record = &self.records[record as usize];
        for (metric, &more) in (0..self.has.metrics).zip(measured) {
            record.word_before(call_record::metric(metric)).fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Adds events of one kind to the record at an address, modulo 2^64.
    pub fn add_events(&self, address: u64, kind: u32, more: u64) {
        let Some(record) = self.record_at(address) else { return };
        let offset = call_record::event(self.has.metrics, kind);
        self.records[record as usize].word_before(offset).fetch_add(more, Ordering::Relaxed);
    }

    /// Tells code of the record at an address whether calls of its allocator count: see `call_record::allocates`.
    pub fn set_allocates(&self, address: u64, number: u64) {
        let Some(record) = self.record_at(address) else { return };
        let offset = call_record::allocates(self.has.metrics, self.has.events);
        self.records[record as usize].word_before(offset).store(number, Ordering::Relaxed);
    }

    /// Returns the events of one kind in each record, by number, modulo 2^64.
    pub fn events(&self, kind: u32) -> impl Iterator<Item = u64> {
        let offset = call_record::event(self.has.metrics, kind);
        self.records.iter().map(move |record| record.word_before(offset).load(Ordering::Relaxed))
    }

    /// Returns the records of an instance's functions: number, function, and the cells behind the callee slots.
    pub fn cells_of(&self, instance: u32) -> impl Iterator<Item = (u32, u32, Vec<u64>)> {
        (0..).zip(&self.records).filter_map(move |(number, record)| {
            let Called::Wasm(of, func) = self.routines[record.routine as usize] else { return None };
            let cells = &record.words[record.words.len() - record.cells as usize..];
            let cells = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
            (of == instance).then_some((number, func, cells))
        })
    }

    /// Returns the measurements charged to each record, and how often it started to measure.
    pub fn charged(&self) -> Vec<(Measured, u64)> {
        let of = |record: &Record| {
            let word = |offset: i32| record.word_before(offset).load(Ordering::Relaxed);
            let mut measured = Measured::default();
            let metrics = 0..self.has.metrics;
            metrics.for_each(|metric| measured[metric as usize] = word(call_record::metric(metric)));
            (measured, if self.has.metrics > 0 { word(call_record::STARTS) } else { 0 })
        };
        self.records.iter().map(of).collect()
    }

    /// Returns the number of instructions that bursts have counted in each record, by number; empty without bursts.
    pub fn ops(&self) -> Vec<u64> {
        let offset = call_record::ops(self.has.metrics);
        let records = self.records.iter().filter(|_| self.has.in_bursts);
        records.map(|record| record.word_before(offset).load(Ordering::Relaxed)).collect()
    }

    /// Returns the number of records.
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// Reads into `sums` the number of instructions that bursts have counted in the records of each routine.
    pub fn ops_by_routine(&self, sums: &mut Vec<u64>) {
        let offset = call_record::ops(self.has.metrics);
        sums.clear();
        sums.resize(self.routines.len(), 0);
        for record in self.records.iter().filter(|_| self.has.in_bursts) {
            let ops = record.word_before(offset).load(Ordering::Relaxed);
            let sum = &mut sums[record.routine as usize];
            *sum = sum.wrapping_add(ops);
        }
    }

    /// Returns the subjects of records, by routine number.
    pub fn routines(&self) -> &[Called] {
        &self.routines
    }

    /// Reports whether the call sites of each record are merged.
    pub fn merges_sites(&self) -> bool {
        self.has.merges_sites
    }

    /// Reports whether records count paths.
    pub fn has_paths(&self) -> bool {
        self.has.paths
    }

    /// Returns all records by number, the root first.
    pub fn all(&self) -> impl Iterator<Item = Calls> {
        self.records.iter().map(|record| Calls {
            routine: record.routine,
            parent: record.parent,
            slot: record.slot,
            calls: record.word(call_record::CALLS as u32).load(Ordering::Relaxed),
        })
    }

    /// Returns the recursive calls: from a slot of a record to another record.
    pub fn recursive_calls(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let slots = (0..)
            .zip(&self.records)
            .flat_map(|(from, record)| (0..record.slots()).map(move |slot| (from, slot)));
        let calls = slots
            .flat_map(|(from, slot)| self.callees(from, slot).into_iter().map(move |to| (from, slot, to)));
        calls.filter(|&(from, _, to)| {
            // Who is called from its own parent is called anew; a merged record is so from several slots.
            let parent = self.records[to as usize].parent;
            parent != from && Some(parent) != self.beyond
        })
    }

    /// Returns all records called through a slot.
    fn callees(&self, record: u32, slot: u32) -> Vec<u32> {
        match self.lists.get(&self.slot_address(record, slot)) {
            Some(list) => list.records.clone(),
            None => self.in_slot(record, slot).into_iter().collect(),
        }
    }
}
