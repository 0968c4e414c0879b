//! `wasi:random`. The insecure interfaces return numbers that are as good as the secure ones.

use super::host::Host;
use super::interface::{Context, Interface};
use crate::component::Linker;
use crate::wasi::fail::{Fail, Outcome};
use crate::{Error, ErrorKind, Result};

/// Maximum number of bytes that one call generates.
const MOST: u64 = 64 << 20;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut secure = Interface::new(linker, "wasi:random/random", context)?;
    secure.func("get-random-bytes", bytes)?;
    secure.func("get-random-u64", |host, (): ()| number(host))?;
    let mut insecure = Interface::new(linker, "wasi:random/insecure", context)?;
    insecure.func("get-insecure-random-bytes", bytes)?;
    insecure.func("get-insecure-random-u64", |host, (): ()| number(host))?;
    let mut seed = Interface::new(linker, "wasi:random/insecure-seed", context)?;
    seed.func("insecure-seed", |host, (): ()| Ok((number(host)?, number(host)?)))
}

fn bytes(host: &mut Host<'_>, (len,): (u64,)) -> Outcome<Vec<u8>> {
    if len > MOST {
        let message = format!("{len} random bytes at once, at most {MOST} are allowed");
        return Err(Fail::End(Error::new(ErrorKind::Limit, message)));
    }
    let mut bytes = vec![0; len as usize];
    host.system.random.fill(&mut bytes)?;
    Ok(bytes)
}

fn number(host: &mut Host<'_>) -> Outcome<u64> {
    let mut bytes = [0; 8];
    host.system.random.fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
