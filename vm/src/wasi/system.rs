//! The usual implementation: the host's system, as far as the program was given it.

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

/// What one program has of the host. Its functions are in `calls`.
pub struct System {
    pub args: Strings,
    pub env: Strings,
    pub clocks: Box<dyn Clocks>,
    pub random: Random,
    pub descriptors: Descriptors,
    /// What a component may do with the network.
    pub network: NetworkRights,
    /// What bodies of HTTP may take.
    pub bodies: Budget,
    /// What a component has of WASI 0.2. Nobody waits for the lock: whoever has the system has it alone.
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
