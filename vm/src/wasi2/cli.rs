//! `wasi:cli`: arguments, environment, standard streams, and exit.

use super::host::Host;
use super::input::InputStream;
use super::interface::{Context, Interface};
use super::output::OutputStream;
use crate::component::{Linker, Resource};
use crate::wasi::fail::{Fail, Outcome};
use crate::{Exit, Result};

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut environment = Interface::new(linker, "wasi:cli/environment", context)?;
    environment.func("get-environment", variables)?;
    environment.func("get-arguments", arguments)?;
    environment.func("initial-cwd", |_, (): ()| Ok(None::<String>))?;
    let mut end = Interface::new(linker, "wasi:cli/exit", context)?;
    end.action("exit", exit)?;
    end.action("exit-with-code", exit_with_code)?;
    Interface::new(linker, "wasi:cli/stdin", context)?.func("get-stdin", stdin)?;
    Interface::new(linker, "wasi:cli/stdout", context)?.func("get-stdout", |host, ()| output(host, 1))?;
    Interface::new(linker, "wasi:cli/stderr", context)?.func("get-stderr", |host, ()| output(host, 2))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn variables(host: &mut Host<'_>, (): ()) -> Outcome<Vec<(String, String)>> {
    let pair = |bytes: &[u8]| {
        let all = text(bytes);
        // The name of a variable may begin with the equals sign.
        let end = all.char_indices().skip(1).find(|&(_, c)| c == '=').map_or(all.len(), |(at, _)| at);
        (all[..end].to_owned(), all.get(end + 1..).unwrap_or_default().to_owned())
    };
    Ok(host.system.env.iter().map(pair).collect())
}

fn arguments(host: &mut Host<'_>, (): ()) -> Outcome<Vec<String>> {
    Ok(host.system.args.iter().map(text).collect())
}

fn exit(_: &mut Host<'_>, (status,): (std::result::Result<(), ()>,)) -> Outcome {
    Err(Fail::End(Exit(i32::from(status.is_err())).into()))
}

fn exit_with_code(_: &mut Host<'_>, (code,): (u8,)) -> Outcome {
    Err(Fail::End(Exit(i32::from(code)).into()))
}

fn stdin(host: &mut Host<'_>, (): ()) -> Outcome<Resource<InputStream>> {
    let stream = InputStream::standard(&host.system.descriptors.get(0)?.what);
    Ok(host.table().push(stream)?)
}

fn output(host: &mut Host<'_>, fd: u32) -> Outcome<Resource<OutputStream>> {
    let stream = OutputStream::standard(&host.system.descriptors.get(fd)?.what);
    Ok(host.table().push(stream)?)
}
