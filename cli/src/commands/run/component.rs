//! Execution of components: the choice of the called function and its arguments.

use anyhow::{Result, anyhow, bail};
use wprof::component::{Component, FuncType, Instance, InstancePre, Linker, Val};
use wprof::wasi::WasiCtx;
use wprof::{Error, ErrorKind, Module, Store, wasi2};
use wprof_profiler::Profile;
use wprof_report::names;

use super::args::ProgramArgs;
use super::stubs::Stubs;
use crate::commands::serve::Server;
use crate::modules::failure;
use crate::{output, wave};

/// Runs a command component, or instantiates a component, calls the function of `--invoke`, and prints its result.
///
/// # Errors
/// Returns an error if there is no function to call, or the arguments do not fit. The inner error is the program's.
pub fn call(
    args: &ProgramArgs,
    store: &mut Store<WasiCtx>,
    component: &Component,
) -> Result<Result<(), Error>> {
    let funcs = component.funcs();
    let Some(invoke) = &args.invoke else {
        if wasi2::run_name(funcs.iter().map(|(name, _)| name)).is_none() {
            bail!(
                "this component is no command, which exports wasi:cli/run@0.2: call one of its functions with --invoke \
                 'FUNC(ARGUMENTS)'{}",
                exported(&funcs)
            );
        }
        return instantiated(args, store, component, |store, _, instance| Ok(wasi2::run(store, &instance)));
    };
    let (name, given) = wave::call(invoke)?;
    let (name, ty) = find(&funcs, name)?;
    let given = given.map_or_else(|| args.rest().join(", "), ToOwned::to_owned);
    let params = wave::arguments(ty, &given)?;
    instantiated(args, store, component, |store, _, instance| {
        let func = instance.get_func(name).ok_or_else(|| anyhow!("no function is exported as `{name}`"))?;
        let mut results = vec![Val::Bool(false); usize::from(ty.result().is_some())];
        Ok(match func.call(store, &params, &mut results) {
            Ok(()) => {
                let lines: String = results.iter().map(|value| format!("{}\n", wave::shown(value))).collect();
                output::print(&lines)?;
                Ok(())
            }
            Err(error) => Err(error),
        })
    })
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

/// Returns the core modules, and behind them those of adapters.
pub fn modules(component: &Component) -> Vec<Module> {
    component.modules().iter().chain(component.adapters()).cloned().collect()
}

/// Returns the profiles of the core modules that ran beside the main one, with the modules' numbers.
///
/// # Errors
/// Returns an error if nothing was counted.
pub fn others(store: &Store<WasiCtx>, component: &Component, main: &Module) -> Result<Vec<(usize, Profile)>> {
    let all = modules(component).into_iter().enumerate();
    let others = all.filter(|(_, module)| module.hash() != main.hash());
    let profile = |(number, module): (usize, Module)| {
        let profile = module.profile(store)?;
        Some(profile.map(|profile| (number, profile)).map_err(failure))
    };
    let ran = |profile: &Result<(usize, Profile)>| {
        profile.as_ref().map_or(true, |(_, profile)| profile.code.compiled > 0)
    };
    others.filter_map(profile).filter(ran).collect()
}

fn missing_imports(error: &Error) -> anyhow::Error {
    anyhow!(
        "{}\nwprof run gives components wasi:cli, clocks, filesystem, http, io, random and sockets of WASI 0.2: run it with \
         --stub-imports if it does without the others, or in a host of your own with the crate wprof, whose \
         component::Linker defines them",
        names::harmless(&error.to_string())
    )
}

/// Finds a function by name. The name of an exported instance may be omitted if only one has such a function.
fn find<'f>(funcs: &'f [(String, &'f FuncType)], name: &str) -> Result<(&'f str, &'f FuncType)> {
    let is_it = |full: &str| full.rsplit('#').next() == Some(name);
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
    match funcs.iter().map(line).collect::<String>() {
        list if list.is_empty() => "; it exports no functions".to_owned(),
        list => format!("; it exports{list}"),
    }
}
