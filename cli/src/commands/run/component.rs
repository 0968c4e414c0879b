//! Running components: which function is called, with which arguments.

use anyhow::{Result, anyhow, bail};
use wprof::component::{Component, FuncType, Linker, Val};
use wprof::wasi::WasiCtx;
use wprof::{Error, ErrorKind, Store};

use super::args::ProgramArgs;
use crate::{names, output, wave};

/// What commands of WASI 0.2 export to be run.
const RUN: &str = "wasi:cli/run@";

/// Instantiates a component, calls the function that `--invoke` names, and prints its result.
///
/// # Errors
/// If there is none, or the arguments do not fit. The inner error is the program's.
pub fn call(
    args: &ProgramArgs,
    store: &mut Store<WasiCtx>,
    component: &Component,
) -> Result<Result<(), Error>> {
    let funcs = component.funcs();
    let Some(invoke) = &args.invoke else {
        let is_command = funcs.iter().any(|(name, _)| name.starts_with(RUN));
        let what =
            if is_command { "a command of WASI 0.2, which is not supported yet" } else { "a component" };
        bail!(
            "this is {what}: call one of its functions with --invoke 'FUNC(ARGUMENTS)'{}",
            exported(&funcs)
        );
    };
    let (name, given) = wave::call(invoke)?;
    let (name, ty) = find(&funcs, name)?;
    let given = given.map_or_else(|| args.rest().join(", "), ToOwned::to_owned);
    let params = wave::arguments(ty, &given)?;
    let linker = Linker::new(component.engine());
    let instance = match linker.instantiate(&mut *store, component) {
        Ok(instance) => instance,
        Err(error) if error.kind() == ErrorKind::Link => return Err(missing_imports(&error)),
        Err(error) => return Ok(Err(error)),
    };
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
}

fn missing_imports(error: &Error) -> anyhow::Error {
    anyhow!(
        "{}\nwprof run gives components no imports yet, WASI 0.2 included: run it in a host of your own with the crate \
        wprof, whose component::Linker defines them",
        names::harmless(&error.to_string())
    )
}

/// The function with a name; that of an exported instance may be left out if only one has such a function.
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

/// The functions that can be called, for error messages.
fn exported(funcs: &[(String, &FuncType)]) -> String {
    let line = |(name, ty): &(String, &FuncType)| format!("\n  {}: {ty}", names::harmless(name));
    match funcs.iter().map(line).collect::<String>() {
        list if list.is_empty() => "; it exports no functions".to_owned(),
        list => format!("; it exports{list}"),
    }
}
