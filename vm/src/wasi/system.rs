//! The usual implementation: the host's system, as far as the program was given it.

use super::Wasi;
use super::clocks::Clocks;
use super::descriptors::Descriptors;
use super::fail::Answer;
use super::guest::Guest;
use super::random::Random;
use super::strings::Strings;
use crate::Result;

/// What one program has of the host. Its functions are in `calls`.
pub struct System {
    pub(super) args: Strings,
    pub(super) env: Strings,
    pub(super) clocks: Box<dyn Clocks>,
    pub(super) random: Random,
    pub(super) descriptors: Descriptors,
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
