//! What is done to the CLIF of optimised code: Cranelift's optimiser, the passes around it, and what must be done.
//!
//! Input: a function as the translator leaves it. Output: one that is ready for code generation: its flow graph and
//! dominators are known, it has no aliases, and no marks are left.
//! Invariant: without any pass this is plain Cranelift, and lowering: marks become checks, and locations say what
//! passes over machine code need to know.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::TargetIsa;

use super::{
    checks, constants, extends, facts, invariants, loads, masks, params, products, results, spilling,
};
use crate::CompileError;
use crate::clif::check::Check;
use crate::clif::resolve_aliases;
use crate::code::Origins;
use crate::options::{Pass, Passes};

/// The work on one function.
pub(crate) struct Pipeline<'a> {
    pub func: u32,
    pub passes: Passes,
    pub checks: &'a [Check],
    /// What calls leave as it was, if that is known of the machine.
    pub preserved: Option<spilling::Preserved>,
}

/// What a pass does.
type Work = fn(&Pipeline<'_>, &mut Context, &Origins);

const BEFORE_OPTIMIZER: [(Pass, Work); 1] =
    [(Pass::Params, |_, context, _| params::leave_out(&mut context.func))];

/// Loops and dominators are known.
const AFTER_OPTIMIZER: [(Pass, Work); 6] = [
    (Pass::Masks, |_, context, _| masks::simplify(&mut context.func)),
    (Pass::Products, |_, context, _| products::simplify(&mut context.func)),
    (Pass::Loads, |_, context, _| loads::extend(&mut context.func)),
    (Pass::Invariants, |_, context, _| invariants::hoist(context)),
    (Pass::Extends, |_, context, _| extends::widen(context)),
    (Pass::Results, |_, context, _| results::add_copies(context)),
];

/// All blocks are there, and Cranelift only chooses instructions and registers yet.
const AFTER_LOWERING: [(Pass, Work); 4] = [
    (Pass::Constants, |_, context, _| constants::renew(&mut context.func)),
    (Pass::Params, |_, context, _| params::leave_out(&mut context.func)),
    (Pass::ConstantArguments, |_, context, _| {
        if constants::renew_arguments(&mut context.func) {
            context.flowgraph();
        }
    }),
    (Pass::Crossing, |pipeline, context, origins| {
        if let Some(preserved) = pipeline.preserved {
            spilling::relieve(context, preserved, origins);
        }
    }),
];

impl Pipeline<'_> {
    /// Does it all. Passes work on what Cranelift's optimiser must not see: it would undo it, or marks are still calls.
    pub(crate) fn run(
        &self,
        context: &mut Context,
        isa: &dyn TargetIsa,
        origins: &mut Origins,
    ) -> Result<(), CompileError> {
        self.each(&BEFORE_OPTIMIZER, context, origins);
        context
            .optimize(isa, &mut ControlPlane::default())
            .map_err(|error| CompileError::Codegen { func: self.func, message: format!("{error:?}") })?;
        self.each(&AFTER_OPTIMIZER, context, origins);
        self.lower(context, origins);
        self.each(&AFTER_LOWERING, context, origins);
        Ok(())
    }

    fn each(&self, all: &[(Pass, Work)], context: &mut Context, origins: &Origins) {
        for (_, work) in all.iter().filter(|(pass, _)| self.passes.has(*pass)) {
            work(self, context, origins);
        }
    }

    /// What must be done.
    fn lower(&self, context: &mut Context, origins: &mut Origins) {
        resolve_aliases(&mut context.func);
        checks::insert(&mut context.func, self.checks, origins);
        facts::note(&mut context.func, origins);
        context.flowgraph();
    }
}
