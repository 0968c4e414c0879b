//! Imports besides WASI and the program's own modules: known imports of toolchains, and stubs.

use clap::ValueEnum;
use wprof::wasi::WasiCtx;
use wprof::{
    Caller, Error, Extern, ExternType, FuncType, Global, Linker, Memory, Module, Ref, Store, Table, Tag,
    Trap, Val, ValType,
};

use anyhow::Result;
use wprof_report::names;

use crate::modules::failure;

/// The behaviour of stubs for missing functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stubs {
    /// Trap, and say which import was called
    Trap,
    /// Return zeros
    Zero,
}

/// The module name of imported string constants, as Kotlin's compiler writes it.
const STRING_CONSTANTS: &str = "'";

/// The longest text of a program that a message shows, in UTF-16 units.
const MAX_TEXT: usize = 1000;

/// Defines the known imports of toolchains, and stubs for the remaining imports if stubs are enabled.
pub fn define(
    linker: &mut Linker<WasiCtx>,
    store: &mut Store<WasiCtx>,
    module: &Module,
    stubs: Option<Stubs>,
) -> Result<()> {
    define_known(linker, store, module)?;
    linker.define_string_constants(&mut *store, module, STRING_CONSTANTS).map_err(failure)?;
    stubs.map_or(Ok(()), |stubs| define_missing(linker, store, module, stubs))
}

/// Defines the known imports of toolchains that the module has and nobody has defined: `env.abort` of AssemblyScript
/// and Emscripten, and the imports of Emscripten's STANDALONE_WASM modules.
fn define_known(linker: &mut Linker<WasiCtx>, store: &mut Store<WasiCtx>, module: &Module) -> Result<()> {
    for import in module.imports().filter(|import| import.module() == "env") {
        let ExternType::Func(ty) = import.ty() else { continue };
        if ty.results().len() > 0 || linker.get(&mut *store, "env", import.name()).is_some() {
            continue;
        }
        let defined = match import.name() {
            "abort" => {
                linker.func_new("env", "abort", ty, |mut caller, args, _| Err(aborted(&mut caller, args)))
            }
            name @ "emscripten_notify_memory_growth" => linker.func_new("env", name, ty, |_, _, _| Ok(())),
            _ => continue,
        };
        defined.map_err(failure)?;
    }
    Ok(())
}

/// Returns the trap of `env.abort`; AssemblyScript passes the reason and the place.
fn aborted(caller: &mut Caller<'_, WasiCtx>, args: &[Val]) -> Error {
    let why = match *args {
        [Val::I32(message), Val::I32(file), Val::I32(line), Val::I32(column)] => {
            let [message, file] = [message, file].map(|at| text(caller, at as u32));
            format!("{} at {}:{line}:{column}", message.unwrap_or_default(), file.unwrap_or_default())
        }
        _ => "called".to_owned(),
    };
    Error::from(Trap::UnreachableCodeReached).context(format_args!("abort: {}", names::harmless(&why)))
}

/// Reads an AssemblyScript string: UTF-16, preceded by its length in bytes.
fn text(caller: &mut Caller<'_, WasiCtx>, at: u32) -> Option<String> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory)?;
    let data = memory.data(&*caller);
    let length =
        data.get((at as usize).checked_sub(4)?..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    let units = data.get(at as usize..)?.get(..length as usize)?.as_chunks().0;
    let units: Vec<u16> = units.iter().take(MAX_TEXT).map(|unit| u16::from_le_bytes(*unit)).collect();
    Some(String::from_utf16_lossy(&units))
}

/// Defines all missing imports: functions by the chosen stub; globals are zero, memories and tables empty.
fn define_missing(
    linker: &mut Linker<WasiCtx>,
    store: &mut Store<WasiCtx>,
    module: &Module,
    stubs: Stubs,
) -> Result<()> {
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        if linker.get(&mut *store, from, name).is_some() {
            continue;
        }
        let item: Extern = match import.ty() {
            ExternType::Func(ty) => {
                define_function(linker, (from, name), ty, stubs)?;
                continue;
            }
            ExternType::Global(ty) => {
                let zero = Val::default_for(&ty.content);
                Global::new(&mut *store, ty, zero).map_err(failure)?.into()
            }
            ExternType::Tag(ty) => Tag::new(&mut *store, &ty).into(),
            ExternType::Memory(ty) => Memory::new(&mut *store, ty).map_err(failure)?.into(),
            ExternType::Table(ty) => {
                let null = Ref::null(&ty.element);
                Table::new(&mut *store, ty, null).map_err(failure)?.into()
            }
        };
        linker.define(&mut *store, from, name, item).map_err(failure)?;
    }
    Ok(())
}

fn define_function(
    linker: &mut Linker<WasiCtx>,
    (module, name): (&str, &str),
    ty: FuncType,
    stubs: Stubs,
) -> Result<()> {
    let shown = names::harmless(&format!("{module}.{name}"));
    let types: Vec<ValType> = ty.results().collect();
    let defined = linker.func_new(module, name, ty, move |_, _, results| match stubs {
        Stubs::Trap => Err(Error::from(Trap::UnreachableCodeReached)
            .context(format_args!("the program called {shown}, which wprof does not provide"))),
        Stubs::Zero => {
            results.iter_mut().zip(&types).for_each(|(result, ty)| *result = Val::default_for(ty));
            Ok(())
        }
    });
    defined.map(drop).map_err(failure)
}
