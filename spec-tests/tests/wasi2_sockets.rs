//! WASI 0.2 sockets as used by a C program: with each other, and with this process.

#[path = "wasi2/embed.rs"]
mod embed;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use embed::component;
use wprof::component::{Component, Instance, Linker};
use wprof::wasi::{SocketAddrUse, WasiCtx, WasiCtxBuilder};
use wprof::{Config, Engine, Store, Trap, wasi2};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Cases of `error-code`.
const ACCESS_DENIED: u32 = 1;
const ADDRESS_IN_USE: u32 = 12;

struct Program {
    store: Store<WasiCtx>,
    instance: Instance,
}

impl Program {
    fn new(allow: impl FnOnce(&mut WasiCtxBuilder)) -> Outcome<Program> {
        let engine = Engine::new(Config::new().interruptible(true))?;
        let mut linker = Linker::new(&engine);
        wasi2::add_to_linker(&mut linker, |ctx: &mut WasiCtx| ctx)?;
        let mut builder = WasiCtxBuilder::new();
        allow(&mut builder);
        let mut store = Store::new(&engine, builder.build());
        let instance = linker.instantiate(&mut store, &Component::new(&engine, component("sockets")?)?)?;
        Ok(Program { store, instance })
    }

    fn call(&mut self, name: &str) -> Outcome<u32> {
        Ok(self.instance.get_typed_func::<(), (u32,)>(name)?.call(&mut self.store, ())?.0)
    }

    fn call_with(&mut self, name: &str, port: u16) -> wprof::Result<u32> {
        Ok(self.instance.get_typed_func::<(u16,), (u32,)>(name)?.call(&mut self.store, (port,))?.0)
    }
}

fn allow_all(builder: &mut WasiCtxBuilder) {
    builder.inherit_network();
}

#[test]
fn tcp_udp_and_names_work_as_the_specification_has_it() -> Outcome {
    let mut program = Program::new(allow_all)?;
    for name in ["tcp", "udp", "lookup"] {
        assert_eq!(program.call(name)?, 0, "{name} fails in this line of sockets.c");
    }
    // The first call leaves nothing behind.
    assert_eq!(program.call("tcp")?, 0);
    Ok(())
}

#[test]
fn nothing_is_allowed_unless_the_host_says_so() -> Outcome {
    assert_eq!(Program::new(|_| ())?.call("denied")?, 0, "a line of sockets.c");
    let mut program = Program::new(|builder| _ = builder.inherit_network().allow_tcp(false))?;
    assert_ne!(program.call("denied")?, 0, "UDP is allowed");
    assert_eq!(program.call("udp")?, 0);
    assert_eq!(program.call_with("bind", 0)?, ACCESS_DENIED);
    Ok(())
}

#[test]
fn the_host_is_asked_about_each_address() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let server =
        thread::spawn(move || listener.accept().and_then(|(mut socket, _)| socket.write_all(&[7; 250])));
    let check = move |address: SocketAddr, used| match used {
        SocketAddrUse::TcpConnect => address.port() == port,
        SocketAddrUse::TcpBind => address.port() == 0,
        _ => false,
    };
    let mut program = Program::new(|builder| _ = builder.socket_addr_check(check))?;
    assert_eq!(program.call_with("read-all", port ^ 1)?, 1000 + ACCESS_DENIED);
    assert_eq!(program.call_with("read-all", port)?, 250);
    assert_eq!(program.call_with("bind", port)?, ACCESS_DENIED);
    server.join().map_err(|_| "the server has panicked")??;
    Ok(())
}

#[test]
fn an_address_that_is_taken_is_told() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut program = Program::new(allow_all)?;
    assert_eq!(program.call_with("bind", listener.local_addr()?.port())?, ADDRESS_IN_USE);
    Ok(())
}

#[test]
fn who_waits_for_a_server_is_ended_by_a_deadline() -> Outcome {
    // The system accepts the connection, but nobody ever sends anything.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut program = Program::new(allow_all)?;
    program.store.set_deadline(Some(Instant::now() + Duration::from_millis(50)))?;
    let error = program.call_with("read-all", listener.local_addr()?.port()).unwrap_err();
    assert_eq!(error.trap(), Some(Trap::Deadline), "{error}");
    Ok(())
}

/// However many sockets a program creates, the host has at most the permitted number open.
#[test]
fn sockets_count_as_open_files() -> Outcome {
    const NEW_SOCKET_LIMIT: u32 = 10;
    let mut program = Program::new(|builder| _ = builder.inherit_network().max_descriptors(5))?;
    // Each call leaves a socket open.
    let codes = (0..4).map(|_| program.call_with("bind", 0)).collect::<wprof::Result<Vec<_>>>()?;
    assert_eq!(codes, [0, 0, NEW_SOCKET_LIMIT, NEW_SOCKET_LIMIT]);
    Ok(())
}
