//! The passes: all improvements over plain Cranelift's code, in one list, with a switch for each.
//!
//! A pass may be left out of any function without changing the behaviour of the code. Required work is not listed here:
//! turning marks into checks (`checks`), the transformations that a plan asks for, and Cranelift's own work. `none`
//! leaves plain Cranelift.
//!
//! Each pass has the range of function indexes that it works on, so that a fault can be bisected to a pass and a
//! function (`scripts/bisect-passes`). Example: `-jump-threading,redundant-moves@0..57` is everything but
//! `jump-threading`, with `redundant-moves` in the first 57 functions only.

use std::fmt;
use std::str::FromStr;

/// The stage at which a pass works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// On the block graph.
    Graph,
    /// While the graph is translated to CLIF.
    Translation,
    /// Instead of Cranelift, for baseline code.
    Baseline,
    /// On CLIF, before Cranelift's optimiser or after it.
    Clif,
    /// On finished machine code.
    MachineCode,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Graph => "graph",
            Stage::Translation => "translation",
            Stage::Baseline => "baseline",
            Stage::Clif => "clif",
            Stage::MachineCode => "machine code",
        })
    }
}

/// Defines [`Pass`] and its table from one list, so that every pass has a name.
macro_rules! passes {
    ($($variant:ident, $name:literal, $stage:ident, $about:literal;)*) => {
        /// A pass; see [`Pass::about`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Pass {
            $(#[doc = $about] $variant,)*
        }

        impl Pass {
            /// All passes, in the order in which they run.
            pub const ALL: &[Pass] = &[$(Pass::$variant),*];

            /// Returns the name, as in `--passes`.
            pub fn name(self) -> &'static str {
                match self { $(Pass::$variant => $name),* }
            }

            /// Returns the stage.
            pub fn stage(self) -> Stage {
                match self { $(Pass::$variant => Stage::$stage),* }
            }

            /// Describes the pass in a sentence.
            pub fn about(self) -> &'static str {
                match self { $(Pass::$variant => $about),* }
            }
        }
    };
}

passes! {
    Unroll, "unroll", Graph, "Copies small loops that count or check, with one count or check for all copies.";
    Strips, "strips", Graph, "Counts the checks of several rounds of a counted loop at once.";
    Dispatch, "dispatch", Graph, "Copies the switch of an interpreter's loop into each of its cases.";
    SplitLoops, "split-loops", Graph, "Copies small loops for each value of the path register.";
    Switches, "switches", Translation, "Tests the cases of a small switch one after the other.";
    Conditions, "conditions", Translation, "Branches on comparisons without making truth values of them.";
    Ranges, "ranges", Translation, "Makes sums and shifts that cannot wrap part of an address.";
    Divisible, "divisible", Translation, "Tests by a product whether a number is divisible by a constant.";
    ConstantTables, "constant-tables", Translation, "Calls through tables that never change without checking type and null.";
    SinglePass, "single-pass", Baseline, "Writes baseline code with an assembler of its own, in a single pass.";
    Vectors, "vectors", Clif, "Computes rounds of counted loops side by side in vectors, if a test before the loop allows it.";
    Params, "params", Clif, "Removes block parameters that always equal another value.";
    Masks, "masks", Clif, "Removes masks that shifts and byte comparisons do not need.";
    Products, "products", Clif, "Makes sums of small products, and 64-bit products of upper halves.";
    Loads, "loads", Clif, "Merges loads with the extension of what they load.";
    Invariants, "invariants", Clif, "Moves sums and masks with a constant out of innermost loops.";
    Extends, "extends", Clif, "Keeps 32-bit indexes as 64 bits from where they come.";
    Results, "results", Clif, "Copies results that loops compute where they are returned.";
    Constants, "constants", Clif, "Makes constants anew behind calls.";
    ConstantArguments, "constant-args", Clif, "Makes constants anew where they are arguments of blocks.";
    Spilling, "spilling", Clif, "Spills values once if too many are alive across calls.";
    Pinned, "pinned", MachineCode, "Computes in the pinned register itself.";
    Calls, "calls", MachineCode, "Merges the loads of a callee's address into the call.";
    Tables, "tables", MachineCode, "Moves jump tables behind the code, and shares equal ones.";
    Addresses, "addresses", MachineCode, "Names stack slots directly instead of through a register.";
    RedundantMoves, "redundant-moves", MachineCode, "Removes redundant and dead moves between registers and stack slots.";
    JumpThreading, "jump-threading", MachineCode, "Threads jumps that lead to jumps, and turns branches around jumps.";
    Short, "short", MachineCode, "Writes jumps and constants as short as they can be, and drops padding.";
    Align, "align", MachineCode, "Aligns small loops, dispatches and the targets of jump tables.";
    ColdSplit, "cold-split", MachineCode, "Lets cold code lie apart from hot code.";
}

const COUNT: usize = Pass::ALL.len();

/// The functions that a pass works on: from one index up to another, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Functions {
    start: u32,
    end: u32,
}

const EVERY: Functions = Functions { start: 0, end: u32::MAX };
const NONE: Functions = Functions { start: 0, end: 0 };

/// The passes that work on each function.
///
/// Its text, read by [`FromStr`] and written by [`fmt::Display`], is a comma-separated list, read from left to right:
/// `all` and `none` turn all passes on or off, `NAME` turns one on, `-NAME` turns it off, and `NAME@A..B` turns it on
/// for the functions from index `A` to `B - 1` alone. Passes that are not named are on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PassSet {
    functions: [Functions; COUNT],
}

impl Default for PassSet {
    fn default() -> Self {
        PassSet::all()
    }
}

impl PassSet {
    /// Returns all passes, in all functions.
    pub fn all() -> PassSet {
        PassSet { functions: [EVERY; COUNT] }
    }

    /// Returns no pass: plain Cranelift.
    pub fn none() -> PassSet {
        PassSet { functions: [NONE; COUNT] }
    }

    /// Turns a pass on or off, in all functions.
    #[must_use]
    pub fn with(mut self, pass: Pass, on: bool) -> PassSet {
        self.functions[pass as usize] = if on { EVERY } else { NONE };
        self
    }

    /// Turns a pass on in the functions with an index in `functions`, and off in all others.
    #[must_use]
    pub fn within(mut self, pass: Pass, functions: std::ops::Range<u32>) -> PassSet {
        self.functions[pass as usize] = Functions { start: functions.start, end: functions.end };
        self
    }

    /// Returns the range of function indexes that a pass works on.
    pub fn functions(&self, pass: Pass) -> std::ops::Range<u32> {
        let Functions { start, end } = self.functions[pass as usize];
        start..end
    }

    /// Returns the passes that work on a function.
    #[doc(hidden)]
    pub fn for_function(&self, func: u32) -> Passes {
        let works = |pass: &&Pass| self.functions(**pass).contains(&func);
        Passes(Pass::ALL.iter().filter(works).fold(0, |all, &pass| all | 1 << pass as u32))
    }
}

/// The passes that work on one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes(u64);

impl Passes {
    /// No pass.
    pub const NONE: Passes = Passes(0);
    /// All passes.
    #[cfg(test)]
    pub(crate) const ALL: Passes = Passes(u64::MAX);

    /// Reports whether a pass is in the set.
    pub fn has(self, pass: Pass) -> bool {
        self.0 >> pass as u32 & 1 == 1
    }

    /// Reports whether any pass of a stage is in the set.
    pub(crate) fn any_of(self, stage: Stage) -> bool {
        Pass::ALL.iter().any(|&pass| pass.stage() == stage && self.has(pass))
    }
}

/// The error for a list of passes that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PassesError(String);

impl FromStr for PassSet {
    type Err = PassesError;

    fn from_str(text: &str) -> Result<PassSet, PassesError> {
        let mut set = PassSet::all();
        for item in text.split(',').map(str::trim) {
            set = match item {
                "all" => PassSet::all(),
                "none" => PassSet::none(),
                _ => set.changed(item)?,
            };
        }
        Ok(set)
    }
}

impl PassSet {
    /// Returns the set with the change that an item of a list makes.
    fn changed(self, item: &str) -> Result<PassSet, PassesError> {
        if let Some(name) = item.strip_prefix('-') {
            return Ok(self.with(named(name)?, false));
        }
        if let Some((name, functions)) = item.split_once('@') {
            let pass = named(name)?;
            let range = functions.split_once("..").and_then(|(start, end)| {
                let (start, end) = (start.parse().ok()?, end.parse().ok()?);
                (start <= end).then_some(start..end)
            });
            let wrong =
                || PassesError(format!("`{item}` names no functions: write them as in `{name}@0..57`"));
            return Ok(self.within(pass, range.ok_or_else(wrong)?));
        }
        let pass = named(item)?;
        match self.functions[pass as usize] == EVERY {
            true => Err(PassesError(format!("`{item}` is on already: write `none,{item}` for it alone"))),
            false => Ok(self.with(pass, true)),
        }
    }
}

fn named(name: &str) -> Result<Pass, PassesError> {
    Pass::ALL.iter().copied().find(|pass| pass.name() == name).ok_or_else(|| {
        let names: Vec<&str> = Pass::ALL.iter().map(|pass| pass.name()).collect();
        PassesError(format!("there is no pass `{name}`: give some of all, none, {}", names.join(", ")))
    })
}

impl fmt::Display for PassSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off = self.functions.iter().filter(|&&functions| functions == NONE).count();
        let (base, usual) = if 2 * off > COUNT { ("none", NONE) } else { ("all", EVERY) };
        f.write_str(base)?;
        for &pass in Pass::ALL {
            let (functions, name) = (self.functions[pass as usize], pass.name());
            match functions {
                _ if functions == usual => {}
                EVERY => write!(f, ",{name}")?,
                NONE => write!(f, ",-{name}")?,
                Functions { start, end } => write!(f, ",{name}@{start}..{end}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> PassSet {
        text.parse().expect("a list of passes")
    }

    #[test]
    fn lists_are_read_from_left_to_right() {
        let has = |text: &str, func: u32| {
            let passes = set(text).for_function(func);
            [Pass::RedundantMoves, Pass::JumpThreading, Pass::Masks].map(|pass| passes.has(pass))
        };
        assert_eq!(has("all", 3), [true; 3]);
        assert_eq!(has("none", 3), [false; 3]);
        assert_eq!(has("-redundant-moves,-jump-threading", 3), [false, false, true]);
        assert_eq!(has("none,redundant-moves, jump-threading", 3), [true, true, false]);
        assert_eq!(has("-redundant-moves,all", 3), [true; 3]);
        assert_eq!(has("redundant-moves@0..3", 2), [true; 3]);
        assert_eq!(has("redundant-moves@0..3", 3), [false, true, true]);
        assert_eq!(has("none,masks@3..4", 3), [false, false, true]);
        assert_eq!(has("none,masks@3..4", 2), [false; 3]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_that_says_what_can() {
        let error = |text: &str| text.parse::<PassSet>().expect_err("no list of passes").to_string();
        let unknown = error("-redundant-move");
        assert!(
            unknown.starts_with("there is no pass `redundant-move`: give some of all, none, unroll, "),
            "{unknown}"
        );
        assert!(Pass::ALL.iter().all(|pass| unknown.contains(pass.name())), "{unknown}");
        assert_eq!(
            error("redundant-moves"),
            "`redundant-moves` is on already: write `none,redundant-moves` for it alone"
        );
        for wrong in [
            "redundant-moves@",
            "redundant-moves@3",
            "redundant-moves@3..",
            "redundant-moves@5..3",
            "redundant-moves@a..b",
        ] {
            assert_eq!(
                error(wrong),
                format!("`{wrong}` names no functions: write them as in `redundant-moves@0..57`")
            );
        }
        assert!(error("").starts_with("there is no pass ``"));
    }

    #[test]
    fn sets_are_written_as_they_are_read() {
        for text in [
            "all",
            "none",
            "all,-redundant-moves,jump-threading@0..57",
            "none,masks,redundant-moves@3..4",
            "all,-unroll",
        ] {
            assert_eq!(set(text).to_string(), text);
        }
        for &pass in Pass::ALL {
            for all in [PassSet::all(), PassSet::none()] {
                for changed in
                    [all.clone().with(pass, true), all.clone().with(pass, false), all.within(pass, 2..9)]
                {
                    assert_eq!(set(&changed.to_string()), changed);
                }
            }
        }
    }

    #[test]
    fn every_pass_has_a_name_of_its_own_and_a_sentence() {
        for (at, pass) in Pass::ALL.iter().enumerate() {
            assert_eq!(*pass as usize, at);
            assert!(Pass::ALL[..at].iter().all(|other| other.name() != pass.name()));
            assert!(pass.about().ends_with('.'));
        }
        const { assert!(COUNT <= 64, "they fit into a set of bits") };
    }
}
