//! `wasi:cli/terminal-*`: whether standard streams are terminals.

use super::host::Host;
use super::interface::{Context, Interface, drop_it};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::descriptors::What;
use crate::wasi::fail::Outcome;

struct TerminalInput;

struct TerminalOutput;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    Interface::new(linker, "wasi:cli/terminal-input", context)?
        .resource::<TerminalInput>("terminal-input", drop_it)?;
    Interface::new(linker, "wasi:cli/terminal-output", context)?
        .resource::<TerminalOutput>("terminal-output", drop_it)?;
    Interface::new(linker, "wasi:cli/terminal-stdin", context)?
        .func("get-terminal-stdin", |host, (): ()| terminal(host, 0, TerminalInput))?;
    Interface::new(linker, "wasi:cli/terminal-stdout", context)?
        .func("get-terminal-stdout", |host, (): ()| terminal(host, 1, TerminalOutput))?;
    Interface::new(linker, "wasi:cli/terminal-stderr", context)?
        .func("get-terminal-stderr", |host, (): ()| terminal(host, 2, TerminalOutput))
}

fn terminal<R: Send + 'static>(host: &mut Host<'_>, fd: u32, value: R) -> Outcome<Option<Resource<R>>> {
    match &host.system.descriptors.get(fd)?.what {
        What::File(file) if rustix::termios::isatty(&**file) => Ok(Some(host.table().push(value)?)),
        _ => Ok(None),
    }
}
