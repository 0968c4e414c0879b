//! A program that has been opened and can be started.

use anyhow::{Result, bail};
use wprof::component::Component;
use wprof::{Engine, Module};
use wprof_instrument::Supergraphs;
use wprof_profiler::Profile;
use wprof_report::Program;

use super::args::RunArgs;
use super::collect::Measurements;
use crate::modules::{self, Program as Opened};

/// A program, and the engine that runs it.
pub struct Loaded {
    engine: Engine,
    /// The code that has the program's names and lines.
    pub code: Program,
    /// The module that runs: another one, if calls are inlined for paths across them.
    pub ran: Module,
    /// The component whose main module it is, if the program is one.
    pub component: Option<Component>,
    graphs: Option<Supergraphs>,
}

impl Loaded {
    /// Opens the program. If paths lead across calls, `counted` gets to know which of them are interesting.
    ///
    /// # Errors
    /// Returns an error if options contradict each other, or the program cannot be read or compiled.
    pub fn new(args: &RunArgs, counted: &mut Measurements, is_server: bool) -> Result<Self> {
        let path = args.program.module();
        let graphs = counted.across.as_ref().map(|across| across.graphs(path)).transpose()?;
        if let Some((across, graphs)) = counted.across.as_ref().zip(graphs.as_ref()) {
            counted.interesting = across.interesting(graphs);
        }
        let engine = Engine::new(&super::config(args, counted)?).map_err(modules::failure)?;
        let shown = if graphs.is_some() { modules::plain_engine()? } else { engine.clone() };
        let (module, component) = match modules::open(&shown, path)? {
            Opened::Module(_) if is_server => bail!(
                "{} is a module, not a component that exports wasi:http/incoming-handler: run it with `wprof run`",
                path.display()
            ),
            Opened::Module(module) => (module, None),
            Opened::Component(all) => (modules::main_module(&all, path)?, Some(all)),
        };
        let ran = match &graphs {
            Some(graphs) => Module::new(&engine, graphs.module()).map_err(modules::failure)?,
            None => module.clone(),
        };
        let code = component.as_ref().map_or_else(|| Program::from(&module), Program::from);
        Ok(Self { engine, code, ran, component, graphs })
    }

    /// Returns the core modules, and those of adapters.
    pub fn modules(&self) -> Vec<Module> {
        self.component.as_ref().map_or_else(|| vec![self.ran.clone()], modules::of_component)
    }

    /// Turns a profile of the module that ran into one of the program.
    ///
    /// # Errors
    /// Returns an error if the profile is not of that module.
    pub fn restore(&self, profile: &mut Profile) -> Result<()> {
        if let Some(graphs) = &self.graphs {
            *profile = graphs.restored(profile)?;
            // Theirs have the numbers of the functions that calls were inlined into.
            profile.threads.clear();
        }
        Ok(())
    }

    /// Leaves all memory to the system, which frees it faster than destructors when the process ends now.
    pub fn forget(self, modules: Vec<Module>) {
        std::mem::forget((self.engine, self.code, self.ran, modules));
    }
}
