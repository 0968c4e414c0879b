//! Runs of generated modules in the engine under test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wprof::{
    AsContext, AsContextMut, Caller, Engine, Error, ErrorKind, Exit, Extern, ExternRef, ExternType, FuncType,
    Global, HeapType, Instance, Linker, Memory, Module, Ref, Reoptimization, Store, Table, Tag, Val, ValType,
    VectorizedLoop, event_count,
};
use wprof_profiler::{Callee, Profile};

use crate::drive::{Call, Drive, imported_value, is_ours};
use crate::fuel::FUEL;
use crate::host::{Answer, Host};
use crate::oracle::counter_name;
use crate::outcome::{Outcome, State, Stop, Trap, Value};
use crate::recorded::Recorded;
use crate::shadow::{HostLog, HostName};

/// A finished run of an instance.
#[derive(Debug)]
pub struct Ran {
    /// The state that the run left.
    pub outcome: Outcome,
    /// Its trace, if the engine traces.
    pub trace: Option<Vec<u8>>,
    /// The places where its calls trapped.
    pub places: Vec<Place>,
    store: Store<Host>,
    instance: Option<Instance>,
    log: Arc<Mutex<HostLog>>,
}

/// Runs `wasm` with the calls of `drive`.
///
/// # Errors
/// Returns an error if the engine refuses the module.
pub fn run(engine: &Engine, wasm: &[u8], drive: &Drive) -> Result<Ran, String> {
    run_fueled(engine, wasm, drive, 0)
}

/// Runs `wasm` as [`run`] does, with `fuel` units for each call if the code consumes fuel.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_fueled(engine: &Engine, wasm: &[u8], drive: &Drive, fuel: u64) -> Result<Ran, String> {
    let module = Module::new(engine, wasm).map_err(|e| format!("not accepted: {e}"))?;
    let mut store = Store::new(engine, Host::default());
    // A budget is used up all the time, and refilled.
    if engine.config().meters("instructions") {
        store.set_budget("instructions", 5).map_err(|e| e.to_string())?;
        store.on_out_of_budget(|_, _| Some(3));
    }
    if engine.config().meters("fuel") {
        store.set_fuel(fuel).map_err(|e| e.to_string())?;
    }
    let log = Arc::default();
    let imports = imports(&mut store, &module, &log);
    let trace = Recorded::start(&mut store, &module)?;
    let mut outcome = Outcome::default();
    // The host cannot provide a value for some types.
    let instance = match imports.and_then(|imports| Instance::new(&mut store, &module, &imports)) {
        Ok(instance) => instance,
        Err(e) => {
            outcome.refused = Some(stop(&e));
            let trace = trace.finish(&mut store)?;
            return Ok(Ran { outcome, trace, places: Vec::new(), store, instance: None, log });
        }
    };
    let mut places = Vec::new();
    for call in &drive.calls {
        refuel(&mut store, instance, drive.fuel);
        if engine.config().meters("fuel") {
            store.set_fuel(fuel).map_err(|e| e.to_string())?;
        }
        let made = make(&mut store, instance, call);
        places.push(made.as_ref().err().map(place).unwrap_or_default());
        outcome.calls.push(made.map_err(|error| stop(&error)));
    }
    outcome.host = (store.data().calls, store.data().hash);
    outcome.exports = exports(&mut store, instance);
    let trace = trace.finish(&mut store)?;
    Ok(Ran { outcome, trace, places, store, instance: Some(instance), log })
}

/// The frames in which a call stopped, innermost first, as function indices and byte offsets in the module; empty if
/// the call returned.
pub type Place = Vec<(u32, usize)>;

fn place(error: &Error) -> Place {
    let frames = error.backtrace().map(|backtrace| backtrace.frames()).unwrap_or_default();
    frames.iter().map(|frame| (frame.func_index(), frame.module_offset())).collect()
}

/// How often each block of each compiled function was entered, by function index.
pub type BlockCounts = Vec<(u32, Vec<u64>)>;

impl Ran {
    /// Returns the log of the reoptimizer.
    pub fn reoptimizations(&self) -> Vec<Reoptimization> {
        self.instance.map_or_else(Vec::new, |instance| instance.module(&self.store).reoptimizations())
    }

    /// Returns the loops that optimised code may do in vectors.
    pub fn vectorized_loops(&self) -> Vec<VectorizedLoop> {
        self.instance.map_or_else(Vec::new, |instance| instance.module(&self.store).vectorized_loops())
    }

    /// Stores the code of the module in the code cache, if there is one.
    ///
    /// # Errors
    /// Returns an error if the operating system reports an error.
    pub fn keep_code(&self) -> Result<(), String> {
        let Some(instance) = self.instance else { return Ok(()) };
        instance.module(&self.store).update_code_cache().map(drop).map_err(|e| e.to_string())
    }

    /// Returns the number of counted events of a kind; 0 if this kind is not counted.
    pub fn events(&self, kind: &str) -> u64 {
        event_count(&self.store, kind).unwrap_or(0)
    }

    /// Returns the profile, if the engine counts and there is an instance.
    pub fn profile(&self) -> Option<Result<Profile, Error>> {
        let profile = self.instance?.profile(&self.store);
        Some(profile.and_then(|profile| {
            if counts_both(&self.store) {
                same_instructions(&self.store, &profile)?;
            }
            Ok(profile)
        }))
    }

    /// Returns the log of host functions that were called.
    pub fn host_log(&self) -> HostLog {
        self.log.lock().expect("no panic while held").clone()
    }

    /// Returns the block counts, if the engine counts and there is an instance.
    pub fn block_counts(&self) -> Option<Result<BlockCounts, Error>> {
        Some(self.instance?.block_counts(&self.store))
    }

    /// Returns the memory of an instrumented module, from the start of its counters.
    pub fn region(&mut self) -> Option<Vec<u8>> {
        region(&mut self.store, self.instance?)
    }

    /// Returns the counters of a self-counting module.
    pub fn counters(&mut self) -> Vec<u64> {
        let Some(instance) = self.instance else { return Vec::new() };
        counters(&mut self.store, instance)
    }
}

/// Returns the memory of an instrumented module, from the start of its counters.
pub fn region(mut store: impl AsContextMut, instance: Instance) -> Option<Vec<u8>> {
    let flush = instance.get_typed_func::<(), u32>(&mut store, wprof_instrument::FLUSH).ok()?;
    let base = flush.call(&mut store, ()).expect("it only stores into its own memory");
    let memory = instance.get_memory(&mut store, wprof_instrument::COUNTERS).expect("exported");
    // It may be shared: then it has no slice.
    let mut region = vec![0; memory.data_size(&store) - base as usize];
    memory.read(&store, base as usize, &mut region).expect("within the memory");
    Some(region)
}

/// Returns the counters of a self-counting module.
pub fn counters(mut store: impl AsContextMut, instance: Instance) -> Vec<u64> {
    let counter = |k| {
        let global = instance.get_global(&mut store, &counter_name(k))?;
        global.get(&mut store).i64().map(|count| count as u64)
    };
    (0..).map_while(counter).collect()
}

/// Reports whether instructions are counted and there is an edge profile to compare with.
fn counts_both(store: impl AsContext) -> bool {
    let config = store.as_context().engine().config();
    config.profiles() && config.counts("instructions")
}

/// Checks that the count of executed instructions equals that of the profile.
///
/// # Errors
/// Returns an error if the counts differ, or if instructions are not counted.
pub fn same_instructions(store: impl AsContext, profile: &Profile) -> Result<(), Error> {
    let counted = event_count(store, "instructions")?;
    match profile.ops() {
        ops if ops == counted => same_instructions_in_contexts(profile),
        ops => {
            Err(Error::msg(format_args!("{counted} instructions were counted, and the profile has {ops}")))
        }
    }
}

/// Checks that the call records of each function add up to its instructions, if these were counted in contexts.
fn same_instructions_in_contexts(profile: &Profile) -> Result<(), Error> {
    let Some(tree) = &profile.contexts else { return Ok(()) };
    let Some(own) = tree.instructions() else { return Ok(()) };
    for function in &profile.functions {
        let is_its = |record: u32| matches!(tree.callee(record), Callee::Function { index, .. } if *index == function.index);
        let records = (0..).zip(&own).filter(|(record, _)| is_its(*record));
        let (in_records, ops) = (records.map(|(_, own)| own).sum::<u64>(), function.ops());
        if in_records != ops {
            let index = function.index;
            return Err(Error::msg(format_args!(
                "function {index}: {in_records} instructions in call records, {ops} by edges"
            )));
        }
    }
    Ok(())
}

fn refuel(store: &mut Store<Host>, instance: Instance, fuel: i32) {
    if let Some(global) = instance.get_global(&mut *store, FUEL) {
        global.set(store, Val::I32(fuel)).expect("fuel is a variable i32");
    }
}

fn make(store: &mut Store<Host>, instance: Instance, call: &Call) -> Result<Vec<Value>, Error> {
    let func = instance.get_func(&mut *store, &call.name).expect("exported");
    let ty = func.ty(&*store);
    let args: Vec<Val> = call.args.iter().zip(ty.params()).map(|(&arg, ty)| to_val(arg, &ty)).collect();
    let mut results = vec![Val::I32(0); ty.results().len()];
    let before = called_from(&mut *store, |store, name| instance.get_global(store, name));
    let called = func.call(&mut *store, &args, &mut results);
    if called.is_err() {
        put_back(&mut *store, before);
    }
    called?;
    Ok(results.iter().map(from_val).collect())
}

/// The variables of an instrumented module that say from where the host calls, with their values.
type CalledFrom = [Option<(Global, Val)>; 2];

fn called_from<S: AsContextMut>(mut store: S, get: impl Fn(&mut S, &str) -> Option<Global>) -> CalledFrom {
    [wprof_instrument::CURRENT, wprof_instrument::SLOT].map(|name| {
        let global = get(&mut store, name)?;
        Some((global, global.get(&mut store)))
    })
}

/// Does what a host does that goes on after an error which has passed through wasm code.
fn put_back(mut store: impl AsContextMut, from: CalledFrom) {
    for (global, value) in from.into_iter().flatten() {
        global.set(&mut store, value).expect("a variable of the value's type");
    }
}

fn imports(
    store: &mut Store<Host>,
    module: &Module,
    log: &Arc<Mutex<HostLog>>,
) -> Result<Vec<Extern>, Error> {
    let mut imports = Vec::new();
    let mut globals = 0;
    for import in module.imports() {
        imports.push(match import.ty() {
            ExternType::Func(ty) => {
                let name = (import.module().to_string(), import.name().to_string());
                host_function(store, name, ty, log.clone())?
            }
            ExternType::Global(ty) => {
                globals += 1;
                let value = to_val(imported_value(globals, parser_type(&ty.content)), &ty.content);
                Global::new(&mut *store, ty, value)?.into()
            }
            ExternType::Memory(ty) => Memory::new(&mut *store, ty)?.into(),
            ExternType::Table(ty) => {
                let null = Ref::null(&ty.element);
                Table::new(&mut *store, ty, null)?.into()
            }
            ExternType::Tag(ty) => Tag::new(&mut *store, &ty).into(),
        });
    }
    Ok(imports)
}

/// Defines a host function. Profiles count host functions by name, and names come from linkers. A module may import
/// one name several times with different types, so each import has its own linker.
fn host_function(
    store: &mut Store<Host>,
    name: HostName,
    ty: FuncType,
    log: Arc<Mutex<HostLog>>,
) -> Result<Extern, Error> {
    let mut linker = Linker::new(store.engine());
    let own: Vec<ValType> = ty.results().collect();
    let types: Vec<_> = own.iter().map(parser_type).collect();
    let (module, called) = name.clone();
    let noted = name.clone();
    linker.func_new(&module, &name.1, ty, move |mut caller: Caller<'_, Host>, args, results| {
        note(&log, &noted, caller.instance().is_some());
        if caller.data().calls.is_multiple_of(8)
            && counts_both(&caller)
            && let Some(instance) = caller.instance()
            && let Ok(profile) = instance.profile(&caller)
        {
            same_instructions(&caller, &profile)?;
        }
        let args: Vec<Value> = args.iter().map(from_val).collect();
        match caller.data_mut().call(&called, &args, &types) {
            Answer::Exit(code) => Err(Exit(code).into()),
            Answer::Return(values) => {
                let values = values.into_iter().zip(&own).map(|(value, ty)| to_val(value, ty));
                results.iter_mut().zip(values).for_each(|(result, value)| *result = value);
                Ok(())
            }
            Answer::Enter { entry, argument, forgive } => {
                let Some(func) = caller.get_export(entry).and_then(Extern::into_func) else { return Ok(()) };
                let before = called_from(&mut caller, |caller, name| caller.get_export(name)?.into_global());
                match func.call(&mut caller, &[Val::I32(argument)], results) {
                    Err(_) if forgive => {
                        put_back(&mut caller, before);
                        results[0] = Val::I32(-1);
                    }
                    other => other?,
                }
                Ok(())
            }
        }
    })?;
    Ok(linker.get(store, &module, &name.1).expect("just defined"))
}

fn note(log: &Mutex<HostLog>, name: &HostName, by_wasm: bool) {
    let mut log = log.lock().expect("no panic while held");
    match by_wasm {
        true => log.from_wasm.push_back(name.clone()),
        false => log.from_host.push(name.clone()),
    }
}

fn exports(store: &mut Store<Host>, instance: Instance) -> BTreeMap<String, State> {
    let all: Vec<_> = instance.exports(&*store).map(|e| (e.name().to_string(), e.into_extern())).collect();
    let own = all.into_iter().filter(|(name, _)| !is_ours(name));
    own.filter_map(|(name, item)| Some((name, state(store, item)?))).collect()
}

fn state(store: &mut Store<Host>, item: Extern) -> Option<State> {
    Some(match item {
        Extern::Func(_) | Extern::Tag(_) => return None,
        Extern::Global(global) => State::Global(from_val(&global.get(store))),
        Extern::Memory(memory) => {
            // Shared memories can only be copied.
            let mut bytes = vec![0; memory.data_size(&*store)];
            memory.read(&*store, 0, &mut bytes).expect("all of it");
            State::Memory(bytes)
        }
        Extern::Table(table) => {
            let elements = (0..table.size(&*store)).map_while(|i| table.get(&mut *store, i));
            State::Table(elements.map(|element| from_val(&element.into())).collect())
        }
    })
}

/// Returns the reason why a call in our engine failed.
pub fn stop(error: &Error) -> Stop {
    use wprof::Trap as T;
    if let Some(code) = error.i32_exit() {
        return Stop::Exit(code);
    }
    if error.exception().is_some() {
        return Stop::Uncaught;
    }
    let trap = error.trap().filter(|_| error.kind() == ErrorKind::Trap);
    Stop::Trap(match trap {
        Some(T::UnreachableCodeReached) => Trap::Unreachable,
        Some(T::MemoryOutOfBounds) => Trap::MemoryOutOfBounds,
        Some(T::TableOutOfBounds) => Trap::TableOutOfBounds,
        Some(T::IndirectCallToNull) => Trap::NullFunction,
        Some(T::BadSignature) => Trap::BadSignature,
        Some(T::IntegerDivisionByZero) => Trap::DivisionByZero,
        Some(T::IntegerOverflow) => Trap::IntegerOverflow,
        Some(T::BadConversionToInteger) => Trap::BadConversion,
        Some(T::StackOverflow) => Trap::StackOverflow,
        Some(T::NullReference) => Trap::NullReference,
        Some(T::CastFailure) => Trap::CastFailure,
        Some(T::ArrayOutOfBounds) => Trap::ArrayOutOfBounds,
        Some(T::GcOutOfMemory) => Trap::OutOfHeap,
        Some(T::UnalignedAtomic) => Trap::UnalignedAtomic,
        _ => return Stop::Other(error.to_string()),
    })
}

/// Reports whether null is the only value of a type.
fn is_bottom(ty: &ValType) -> bool {
    matches!(ty, ValType::Ref(ty) if matches!(ty.heap_type(), HeapType::NoExtern))
}

fn to_val(value: Value, ty: &ValType) -> Val {
    match value {
        Value::I32(v) => Val::I32(v),
        Value::I64(v) => Val::I64(v),
        Value::F32(bits) => Val::F32(bits),
        Value::F64(bits) => Val::F64(bits),
        Value::V128(v) => Val::V128(v),
        // The host has no such value.
        Value::Func(_) | Value::Extern(None) => match ty {
            ValType::Ref(ty) => Ref::null(ty).into(),
            _ => Val::FuncRef(None),
        },
        Value::Extern(Some(_)) if is_bottom(ty) => Val::ExternRef(None),
        Value::Extern(Some(value)) => Val::from(ExternRef::new(value)),
    }
}

fn from_val(val: &Val) -> Value {
    match val {
        Val::I32(v) => Value::I32(*v),
        Val::I64(v) => Value::I64(*v),
        Val::F32(bits) => Value::F32(*bits),
        Val::F64(bits) => Value::F64(*bits),
        Val::V128(v) => Value::V128(*v),
        Val::FuncRef(f) => Value::Func(f.is_some()),
        Val::ExternRef(e) => Value::Extern(e.as_ref().and_then(|e| e.downcast_ref::<u32>()).copied()),
        Val::ExnRef(e) => Value::Func(e.is_some()),
        Val::AnyRef(a) => Value::Func(a.is_some()),
    }
    .canonical()
}

fn parser_type(ty: &ValType) -> wasmparser::ValType {
    match ty {
        ValType::I32 => wasmparser::ValType::I32,
        ValType::I64 => wasmparser::ValType::I64,
        ValType::F32 => wasmparser::ValType::F32,
        ValType::F64 => wasmparser::ValType::F64,
        ValType::V128 => wasmparser::ValType::V128,
        ValType::Ref(ty) => wasmparser::ValType::Ref(match ty.heap_type().top() {
            HeapType::Extern => wasmparser::RefType::EXTERNREF,
            HeapType::Exn => wasmparser::RefType::EXNREF,
            HeapType::Any => wasmparser::RefType::ANYREF,
            _ => wasmparser::RefType::FUNCREF,
        }),
    }
}
