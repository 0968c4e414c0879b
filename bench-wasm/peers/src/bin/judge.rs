//! `judge`: runs generated modules in Wasmtime, for who compares with it from another process.
//!
//! See `spec-tests/src/engines/judge.rs` for what it reads and writes. References to host values are not among what it
//! runs: Wasmtime is built without a garbage collector here.

use std::io::{BufRead, Write};
use std::path::Path;

use wasmtime::{
    Caller, Config, Engine, Error, Extern, ExternType, Func, FuncType, Instance, Module, Ref, Result, Store,
    Trap as T, Val, ValType,
};
use wprof_spec_tests::drive::{Call, Drive};
use wprof_spec_tests::host::{Answer, Host};
use wprof_spec_tests::outcome::{Outcome, State, Stop, Trap, Value};

/// More than any case consumes.
const TANK: u64 = 1 << 50;
/// Room for any recursion of a case that ends.
const STACK: usize = 256 << 20;

/// The host ends the program.
#[derive(Debug)]
struct Exit(i32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}", self.0)
    }
}

impl std::error::Error for Exit {}

fn main() -> Result<()> {
    let run = || -> Result<()> {
        let engine = Engine::new(Config::new().consume_fuel(true).max_wasm_stack(STACK))?;
        for line in std::io::stdin().lock().lines() {
            let answer = judge(&engine, Path::new(&line?)).unwrap_or_else(|e| format!("refused: {e:?}\n"));
            let mut out = std::io::stdout().lock();
            write!(out, "{answer}end\n")?;
            out.flush()?;
        }
        Ok(())
    };
    let thread = std::thread::Builder::new().stack_size(2 * STACK).spawn(run)?;
    thread.join().expect("no panic")
}

/// What a module leaves behind.
fn judge(engine: &Engine, file: &Path) -> Result<String> {
    let module = Module::from_file(engine, file)?;
    let calls = std::fs::read_to_string(file.with_extension("calls"))?;
    let drive = Drive::from_text(&calls).map_err(Error::msg)?;
    let mut store = Store::new(engine, Host::default());
    store.set_fuel(TANK)?;
    let imports = imports(&mut store, &module)?;
    let mut outcome = Outcome::default();
    let instance = match Instance::new(&mut store, &module, &imports) {
        Ok(instance) => instance,
        Err(error) => {
            outcome.refused = Some(stop(&error));
            return Ok(outcome.to_text());
        }
    };
    let mut fuel = String::new();
    for call in &drive.calls {
        store.set_fuel(TANK)?;
        let result = make(&mut store, instance, call);
        fuel += &match result {
            Ok(_) => format!("fuel {}\n", TANK - store.get_fuel()?),
            Err(_) => "fuel -\n".into(),
        };
        outcome.calls.push(result);
    }
    outcome.host = (store.data().calls, store.data().hash);
    let exports: Vec<(String, Extern)> =
        instance.exports(&mut store).map(|e| (e.name().to_string(), e.into_extern())).collect();
    outcome.exports =
        exports.into_iter().filter_map(|(name, item)| Some((name, state(&mut store, item)?))).collect();
    Ok(outcome.to_text() + &fuel)
}

fn make(store: &mut Store<Host>, instance: Instance, call: &Call) -> Result<Vec<Value>, Stop> {
    let func = instance.get_func(&mut *store, &call.name).expect("exported");
    let args: Vec<Val> = call.args.iter().map(|&arg| to_val(arg)).collect();
    let mut results = vec![Val::I32(0); func.ty(&*store).results().len()];
    func.call(&mut *store, &args, &mut results).map_err(|e| stop(&e))?;
    Ok(results.iter().map(from_val).collect())
}

fn imports(store: &mut Store<Host>, module: &Module) -> Result<Vec<Extern>> {
    let mut imports = Vec::new();
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else {
            return Err(Error::msg("only functions can be imported here"));
        };
        imports.push(host_function(store, import.name(), ty).into());
    }
    Ok(imports)
}

fn host_function(store: &mut Store<Host>, name: &str, ty: FuncType) -> Func {
    let name = name.to_string();
    let types: Vec<_> = ty.results().map(|ty| parser_type(&ty)).collect();
    Func::new(store, ty, move |mut caller: Caller<'_, Host>, args, results| {
        let args: Vec<Value> = args.iter().map(from_val).collect();
        match caller.data_mut().call(&name, &args, &types) {
            Answer::Exit(code) => Err(Exit(code).into()),
            Answer::Return(values) => {
                results.iter_mut().zip(values).for_each(|(result, value)| *result = to_val(value));
                Ok(())
            }
            Answer::Enter { entry, argument, forgive } => {
                let Some(func) = caller.get_export(entry).and_then(Extern::into_func) else { return Ok(()) };
                match func.call(&mut caller, &[Val::I32(argument)], results) {
                    Err(_) if forgive => results[0] = Val::I32(-1),
                    other => other?,
                }
                Ok(())
            }
        }
    })
}

fn state(store: &mut Store<Host>, item: Extern) -> Option<State> {
    Some(match item {
        Extern::Global(global) => State::Global(from_val(&global.get(&mut *store))),
        Extern::Memory(memory) => State::Memory(memory.data(&*store).to_vec()),
        Extern::Table(table) => {
            let elements = (0..table.size(&*store)).map_while(|i| table.get(&mut *store, i));
            State::Table(elements.map(|element| Value::Func(!matches!(element, Ref::Func(None)))).collect())
        }
        _ => return None,
    })
}

fn stop(error: &Error) -> Stop {
    if let Some(Exit(code)) = error.downcast_ref::<Exit>() {
        return Stop::Exit(*code);
    }
    Stop::Trap(match error.downcast_ref::<T>() {
        Some(T::UnreachableCodeReached) => Trap::Unreachable,
        Some(T::MemoryOutOfBounds) => Trap::MemoryOutOfBounds,
        Some(T::TableOutOfBounds) => Trap::TableOutOfBounds,
        Some(T::IndirectCallToNull) => Trap::NullFunction,
        Some(T::BadSignature) => Trap::BadSignature,
        Some(T::IntegerDivisionByZero) => Trap::DivisionByZero,
        Some(T::IntegerOverflow) => Trap::IntegerOverflow,
        Some(T::BadConversionToInteger) => Trap::BadConversion,
        Some(T::StackOverflow) => Trap::StackOverflow,
        _ => return Stop::Other(format!("{error:?}")),
    })
}

fn to_val(value: Value) -> Val {
    match value {
        Value::I32(v) => Val::I32(v),
        Value::I64(v) => Val::I64(v),
        Value::F32(bits) => Val::F32(bits),
        Value::F64(bits) => Val::F64(bits),
        Value::V128(v) => Val::V128(v.into()),
        Value::Func(_) => Val::FuncRef(None),
        Value::Extern(_) => Val::ExternRef(None),
    }
}

fn from_val(val: &Val) -> Value {
    match val {
        Val::I32(v) => Value::I32(*v),
        Val::I64(v) => Value::I64(*v),
        Val::F32(bits) => Value::F32(*bits),
        Val::F64(bits) => Value::F64(*bits),
        Val::V128(v) => Value::V128(v.as_u128()),
        Val::FuncRef(f) => Value::Func(f.is_some()),
        _ => Value::Extern(None),
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
        ValType::Ref(_) => wasmparser::ValType::FUNCREF,
    }
}
