//! Host functions that wait, in calls of components that are awaited.
//!
//! Invariant: what lies on the stack from such a function up to the wasm code that calls it can be sent to other threads: a
//! [`Passed`], and what the closures here have. What lies between wasm code and the start of its fiber, or another such
//! call, is `call`'s.
#![allow(unsafe_code, reason = "only what may be sent lies on a stack that waits, which types cannot say")]

use super::host_func::{HostFunc, Passed};
use super::typed::{self, Params, Results};
use super::val::Val;
use crate::store::StoreContextMut;
use crate::waiting::Wait;
use crate::{AsContextMut, Result};

/// The code of an async host function of a static type.
type Code<T, P, R> = dyn for<'a> Fn(StoreContextMut<'a, T>, P) -> Box<dyn Future<Output = Result<R>> + Send + 'a>
    + Send
    + Sync;

/// The code of an async host function of any type: it takes the arguments, and a place for the result.
type DynamicCode<T> = dyn for<'a> Fn(
        StoreContextMut<'a, T>,
        &'a [Val],
        &'a mut [Val],
    ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>
    + Send
    + Sync;

/// Creates an async host function of a static type.
pub fn typed<T: 'static, P: Params + Send, R: Results>(func: Box<Code<T, P, R>>) -> HostFunc<T> {
    let call = move |passed: &mut Passed<'_, '_, T>| {
        let params = passed.params::<P>()?;
        let wait = begin(passed)?;
        let result = wait.until(func(passed.store.as_context_mut(), params));
        wait.end(&mut passed.store.0.opaque);
        passed.result(result??)
    };
    HostFunc::new(call, typed::check::<P, R>)
}

/// Creates an async host function of any type.
pub fn dynamic<T: 'static>(func: Box<DynamicCode<T>>) -> HostFunc<T> {
    let call = move |passed: &mut Passed<'_, '_, T>| {
        let (args, mut result) = (passed.vals()?, [Val::Bool(false)]);
        let has_result = passed.has_result();
        let wait = begin(passed)?;
        let place = &mut result[..usize::from(has_result)];
        let ended = wait.until(func(passed.store.as_context_mut(), &args, place));
        wait.end(&mut passed.store.0.opaque);
        ended??;
        let [result] = result;
        if has_result { passed.result((result,)) } else { Ok(None) }
    };
    HostFunc::new(call, |_, _| Ok(()))
}

/// Prepares to wait, in one of the functions above.
fn begin<T: 'static>(passed: &mut Passed<'_, '_, T>) -> Result<Wait> {
    // SAFETY: wasm code calls this on the fiber of its call, or else there is none; the module's invariant says the rest,
    // and the data of a store that is on a fiber can be sent.
    unsafe { Wait::begin(&mut passed.store.0.opaque, "an async host function") }
}
