//! Which Wasmtime to compare with: one row per option that a peer's figures are quoted for.

use std::path::Path;
use wasmtime::{Cache, CacheConfig, Config, Engine, Inlining, Module, Result};

/// Options that change the machine code. All off is Wasmtime's default.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Settings {
    /// Count fuel: an exact budget of instructions.
    #[arg(long)]
    pub fuel: bool,
    /// Check an epoch at function entries and loop headers: interruption without a count.
    #[arg(long)]
    pub epochs: bool,
    /// Let Wasmtime's compiler inline calls within the module.
    #[arg(long)]
    pub inlining: bool,
    /// Run programs with exceptions, function references and garbage collection.
    #[arg(long)]
    pub wasm3: bool,
}

/// Where the machine code comes from. All off is a full compilation in this process.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Startup {
    /// Keep compiled code in Wasmtime's cache on disk, and take it from there.
    #[arg(long)]
    pub cache: bool,
    /// The program is machine code that `peer compile` wrote, with the same settings.
    #[arg(long)]
    pub precompiled: bool,
}

impl Settings {
    /// An engine of this kind.
    ///
    /// # Errors
    /// When the machine lacks what Wasmtime needs, or the cache's folder cannot be made.
    pub fn engine(self, startup: Startup) -> Result<Engine> {
        let mut config = Config::new();
        config.consume_fuel(self.fuel).epoch_interruption(self.epochs);
        if self.inlining {
            config.compiler_inlining(Inlining::Yes);
        }
        if self.wasm3 {
            config.wasm_function_references(true).wasm_gc(true).wasm_exceptions(true);
        }
        if startup.cache {
            config.cache(Some(Cache::new(CacheConfig::new())?));
        }
        Engine::new(&config)
    }
}

impl Startup {
    /// Reads or compiles a program.
    ///
    /// # Errors
    /// When the file cannot be read, is no valid module, or was compiled by another engine.
    pub fn load(self, engine: &Engine, file: &Path) -> Result<Module> {
        if self.precompiled {
            // SAFETY: the caller vouches for the file: `peer compile` wrote it on this machine. Wasmtime checks its
            // own version and settings.
            return unsafe { Module::deserialize_file(engine, file) };
        }
        Module::from_file(engine, file)
    }
}
