//! Execution of components: the choice of the called function and its arguments.

use anyhow::{Result, anyhow, bail, ensure};
use wprof::component::{Component, FuncType, Instance, InstancePre, Linker, TypeKind, Val};
use wprof::wasi::WasiCtx;
use wprof::{Error, ErrorKind, Store, wasi2};
use wprof_report::names;

use super::args::ProgramArgs;
use super::stubs::Stubs;
use crate::commands::serve::Server;
use crate::modules::failure;
use crate::wave::Named;
use crate::{output, wave};

/// Runs a command component, or instantiates a component, calls the functions of `--invoke`, and prints their results.
///
/// # Errors
/// Returns an error if there is no function to call, or the arguments do not fit. The inner error is the program's.
pub fn call(
    args: &ProgramArgs,
    store: &mut Store<WasiCtx>,
    component: &Component,
) -> Result<Result<(), Error>> {
    let funcs = component.funcs();
    if args.invoke.is_empty() {
        if wasi2::run_name(funcs.iter().map(|(name, _)| name)).is_none() {
            bail!(
                "this component is not a command: it does not export wasi:cli/run@0.2; call one of its functions with --invoke \
                 'FUNC(ARGUMENTS)'{}",
                exported(&funcs)
            );
        }
        return instantiated(args, store, component, |store, _, instance| Ok(wasi2::run(store, &instance)));
    }
    let calls = calls(args, &funcs).map_err(|error| by_name(&error, &funcs))?;
    instantiated(args, store, component, |store, _, instance| {
        let mut named = Named::new();
        for call in &calls {
            let params = wave::arguments(call.ty, &call.given, &named);
            let params = params.map_err(|error| by_name(&error, &funcs))?;
            let func = instance.get_func(call.func);
            let func = func.ok_or_else(|| anyhow!("no function is exported as `{}`", call.func))?;
            let mut results = vec![Val::Bool(false); usize::from(call.ty.result().is_some())];
            if let Err(error) = func.call(&mut *store, &params, &mut results) {
                // A named result has not the parameter's type: the program did not run.
                if error.kind() == ErrorKind::Type {
                    bail!("{}: {}", call.func, resources_by_name(&error.to_string(), &funcs));
                }
                return Ok(Err(error));
            }
            match call.name {
                Some(name) => drop(results.pop().map(|result| named.insert(name.to_owned(), result))),
                None => {
                    let lines: String =
                        results.iter().map(|value| format!("{}\n", wave::shown(value))).collect();
                    output::print(&lines)?;
                }
            }
        }
        Ok(Ok(()))
    })
}

/// A call that `--invoke` asks for.
struct Call<'c> {
    /// The name by which later calls get its result.
    name: Option<&'c str>,
    func: &'c str,
    ty: &'c FuncType,
    /// The arguments as text.
    given: String,
}

/// Returns the calls in order, and checks all of them before the first one runs.
fn calls<'c>(args: &'c ProgramArgs, funcs: &'c [(String, &'c FuncType)]) -> Result<Vec<Call<'c>>> {
    let (mut calls, mut named) = (Vec::new(), Named::new());
    for invoke in &args.invoke {
        let (name, invoke) = wave::assignment(invoke);
        let (func, given) = wave::call(invoke)?;
        let (func, ty) = find(funcs, func)?;
        let given = match (given, args.invoke.len()) {
            (Some(given), _) => given.to_owned(),
            (None, 1) => args.rest().join(", "),
            (None, _) => String::new(),
        };
        wave::arguments(ty, &given, &named)?;
        if let Some(name) = name {
            ensure!(ty.result().is_some(), "`{func}` has no result to store as `{name}`");
            // The value is not known yet, only that there will be one.
            named.insert(name.to_owned(), Val::Bool(false));
        }
        calls.push(Call { name, func, ty, given });
    }
    Ok(calls)
}

/// Instantiates a component that answers requests, and serves requests with it.
///
/// # Errors
/// Returns an error if the component answers no requests. The inner error is the program's.
pub fn serve(
    args: &ProgramArgs,
    store: &mut Store<WasiCtx>,
    component: &Component,
    act: impl FnOnce(&mut Store<WasiCtx>, &InstancePre<WasiCtx>, Instance) -> Result<Result<(), Error>>,
) -> Result<Result<(), Error>> {
    Server::check(component)?;
    instantiated(args, store, component, act)
}

/// Instantiates a component with WASI 0.2, and calls `act` with it and with what makes others.
fn instantiated(
    args: &ProgramArgs,
    store: &mut Store<WasiCtx>,
    component: &Component,
    act: impl FnOnce(&mut Store<WasiCtx>, &InstancePre<WasiCtx>, Instance) -> Result<Result<(), Error>>,
) -> Result<Result<(), Error>> {
    let mut linker = Linker::new(component.engine());
    wasi2::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi).map_err(failure)?;
    wasi2::http::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi).map_err(failure)?;
    match args.stub_imports {
        None => {}
        Some(Stubs::Trap) => linker.define_unknown_imports_as_traps(component).map_err(failure)?,
        Some(Stubs::Zero) => linker.define_unknown_imports_as_zeros(component).map_err(failure)?,
    }
    let pre = match linker.instantiate_pre(component) {
        Ok(pre) => pre,
        Err(error) => return Err(missing_imports(&error)),
    };
    match pre.instantiate(&mut *store) {
        Ok(instance) => act(store, &pre, instance),
        Err(error) if error.kind() == ErrorKind::Link => Err(missing_imports(&error)),
        Err(error) => Ok(Err(error)),
    }
}

fn missing_imports(error: &Error) -> anyhow::Error {
    anyhow!(
        "{}\nwprof run gives components wasi:cli, clocks, filesystem, http, io, random and sockets of WASI 0.2: run it with \
         --stub-imports if it does without the others, or in a host of your own with the crate wprof, whose \
         component::Linker defines them",
        names::harmless(&error.to_string())
    )
}

/// Finds a function by name. The name of an exported instance may be omitted if only one has such a function, and so may
/// what a function of a resource is, as in `[method]counter.get`.
fn find<'f>(funcs: &'f [(String, &'f FuncType)], name: &str) -> Result<(&'f str, &'f FuncType)> {
    let is_it = |full: &str| {
        let own = full.rsplit('#').next().unwrap_or(full);
        own == name || own.starts_with('[') && own.split_once(']').is_some_and(|(_, rest)| rest == name)
    };
    let mut all = funcs.iter().filter(|(full, _)| full == name);
    let mut short = funcs.iter().filter(|(full, _)| is_it(full));
    match (all.next(), short.next(), short.next()) {
        (Some((name, ty)), ..) | (None, Some((name, ty)), None) => Ok((name, ty)),
        (None, Some(_), Some(_)) => {
            bail!("several functions are called `{name}`: give the whole name{}", exported(funcs))
        }
        (None, None, _) => bail!("no function is exported as `{name}`{}", exported(funcs)),
    }
}

/// Lists the functions that can be called, for error messages.
fn exported(funcs: &[(String, &FuncType)]) -> String {
    let line = |(name, ty): &(String, &FuncType)| format!("\n  {}: {ty}", names::harmless(name));
    match resources_by_name(&funcs.iter().map(line).collect::<String>(), funcs) {
        list if list.is_empty() => "; it exports no functions".to_owned(),
        list => format!("; it exports{list}"),
    }
}

/// Replaces the numbers of resources in a text by their names, as far as functions are called after them.
fn resources_by_name(text: &str, funcs: &[(String, &FuncType)]) -> String {
    let mut text = text.to_owned();
    for (name, ty) in funcs {
        let own = name.rsplit('#').next().unwrap_or(name);
        let found = match own.strip_prefix("[method]") {
            Some(rest) => rest.split('.').next().zip(ty.params().next().map(|(_, ty)| ty)),
            None => own.strip_prefix("[constructor]").zip(ty.result()),
        };
        let Some((name, ty)) = found else { continue };
        if let TypeKind::Own(number) | TypeKind::Borrow(number) = ty.kind() {
            text = text.replace(&format!("<resource {number}>"), &format!("<{}>", names::harmless(name)));
        }
    }
    text
}

/// Returns an error in which resources have their names.
fn by_name(error: &anyhow::Error, funcs: &[(String, &FuncType)]) -> anyhow::Error {
    anyhow!("{}", resources_by_name(&format!("{error:#}"), funcs))
}
