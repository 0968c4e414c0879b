//! WASI: programs of preview 1 and 0.2, the functions alone, waits, and HTTP on the wire.
#![cfg(feature = "wasi")]

mod functions;
mod http_wire;
mod preview2;
mod programs;
mod waiting;
