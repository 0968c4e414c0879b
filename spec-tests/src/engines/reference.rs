//! Runs of generated modules in wasmi, an interpreter that shares no code with ours.

use std::fmt;
use std::sync::{Arc, Mutex};

use wasmi::errors::{ErrorKind, HostError, TableError};
use wasmi::{
    Caller, Config, Engine, Error, Extern, ExternRef, ExternType, F32, F64, Func, FuncType, Global, Instance,
    Memory, Module, Ref, Store, Table, TrapCode, V128, Val, ValType,
};

use super::atomics;
use super::heap::Heap;
use crate::drive::{Call, Drive, imported_value, is_ours};
use crate::fuel::FUEL;
use crate::generate::hot::lowered::{self, Action, HELPERS};
use crate::host::{Answer, Host};
use crate::oracle::counter_name;
use crate::outcome::{Outcome, State, Stop, Trap, Value};

/// A finished run of an instance.
#[derive(Debug)]
pub struct Ran {
    /// The state that the run left.
    pub outcome: Outcome,
    /// The counters of a self-counting module.
    pub counters: Vec<u64>,
    /// The memory of an instrumented module, from the start of its counters.
    pub region: Option<Vec<u8>>,
}

/// Returns an interpreter with room for deep recursion.
pub fn engine() -> Engine {
    let mut config = Config::default();
    config.set_max_recursion_depth(1_000_000).set_max_stack_height(256 << 20);
    Engine::new(&config)
}

/// Runs `wasm` with the calls of `drive`.
///
/// # Errors
/// Returns an error if the interpreter refuses the module.
pub fn run(engine: &Engine, wasm: &[u8], drive: &Drive) -> Result<Ran, String> {
    let module = Module::new(engine, wasm).map_err(|e| format!("not accepted: {e}"))?;
    let mut store = Store::new(engine, Host::default());
    let imports = imports(&mut store, &module).map_err(|e| format!("imports: {e}"))?;
    let mut outcome = Outcome::default();
    let instance = match Instance::new(&mut store, &module, &imports) {
        Ok(instance) => instance,
        Err(e) => {
            outcome.refused = Some(stop(&e));
            return Ok(Ran { outcome, counters: Vec::new(), region: None });
        }
    };
    for call in &drive.calls {
        if let Some(global) = instance.get_global(&store, FUEL) {
            global.set(&mut store, Val::I32(drive.fuel)).expect("fuel is a variable i32");
        }
        outcome.calls.push(make(&mut store, instance, call));
    }
    outcome.host = (store.data().calls, store.data().hash);
    let exports: Vec<(String, Extern)> = instance
        .exports(&store)
        .map(|e| (e.name().to_string(), e.into_extern()))
        .filter(|(name, _)| !is_ours(name))
        .collect();
    let states = exports.into_iter().filter_map(|(name, item)| Some((name, state(&store, &item)?)));
    outcome.exports = states.collect();
    let counters = counters(&store, instance);
    let region = region(&mut store, instance);
    Ok(Ran { outcome, counters, region })
}

fn region(store: &mut Store<Host>, instance: Instance) -> Option<Vec<u8>> {
    let flush = instance.get_typed_func::<(), i32>(&*store, wprof_instrument::FLUSH).ok()?;
    let base = flush.call(&mut *store, ()).expect("it only stores into its own memory");
    let memory = instance.get_memory(&*store, wprof_instrument::COUNTERS).expect("exported");
    Some(memory.data(&*store)[base as u32 as usize..].to_vec())
}

fn counters(store: &Store<Host>, instance: Instance) -> Vec<u64> {
    let counter =
        |k| instance.get_global(store, &counter_name(k))?.get(store).i64().map(|count| count as u64);
    (0..).map_while(counter).collect()
}

fn make(store: &mut Store<Host>, instance: Instance, call: &Call) -> Result<Vec<Value>, Stop> {
    let func = instance.get_func(&*store, &call.name).expect("exported");
    let args: Vec<Val> = call.args.iter().map(|&arg| to_val(&mut *store, arg)).collect();
    let mut results = vec![Val::I32(0); func.ty(&*store).results().len()];
    let names = [wprof_instrument::CURRENT, wprof_instrument::SLOT];
    let before = called_from(&*store, names.map(|name| instance.get_global(&*store, name)));
    let called = func.call(&mut *store, &args, &mut results);
    if called.is_err() {
        put_back(&mut *store, before);
    }
    called.map_err(|e| stop(&e))?;
    if let Some(pending) = instance.get_global(&*store, lowered::PENDING_NAME)
        && pending.get(&*store).i32() != Some(0)
    {
        pending.set(&mut *store, Val::I32(0)).expect("a variable i32");
        return Err(Stop::Uncaught);
    }
    Ok(results.iter().map(|result| from_val(&*store, result)).collect())
}

/// The variables of an instrumented module that say from where the host calls, with their values.
type CalledFrom = [Option<(Global, Val)>; 2];

fn called_from(store: impl wasmi::AsContext, globals: [Option<Global>; 2]) -> CalledFrom {
    globals.map(|global| global.map(|global| (global, global.get(&store))))
}

/// Does what a host does that goes on after an error which has passed through wasm code.
fn put_back(mut store: impl wasmi::AsContextMut, from: CalledFrom) {
    for (global, value) in from.into_iter().flatten() {
        global.set(&mut store, value).expect("a variable of the value's type");
    }
}

fn imports(store: &mut Store<Host>, module: &Module) -> Result<Vec<Extern>, Error> {
    let mut imports = Vec::new();
    let mut globals = 0;
    let heap = Arc::default();
    for import in module.imports() {
        imports.push(match import.ty() {
            ExternType::Func(ty) if import.module() == lowered::MODULE => {
                helper(store, import.name(), ty.clone(), &heap).into()
            }
            ExternType::Func(ty) => host_function(store, import.name(), ty.clone()).into(),
            ExternType::Global(ty) => {
                globals += 1;
                let value = to_val(&mut *store, imported_value(globals, parser_type(ty.content())));
                Global::new(&mut *store, value, ty.mutability()).into()
            }
            ExternType::Memory(ty) => Memory::new(&mut *store, *ty)?.into(),
            ExternType::Table(ty) => Table::new(&mut *store, *ty, Val::default(ty.element()))?.into(),
        });
    }
    Ok(imports)
}

fn host_function(store: &mut Store<Host>, name: &str, ty: FuncType) -> Func {
    let name = name.to_string();
    let types: Vec<_> = ty.results().iter().map(|&ty| parser_type(ty)).collect();
    Func::new(store, ty, move |mut caller: Caller<'_, Host>, args, results| {
        let args: Vec<Value> = args.iter().map(|arg| from_val(&caller, arg)).collect();
        match caller.data_mut().call(&name, &args, &types) {
            Answer::Exit(code) => Err(Error::i32_exit(code)),
            Answer::Return(values) => {
                for (result, value) in results.iter_mut().zip(values) {
                    *result = to_val(&mut caller, value);
                }
                Ok(())
            }
            Answer::Enter { entry, argument, forgive } => {
                let Some(func) = caller.get_export(entry).and_then(Extern::into_func) else { return Ok(()) };
                let names = [wprof_instrument::CURRENT, wprof_instrument::SLOT];
                let globals = names.map(|name| caller.get_export(name)?.into_global());
                let before = called_from(&caller, globals);
                match func.call(&mut caller, &[Val::I32(argument)], results) {
                    Err(_) if forgive => {
                        put_back(&mut caller, before);
                        results[0] = Val::I32(-1);
                    }
                    other => other?,
                }
                let pending = caller.get_export(lowered::PENDING_NAME).and_then(Extern::into_global);
                if let Some(pending) = pending.filter(|_| forgive)
                    && pending.get(&caller).i32() != Some(0)
                {
                    pending.set(&mut caller, Val::I32(0))?;
                    results[0] = Val::I32(-1);
                }
                Ok(())
            }
        }
    })
}

/// The trap of a helper.
#[derive(Debug)]
struct HelperTrap(Trap);

impl fmt::Display for HelperTrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl HostError for HelperTrap {}

/// Returns a host function that performs a lowered instruction.
fn helper(store: &mut Store<Host>, name: &str, ty: FuncType, heap: &Arc<Mutex<Heap>>) -> Func {
    let action: &'static Action =
        &HELPERS.iter().find(|helper| helper.to_string() == name).expect("it is in the list").action;
    let heap = heap.clone();
    Func::new(store, ty, move |mut caller: Caller<'_, Host>, args, results| {
        let args: Vec<Value> = args.iter().map(|arg| from_val(&caller, arg)).collect();
        if let Action::Atomic(atomic) = action {
            let name = ["memory", "memory64"][atomic.memory as usize];
            let memory = caller.get_export(name).and_then(Extern::into_memory).expect("exported");
            let result = atomics::act(*atomic, memory.data_mut(&mut caller), &args);
            if let Some(value) = result.map_err(|trap| Error::host(HelperTrap(trap)))? {
                results[0] = to_val(caller, value);
            }
            return Ok(());
        }
        let result = heap.lock().expect("no panic while held").act(action, &args);
        if let Some(value) = result.map_err(|trap| Error::host(HelperTrap(trap)))? {
            results[0] = to_val(caller, value);
        }
        Ok(())
    })
}

fn state(store: &Store<Host>, item: &Extern) -> Option<State> {
    Some(match item {
        Extern::Func(_) => return None,
        Extern::Global(global) => State::Global(from_val(store, &global.get(store))),
        Extern::Memory(memory) => State::Memory(memory.data(store).to_vec()),
        Extern::Table(table) => {
            let elements = (0..table.size(store)).map_while(|i| table.get(store, i));
            State::Table(elements.map(|element| from_val(store, &element)).collect())
        }
    })
}

fn stop(error: &Error) -> Stop {
    use TrapCode as T;
    if let Some(code) = error.i32_exit_status() {
        return Stop::Exit(code);
    }
    if let Some(HelperTrap(trap)) = error.downcast_ref() {
        return Stop::Trap(*trap);
    }
    Stop::Trap(match error.as_trap_code() {
        Some(T::UnreachableCodeReached) => Trap::Unreachable,
        Some(T::MemoryOutOfBounds) => Trap::MemoryOutOfBounds,
        Some(T::TableOutOfBounds) => Trap::TableOutOfBounds,
        Some(T::IndirectCallToNull) => Trap::NullFunction,
        Some(T::BadSignature) => Trap::BadSignature,
        Some(T::IntegerDivisionByZero) => Trap::DivisionByZero,
        Some(T::IntegerOverflow) => Trap::IntegerOverflow,
        Some(T::BadConversionToInteger) => Trap::BadConversion,
        Some(T::StackOverflow) => Trap::StackOverflow,
        // wasmi has no trap code for this table access only.
        None if matches!(error.kind(), ErrorKind::Table(TableError::CopyOutOfBounds)) => {
            Trap::TableOutOfBounds
        }
        _ => return Stop::Other(error.to_string()),
    })
}

fn to_val(store: impl wasmi::AsContextMut, value: Value) -> Val {
    match value {
        Value::I32(v) => Val::I32(v),
        Value::I64(v) => Val::I64(v),
        Value::F32(bits) => Val::F32(F32::from_bits(bits)),
        Value::F64(bits) => Val::F64(F64::from_bits(bits)),
        Value::V128(v) => Val::V128(V128::from(v)),
        Value::Func(_) => Val::FuncRef(Ref::Null),
        Value::Extern(None) => Val::ExternRef(Ref::Null),
        Value::Extern(Some(value)) => Val::ExternRef(ExternRef::new(store, value).into()),
    }
}

fn from_val<T: 'static>(store: impl wasmi::AsContext<Data = T>, val: &Val) -> Value {
    match val {
        Val::I32(v) => Value::I32(*v),
        Val::I64(v) => Value::I64(*v),
        Val::F32(v) => Value::F32(v.to_bits()),
        Val::F64(v) => Value::F64(v.to_bits()),
        Val::V128(v) => Value::V128(v.as_u128()),
        Val::FuncRef(f) => Value::Func(!f.is_null()),
        Val::ExternRef(e) => {
            let number = |e: &ExternRef| e.data(store.as_context()).downcast_ref::<u32>().copied();
            Value::Extern(e.val().and_then(number))
        }
    }
    .canonical()
}

fn parser_type(ty: ValType) -> wasmparser::ValType {
    match ty {
        ValType::I32 => wasmparser::ValType::I32,
        ValType::I64 => wasmparser::ValType::I64,
        ValType::F32 => wasmparser::ValType::F32,
        ValType::F64 => wasmparser::ValType::F64,
        ValType::V128 => wasmparser::ValType::V128,
        ValType::FuncRef => wasmparser::ValType::FUNCREF,
        ValType::ExternRef => wasmparser::ValType::EXTERNREF,
    }
}
