//! The usual implementation: the host's system, as far as the program has access.

use std::sync::Mutex;

use super::Wasi;
use super::budget::Budget;
use super::clocks::Clocks;
use super::descriptors::Descriptors;
use super::fail::Answer;
use super::guest::Guest;
use super::network::NetworkRights;
use super::random::Random;
use super::strings::Strings;
use crate::Result;
use crate::component::ResourceTable;

/// The host resources of one program. Its functions are in `calls`.
pub struct System {
    pub args: Strings,
    pub env: Strings,
    pub clocks: Box<dyn Clocks>,
    pub random: Random,
    pub descriptors: Descriptors,
    /// The rights of a component to use the network.
    pub network: NetworkRights,
    /// The memory budget of HTTP bodies, in bytes.
    pub bodies: Budget,
    /// The memory budget of the heads and trailers of HTTP messages, in bytes.
    pub heads: Budget,
    /// The share of the places for threads that send HTTP requests.
    pub requests: Budget,
    /// The share of the places for threads that look up names.
    pub lookups: Budget,
    /// What is to be done when the program next waits.
    pub held_back: Vec<Box<dyn FnOnce() + Send + Sync>>,
    /// The WASI 0.2 resources of a component. The lock is never contended: its user holds the system exclusively.
    pub resources: Mutex<ResourceTable>,
}

macro_rules! implement {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {
        impl Wasi for System {
            $(
                fn $name(&mut self, guest: &mut Guest<'_>, $($arg: $ty),*) -> Result<$result> {
                    // The inherent function of the same name.
                    <$result>::finish(System::$name(self, guest, $($arg),*))
                }
            )*
        }
    };
}

crate::wasi_preview1!(implement);
