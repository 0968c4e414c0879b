//! `wasi:sockets`: TCP, UDP, and name look-up, as far as the program has the right.
//!
//! No function here waits: programs wait by pollables, in `wasi::wait`.

pub mod address;
mod errors;
mod lookup;
mod options;
pub mod tcp;
pub mod udp;

pub use errors::{NetworkFail, Networked};

use super::host::Host;
use super::interface::{Context, Interface, drop_it};
use crate::Result;
use crate::component::{Linker, Resource};
use crate::wasi::fail::Outcome;

pub use lookup::Addresses;

/// The capability to use the network; its rights are in the context.
pub struct Network;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut network = Interface::new(linker, "wasi:sockets/network", context)?;
    network.resource::<Network>("network", drop_it)?;
    network.func("network-error-code", errors::network_error_code)?;
    let mut instance = Interface::new(linker, "wasi:sockets/instance-network", context)?;
    instance.func("instance-network", instance_network)?;
    tcp::define(linker, context)?;
    udp::define(linker, context)?;
    lookup::define(linker, context)
}

fn instance_network(host: &mut Host<'_>, (): ()) -> Outcome<Resource<Network>> {
    Ok(host.table().push(Network)?)
}
