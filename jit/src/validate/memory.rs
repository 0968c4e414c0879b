//! The memory as one version of the code knows it in a segment.
//!
//! Both versions make the same effective stores in the same order, which the product walk checks. So there is one
//! memory, and facts that one version learns hold for both. Assumed: code loads only the runtime's tables (code slots,
//! dispatch cells) from below 4 GiB, which lie there so that their addresses are short. They are in no frame, code
//! never stores there, and their contents may change at any time anyway: so the time of a load does not matter.
//! Assumed: an address that is not computed from the frame's is not in the frame, as long as no address in the frame
//! has been stored or passed on. Then no other code writes the frame, either.
//!
//! Where the old version is a program that names its values otherwise ([`Machine::shared_part`]), only a part of the
//! frame is shared: the rest is *private* to the new version, which keeps values there. Stores there are no events, and
//! no other code reads or writes them.
//!
//! [`Machine::shared_part`]: super::Machine::shared_part

use super::terms::{Op, Term, Terms, mask};

/// The end of the range that only contains the runtime's tables.
const RUNTIME_TABLES: u64 = u32::MAX as u64;

/// The contents of some bytes of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The start of these bytes: the distance from the frame's top.
    pub offset: i64,
    pub bytes: u32,
    pub value: Term,
}

impl Slot {
    fn overlaps(&self, offset: i64, bytes: u32) -> bool {
        self.offset < offset.saturating_add(bytes.into()) && offset < self.offset + i64::from(self.bytes)
    }
}

/// An access of a version to its frame.
#[derive(Clone, Copy, Debug)]
enum Access {
    /// Reads bytes from an offset on.
    Read(i64, u32),
    /// Writes bytes from an offset on.
    Written(i64, u32),
    /// Other code may read the whole frame.
    Anything,
}

/// The part of the frame that is not private, besides what lies above the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedPart {
    /// The start and the end of the stack slots: distances from the frame's top.
    pub slots: (i64, i64),
    /// The place of the saved frame pointer, above which nothing is private.
    pub link: i64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// The known contents of the frame; ascending.
    pub slots: Vec<Slot>,
    /// Whether others may know addresses in the frame.
    pub is_shared: bool,
    shared_part: Option<SharedPart>,
    /// The number of unknown values that were loaded from the private part.
    unknown: u32,
    /// Counters of changes: of the frame, and of all other memory.
    frame: u32,
    others: u32,
    accesses: Vec<Access>,
}

impl Memory {
    pub fn new(slots: Vec<Slot>, is_shared: bool) -> Memory {
        Memory { slots, is_shared, ..Memory::default() }
    }

    /// Returns the memory with a private part.
    pub fn with_shared_part(self, shared_part: Option<SharedPart>) -> Memory {
        Memory { shared_part, ..self }
    }

    /// Returns the memory without the contents of the private part.
    pub fn without_private(mut self) -> Memory {
        let shared = self.shared_part;
        self.slots.retain(|slot| !is_private(shared, slot.offset, slot.bytes));
        self
    }

    /// Reports whether bytes of the frame are private.
    pub fn is_private(&self, offset: i64, bytes: u32) -> bool {
        is_private(self.shared_part, offset, bytes)
    }

    /// Returns the number of accesses to the frame.
    pub fn accesses(&self) -> usize {
        self.accesses.len()
    }

    /// Reports whether the value written by the last of the first `accesses` accesses is overwritten before other code
    /// may read it.
    pub fn is_dead(&self, accesses: usize) -> bool {
        let Some((&Access::Written(offset, bytes), behind)) =
            self.accesses.get(accesses.wrapping_sub(1)).zip(self.accesses.get(accesses..))
        else {
            return false;
        };
        let end = offset + i64::from(bytes);
        let covers = |other: i64, more: u32| other <= offset && other + i64::from(more) >= end;
        let overlaps = |other: i64, more: u32| other < end && offset < other + i64::from(more);
        let first = behind.iter().find(|access| match **access {
            Access::Read(other, more) => overlaps(other, more),
            Access::Written(other, more) => covers(other, more),
            Access::Anything => true,
        });
        matches!(first, Some(Access::Written(..)))
    }

    /// Records that others may read the frame from now on.
    pub fn expose(&mut self) {
        self.accesses.push(Access::Anything);
    }

    /// Returns the contents of memory; for more than eight bytes the term stands for all of them.
    pub fn load(&mut self, terms: &mut Terms, address: Term, bytes: u32) -> Term {
        let Some(offset) = terms.as_frame(address) else {
            let may_be_frame = self.is_shared || terms.is_of_frame(address);
            if may_be_frame {
                self.expose();
            }
            return self.unknown(terms, address, bytes, may_be_frame);
        };
        self.accesses.push(Access::Read(offset, bytes));
        let end = |slot: &&Slot| slot.offset == offset && slot.bytes >= bytes;
        if let Some(slot) = self.slots.iter().find(end).filter(|slot| slot.bytes == bytes || slot.bytes <= 8)
        {
            return terms.low(8 * bytes.min(8) as u8, slot.value);
        }
        let value = match self.is_private(offset, bytes) {
            true => self.unknown_private(terms, address, bytes),
            false => self.unknown(terms, address, bytes, true),
        };
        self.hold(Slot { offset, bytes, value });
        value
    }

    fn unknown(&self, terms: &mut Terms, address: Term, bytes: u32, may_be_frame: bool) -> Term {
        let (others, frame) = match (terms.most(address) <= RUNTIME_TABLES, may_be_frame) {
            (true, _) => (0, 0),
            (false, true) => (u64::from(self.others) + 1, u64::from(self.frame) + 1),
            (false, false) => (u64::from(self.others) + 1, 0),
        };
        let (others, frame) = (terms.constant(others), terms.constant(frame));
        terms.apply_of_frame(Op::Load(bytes), &[address, others, frame], self.is_shared)
    }

    /// Returns what the private part holds where nothing is known to be: a value of its own.
    fn unknown_private(&mut self, terms: &mut Terms, address: Term, bytes: u32) -> Term {
        self.unknown += 1;
        let number = terms.constant(self.unknown.into());
        terms.apply_of_frame(Op::Load(bytes), &[address, number], true)
    }

    fn hold(&mut self, slot: Slot) {
        let at = self.slots.partition_point(|other| (other.offset, other.bytes) < (slot.offset, slot.bytes));
        self.slots.insert(at, slot);
    }

    /// Stores a value; reports whether that may have changed anything.
    pub fn store(&mut self, terms: &Terms, address: Term, bytes: u32, value: Term) -> bool {
        let Some(offset) = terms.as_frame(address) else {
            self.others += 1;
            if self.is_shared || terms.is_of_frame(address) {
                self.forget_all();
            }
            return true;
        };
        self.accesses.push(Access::Written(offset, bytes));
        if self.slots.contains(&Slot { offset, bytes, value }) {
            return false;
        }
        let is_private = self.is_private(offset, bytes);
        self.frame += u32::from(!is_private);
        self.slots.retain(|slot| !slot.overlaps(offset, bytes));
        debug_assert!(bytes > 8 || terms.most(value) <= mask(8 * bytes as u8) || bytes == 8);
        self.hold(Slot { offset, bytes, value });
        !is_private
    }

    /// Forgets the contents of the frame that others may change.
    pub fn forget_all(&mut self) {
        self.frame += 1;
        let shared = self.shared_part;
        self.slots.retain(|slot| is_private(shared, slot.offset, slot.bytes));
    }

    /// Applies the effects of a call: the stack below `top`, a distance from the frame's top, belongs to the callee.
    pub fn call(&mut self, top: Option<i64>) {
        self.expose();
        self.others += 1;
        self.frame += 1;
        let (shared, is_shared) = (self.shared_part, self.is_shared);
        let is_kept = |slot: &Slot| !is_shared || is_private(shared, slot.offset, slot.bytes);
        match top {
            Some(top) => self.slots.retain(|slot| slot.offset >= top && is_kept(slot)),
            None => self.slots.clear(),
        }
    }
}

fn is_private(shared: Option<SharedPart>, offset: i64, bytes: u32) -> bool {
    let end = offset.saturating_add(bytes.into());
    shared.is_some_and(|SharedPart { slots, link }| end <= slots.0 || offset >= slots.1 && end <= link)
}
