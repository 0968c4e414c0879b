//! `wasi:sockets`: defined so that programs that import it run, but nothing can be reached.

use super::host::Host;
use super::interface::{Context, Interface, drop_it};
use crate::Result;
use crate::component::{Linker, Resource, Val};
use crate::wasi::fail::Outcome;

struct Network;

/// No instance of these types is ever created.
struct TcpSocket;
struct UdpSocket;
struct IncomingDatagrams;
struct OutgoingDatagrams;
struct AddressStream;

const TCP: &[&str] = &[
    "start-bind",
    "finish-bind",
    "start-connect",
    "finish-connect",
    "start-listen",
    "finish-listen",
    "accept",
    "local-address",
    "remote-address",
    "is-listening",
    "address-family",
    "set-listen-backlog-size",
    "keep-alive-enabled",
    "set-keep-alive-enabled",
    "keep-alive-idle-time",
    "set-keep-alive-idle-time",
    "keep-alive-interval",
    "set-keep-alive-interval",
    "keep-alive-count",
    "set-keep-alive-count",
    "hop-limit",
    "set-hop-limit",
    "receive-buffer-size",
    "set-receive-buffer-size",
    "send-buffer-size",
    "set-send-buffer-size",
    "subscribe",
    "shutdown",
];

const UDP: &[&str] = &[
    "start-bind",
    "finish-bind",
    "stream",
    "local-address",
    "remote-address",
    "address-family",
    "unicast-hop-limit",
    "set-unicast-hop-limit",
    "receive-buffer-size",
    "set-receive-buffer-size",
    "send-buffer-size",
    "set-send-buffer-size",
    "subscribe",
];

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut network = Interface::new(linker, "wasi:sockets/network", context)?;
    network.resource::<Network>("network", drop_it)?;
    let mut instance = Interface::new(linker, "wasi:sockets/instance-network", context)?;
    instance.func("instance-network", instance_network)?;
    let mut tcp = Interface::new(linker, "wasi:sockets/tcp", context)?;
    tcp.resource::<TcpSocket>("tcp-socket", drop_it)?;
    methods(&mut tcp, "tcp-socket", TCP)?;
    let mut udp = Interface::new(linker, "wasi:sockets/udp", context)?;
    udp.resource::<UdpSocket>("udp-socket", drop_it)?;
    udp.resource::<IncomingDatagrams>("incoming-datagram-stream", drop_it)?;
    udp.resource::<OutgoingDatagrams>("outgoing-datagram-stream", drop_it)?;
    methods(&mut udp, "udp-socket", UDP)?;
    methods(&mut udp, "incoming-datagram-stream", &["receive", "subscribe"])?;
    methods(&mut udp, "outgoing-datagram-stream", &["check-send", "send", "subscribe"])?;
    let mut lookup = Interface::new(linker, "wasi:sockets/ip-name-lookup", context)?;
    lookup.resource::<AddressStream>("resolve-address-stream", drop_it)?;
    methods(&mut lookup, "resolve-address-stream", &["resolve-next-address", "subscribe"])?;
    lookup.dynamic("resolve-addresses", denied)?;
    Interface::new(linker, "wasi:sockets/tcp-create-socket", context)?
        .dynamic("create-tcp-socket", denied)?;
    Interface::new(linker, "wasi:sockets/udp-create-socket", context)?.dynamic("create-udp-socket", denied)
}

/// Defines methods of a resource that has no instances, so that a component has no handle to call them with.
fn methods<T: 'static, C: Context<T>>(
    interface: &mut Interface<'_, T, C>,
    resource: &str,
    names: &[&str],
) -> Result<()> {
    names.iter().try_for_each(|name| interface.dynamic(&format!("[method]{resource}.{name}"), denied))
}

fn instance_network(host: &mut Host<'_>, (): ()) -> Outcome<Resource<Network>> {
    Ok(host.table().push(Network)?)
}

fn denied() -> Result<Val> {
    Ok(Val::Result(Err(Some(Box::new(Val::Enum("access-denied".to_owned()))))))
}
