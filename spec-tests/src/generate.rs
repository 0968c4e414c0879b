//! Test modules generated from seeds. All of them terminate, because they run on [`crate::fuel`].
//!
//! * [`flow`] writes modules with much control flow, most of which runs; any place may trap, but rarely does.
//! * [`smith`] uses wasm-smith: every instruction in odd combinations, but the modules soon trap.
//! * [`hot`] writes programs that run long enough for every optimisation, and that terminate by construction.
//! * [`mutate`] makes small changes to a module; [`deep`] makes a module overflow the stack.

pub mod component_calls;
pub mod deep;
pub mod flow;
pub mod hot;
pub mod mutate;
pub mod nans;
pub mod smith;
pub mod waits;

use std::sync::Arc;

use wprof_jit::module::parse;

use crate::drive::Drive;
use crate::fuel;
use crate::rng::Rng;

/// Enough fuel to overflow a stack of a few MB.
const FUEL_TO_OVERFLOW: i32 = 500_000;

/// A module and the calls to make on it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed of the case.
    pub seed: u64,
    /// The generator of the module.
    pub maker: Maker,
    /// The module.
    pub wasm: Vec<u8>,
    /// The calls to make.
    pub drive: Drive,
    /// The module as a tree, if its generator provides one; a failing case is reduced by its tree.
    pub tree: Option<Box<hot::tree::Program>>,
}

/// A generator of modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// [`flow`].
    Flow,
    /// [`flow`] with small changes.
    MutatedFlow,
    /// [`smith`].
    Smith,
    /// [`smith`] with small changes.
    MutatedSmith,
    /// [`hot`].
    Hot,
    /// [`smith`], with all of WebAssembly 3.0.
    Wasm3,
}

impl Maker {
    /// The generators whose modules run on fuel.
    pub const ALL: [Maker; 4] = [Maker::Flow, Maker::MutatedFlow, Maker::Smith, Maker::MutatedSmith];
}

/// Returns the case of a seed that overflows the stack.
///
/// # Panics
/// Panics if a generator makes a module that is not valid.
pub fn deep_case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let plain = flow::module(&mut rng);
    let info = parse(Arc::from(&*plain)).expect("valid");
    let made = deep::module(&plain, &info, &mut rng).expect("valid");
    let wasm = fuel::limit(&made, FUEL_TO_OVERFLOW).expect("a generated module is well formed");
    let drive = Drive::new(&wasm, seed, 1, FUEL_TO_OVERFLOW).expect("valid");
    Case { seed, maker: Maker::Flow, wasm, drive, tree: None }
}

/// How often each function of a hot program is called, so that callers can meet better versions.
const HOT_ROUNDS: usize = 3;

/// Returns the hot program of a seed.
///
/// # Panics
/// Panics if the generator makes a module that is not valid.
pub fn hot_case(seed: u64) -> Case {
    case_of_tree(seed, hot::program(seed))
}

/// Returns the hot program of a seed with objects, exceptions and typed references.
///
/// # Panics
/// Panics if the generator makes a module that is not valid.
pub fn managed_case(seed: u64) -> Case {
    case_of_tree(seed, hot::managed_program(seed))
}

/// Returns the hot program of a seed with atomic instructions.
///
/// # Panics
/// Panics if the generator makes a module that is not valid.
pub fn hot_atomics_case(seed: u64) -> Case {
    case_of_tree(seed, hot::atomic_program(seed))
}

fn case_of_tree(seed: u64, tree: hot::tree::Program) -> Case {
    let wasm = tree.encode();
    let drive = Drive::new(&wasm, seed, HOT_ROUNDS, 0)
        .unwrap_or_else(|e| panic!("seed {seed}: the hot program is invalid: {e}"));
    Case { seed, maker: Maker::Hot, wasm, drive, tree: Some(Box::new(tree)) }
}

/// Returns the module of a seed with exceptions, function references and garbage collection.
///
/// # Panics
/// Panics if the generator makes a module that is not valid.
pub fn wasm3_case(seed: u64) -> Case {
    smith_case(seed, smith::wasm3)
}

/// Returns the case of a seed with atomic instructions and shared memories, and all of [`wasm3_case`].
///
/// # Panics
/// Panics if the generator makes a module that is not valid.
pub fn atomics_case(seed: u64) -> Case {
    smith_case(seed, smith::atomics)
}

fn smith_case(seed: u64, module: fn(&mut Rng) -> Vec<u8>) -> Case {
    let mut rng = Rng::new(seed ^ 0x0077_6173_6d33);
    let plain = module(&mut rng);
    let amount = rng.pick(&[40, 300, 1500]);
    let wasm = fuel::limit(&plain, amount).expect("a generated module is well formed");
    let drive = Drive::new(&wasm, seed, 2, amount)
        .unwrap_or_else(|e| panic!("seed {seed}: wasm-smith made an invalid module: {e}"));
    Case { seed, maker: Maker::Wasm3, wasm, drive, tree: None }
}

/// Returns a case with exceptions, function references and objects: a hot program, or a module of wasm-smith.
///
/// # Panics
/// Panics if a generator makes a module that is not valid.
pub fn throwing_case(seed: u64) -> Case {
    match seed.is_multiple_of(2) {
        true => managed_case(seed),
        false => wasm3_case(seed),
    }
}

/// Returns the case of a seed.
///
/// # Panics
/// Panics if a generator makes a module that is not valid.
pub fn case(seed: u64) -> Case {
    made_case(seed, flow::module, smith::module)
}

/// Returns the case of a seed, which is small in seven of eight cases.
///
/// # Panics
/// Panics if a generator makes a module that is not valid.
pub fn mixed_case(seed: u64) -> Case {
    match (seed / 4).is_multiple_of(8) {
        true => case(seed),
        false => made_case(seed, flow::small_module, smith::small_module),
    }
}

fn made_case(seed: u64, flow: fn(&mut Rng) -> Vec<u8>, smith: fn(&mut Rng) -> Vec<u8>) -> Case {
    let maker = Maker::ALL[(seed % 4) as usize];
    let mut rng = Rng::new(seed);
    let plain = match maker {
        Maker::Flow | Maker::MutatedFlow => flow(&mut rng),
        Maker::Smith | Maker::MutatedSmith => smith(&mut rng),
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
