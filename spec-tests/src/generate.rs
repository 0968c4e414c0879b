//! Modules for tests, made from seeds. All of them terminate: they run on [`fuel`](crate::fuel).
//!
//! * [`flow`] writes modules with much control flow, most of which runs; traps are possible everywhere, but rare.
//! * [`smith`] lets wasm-smith write them: every instruction in odd combinations, but they soon trap.
//! * [`hot`] writes programs that run long enough to be optimised in every way, and end by themselves.
//! * [`mutate`] changes either a little; [`deep`] makes them use up the stack.

pub mod deep;
pub mod flow;
pub mod hot;
pub mod mutate;
pub mod smith;

use std::sync::Arc;

use wprof_jit::module::parse;

use crate::drive::Drive;
use crate::fuel;
use crate::rng::Rng;

/// Enough to use up a stack of a few MB.
const FUEL_TO_OVERFLOW: i32 = 500_000;

/// A module and what to do with it.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it was made from.
    pub seed: u64,
    /// Who made it.
    pub maker: Maker,
    /// The module.
    pub wasm: Vec<u8>,
    /// What to call.
    pub drive: Drive,
    /// The module as a tree, if its maker has one: what a failing case is reduced by.
    pub tree: Option<Box<hot::tree::Program>>,
}

/// Who makes modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// [`flow`].
    Flow,
    /// [`flow`], changed a little.
    MutatedFlow,
    /// [`smith`].
    Smith,
    /// [`smith`], changed a little.
    MutatedSmith,
    /// [`hot`].
    Hot,
    /// [`smith`], with all of WebAssembly 3.0.
    Wasm3,
}

impl Maker {
    /// Those whose modules run on fuel.
    pub const ALL: [Maker; 4] = [Maker::Flow, Maker::MutatedFlow, Maker::Smith, Maker::MutatedSmith];
}

/// A case of a seed that uses up the stack.
///
/// # Panics
/// If a generator makes a module that is not valid.
pub fn deep_case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let plain = flow::module(&mut rng);
    let info = parse(Arc::from(&*plain)).expect("valid");
    let made = deep::module(&plain, &info, &mut rng).expect("valid");
    let wasm = fuel::limit(&made, FUEL_TO_OVERFLOW).expect("a generated module is well formed");
    let drive = Drive::new(&wasm, seed, 1, FUEL_TO_OVERFLOW).expect("valid");
    Case { seed, maker: Maker::Flow, wasm, drive, tree: None }
}

/// How often each function of a hot program is called: as often as callers may meet better versions.
const HOT_ROUNDS: usize = 3;

/// A hot program of a seed.
///
/// # Panics
/// If the generator makes a module that is not valid.
pub fn hot_case(seed: u64) -> Case {
    case_of_tree(seed, hot::program(seed))
}

/// The same with objects, exceptions and typed references.
///
/// # Panics
/// If the generator makes a module that is not valid.
pub fn managed_case(seed: u64) -> Case {
    case_of_tree(seed, hot::managed_program(seed))
}

fn case_of_tree(seed: u64, tree: hot::tree::Program) -> Case {
    let wasm = tree.encode();
    let drive = Drive::new(&wasm, seed, HOT_ROUNDS, 0)
        .unwrap_or_else(|e| panic!("seed {seed}: the hot program is invalid: {e}"));
    Case { seed, maker: Maker::Hot, wasm, drive, tree: Some(Box::new(tree)) }
}

/// A module with exceptions, function references and garbage collection, of a seed.
///
/// # Panics
/// If the generator makes a module that is not valid.
pub fn wasm3_case(seed: u64) -> Case {
    let mut rng = Rng::new(seed ^ 0x0077_6173_6d33);
    let plain = smith::wasm3(&mut rng);
    let amount = rng.pick(&[40, 300, 1500]);
    let wasm = fuel::limit(&plain, amount).expect("a generated module is well formed");
    let drive = Drive::new(&wasm, seed, 2, amount)
        .unwrap_or_else(|e| panic!("seed {seed}: wasm-smith made an invalid module: {e}"));
    Case { seed, maker: Maker::Wasm3, wasm, drive, tree: None }
}

/// The case of a seed.
///
/// # Panics
/// If a generator makes a module that is not valid.
pub fn case(seed: u64) -> Case {
    let maker = Maker::ALL[(seed % 4) as usize];
    let mut rng = Rng::new(seed);
    let plain = match maker {
        Maker::Flow | Maker::MutatedFlow => flow::module(&mut rng),
        Maker::Smith | Maker::MutatedSmith => smith::module(&mut rng),
        Maker::Hot => return hot_case(seed),
        Maker::Wasm3 => return wasm3_case(seed),
    };
    let made = match maker {
        Maker::Flow | Maker::Smith | Maker::Hot | Maker::Wasm3 => plain,
        Maker::MutatedFlow | Maker::MutatedSmith => mutate::module(&plain, &mut rng).expect("valid"),
    };
    let amount = rng.pick(&[40, 300, 1500]);
    let wasm = fuel::limit(&made, amount).expect("a generated module is well formed");
    let drive = Drive::new(&wasm, seed, 2, amount)
        .unwrap_or_else(|e| panic!("seed {seed}: {maker:?} made an invalid module: {e}"));
    Case { seed, maker, wasm, drive, tree: None }
}
