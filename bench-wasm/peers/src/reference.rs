//! Runs of generated modules in Wasmtime, which runs what the interpreter wasmi does not: exceptions, function
//! references, objects, atomics and shared memories.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use wasmtime::{
    Caller, Config, Engine, Error, Extern, ExternRef, ExternType, Func, FuncType, GcHeapOutOfMemory, Global,
    HeapType, Instance, Memory, Module, Ref, SharedMemory, Store, StoreLimits, StoreLimitsBuilder, Table,
    Tag, ThrownException, Trap as T, V128, Val, ValType,
};
use wprof_spec_tests::drive::{Call, Drive, imported_value, is_ours};
use wprof_spec_tests::fuel::FUEL;
use wprof_spec_tests::host::{Answer, Host};
use wprof_spec_tests::outcome::{Outcome, State, Stop, Trap, Value};

/// What a store may take for memories and objects, in bytes.
const MEMORY: usize = 64 << 20;

/// The end of a program that the host has ended.
#[derive(Debug)]
struct Exit(i32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit with code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// What a store holds.
struct Data {
    host: Host,
    limits: StoreLimits,
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config.wasm_function_references(true).wasm_gc(true).wasm_exceptions(true).shared_memory(true);
    // The stacks of checks are large.
    config.max_wasm_stack(64 << 20).async_stack_size(65 << 20);
    Engine::new(&config).expect("a machine on which Wasmtime runs")
});

/// Runs `wasm` with the calls of `drive`.
///
/// # Errors
/// Returns an error if Wasmtime refuses the module.
pub fn run(wasm: &[u8], drive: &Drive) -> Result<Outcome, String> {
    let module = Module::new(&ENGINE, wasm).map_err(|e| format!("not accepted: {e:?}"))?;
    let limits = StoreLimitsBuilder::new().memory_size(MEMORY).build();
    let mut store = Store::new(&ENGINE, Data { host: Host::default(), limits });
    store.limiter(|data| &mut data.limits);
    let mut outcome = Outcome::default();
    // The host cannot provide a value for some types.
    let imports = imports(&mut store, &module);
    let instance = match imports.and_then(|imports| Instance::new(&mut store, &module, &imports)) {
        Ok(instance) => instance,
        Err(error) => {
            outcome.refused = Some(stop(&error));
            return Ok(outcome);
        }
    };
    for call in &drive.calls {
        if let Some(global) = instance.get_global(&mut store, FUEL) {
            global.set(&mut store, Val::I32(drive.fuel)).expect("fuel is a variable i32");
        }
        let made = make(&mut store, instance, call);
        store.take_pending_exception();
        outcome.calls.push(made.map_err(|error| stop(&error)));
    }
    outcome.host = (store.data().host.calls, store.data().host.hash);
    outcome.exports = exports(&mut store, instance);
    Ok(outcome)
}

fn make(store: &mut Store<Data>, instance: Instance, call: &Call) -> Result<Vec<Value>, Error> {
    let func = instance.get_func(&mut *store, &call.name).expect("exported");
    let ty = func.ty(&*store);
    let mut args = Vec::new();
    for (&arg, ty) in call.args.iter().zip(ty.params()) {
        args.push(to_val(&mut *store, arg, &ty)?);
    }
    let mut results = vec![Val::I32(0); ty.results().len()];
    func.call(&mut *store, &args, &mut results)?;
    results.iter().map(|result| from_val(&*store, result)).collect()
}

fn imports(store: &mut Store<Data>, module: &Module) -> Result<Vec<Extern>, Error> {
    let mut imports = Vec::new();
    let mut globals = 0;
    for import in module.imports() {
        imports.push(match import.ty() {
            ExternType::Func(ty) => host_function(store, import.name(), ty).into(),
            ExternType::Global(ty) => {
                globals += 1;
                let value = imported_value(globals, parser_type(ty.content()));
                let value = to_val(&mut *store, value, ty.content())?;
                Global::new(&mut *store, ty, value)?.into()
            }
            ExternType::Memory(ty) if ty.is_shared() => SharedMemory::new(&ENGINE, ty)?.into(),
            ExternType::Memory(ty) => Memory::new(&mut *store, ty)?.into(),
            ExternType::Table(ty) => {
                let null = Ref::null(ty.element().heap_type());
                Table::new(&mut *store, ty, null)?.into()
            }
            ExternType::Tag(ty) => Tag::new(&mut *store, &ty)?.into(),
        });
    }
    Ok(imports)
}

fn host_function(store: &mut Store<Data>, name: &str, ty: FuncType) -> Func {
    let name = name.to_string();
    let own: Vec<ValType> = ty.results().collect();
    let types: Vec<_> = own.iter().map(parser_type).collect();
    Func::new(store, ty, move |mut caller: Caller<'_, Data>, args, results| {
        let args = args.iter().map(|arg| from_val(&caller, arg)).collect::<Result<Vec<_>, _>>()?;
        match caller.data_mut().host.call(&name, &args, &types) {
            Answer::Exit(code) => Err(Error::from(Exit(code))),
            Answer::Return(values) => {
                for ((result, value), ty) in results.iter_mut().zip(values).zip(&own) {
                    *result = to_val(&mut caller, value, ty)?;
                }
                Ok(())
            }
            Answer::Enter { entry, argument, forgive } => {
                let Some(func) = caller.get_export(entry).and_then(Extern::into_func) else { return Ok(()) };
                let called = func.call(&mut caller, &[Val::I32(argument)], results);
                if called.is_err() && forgive {
                    wasmtime::AsContextMut::as_context_mut(&mut caller).take_pending_exception();
                    results[0] = Val::I32(-1);
                    return Ok(());
                }
                called
            }
        }
    })
}

fn exports(store: &mut Store<Data>, instance: Instance) -> BTreeMap<String, State> {
    let all: Vec<_> =
        instance.exports(&mut *store).map(|e| (e.name().to_string(), e.into_extern())).collect();
    let own = all.into_iter().filter(|(name, _)| !is_ours(name));
    own.filter_map(|(name, item)| Some((name, state(store, item)?))).collect()
}

fn state(store: &mut Store<Data>, item: Extern) -> Option<State> {
    Some(match item {
        Extern::Func(_) | Extern::Tag(_) => return None,
        Extern::Global(global) => {
            let value = global.get(&mut *store);
            State::Global(from_val(&*store, &value).expect("a rooted value"))
        }
        Extern::Memory(memory) => State::Memory(memory.data(&*store).to_vec()),
        Extern::SharedMemory(memory) => {
            // SAFETY: the program has ended, and has no other threads.
            State::Memory(memory.data().iter().map(|byte| unsafe { *byte.get() }).collect())
        }
        Extern::Table(table) => {
            let elements: Vec<_> =
                (0..table.size(&*store)).map_while(|at| table.get(&mut *store, at)).collect();
            let value = |element: Ref| from_val(&*store, &element.into()).expect("a rooted value");
            State::Table(elements.into_iter().map(value).collect())
        }
    })
}

fn stop(error: &Error) -> Stop {
    if let Some(Exit(code)) = error.downcast_ref() {
        return Stop::Exit(*code);
    }
    if error.is::<ThrownException>() {
        return Stop::Uncaught;
    }
    if error.is::<GcHeapOutOfMemory<()>>() {
        return Stop::Trap(Trap::OutOfHeap);
    }
    Stop::Trap(match error.downcast_ref() {
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
        Some(T::AllocationTooLarge) => Trap::OutOfHeap,
        Some(T::HeapMisaligned) => Trap::UnalignedAtomic,
        _ => return Stop::Other(format!("{error:?}")),
    })
}

fn to_val(store: impl wasmtime::AsContextMut, value: Value, ty: &ValType) -> Result<Val, Error> {
    let is_bottom = matches!(ty, ValType::Ref(ty) if matches!(ty.heap_type(), HeapType::NoExtern));
    Ok(match value {
        Value::I32(v) => Val::I32(v),
        Value::I64(v) => Val::I64(v),
        Value::F32(bits) => Val::F32(bits),
        Value::F64(bits) => Val::F64(bits),
        Value::V128(v) => Val::V128(V128::from(v)),
        Value::Func(_) | Value::Extern(None) => match ty {
            ValType::Ref(ty) => Ref::null(ty.heap_type()).into(),
            _ => Val::FuncRef(None),
        },
        Value::Extern(Some(_)) if is_bottom => Val::ExternRef(None),
        Value::Extern(Some(value)) => Val::ExternRef(Some(ExternRef::new(store, value)?)),
    })
}

fn from_val(store: impl wasmtime::AsContext, val: &Val) -> Result<Value, Error> {
    let value = match val {
        Val::I32(v) => Value::I32(*v),
        Val::I64(v) => Value::I64(*v),
        Val::F32(bits) => Value::F32(*bits),
        Val::F64(bits) => Value::F64(*bits),
        Val::V128(v) => Value::V128(v.as_u128()),
        Val::FuncRef(f) => Value::Func(f.is_some()),
        Val::ExternRef(None) => Value::Extern(None),
        Val::ExternRef(Some(e)) => {
            let data = e.data(store.as_context())?;
            Value::Extern(data.and_then(|data| data.downcast_ref::<u32>()).copied())
        }
        Val::AnyRef(a) => Value::Func(a.is_some()),
        Val::ExnRef(e) => Value::Func(e.is_some()),
        Val::ContRef(c) => Value::Func(c.is_some()),
    };
    Ok(value.canonical())
}

fn parser_type(ty: &ValType) -> wasmparser::ValType {
    use wasmparser::RefType;
    match ty {
        ValType::I32 => wasmparser::ValType::I32,
        ValType::I64 => wasmparser::ValType::I64,
        ValType::F32 => wasmparser::ValType::F32,
        ValType::F64 => wasmparser::ValType::F64,
        ValType::V128 => wasmparser::ValType::V128,
        ValType::Ref(ty) => wasmparser::ValType::Ref(match ty.heap_type().top() {
            HeapType::Extern => RefType::EXTERNREF,
            HeapType::Exn => RefType::EXNREF,
            HeapType::Any => RefType::ANYREF,
            _ => RefType::FUNCREF,
        }),
    }
}
