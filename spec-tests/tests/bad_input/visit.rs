//! Does everything that an embedder does with a module, on bytes that may not be a module.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use wprof::{
    Engine, Error, ErrorKind, Extern, Instance, InterruptHandle, Linker, Module, Store, StoreLimits, Val,
};
use wprof_spec_tests::mode::Mode;

/// Time limit of a call. Mutants may loop forever.
const PATIENCE: Duration = Duration::from_millis(20);
/// Memory limit of the process, in KiB.
const MEMORY: u64 = 3 << 20;

/// Creates an engine for bad input: it can be interrupted, and its memories and tables stay small.
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

/// Loads and compiles a module, instantiates it and calls its exports. Returns whether the bytes were a module.
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

/// Checks that a loading error describes the fault and its place.
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

/// Calls some exported functions with zeros. Their results do not matter, but the profile must add up.
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

/// Runs `body`, and interrupts wasm code repeatedly until `body` returns.
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

/// Panics if the peak memory of the process is above the limit.
pub fn assert_memory_is_bounded() {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("peak memory");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < MEMORY, "{peak} KiB");
}
