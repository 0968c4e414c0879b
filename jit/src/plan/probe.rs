//! Probes: the actions of a version of a function beyond the wasm code's own.

use smallvec::SmallVec;

use super::Chase;
use crate::module::{Allocator, NewBlock};

/// An action of a version of a function beyond the wasm code's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Add to a counter of the instance.
    Count {
        /// The counter's index.
        counter: u32,
        /// The amount.
        by: u32,
    },
    /// Add to a word of the frame's call record.
    CountInRecord {
        /// Byte offset in the record.
        offset: u32,
        /// The amount.
        by: u32,
    },
    /// Add to a counter of the store's events.
    Event {
        /// The event kind.
        kind: u32,
        /// The amount, modulo 2^64.
        amount: i64,
    },
    /// Stop, or let the host decide, if the events of the kind exceed the budget.
    Budget(u32),
    /// Let the host interrupt.
    Poll,
    /// Record the address that a loop follows in its stream, and load what lies at the one that came some rounds later the
    /// last time.
    Follow(Follow),
    /// Count down, and perhaps move to another version by OSR. The first probe of a node, since the other version
    /// executes the remaining ones.
    Check,
    /// Add one to the lower half of a counter of the instance and, once it reaches the threshold, request a better
    /// version; at a loop header, enter that version by OSR. At the function's entry, also add one to the upper half,
    /// which counts calls. The first probe of a node, since the better version repeats the others.
    Heat(u32),
    /// Set the path register: a path begins.
    PathStart(i64),
    /// Add to the path register, modulo 2^64.
    PathAdd(i64),
    /// Count the completed path and its measurements.
    PathEnd {
        /// Addend that turns the path register into the path number.
        amount: i64,
        /// The place of the count.
        cells: PathCells,
    },
    /// Start measuring, or resume after a call, from the most recent reading on.
    StartMetrics,
    /// Suspend measuring until a call has returned: callees are not measured.
    StopMetrics,
    /// Charge the call record with the measurements as the function exits.
    ChargeRecord,
    /// Count the completed path in the counter of its cell of [`Placement::cells`](super::Placement::cells), if the
    /// cell belongs to the path; otherwise in the instance's path table.
    PreferentialEnd {
        /// Addend that turns the path register into both of the path's numbers.
        amount: i64,
        /// The counter of cell 0, followed by those of the other cells; `None` if paths with cells are not counted.
        counters: Option<u32>,
    },
    /// Append bits to the trace, the lowest first.
    Emit {
        /// Word whose low bits are appended.
        value: u32,
        /// Number of bits, at most 32.
        bits: u8,
    },
    /// Find the call record of the function being entered, and count the call.
    FindRecord {
        /// Number of callee slots of the record.
        sites: u32,
    },
    /// Report the request of the allocator being entered.
    EnterAllocator(Allocator),
    /// Report the result of the allocator that returns.
    LeaveAllocator(NewBlock),
    /// Pass a callee slot, by number, to the next callee.
    PassSlot(u32),
    /// Count the callee of the next indirect call, in the counters from this one on: see
    /// `plan::FunctionTargets`.
    CountTarget(u32),
    /// Count so many instructions in the frame's call record, if the frame counts in bursts.
    CountOps(u32),
    /// Record a function entry in a burst.
    RecordEntry,
    /// Record the completed path in a burst; the next probe counts it.
    RecordPath {
        /// Addend missing from the path register.
        amount: i64,
        /// Whether the path leaves the function instead of ending at a back edge.
        leaves: bool,
    },
}

/// What a loop that follows pointers prefetches, and by which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The pointer.
    pub chase: Chase,
    /// The first counter of the stream: see [`crate::abi::stream`].
    pub stream: u32,
}

/// The place of the counts of a function's paths and of their measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCells {
    /// In counters of the instance: one per path, then for each metric one per path.
    Instance {
        /// The counter of path 0.
        first: u32,
        /// Number of paths.
        paths: u32,
    },
    /// In the same arrangement behind the callee slots of the frame's call record.
    Record {
        /// Bytes from the record's start to the cell of path 0.
        first: u32,
        /// Number of paths.
        paths: u32,
    },
    /// In the rows of the instance's path table that are among its counters: see [`crate::abi::path_row`].
    Rows {
        /// The first word of row 0.
        first: u32,
        /// Bytes from the start of the frame's call record to the number of path 0 in it, if each record counts paths
        /// separately.
        in_record: Option<u32>,
    },
}

impl Probe {
    /// Creates a probe that adds one to a counter of the instance.
    pub fn count(counter: u32) -> Probe {
        Probe::Count { counter, by: 1 }
    }

    /// Returns the probe that adds as much as so many rounds of this one.
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

    /// Adds this probe to an equal update in `probes`, or appends it.
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

/// The probes of one place, in order.
pub type Probes = SmallVec<[Probe; 1]>;
