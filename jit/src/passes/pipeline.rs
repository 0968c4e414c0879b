//! The pipeline of optimised CLIF: Cranelift's optimiser, the passes around it, and the required lowering.
//!
//! Input: a function from the translator. Output: a function ready for code generation: its flow graph and dominators
//! are computed, it has no aliases, and no marks are left. Invariant: without any pass this is plain Cranelift plus
//! lowering: marks become checks, and source locations carry the facts that passes over machine code need.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Block;
use cranelift_codegen::isa::{CallConv, TargetIsa};

use super::{
    checks, constants, extends, facts, invariants, loads, masks, params, products, results, spilling, vectors,
};
use crate::CompileError;
use crate::clif::check::Check;
use crate::clif::{explicit_traps, resolve_aliases};
use crate::code::{Origins, Vectorized};
use crate::options::{Pass, Passes};
use crate::validate::clif;

/// The pipeline of one function.
pub(crate) struct Pipeline<'a> {
    pub func: u32,
    pub passes: Passes,
    pub checks: &'a [Check],
    /// The numbers of callee-saved registers, if known for the machine.
    pub preserved: Option<spilling::Preserved>,
    /// The calling convention of builtins, if traps are explicit.
    pub explicit: Option<CallConv>,
    /// Whether each pass must be proven to preserve the behaviour of the function; it is undone otherwise.
    pub proves: bool,
    /// The loops that may be vectorised: their header, and the byte offset in the module of their first instruction.
    pub vectors: &'a [(Block, u32)],
}

/// The results of the pipeline beside the changed function.
pub(crate) struct PipelineOutput {
    /// A report of the first pass that could not be proven, if any.
    pub unproven: Unproven,
    pub vectorized: Vec<Vectorized>,
}

/// A report of the first pass that could not be proven, if any.
pub(crate) type Unproven = Option<String>;

/// The work of a pass.
type Work = fn(&Pipeline<'_>, &mut Context, &Origins);

const BEFORE_OPTIMIZER: [(Pass, Work); 1] =
    [(Pass::Params, |_, context, _| params::leave_out(&mut context.func))];

/// Loops and dominators are known here.
const AFTER_OPTIMIZER: [(Pass, Work); 6] = [
    (Pass::Masks, |_, context, _| masks::simplify(&mut context.func)),
    (Pass::Products, |_, context, _| products::simplify(&mut context.func)),
    (Pass::Loads, |_, context, _| loads::extend(&mut context.func)),
    (Pass::Invariants, |_, context, _| invariants::hoist(context)),
    (Pass::Extends, |_, context, _| extends::widen(context)),
    (Pass::Results, |_, context, _| results::add_copies(context)),
];

/// All blocks exist here; Cranelift only selects instructions and allocates registers afterwards.
const AFTER_LOWERING: [(Pass, Work); 4] = [
    (Pass::Constants, |_, context, _| constants::renew(&mut context.func)),
    (Pass::Params, |_, context, _| params::leave_out(&mut context.func)),
    (Pass::ConstantArguments, |_, context, _| {
        if constants::renew_arguments(&mut context.func) {
            context.flowgraph();
        }
    }),
    (Pass::Spilling, |pipeline, context, origins| {
        if let Some(preserved) = pipeline.preserved {
            spilling::relieve(context, preserved, origins);
        }
    }),
];

impl Pipeline<'_> {
    /// Runs the whole pipeline. Passes run where Cranelift's optimiser does not see their results: it would undo them,
    /// and while it runs marks are still calls.
    pub(crate) fn run(
        &self,
        context: &mut Context,
        isa: &dyn TargetIsa,
        origins: &mut Origins,
    ) -> Result<PipelineOutput, CompileError> {
        let before = self.each(&BEFORE_OPTIMIZER, context, origins);
        context
            .optimize(isa, &mut ControlPlane::default())
            .map_err(|error| CompileError::Codegen { func: self.func, message: format!("{error:?}") })?;
        let headers: Vec<Block> = self.vectors.iter().map(|&(header, _)| header).collect();
        let outcomes = vectors::vectorize(context, &headers);
        let between = self.each(&AFTER_OPTIMIZER, context, origins);
        self.lower(context, origins)?;
        let behind = self.each(&AFTER_LOWERING, context, origins);
        facts::withdraw(&mut context.func, origins);
        let vectorized = self.vectors.iter().map(|&(_, offset)| offset).zip(outcomes).collect();
        Ok(PipelineOutput { unproven: before.or(between).or(behind), vectorized })
    }

    fn each(&self, all: &[(Pass, Work)], context: &mut Context, origins: &Origins) -> Unproven {
        let mut unproven = None;
        for &(pass, work) in all.iter().filter(|(pass, _)| self.passes.has(*pass)) {
            let original = self.proves.then(|| context.func.clone());
            work(self, context, origins);
            if let Some(original) = original
                && let Err(report) = clif::check(&original, &context.func)
            {
                unproven.get_or_insert(format!("pass `{}`, function {}: {report}", pass.name(), self.func));
                context.func = original;
                context.flowgraph();
                context.compute_loop_analysis();
            }
        }
        unproven
    }

    /// Does the required lowering.
    fn lower(&self, context: &mut Context, origins: &mut Origins) -> Result<(), CompileError> {
        resolve_aliases(&mut context.func);
        checks::insert(&mut context.func, self.checks, origins);
        if let Some((convention, vmctx)) = self.explicit.zip(explicit_traps::context_of(&context.func)) {
            explicit_traps::make_explicit(&mut context.func, self.func, convention, vmctx)?;
        }
        facts::note(&mut context.func, origins);
        context.flowgraph();
        Ok(())
    }
}
