//! The homes of values.
//!
//! A value that is only used in its own block has a home that other blocks use for other values: so there are fewer.
//! Constants and addresses of stack slots have none.

use std::ops::Range;

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Value};
use hashbrown::HashSet;

use super::super::machine::KEPT;
use super::exception::has_landings;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Use {
    #[default]
    Nowhere,
    In(Block),
    /// In several blocks.
    Everywhere,
}

pub(super) struct Locations {
    all: SecondaryMap<Value, Option<u32>>,
    count: usize,
    /// The homes of the caller's registers.
    callers: Range<u32>,
    /// The number of homes that hold nothing between instructions.
    scratch: usize,
}

/// Reports whether the result of an instruction is made wherever it is used.
pub(super) fn is_remade(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.insts[inst].opcode();
    matches!(opcode, Opcode::Iconst | Opcode::F32const | Opcode::F64const | Opcode::StackAddr)
}

/// Returns the instructions that have effects, and those that these need. The others need not be made.
pub(super) fn needed(func: &Function) -> HashSet<Inst> {
    let has_effects = |inst: &Inst| {
        let opcode = func.dfg.insts[*inst].opcode();
        opcode.is_terminator()
            || opcode.is_call()
            || opcode.can_trap()
            || opcode.can_load()
            || opcode.can_store()
            || opcode.other_side_effects()
    };
    let all = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    let mut pending: Vec<Inst> = all.filter(has_effects).collect();
    let mut needed = HashSet::new();
    while let Some(inst) = pending.pop() {
        if needed.insert(inst) {
            pending.extend(func.dfg.inst_values(inst).filter_map(|value| func.dfg.value_def(value).inst()));
        }
    }
    needed
}

impl Locations {
    /// Gives each value its home. The operands of `fused` comparisons are used where the comparison's result is.
    pub fn new(func: &Function, fused: &HashSet<Inst>) -> Locations {
        let mut uses: SecondaryMap<Value, Use> = SecondaryMap::new();
        for block in func.layout.blocks() {
            // Other blocks write the parameters.
            func.dfg.block_params(block).iter().for_each(|&param| uses[param] = Use::Everywhere);
            for inst in func.layout.block_insts(block) {
                func.dfg.inst_results(inst).iter().for_each(|&result| note(&mut uses, result, block));
                for value in func.dfg.inst_values(inst) {
                    note(&mut uses, value, block);
                    let by = func.dfg.value_def(value).inst().filter(|by| fused.contains(by));
                    let args = by.map_or(&[][..], |by| func.dfg.inst_args(by));
                    args.iter().for_each(|&arg| note(&mut uses, arg, block));
                }
            }
        }
        Locations::assign(func, &uses)
    }

    fn assign(func: &Function, uses: &SecondaryMap<Value, Use>) -> Locations {
        let callers = if has_landings(func) { 0..KEPT.len() as u32 } else { 0..0 };
        let count = callers.len();
        let mut homes = Locations { all: SecondaryMap::new(), count, callers, scratch: 0 };
        let is_home = |&value: &Value| {
            let made = func.dfg.value_def(value).inst().is_some_and(|inst| is_remade(func, inst));
            !made && uses[value] != Use::Nowhere
        };
        let values = || func.dfg.values().filter(is_home);
        for value in values().filter(|&value| uses[value] == Use::Everywhere) {
            homes.all[value] = Some(homes.count as u32);
            homes.count += 1;
        }
        let first = homes.count as u32;
        let mut taken: SecondaryMap<Block, u32> = SecondaryMap::new();
        for value in values() {
            if let Use::In(block) = uses[value] {
                homes.all[value] = Some(first + taken[block]);
                taken[block] += 1;
                homes.count = homes.count.max((first + taken[block]) as usize);
            }
        }
        homes
    }

    /// Returns the home of a value.
    pub fn location(&self, value: Value) -> Result<u32, String> {
        self.all[value].ok_or_else(|| format!("{value} has no home"))
    }

    /// Returns the homes of the caller's registers; none if no exception lands in the function.
    pub fn callers(&self) -> Range<u32> {
        self.callers.clone()
    }

    /// Returns a home that holds nothing between instructions, by its number.
    pub fn scratch(&mut self, number: usize) -> u32 {
        self.scratch = self.scratch.max(number + 1);
        (self.count + number) as u32
    }

    pub fn count(&self) -> usize {
        self.count + self.scratch
    }
}

fn note(uses: &mut SecondaryMap<Value, Use>, value: Value, block: Block) {
    uses[value] = match uses[value] {
        Use::Nowhere => Use::In(block),
        Use::In(other) if other == block => Use::In(block),
        _ => Use::Everywhere,
    };
}
