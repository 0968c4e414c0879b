//! Lowering of what is passed as an address and a length: text and lists, owned, borrowed, boxed or shared.

use std::sync::Arc;

use super::compound::element;
use super::{CoreValues, Lower};
use crate::Result;
use crate::component::lower::Lower as Lowering;
use crate::component::types::Type;

/// Implements `Lower` for types, given how a value is written elsewhere: its address and length.
macro_rules! pairs {
    ($([$($of:tt)*] $rust:ty, $write:expr;)*) => {
        $(
            impl<$($of)*> Lower for $rust {
                fn flat<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    to: &mut CoreValues,
                ) -> Result<()> {
                    let write: fn(&mut Lowering<'_, '_, T>, Self, &Type) -> Result<(u32, u32)> = $write;
                    let (at, length) = write(lower, self, ty)?;
                    to.extend([u64::from(at), u64::from(length)]);
                    Ok(())
                }

                fn store<T: 'static>(
                    self,
                    lower: &mut Lowering<'_, '_, T>,
                    ty: &Type,
                    at: u32,
                ) -> Result<()> {
                    let write: fn(&mut Lowering<'_, '_, T>, Self, &Type) -> Result<(u32, u32)> = $write;
                    let pair = write(lower, self, ty)?;
                    lower.pair(at, pair)
                }
            }
        )*
    };
}

pairs! {
    [] String, |lower, text, _| lower.string(&text);
    [] &str, |lower, text, _| lower.string(text);
    [] Box<str>, |lower, text, _| lower.string(&text);
    [] Arc<str>, |lower, text, _| lower.string(&text);
    [E: Lower] Vec<E>, |lower, list, ty| E::list(list, lower, element(ty)?);
    // Elements other than bytes are cloned, one after the other.
    [E: Lower + Clone] &[E], |lower, list, ty| E::slice(list, lower, element(ty)?);
    [E: Lower + Clone] Box<[E]>, |lower, list, ty| E::slice(&list, lower, element(ty)?);
    [E: Lower + Clone] Arc<[E]>, |lower, list, ty| E::slice(&list, lower, element(ty)?);
}
