//! Work shared out among threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs `work` on each of several things, on as many threads as there are things; returns the results in their order.
/// If the system has no more threads, the existing ones do all the work.
pub fn share_out<T: Send, R: Send>(things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let helpers = things.len().saturating_sub(1);
    let waiting = Mutex::new(things.into_iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(helpers + 1));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let help = || {
        while let Some((index, thing)) = next() {
            let result = work(thing);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        let start = |_: &usize| thread::Builder::new().spawn_scoped(scope, help).is_ok();
        let _ = (0..helpers).take_while(start).count();
        help();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let doubled = share_out((0..100).collect(), |x: u32| 2 * x);
        assert!(doubled.into_iter().eq((0..100).map(|x| 2 * x)));
        assert!(share_out(Vec::new(), |x: u32| x).is_empty());
    }
}
