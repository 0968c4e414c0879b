//! The input of a translation, which stays the same from its beginning to its end.

use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::OptLevel;

use super::homes::HomeKind;
use crate::cfg::Cfg;
use crate::graph::BlockGraph;
use crate::options::{CompilerOptions, Pass, Passes};
use crate::target::Target;
use crate::translate::ModuleEnv;

/// The input of a translation.
///
/// **Invariant**: the passes are those that the options enable for the function itself.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    env: &'a ModuleEnv<'a>,
    options: &'a CompilerOptions,
    passes: Passes,
    isa: &'a dyn TargetIsa,
    target: &'a dyn Target,
    own: &'a Cfg,
    graph: &'a BlockGraph,
}

impl<'a> Input<'a> {
    /// Describes the translation of `graph`, whose function has the CFG `own`.
    pub fn new(
        env: &'a ModuleEnv<'a>,
        options: &'a CompilerOptions,
        (isa, target): (&'a dyn TargetIsa, &'a dyn Target),
        own: &'a Cfg,
        graph: &'a BlockGraph,
    ) -> Input<'a> {
        Input { env, options, passes: options.passes.for_function(own.func), isa, target, own, graph }
    }

    pub fn env(&self) -> &'a ModuleEnv<'a> {
        self.env
    }

    pub fn options(&self) -> &'a CompilerOptions {
        self.options
    }

    /// Reports whether a pass is enabled for this function.
    pub fn has(&self, pass: Pass) -> bool {
        self.passes.has(pass)
    }

    pub fn isa(&self) -> &'a dyn TargetIsa {
        self.isa
    }

    pub fn target(&self) -> &'a dyn Target {
        self.target
    }

    /// Returns the CFG of the function itself, as opposed to those of inlined functions.
    pub fn own(&self) -> &'a Cfg {
        self.own
    }

    pub fn graph(&self) -> &'a BlockGraph {
        self.graph
    }

    /// Returns the CFG of a frame's function.
    pub fn cfg_of(&self, frame: u32) -> &'a Cfg {
        self.graph.cfg_of(self.own, frame)
    }

    /// Reports whether Cranelift's optimiser will drop dead instructions.
    pub fn is_optimised(&self) -> bool {
        self.isa.flags().opt_level() != OptLevel::None
    }

    /// Returns the kind of homes that locals and operands have between nodes.
    pub fn homes(&self) -> HomeKind {
        if self.is_optimised() { HomeKind::Variables } else { HomeKind::Frame }
    }

    /// Reports whether a local of a function may be read from the entry of `block` on. Where state is captured, all
    /// locals count as live.
    pub fn is_live(&self, cfg: &Cfg, block: u32, local: usize) -> bool {
        self.options.capture_state || cfg.liveness.is_live(block, local)
    }

    /// Reports whether a local of a function may be read behind `block`.
    pub fn is_live_behind(&self, cfg: &Cfg, block: u32, local: usize) -> bool {
        self.options.capture_state || cfg.liveness.is_live_behind(block, local)
    }
}
