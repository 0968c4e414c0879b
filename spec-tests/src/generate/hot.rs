//! Programs that run long enough to be optimised: 10^5 to 10^6 instructions.
//!
//! A program is a pure function of its seed. It ends since all its loops count, nothing else writes the counts, and
//! functions call only functions behind them, or themselves so often: a budget of instructions is shared out while
//! they are made. `f0` is where the work is done; it calls functions in the middle, and all call *leaves*, directly
//! and through two tables, one that nothing changes and one that is changed and grows. Which leaf most calls through a
//! table go to changes in the middle of a run. Traps come late.
//! Results do not depend on the engine: NaNs whose bits an engine may choose are made the same one wherever bits tell.
//! Oracle: `tests/hot.rs` says that hot programs are optimised in every way.

mod body;
mod expression;
pub mod lowered;
pub mod managed;
mod memory;
mod module;
mod objects;
mod ops;
pub mod reduce;
mod statement;
pub mod tree;
mod write;
mod write_managed;

use wasm_encoder::ValType;

use crate::rng::Rng;
use body::Body;
pub use module::data_bytes;
use tree::{Exceptions, Program, Signature};
use {ValType::F32, ValType::F64, ValType::I32, ValType::I64, ValType::V128};

/// Types of functions.
pub const SIGNATURES: [Signature; 9] = [
    (&[I32], &[I32]),
    (&[I32, I64], &[I64]),
    (&[F64], &[F64]),
    (&[I32, I32], &[I32, I64]),
    (&[I64], &[]),
    (&[V128, I32], &[V128]),
    (&[I32, I64, F32, F64, I32, I64, I32, I64], &[I64, F64, I32]),
    (&[F32, I32], &[F32]),
    (&[I32, I64], &[I32, F64]),
];
/// The types of leaves, and of functions that call themselves.
const OF_LEAVES: u32 = 8;
const RECURSIVE: [u32; 2] = [0, 1];
/// The type of `f0`.
const OF_MAIN: u32 = 8;

/// What is imported, all of the first type.
const IMPORTS: [&str; 2] = ["note", crate::host::REENTER];
const NOTE: u32 = 0;
const REENTERED: u32 = 1;
/// The table that changes, and the other one.
const TABLE: u32 = 0;
const CONSTANT_TABLE: u32 = 1;
/// How far the first may grow.
const TABLE_ROOM: u64 = 6;
/// Types of the globals.
const GLOBALS: [ValType; 5] = [I32, I64, F32, F64, V128];
/// How far memories may grow, in pages.
const MOST_PAGES: u64 = 4;
/// Bytes of the memories that are there from the start.
const STABLE: usize = 1 << 16;
/// A data segment that is copied as the program runs, and how long it is.
const PASSIVE: u32 = 2;
const DATA: usize = 256;
/// Elements of a table by type.
const GROUP: u32 = 4;

/// What a function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// All the work.
    Main,
    /// Loops that call leaves.
    Middle,
    /// Little, often called.
    Leaf,
    /// Calls itself so many times in the end, up to so deep.
    Recursive { limit: u32, calls: u32 },
    /// Calls itself by a tail call.
    TailRecursive { limit: u32 },
}

impl Role {
    fn recurses(self) -> bool {
        matches!(self, Role::Recursive { .. } | Role::TailRecursive { .. })
    }

    /// How often its body runs in one call.
    fn bodies(self) -> u64 {
        match self {
            Role::Recursive { limit, calls } => (0..=limit).map(|depth| u64::from(calls).pow(depth)).sum(),
            Role::TailRecursive { limit } => u64::from(limit) + 1,
            _ => 1,
        }
    }
}

/// A function that may be called.
#[derive(Clone, Copy, Debug)]
struct Callee {
    index: u32,
    signature: u32,
    /// How many instructions a call executes at most, about.
    cost: u64,
}

/// What functions know of their module.
#[derive(Debug)]
struct Shape {
    callees: Vec<Callee>,
    /// The two types of elements of tables.
    indirect: [u32; 2],
    /// The most that a leaf executes.
    leaf_cost: u64,
    /// An element of the table that is null.
    null: u32,
    /// Leaves of either type of elements.
    elements: [Vec<u32>; 2],
    /// Whether there are objects, exceptions and typed references.
    is_managed: bool,
}

impl Shape {
    /// Where in both tables elements of a type are.
    fn slots(&self, signature: u32) -> std::ops::Range<u32> {
        let group = u32::from(signature == self.indirect[1]);
        group * GROUP..(group + 1) * GROUP
    }

    /// Leaves of a type.
    fn of_signature(&self, signature: u32) -> Vec<u32> {
        self.elements[usize::from(signature == self.indirect[1])].clone()
    }
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    some_program(seed ^ 0x686f_745f_7072_6f67, None)
}

/// The program of a seed, with objects, exceptions and typed references.
pub fn managed_program(seed: u64) -> Program {
    let exceptions = if seed.is_multiple_of(3) { Exceptions::Legacy } else { Exceptions::Standard };
    some_program(seed ^ 0x6d61_6e61_6765_6421, Some(exceptions))
}

fn some_program(seed: u64, managed: Option<Exceptions>) -> Program {
    let mut rng = Rng::new(seed);
    let roles = roles(&mut rng);
    let indirect = *rng.pick(&[[0, 1], [1, 0], [0, 2], [1, 5], [0, 7], [5, 0]].each_ref());
    let signatures = signatures(&roles, indirect, &mut rng);
    let leaf_cost = rng.pick(&[30, 60, 120, 300]);
    let elements = indirect.map(|signature| {
        let is_one = |&f: &usize| roles[f] == Role::Leaf && signatures[f] == signature;
        (0..roles.len()).filter(is_one).map(|f| f as u32).collect()
    });
    let is_managed = managed.is_some();
    let mut shape = Shape { callees: Vec::new(), indirect, leaf_cost, null: 2 * GROUP, elements, is_managed };
    let mut functions = Vec::new();
    for index in (0..roles.len()).rev() {
        let (role, signature) = (roles[index], signatures[index]);
        let limits = limits(role, leaf_cost, &mut rng);
        let body = Body::new(&shape, role, index as u32, signature, limits, &mut rng);
        functions.push(body.write());
        shape.callees.push(Callee { index: index as u32, signature, cost: limits.0 * role.bodies() });
    }
    functions.reverse();
    let group = |rng: &mut Rng, kind: usize| (0..GROUP).map(|_| rng.pick(&shape.elements[kind])).collect();
    let [first, second]: [Vec<u32>; 2] = [group(&mut rng, 0), group(&mut rng, 1)];
    let constant = [first.clone(), second.clone()].concat();
    let table = constant.iter().map(|&f| Some(f)).chain([None]).collect();
    Program { functions, table, constant, managed }
}

/// Main first, leaves last.
fn roles(rng: &mut Rng) -> Vec<Role> {
    let mut roles = vec![Role::Main];
    roles.extend((0..1 + rng.below(3)).map(|_| Role::Middle));
    if rng.chance(50) {
        let kinds = [(5, 2), (7, 2), (60, 1), (12, 1)];
        let (limit, calls) = rng.pick(&kinds);
        roles.push(Role::Recursive { limit, calls });
    }
    if rng.chance(30) {
        roles.push(Role::TailRecursive { limit: rng.pick(&[20, 100, 400]) });
    }
    roles.extend((0..6 + rng.below(4)).map(|_| Role::Leaf));
    roles
}

fn signatures(roles: &[Role], indirect: [u32; 2], rng: &mut Rng) -> Vec<u32> {
    let mut leaves = 0;
    let mut of = |role: &Role| match role {
        Role::Main => OF_MAIN,
        Role::Recursive { .. } | Role::TailRecursive { .. } => rng.pick(&RECURSIVE),
        Role::Middle => rng.below(OF_LEAVES as usize) as u32,
        Role::Leaf => {
            leaves += 1;
            if leaves <= 6 { indirect[leaves % 2] } else { rng.below(OF_LEAVES as usize) as u32 }
        }
    };
    roles.iter().map(&mut of).collect()
}

/// How much a body may execute, and how long it may be.
fn limits(role: Role, leaf_cost: u64, rng: &mut Rng) -> (u64, i64) {
    match role {
        Role::Main => (rng.pick(&[200_000, 400_000, 700_000]), 250 + rng.below(500) as i64),
        Role::Middle => (rng.pick(&[500, 3000, 12_000]), 60 + rng.below(250) as i64),
        Role::Leaf => {
            let cost = 10 + rng.below(leaf_cost as usize) as u64;
            (cost.min(leaf_cost), 8 + rng.below(90) as i64)
        }
        Role::Recursive { .. } | Role::TailRecursive { .. } => {
            (12 + rng.below(40) as u64, 10 + rng.below(50) as i64)
        }
    }
}
