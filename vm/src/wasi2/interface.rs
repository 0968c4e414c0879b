//! Interfaces as linkers have them: names of functions, and how they fail.

use rustix::io::Errno;

use super::errors::{StreamFail, Streamed, error_code, stream_error};
use super::host::Host;
use super::sockets::{NetworkFail, Networked};
use crate::component::{Linker, LinkerInstance, Lower, Params, Resource, ResourceType};
use crate::store::StoreContextMut;
use crate::wasi::WasiCtx;
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::guest::Guest;
use crate::{Error, ErrorKind, Result};

/// The version under which interfaces are defined; linkers find it for all that fit.
const VERSION: &str = "0.2.6";

/// Finds a context in a store's data.
pub trait Context<T>: Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static {}

impl<T, C: Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static> Context<T> for C {}

/// One interface in a linker.
pub struct Interface<'l, T: 'static, C> {
    names: LinkerInstance<'l, T>,
    context: C,
}

impl<'l, T: 'static, C: Context<T>> Interface<'l, T, C> {
    /// The interface with a name, such as `wasi:io/poll`.
    pub fn new(linker: &'l mut Linker<T>, name: &str, context: C) -> Result<Self> {
        Ok(Interface { names: linker.instance(&format!("{name}@{VERSION}"))?, context })
    }

    /// A function that gives a value.
    pub fn func<P: Params, R: Lower + 'static>(
        &mut self,
        name: &str,
        func: fn(&mut Host<'_>, P) -> Outcome<R>,
    ) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| Ok((ended(&mut store, context, params, func)?,)))
    }

    /// A function that gives nothing.
    pub fn action<P: Params>(&mut self, name: &str, func: fn(&mut Host<'_>, P) -> Outcome) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| ended(&mut store, context, params, func))
    }

    /// A function that gives a value or an error code of the file system's.
    pub fn fallible<P: Params, R: Lower + 'static>(
        &mut self,
        name: &str,
        func: fn(&mut Host<'_>, P) -> Outcome<R>,
    ) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| {
            let result = with(&mut store, context, |host| func(host, params))?;
            Ok((result.map_err(error_code),))
        })
    }

    /// A function of a stream's.
    pub fn streamed<P: Params, R: Lower + 'static>(
        &mut self,
        name: &str,
        func: fn(&mut Host<'_>, P) -> Streamed<R>,
    ) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| {
            let result = with(&mut store, context, |host| match func(host, params) {
                Ok(value) => Ok(Ok(value)),
                Err(StreamFail::End(fail)) => Err(fail),
                Err(other) => Ok(Err(stream_error(host, other)?)),
            });
            Ok((of_none(result?)?,))
        })
    }

    /// A function of the network's.
    pub fn networked<P: Params, R: Lower + 'static>(
        &mut self,
        name: &str,
        func: fn(&mut Host<'_>, P) -> Networked<R>,
    ) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| {
            let result = with(&mut store, context, |host| match func(host, params) {
                Ok(value) => Ok(Ok(value)),
                Err(NetworkFail::Code(code)) => Ok(Err(code)),
                Err(NetworkFail::End(fail)) => Err(fail),
            });
            Ok((of_none(result?)?,))
        })
    }

    /// A resource, and what is done when one is dropped.
    pub fn resource<R: 'static>(
        &mut self,
        name: &str,
        drop: fn(&mut Host<'_>, Resource<R>) -> Outcome,
    ) -> Result<()> {
        let context = self.context;
        self.names.resource(name, ResourceType::host::<R>(), move |mut store, rep| {
            ended(&mut store, context, Resource::new_own(rep), drop)
        })
    }
}

/// Drops a resource that nothing else is done for.
pub fn drop_it<R: 'static>(host: &mut Host<'_>, resource: Resource<R>) -> Outcome {
    host.table().delete(resource)?;
    Ok(())
}

/// Calls a function that has no error codes to give.
fn ended<T: 'static, P, R>(
    store: &mut StoreContextMut<'_, T>,
    context: impl Context<T>,
    params: P,
    func: fn(&mut Host<'_>, P) -> Outcome<R>,
) -> Result<R> {
    of_none(with(store, context, |host| func(host, params))?)
}

/// What only ends the program.
fn of_none<R>(outcome: std::result::Result<R, Errno>) -> Result<R> {
    outcome.map_err(|errno| Error::new(ErrorKind::Host, format_args!("WASI: {errno}")))
}

/// Calls a function: gives its value or its error code.
///
/// # Errors
/// What ends the program.
fn with<T: 'static, R>(
    store: &mut StoreContextMut<'_, T>,
    context: impl Context<T>,
    func: impl FnOnce(&mut Host<'_>) -> Outcome<R>,
) -> Result<std::result::Result<R, Errno>> {
    let system = context(&mut store.0.above.data).system()?;
    let mut host = Host { guest: Guest::without_memory(&mut store.0.opaque), system };
    match func(&mut host) {
        Ok(value) => Ok(Ok(value)),
        Err(Fail::End(error)) => Err(error),
        Err(Fail::Errno(errno)) => match host.guest.take_interruption() {
            Some(trap) if errno == Errno::INTR => Err(trap.into()),
            _ => Ok(Err(errno)),
        },
    }
}
