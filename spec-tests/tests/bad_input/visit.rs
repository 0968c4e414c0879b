//! Everything that an embedder does with a module, on bytes that may be none.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use wprof::{
    Engine, Error, ErrorKind, Extern, Instance, InterruptHandle, Linker, Module, Store, StoreLimits, Val,
};
use wprof_spec_tests::mode::Mode;

/// How long a call may take. Mutants loop forever.
const PATIENCE: Duration = Duration::from_millis(20);
/// Memory that the process may take, in KiB.
const MEMORY: u64 = 3 << 20;

/// An engine for bad input: it can be interrupted, and its memories and tables stay small.
pub fn engine(mode: Mode) -> Engine {
    let mut config = mode.config();
    let limits = StoreLimits {
        memory_size: 64 << 20,
        memory64_size: 64 << 20,
        table_elements: 100_000,
        ..StoreLimits::default()
    };
    Engine::new(config.interruptible(true).limits(limits)).expect("an engine for this machine")
}

/// Loads, compiles, instantiates and calls. Returns whether it was a module.
pub fn visit(engine: &Engine, bytes: &[u8]) -> bool {
    let module = match Module::new(engine, bytes) {
        Ok(module) => module,
        Err(error) => {
            check_refusal(&error, bytes);
            return false;
        }
    };
    if let Err(error) = module.compile_all() {
        assert_eq!(error.kind(), ErrorKind::Compile, "{error:?}");
        return true;
    }
    look_at(&module);
    let mut linker = Linker::new(engine);
    let mut store = Store::new(engine, ());
    if linker.define_unknown_imports_as_traps(&module).is_err() {
        return true;
    }
    patiently(&store.interrupt_handle(), || {
        if let Ok(instance) = linker.instantiate(&mut store, &module) {
            call_exports(&mut store, instance);
        }
    });
    assert_memory_is_bounded();
    true
}

/// An error of loading says what is wrong, and where.
pub fn check_refusal(error: &Error, bytes: &[u8]) {
    assert_eq!(error.kind(), ErrorKind::Module, "{error:?}");
    let text = error.to_string();
    assert!(!text.is_empty());
    if bytes.starts_with(b"\0") {
        let (_, offset) = text.rsplit_once("(at offset 0x").unwrap_or_else(|| panic!("no offset: {text}"));
        let offset = usize::from_str_radix(offset.trim_end_matches(')'), 16).expect("a number");
        assert!(offset <= bytes.len(), "{text}");
    }
}

/// Reads names and debug information, which nothing has validated.
fn look_at(module: &Module) {
    let info = module.info();
    let _ = (module.name(), module.imports().map(|import| import.ty()).collect::<Vec<_>>());
    for func in [0, info.imported_funcs, info.funcs.len() as u32, u32::MAX] {
        let _ = module.func_name(func).map(wprof::demangle);
    }
    for offset in [0, info.code_section.start, info.code_section.end, usize::MAX] {
        let _ = module.symbols_at(offset as u32);
    }
    let _ = (module.source_rows(), module.definition_lines());
}

/// Calls some exported functions with zeros. What they do does not matter, but the profile adds up.
fn call_exports(store: &mut Store<()>, instance: Instance) {
    let exports: Vec<Extern> = instance.exports(&*store).map(|export| export.into_extern()).collect();
    for func in exports.into_iter().filter_map(Extern::into_func).take(8) {
        let ty = func.ty(&*store);
        let arguments: Vec<Val> = ty.params().map(|ty| Val::default_for(&ty)).collect();
        let mut results: Vec<Val> = ty.results().map(|ty| Val::default_for(&ty)).collect();
        if let Err(error) = func.call(&mut *store, &arguments, &mut results) {
            let _ = format!("{error:?}");
        }
    }
    if let Err(error) = instance.profile(&*store) {
        assert!(error.to_string().contains("does not profile"), "{error:?}");
    }
}

/// Runs `body`, and interrupts wasm code again and again as long as it takes.
pub fn patiently<R>(handle: &InterruptHandle, body: impl FnOnce() -> R) -> R {
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
            }
        });
        let result = body();
        drop(done);
        result
    })
}

/// Fails if the process has taken too much memory at any time.
pub fn assert_memory_is_bounded() {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("peak memory");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < MEMORY, "{peak} KiB");
}
