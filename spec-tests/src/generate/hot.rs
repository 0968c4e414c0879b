//! Programs that run long enough to be optimised: 10^5 to 10^6 instructions.
//!
//! A program is a pure function of its seed. It terminates: all its loops count, no other code writes the counters,
//! and functions call only later functions, or themselves a bounded number of times. The generator divides a budget of
//! instructions among them. `f0` does the work; it calls functions in the middle, and all of them call *leaves*,
//! directly and through two tables: one is constant, the other changes and grows. The most frequent target of calls
//! through a table changes in the middle of a run. Traps come late.
//! Results do not depend on the engine: a NaN whose bits an engine may choose is canonicalised wherever its bits are
//! observable. Atomic instructions give the same each time, because no other thread uses the memories.
//! Oracle: `tests/hot.rs` checks that hot programs undergo every optimisation.

mod arrays;
pub mod atomics;
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
use atomics::Sharing;
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
/// The number of types of leaves; they come first in the list. The next constant lists the types of recursive
/// functions.
const OF_LEAVES: u32 = 8;
const RECURSIVE: [u32; 2] = [0, 1];
/// The type of `f0`.
const OF_MAIN: u32 = 8;

/// The imported functions, all of the first type.
const IMPORTS: [&str; 2] = ["note", crate::host::REENTER];
const NOTE: u32 = 0;
const REENTERED: u32 = 1;
/// The table that changes; the next constant is the other table.
const TABLE: u32 = 0;
const CONSTANT_TABLE: u32 = 1;
/// Maximum growth of the first table.
const TABLE_ROOM: u64 = 6;
/// Types of the globals.
const GLOBALS: [ValType; 5] = [I32, I64, F32, F64, V128];
/// Maximum size of the memories, in pages.
const MOST_PAGES: u64 = 4;
/// Bytes of the memories that exist from the start.
const STABLE: usize = 1 << 16;
/// A data segment that is copied at run time; the next constant is its length.
const PASSIVE: u32 = 2;
const DATA: usize = 256;
/// Number of table elements per type.
const GROUP: u32 = 4;

/// The role of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Does all the work.
    Main,
    /// Has loops that call leaves.
    Middle,
    /// A short function that is called often.
    Leaf,
    /// Calls itself `calls` times in total, at most `limit` deep.
    Recursive { limit: u32, calls: u32 },
    /// Calls itself by a tail call.
    TailRecursive { limit: u32 },
}

impl Role {
    fn recurses(self) -> bool {
        matches!(self, Role::Recursive { .. } | Role::TailRecursive { .. })
    }

    /// Returns how often the body runs in one call.
    fn bodies(self) -> u64 {
        match self {
            Role::Recursive { limit, calls } => (0..=limit).map(|depth| u64::from(calls).pow(depth)).sum(),
            Role::TailRecursive { limit } => u64::from(limit) + 1,
            _ => 1,
        }
    }
}

/// A function that other functions may call.
#[derive(Clone, Copy, Debug)]
struct Callee {
    index: u32,
    signature: u32,
    /// Approximate upper bound of the instructions that a call executes.
    cost: u64,
}

/// What a function knows about its module.
#[derive(Debug)]
struct Shape {
    callees: Vec<Callee>,
    /// The two types of table elements.
    indirect: [u32; 2],
    /// Upper bound of the instructions that a leaf executes.
    leaf_cost: u64,
    /// Index of a null table element.
    null: u32,
    /// Leaves of each of the two element types.
    elements: [Vec<u32>; 2],
    /// Whether the program has objects, exceptions and typed references.
    is_managed: bool,
    /// Who may use the memories, if the program has atomic instructions.
    atomics: Option<Sharing>,
}

impl Shape {
    /// Returns the indices of the elements of a type, the same in both tables.
    fn slots(&self, signature: u32) -> std::ops::Range<u32> {
        let group = u32::from(signature == self.indirect[1]);
        group * GROUP..(group + 1) * GROUP
    }

    /// Returns the leaves of a type.
    fn of_signature(&self, signature: u32) -> Vec<u32> {
        self.elements[usize::from(signature == self.indirect[1])].clone()
    }
}

/// Returns the program of a seed.
pub fn program(seed: u64) -> Program {
    some_program(seed ^ 0x686f_745f_7072_6f67, None, None)
}

/// Returns the program of a seed with objects, exceptions and typed references.
pub fn managed_program(seed: u64) -> Program {
    let exceptions = if seed.is_multiple_of(3) { Exceptions::Legacy } else { Exceptions::Standard };
    some_program(seed ^ 0x6d61_6e61_6765_6421, Some(exceptions), None)
}

/// Returns the program of a seed with atomic instructions, on memories that are shared for every other seed.
pub fn atomic_program(seed: u64) -> Program {
    let sharing = if seed.is_multiple_of(2) { Sharing::Shared } else { Sharing::Own };
    some_program(seed ^ 0x6174_6f6d_6963_7321, None, Some(sharing))
}

fn some_program(seed: u64, managed: Option<Exceptions>, atomics: Option<Sharing>) -> Program {
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
    let mut shape =
        Shape { callees: Vec::new(), indirect, leaf_cost, null: 2 * GROUP, elements, is_managed, atomics };
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
    Program { functions, table, constant, managed, atomics }
}

/// Returns the roles of the functions: main first, leaves last.
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

/// Returns how many instructions a body may execute, and how many it may have.
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
