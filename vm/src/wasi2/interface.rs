//! Interfaces in linkers: names of functions, and their kinds of failure.

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

/// The version under which interfaces are defined; linkers find it for all compatible versions.
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
    /// Creates the interface with a name, such as `wasi:io/poll`.
    pub fn new(linker: &'l mut Linker<T>, name: &str, context: C) -> Result<Self> {
        Ok(Interface { names: linker.instance(&format!("{name}@{VERSION}"))?, context })
    }

    /// Defines a function that returns a value.
    pub fn func<P: Params, R: Lower + 'static>(
        &mut self,
        name: &str,
        func: fn(&mut Host<'_>, P) -> Outcome<R>,
    ) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| Ok((ended(&mut store, context, params, func)?,)))
    }

    /// Defines a function that returns nothing.
    pub fn action<P: Params>(&mut self, name: &str, func: fn(&mut Host<'_>, P) -> Outcome) -> Result<()> {
        let context = self.context;
        self.names.func_wrap(name, move |mut store, params| ended(&mut store, context, params, func))
    }

    /// Defines a function that returns a value or an error code of the file system.
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

    /// Defines a function of a stream.
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

    /// Defines a function of the network.
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

    /// Defines a resource, and the action when one is dropped.
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

/// Drops a resource without further action.
pub fn drop_it<R: 'static>(host: &mut Host<'_>, resource: Resource<R>) -> Outcome {
    host.table().delete(resource)?;
    Ok(())
}

/// Calls a function without error codes.
fn ended<T: 'static, P, R>(
    store: &mut StoreContextMut<'_, T>,
    context: impl Context<T>,
    params: P,
    func: fn(&mut Host<'_>, P) -> Outcome<R>,
) -> Result<R> {
    of_none(with(store, context, |host| func(host, params))?)
}

/// Converts an error that can only end the program.
fn of_none<R>(outcome: std::result::Result<R, Errno>) -> Result<R> {
    outcome.map_err(|errno| Error::new(ErrorKind::Host, format_args!("WASI: {errno}")))
}

/// Calls a function and returns its value or its error code.
///
/// # Errors
/// Returns the error that ends the program.
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
