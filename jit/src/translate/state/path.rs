//! The path register: nothing where its value is known, otherwise a frontend variable, and a copy of it in the frame.

use cranelift_codegen::ir::{
    InstBuilder, StackSlot, StackSlotData, StackSlotKey, StackSlotKind, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};

use super::input::Input;
use crate::code::PATH_SLOT;

/// The register in which the number of the current path is summed up.
///
/// **Invariant**: wherever the frame may stop or be inspected, the register is known
/// ([`Origin::path`](crate::code::Origin)), or the copy equals the register. Calls do not end paths: they leave the
/// register alone. In functions that call, only the copy exists: a callee-saved register would have to be saved by each
/// callee. In leaf functions the copy exists from the first node on in which the frame may stop (`graph/kept_path.rs`).
pub struct PathRegister {
    /// `None` if the register is only in the frame, or known everywhere.
    variable: Option<Variable>,
    /// The copy in the frame, if there is one.
    slot: Option<StackSlot>,
    /// The register's value at the entry of each node, where known.
    known: Vec<Option<i64>>,
    /// The register's value at the current place of translation, where known.
    here: Option<i64>,
    /// By node, whether the variable is copied to the frame at its entry.
    kept: Vec<bool>,
}

impl PathRegister {
    /// Creates the register of a function, which has no value yet. `stops` says for each node of a leaf function whether
    /// a frame may stop or be inspected there.
    pub fn new(input: &Input<'_>, stops: Option<&[bool]>, builder: &mut FunctionBuilder<'_>) -> PathRegister {
        let (graph, is_leaf) = (input.graph(), input.own().is_leaf);
        // In burst code a check may begin a path.
        let known = match graph.in_bursts {
            true => vec![None; graph.nodes.len()],
            false => graph.known_paths(),
        };
        let is_known = known.iter().all(Option::is_some);
        let stops = stops.filter(|_| !is_known);
        let kept = stops.map_or_else(Vec::new, |stops| graph.kept_paths(&known, stops));
        let variable = (is_leaf && !is_known).then(|| builder.declare_var(types::I64));
        let is_held = kept.contains(&true) || !is_leaf && !is_known;
        let slot = is_held.then(|| {
            let key = StackSlotKey::new(PATH_SLOT);
            let slot = StackSlotData::new_with_key(StackSlotKind::ExplicitSlot, 8, 3, key);
            builder.create_sized_stack_slot(slot)
        });
        PathRegister { variable, slot, known, here: None, kept }
    }

    /// Returns the register's value at the current place of translation, if known.
    pub fn known(&self) -> Option<i64> {
        self.here
    }

    /// Records that the current place is the entry of a node, or one of its outgoing edges.
    pub fn place(&mut self, node: usize) {
        self.here = self.known[node];
    }

    /// Copies the register to the frame at the entry of a node, if it may be inspected from here on.
    pub fn keep(&self, node: usize, builder: &mut FunctionBuilder<'_>) {
        if self.kept.get(node) == Some(&true) {
            let value = self.value(builder);
            self.hold(value, builder);
        }
    }

    /// Reports whether the register is known here, but no longer in node `to`.
    pub fn is_carried(&self, to: u32) -> bool {
        self.here.is_some() && self.known[to as usize].is_none()
    }

    /// Stores a value that is known here but not in node `to`, where control continues.
    pub fn carry(&self, to: u32, builder: &mut FunctionBuilder<'_>) {
        if self.is_carried(to) {
            let value = self.value(builder);
            self.set(value, builder);
        }
    }

    /// Returns the register's value.
    pub fn value(&self, builder: &mut FunctionBuilder<'_>) -> Value {
        match (self.here, self.variable) {
            (Some(known), _) => builder.ins().iconst(types::I64, known),
            (None, Some(variable)) => builder.use_var(variable),
            (None, None) => {
                let slot = self.slot.expect("it is held where it is not known");
                builder.ins().stack_load(types::I64, types::I64, slot, 0)
            }
        }
    }

    /// Stores a value that is not known, or will not be known where control continues.
    pub fn set(&self, value: Value, builder: &mut FunctionBuilder<'_>) {
        match self.variable {
            Some(variable) => builder.def_var(variable, value),
            None => self.hold(value, builder),
        }
    }

    fn hold(&self, value: Value, builder: &mut FunctionBuilder<'_>) {
        if let Some(slot) = self.slot {
            builder.ins().stack_store(types::I64, value, slot, 0);
        }
    }

    /// Begins a path with a known value.
    pub fn start(&mut self, first: i64) {
        self.here = Some(first);
    }

    pub fn add(&mut self, amount: i64, builder: &mut FunctionBuilder<'_>) {
        if let Some(known) = &mut self.here {
            *known = known.wrapping_add(amount);
            return;
        }
        let old = self.value(builder);
        let new = builder.ins().iadd_imm_s(old, amount);
        self.set(new, builder);
    }
}
