//! The choice of the called function and its arguments.

use anyhow::{Context, Result, bail};
use wprof::wasi::WasiCtx;
use wprof::{Error, ExternType, Func, Instance, Store, Val, ValType};

use super::texts::{self, Given};
use crate::{output, wave};

/// The function that a command exports as its entry point.
const START: &str = "_start";

/// The function that a library exports for initialization, to be called before all others.
const INITIALIZE: &str = "_initialize";

/// The maximum number of lines that list exports: those of side modules and main programs may be thousands.
const MOST_LISTED: usize = 40;

/// Calls `_start`.
///
/// # Errors
/// Returns an error if the module does not export `_start`. The inner error is the program's.
pub fn start(store: &mut Store<WasiCtx>, instance: Instance) -> Result<Result<(), Error>> {
    let Some(start) = instance.get_func(&mut *store, START) else {
        bail!("the module has no `{START}`: call a function with --invoke{}", exported(store, instance));
    };
    Ok(start.call(store, &[], &mut []))
}

/// Calls an exported function and prints its results, one per line. The name may be followed by arguments in parentheses.
///
/// # Errors
/// Returns an error if there is no such function, or the arguments do not fit. The inner error is the program's.
pub fn function(
    store: &mut Store<WasiCtx>,
    instance: Instance,
    name: &str,
    args: &[String],
    is_quiet: bool,
) -> Result<Result<(), Error>> {
    let (name, args) = match instance.get_func(&mut *store, name) {
        Some(_) => (name, args.iter().map(String::as_str).collect()),
        None => match wave::call(name)? {
            (name, Some(given)) => (name, wave::items(given)?),
            (name, None) => (name, args.iter().map(String::as_str).collect::<Vec<&str>>()),
        },
    };
    let Some(func) = instance.get_func(&mut *store, name) else {
        bail!("no function is exported as `{name}`{}", exported(store, instance));
    };
    let given = args.into_iter().map(Given::new).collect::<Result<Vec<_>>>()?;
    if let Err(error) = initialize(store, instance) {
        return Ok(Err(error));
    }
    let ty = func.ty(&*store);
    let (params, how) = match texts::passed((store, instance), (name, &ty), &given, value)? {
        Ok(passed) => passed,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(how) = how.filter(|_| !is_quiet) {
        output::tell_line(format_args!("wprof: {how}"));
    }
    Ok(match results(store, func, &params) {
        Ok(lines) => {
            output::print(&lines)?;
            Ok(())
        }
        Err(error) => Err(error),
    })
}

fn initialize(store: &mut Store<WasiCtx>, instance: Instance) -> Result<(), Error> {
    match instance.get_func(&mut *store, INITIALIZE) {
        Some(initialize) => initialize.call(store, &[], &mut []),
        None => Ok(()),
    }
}

fn results(store: &mut Store<WasiCtx>, func: Func, params: &[Val]) -> Result<String, Error> {
    let mut results: Vec<Val> = func.ty(&*store).results().map(|ty| Val::default_for(&ty)).collect();
    func.call(store, params, &mut results)?;
    Ok(results.iter().map(|value| format!("{}\n", shown(value))).collect())
}

/// Lists the functions that can be called, for error messages.
fn exported(store: &Store<WasiCtx>, instance: Instance) -> String {
    let exports = instance.module(store).exports();
    let functions = exports.filter_map(|export| match export.ty() {
        ExternType::Func(ty) => Some(format!("\n  {} {ty}", quoted_if_empty(export.name()))),
        _ => None,
    });
    let mut lines: Vec<String> = functions.collect();
    if lines.len() > MOST_LISTED {
        let others = lines.split_off(MOST_LISTED - 1).len();
        lines.push(format!("\n  and {others} more"));
    }
    match lines.concat() {
        list if list.is_empty() => "; it exports no functions".to_owned(),
        list => format!("; it exports{list}"),
    }
}

/// A module may export a function without a name.
fn quoted_if_empty(name: &str) -> &str {
    if name.is_empty() { "\"\"" } else { name }
}

/// Parses a value of a type; integers are decimal or `0x…`, signed or not.
fn value(ty: ValType, text: &str) -> Result<Val> {
    Ok(match ty {
        ValType::I32 => Val::I32(integer(text, 32)? as i32),
        ValType::I64 => Val::I64(integer(text, 64)? as i64),
        ValType::F32 => Val::F32(text.parse::<f32>().context("give an f32 such as 1.5")?.to_bits()),
        ValType::F64 => Val::F64(text.parse::<f64>().context("give an f64 such as 1.5")?.to_bits()),
        ValType::V128 | ValType::Ref(_) => bail!("a {ty} cannot be given on the command line"),
    })
}

/// Parses an integer that fits `bits` bits, with or without a sign.
fn integer(text: &str, bits: u32) -> Result<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16));
    // `from_str_radix` would accept a second sign.
    let parsed = if digits.starts_with(['+', '-']) { None } else { i128::from_str_radix(digits, radix).ok() };
    let number = parsed.map(|number| sign * number);
    let fits = |number: &i128| (-(1_i128 << (bits - 1))..1 << bits).contains(number);
    number.filter(fits).with_context(|| format!("give an integer of {bits} bits"))
}

fn shown(value: &Val) -> String {
    match value {
        Val::I32(value) => value.to_string(),
        Val::I64(value) => value.to_string(),
        Val::F32(bits) => f32::from_bits(*bits).to_string(),
        Val::F64(bits) => f64::from_bits(*bits).to_string(),
        Val::V128(bits) => format!("{bits:#034x}"),
        Val::FuncRef(func) => if func.is_some() { "<function>" } else { "null" }.to_owned(),
        Val::ExternRef(value) => if value.is_some() { "<external>" } else { "null" }.to_owned(),
        Val::AnyRef(None) => "null".to_owned(),
        Val::AnyRef(Some(any)) => match any.as_i31() {
            Some(value) => value.get_i32().to_string(),
            None => "<object>".to_owned(),
        },
        Val::ExnRef(value) => value.as_ref().map_or("null".to_owned(), |value| format!("<{value}>")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_signed_or_not_and_must_fit() {
        let i32 = |text: &str| integer(text, 32).ok().map(|number| number as i32);
        assert_eq!(
            ["-1", "4294967295", "0xffffffff", "-0x80000000"].map(i32),
            [-1, -1, -1, i32::MIN].map(Some)
        );
        assert_eq!(["4294967296", "-2147483649", "--1", "-+1", "", "1.0", "0x"].map(i32), [None; 7]);
    }
}
