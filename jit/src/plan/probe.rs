//! Probes: what a version of a function does besides what the wasm code says.

use smallvec::SmallVec;

use crate::module::{Allocator, NewBlock};

/// Something that a version of a function does besides what the wasm code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Add to a counter of the instance.
    Count {
        /// Which one.
        counter: u32,
        /// How much.
        by: u32,
    },
    /// Add to a word of the frame's call record.
    CountInRecord {
        /// How many bytes behind its start.
        offset: u32,
        /// How much.
        by: u32,
    },
    /// Add to a counter of the store's events.
    Event {
        /// Which one.
        kind: u32,
        /// How much, modulo 2^64.
        amount: i64,
    },
    /// Stop, or let the host decide, if there are more events of the kind than the budget allows.
    Budget(u32),
    /// Let the host interrupt.
    Poll,
    /// Count down, and perhaps go on in another version. Stands first among a node's probes: that version does what the
    /// others do.
    Check,
    /// Add one to the lower half of a counter of the instance and, when that is high enough, ask for a better
    /// version; at a loop header, go on in it. At the function's entry, add one to the upper half, too: that counts
    /// calls. Stands first among a node's probes: the better version repeats the others.
    Heat(u32),
    /// Set the path register: a path begins.
    PathStart(i64),
    /// Add to the path register, modulo 2^64.
    PathAdd(i64),
    /// Count the path that ends, and what was measured along it.
    PathEnd {
        /// What to add to the path register to have its number.
        amount: i64,
        /// Where it is counted.
        cells: PathCells,
    },
    /// Begin to measure, or go on with it after a call, from the last reading on.
    StartMetrics,
    /// Keep what was measured until a call has returned: callees are not measured.
    StopMetrics,
    /// Charge the call record with what was measured, as the function is left.
    ChargeRecord,
    /// Count the path that ends in the counter of its cell of [`Placement::cells`](super::Placement::cells), if it
    /// is that cell's path; else in the instance's table of paths.
    PreferentialEnd {
        /// What to add to the path register to have both its numbers.
        amount: i64,
        /// The counter of cell 0, which those of the others follow; `None` if paths with cells are not counted.
        counters: Option<u32>,
    },
    /// Append bits to the trace, the lowest first.
    Emit {
        /// They are its low bits.
        value: u32,
        /// How many, at most 32.
        bits: u8,
    },
    /// Find the call record of the function, which is being entered, and count the call.
    FindRecord {
        /// How many callee slots it has.
        sites: u32,
    },
    /// Say what an allocator, which is being entered, is asked for.
    EnterAllocator(Allocator),
    /// Say what an allocator that returns has made.
    LeaveAllocator(NewBlock),
    /// Pass a callee slot, by its number, to the function that is called next.
    PassSlot(u32),
    /// Count the callee of the indirect call that comes next, in the counters from this one on: see
    /// `plan::FunctionTargets`.
    CountTarget(u32),
    /// Count so many instructions in the frame's call record, if the frame counts what it does in bursts.
    CountOps(u32),
    /// Record that the function is entered in a burst.
    RecordEntry,
    /// Record the path that ends in a burst, which is counted next.
    RecordPath {
        /// What is missing in its register.
        amount: i64,
        /// Whether the function is left, instead of gone round in.
        leaves: bool,
    },
}

/// Where the paths of a function are counted, and what was measured along them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCells {
    /// In counters of the instance: one a path, then for each metric one a path.
    Instance {
        /// That of path 0.
        first: u32,
        /// How many paths there are.
        paths: u32,
    },
    /// Likewise, but behind the callee slots of the frame's call record.
    Record {
        /// Bytes from the record's start to the cell of path 0.
        first: u32,
        /// How many paths there are.
        paths: u32,
    },
    /// In the rows of the instance's table that are among its counters: see [`crate::abi::path_row`].
    Rows {
        /// The first word of row 0.
        first: u32,
        /// Bytes from the start of the frame's call record to the number of path 0 in it, if each record has paths of
        /// its own.
        in_record: Option<u32>,
    },
}

impl Probe {
    /// Add one to a counter of the instance.
    pub fn count(counter: u32) -> Probe {
        Probe::Count { counter, by: 1 }
    }

    /// What adds as much as this one does in so many rounds.
    pub(crate) fn times(&self, rounds: u32) -> Probe {
        match *self {
            Probe::Count { counter, by } => Probe::Count { counter, by: by * rounds },
            Probe::CountInRecord { offset, by } => Probe::CountInRecord { offset, by: by * rounds },
            Probe::Event { kind, amount } => {
                Probe::Event { kind, amount: amount.wrapping_mul(i64::from(rounds)) }
            }
            other => other,
        }
    }

    /// Adds itself to what is counted there already.
    pub(crate) fn merge_into(self, probes: &mut Probes) {
        for there in probes.iter_mut() {
            match (there, self) {
                (Probe::Count { counter, by }, Probe::Count { counter: same, by: more })
                    if *counter == same =>
                {
                    *by += more;
                    return;
                }
                (Probe::CountInRecord { offset, by }, Probe::CountInRecord { offset: same, by: more })
                    if *offset == same =>
                {
                    *by += more;
                    return;
                }
                (Probe::Event { kind, amount }, Probe::Event { kind: same, amount: more })
                    if *kind == same =>
                {
                    *amount = amount.wrapping_add(more);
                    return;
                }
                _ => {}
            }
        }
        probes.push(self);
    }
}

/// Probes of one place, in order.
pub type Probes = SmallVec<[Probe; 1]>;
