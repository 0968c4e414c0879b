//! `wasi:clocks`.

use std::time::Duration;

use super::host::Host;
use super::interface::{Context, Interface};
use super::poll::Pollable;
use crate::Result;
use crate::component::{Linker, Resource, Val};
use crate::wasi::clocks::{Clock, nanoseconds};
use crate::wasi::fail::Outcome;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut monotonic = Interface::new(linker, "wasi:clocks/monotonic-clock", context)?;
    monotonic.func("now", |host, (): ()| Ok(now(host)))?;
    monotonic.func("resolution", |host, (): ()| {
        Ok(nanoseconds(host.system.clocks.resolution(Clock::Monotonic)))
    })?;
    monotonic.func("subscribe-instant", |host, (when,)| at(host, when))?;
    monotonic.func("subscribe-duration", |host, (time,): (u64,)| {
        let when = now(host).saturating_add(time);
        at(host, when)
    })?;
    let mut wall = Interface::new(linker, "wasi:clocks/wall-clock", context)?;
    wall.func("now", |host, (): ()| Ok(datetime(host.system.clocks.now(Clock::Realtime))))?;
    wall.func("resolution", |host, (): ()| Ok(datetime(host.system.clocks.resolution(Clock::Realtime))))
}

fn now(host: &Host<'_>) -> u64 {
    nanoseconds(host.system.clocks.now(Clock::Monotonic))
}

fn at(host: &mut Host<'_>, when: u64) -> Outcome<Resource<Pollable>> {
    Ok(host.table().push(Pollable::At(when))?)
}

/// Returns the `datetime` of a duration.
pub fn datetime(time: Duration) -> Val {
    let seconds = ("seconds".to_owned(), Val::U64(time.as_secs()));
    let rest = ("nanoseconds".to_owned(), Val::U32(time.subsec_nanos()));
    Val::Record(vec![seconds, rest])
}
