//! The origin of each piece of machine code in the wasm code, and facts about the piece.
//!
//! Cranelift carries a number from each CLIF instruction to the machine code that it becomes: the source location. Here
//! such a location is only an index into a table. An entry of the table names an origin, and holds the [`Fact`]s that
//! passes over CLIF pass on to passes over machine code.
//!
//! That does not suffice for faulting accesses: Cranelift folds a load into the instruction that uses its value, and
//! the location is then the user's, or unknown if the user was simplified. So each access has a trap code that
//! distinguishes it from its neighbours (`accesses`).
//!
//! **Invariant**: locations with the same origin and the same facts are the same, because the optimiser may merge
//! instructions with the same location.

use cranelift_codegen::ir::{self, Function, SourceLoc};
use hashbrown::HashMap;

use super::Origin;
use super::accesses::Accesses;
use crate::CompileError;
use crate::abi::TrapCode;

/// A fact about the code at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The code computes with the pinned register alone, and only code with the same fact uses its result: the target's
    /// code generator may compute in that register.
    InPlace,
    /// The code is in a cold block.
    Cold,
    /// The code is a call that neither reads registers nor changes any but the pinned one.
    Transparent,
}

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Facts(u8);

impl Facts {
    fn with(self, fact: Fact) -> Facts {
        Facts(self.0 | 1 << fact as u8)
    }

    fn without(self, fact: Fact) -> Facts {
        Facts(self.0 & !(1 << fact as u8))
    }

    fn has(self, fact: Fact) -> bool {
        self.0 >> fact as u8 & 1 == 1
    }
}

/// An entry of the table: the number of its origin, and its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Location {
    origin: u32,
    facts: Facts,
}

/// The greatest index of a location: the next one means an unknown location to Cranelift.
const GREATEST: usize = u32::MAX as usize - 1;

/// The origins of one function, and the locations of its code.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    all: Vec<Origin>,
    locations: Vec<Location>,
    /// The location of each entry with facts.
    known: HashMap<Location, u32>,
    accesses: Accesses,
    /// The maximum number of locations.
    most: usize,
    is_full: bool,
}

impl Default for Origins {
    fn default() -> Self {
        Origins {
            all: Vec::new(),
            locations: Vec::new(),
            known: HashMap::new(),
            accesses: Accesses::default(),
            most: GREATEST + 1,
            is_full: false,
        }
    }
}

impl Origins {
    /// Makes Cranelift keep the locations of a function, which must still be empty, unchanged. By default it stores
    /// them relative to the first one that it sees, and the location right before that one would become unknown.
    pub(crate) fn count_from_zero(func: &mut Function) {
        let first = func.params.ensure_base_srcloc(SourceLoc::new(0));
        assert_eq!(first, SourceLoc::new(0), "the function has locations already");
    }

    /// Returns the location of the code translated from now on, which comes from `origin`.
    pub(crate) fn at(&mut self, origin: Origin) -> SourceLoc {
        self.all.push(origin);
        self.push(Location { origin: self.all.len() as u32 - 1, facts: Facts::default() })
    }

    /// Returns a location with one more fact; an unknown location stays unknown.
    pub(crate) fn with(&mut self, location: SourceLoc, fact: Fact) -> SourceLoc {
        self.changed(location, |facts| facts.with(fact))
    }

    /// Returns a location without a fact.
    pub(crate) fn without(&mut self, location: SourceLoc, fact: Fact) -> SourceLoc {
        self.changed(location, |facts| facts.without(fact))
    }

    fn changed(&mut self, location: SourceLoc, change: impl FnOnce(Facts) -> Facts) -> SourceLoc {
        let Some(old) = self.entry(location) else { return location };
        let new = Location { facts: change(old.facts), ..old };
        if new == old {
            return location;
        }
        if let Some(&known) = self.known.get(&new) {
            return SourceLoc::new(known);
        }
        let location = self.push(new);
        self.known.insert(new, location.bits());
        location
    }

    fn push(&mut self, location: Location) -> SourceLoc {
        self.is_full |= self.locations.len() >= self.most;
        if self.is_full {
            return SourceLoc::default();
        }
        self.locations.push(location);
        SourceLoc::new(self.locations.len() as u32 - 1)
    }

    /// Fails if there were more locations than allowed, so that some are unknown.
    pub(crate) fn check(&self, func: u32) -> Result<(), CompileError> {
        let what = || format!("its code has more than {} source locations", self.most);
        if self.is_full { Err(CompileError::TooLarge { func, what: what() }) } else { Ok(()) }
    }

    fn entry(&self, location: SourceLoc) -> Option<Location> {
        if location.is_default() { None } else { self.locations.get(location.bits() as usize).copied() }
    }

    /// Reports whether a fact holds for the code at a location.
    pub(crate) fn has(&self, location: SourceLoc, fact: Fact) -> bool {
        self.entry(location).is_some_and(|entry| entry.facts.has(fact))
    }

    /// Returns the trap code of an access that is being translated.
    pub(crate) fn access(&mut self, code: TrapCode) -> ir::TrapCode {
        self.accesses.add(self.all.len() as u32 - 1, code)
    }

    /// Returns the origin of the function's beginning; `None` for trampolines.
    pub(crate) fn first_origin(&self) -> Option<Origin> {
        self.all.first().copied()
    }

    /// Returns the number of the origin of code at a location: origins are numbered in the order of translation.
    pub(crate) fn number(&self, location: SourceLoc) -> Option<u32> {
        self.entry(location).map(|entry| entry.origin)
    }

    /// Returns an origin by its number.
    pub(crate) fn of_number(&self, number: u32) -> Option<Origin> {
        self.all.get(number as usize).copied()
    }

    /// Returns the origin of code at a location.
    pub(crate) fn of_code(&self, location: SourceLoc) -> Option<Origin> {
        self.of_number(self.number(location)?)
    }

    /// Returns the origin of a trap: at origin number `at`, or, where that is unknown, somewhere behind number
    /// `behind`.
    pub(crate) fn of_trap(&self, at: Option<u32>, behind: u32, code: ir::TrapCode) -> Option<Origin> {
        match self.accesses.find(at, behind, code) {
            Ok(access) => self.of_number(access?),
            Err(_) => self.of_number(at?),
        }
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{InstructionData, Opcode};

    use super::*;

    fn origin(offset: u32) -> Origin {
        Origin { func: 0, frame: 0, block: 0, rounds: 0, path: None, offset }
    }

    #[test]
    fn an_access_is_found_from_the_instruction_that_it_became_part_of() {
        let mut origins = Origins::default();
        let mut codes = Vec::new();
        for offset in 0..300 {
            origins.at(origin(offset));
            codes.push(origins.access(TrapCode::MemoryOutOfBounds));
        }
        let cases =
            [(299, Some(299), 0), (250, Some(253), 0), (0, Some(100), 0), (7, None, 3), (299, None, 250)];
        for (access, at, behind) in cases {
            let origin = origins.of_trap(at, behind, codes[access as usize]);
            assert_eq!(origin.map(|o| o.offset), Some(access));
        }
        let other = TrapCode::Unreachable.to_clif();
        assert_eq!(origins.of_trap(Some(17), 0, other), Some(origin(17)), "it is no access");
        assert_eq!(origins.of_trap(None, 17, other), None);
    }

    #[test]
    fn facts_are_of_their_location_alone() {
        let mut origins = Origins::default();
        let [first, second] = [3, 7].map(|offset| origins.at(origin(offset)));
        let cold = origins.with(second, Fact::Cold);
        let both = origins.with(cold, Fact::InPlace);
        let facts =
            |location| [Fact::InPlace, Fact::Cold, Fact::Transparent].map(|fact| origins.has(location, fact));
        assert_eq!([first, second, cold].map(facts), [[false; 3], [false; 3], [false, true, false]]);
        assert_eq!(facts(both), [true, true, false]);
        for location in [second, cold, both] {
            assert_eq!((origins.number(location), origins.of_code(location)), (Some(1), Some(origin(7))));
        }
        assert_eq!(origins.with(second, Fact::Cold), cold);
        assert_eq!(origins.with(both, Fact::Cold), both);
        let unknown = SourceLoc::default();
        assert_eq!(origins.with(unknown, Fact::Cold), unknown);
        assert_eq!(origins.of_code(unknown), None);
    }

    #[test]
    fn no_location_is_lost_before_the_first_one_that_is_used() {
        let mut origins = Origins::default();
        let plain = origins.at(origin(3));
        let in_place = origins.with(plain, Fact::InPlace);
        let mut func = Function::new();
        Origins::count_from_zero(&mut func);
        let insts = [in_place, plain].map(|location| {
            let inst = func.dfg.make_inst(InstructionData::NullAry { opcode: Opcode::Nop });
            func.set_srcloc(inst, location);
            inst
        });
        assert_eq!(insts.map(|inst| func.srcloc(inst)), [in_place, plain]);
    }

    #[test]
    fn too_many_locations_are_noticed() {
        let mut origins = Origins { most: 2, ..Origins::default() };
        let location = origins.at(origin(0));
        origins.with(location, Fact::Cold);
        origins.check(5).expect("there are as many as there may be");
        origins.with(location, Fact::Cold);
        origins.check(5).expect("it is the same location");
        origins.with(location, Fact::InPlace);
        let error = origins.check(5).expect_err("there is one too many").to_string();
        assert_eq!(error, "function 5 is too large to compile: its code has more than 2 source locations");
    }
}
