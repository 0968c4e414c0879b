//! First compilations: the functions and parts of functions, by their rows of code slots, that are being
//! compiled, and those that were compiled before their first call.
//!
//! Invariant: one thread at a time compiles a function for the first time. Other threads that need the function
//! wait for that function only. If a compilation fails or panics, the next thread may try.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::code::Compiled;
use super::counters::Counters;

/// Limits of speculative compilation: how many functions and parts may be compiled ahead without having been
/// called, per called function and at the start. They keep start-up proportional to the code that runs.
const AHEAD_PER_CALLED: usize = 1;
const AHEAD_AT_START: usize = 64;

/// The first compilations of one module.
#[derive(Debug, Default)]
pub struct FirstCompilations {
    state: Mutex<State>,
    /// Notified when a function is no longer being compiled.
    released: Condvar,
}

/// The state of the first compilations. The lock is held only briefly, and taken before the lock of the compiled
/// functions.
#[derive(Debug, Default)]
pub struct State {
    /// The counters of the functions.
    pub counters: Counters,
    /// Functions compiled before their first call on request: all functions were to be compiled, or an earlier
    /// run had called them.
    pub ready: HashMap<u32, Compiled>,
    /// The rows that some thread is compiling.
    claimed: HashSet<u32>,
    /// Number of threads that wait for a claim to be released.
    waiting: usize,
    /// Rows compiled ahead on a guess and not called yet; `None` if the compilation failed.
    ahead: HashMap<u32, Option<CompiledAhead>>,
    /// Number of rows compiled ahead that were called later.
    used: usize,
}

/// Compiled code that waits for its first call.
#[derive(Debug)]
pub enum CompiledAhead {
    Function(Box<Compiled>),
    /// The address of a part of a function.
    Part(usize),
}

/// The right and the duty to compile a function for the first time, held until the claim is dropped.
#[derive(Debug)]
pub struct Claim<'a> {
    of: &'a FirstCompilations,
    func: u32,
}

impl FirstCompilations {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims `func` for a caller, unless `known` finds its code. While another thread holds the claim, `help`
    /// does other pending work; it returns false if there is none.
    ///
    /// # Errors
    /// Returns the code that `known` found as the error.
    pub fn claim<T>(
        &self,
        func: u32,
        known: impl Fn(&State) -> Option<T>,
        help: impl Fn() -> bool,
    ) -> Result<Claim<'_>, T> {
        let mut state = self.lock();
        let mut helps = true;
        loop {
            if let Some(code) = known(&state) {
                return Err(code);
            }
            if state.claimed.insert(func) {
                return Ok(Claim { of: self, func });
            }
            if helps {
                drop(state);
                helps = help();
                state = self.lock();
            } else {
                state.waiting += 1;
                state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            }
        }
    }

    /// Claims `func` ahead of any call; `None` if it is being compiled or has been compiled, or if too many rows
    /// are compiled ahead for the number of `called` functions.
    pub fn claim_ahead(&self, func: u32, is_known: impl Fn() -> bool, called: usize) -> Option<Claim<'_>> {
        let mut state = self.lock();
        let room = state.ahead.len() < AHEAD_AT_START + AHEAD_PER_CALLED * called;
        let is_compiled = state.ahead.contains_key(&func) || state.ready.contains_key(&func);
        let is_free = room && !is_compiled && !state.claimed.contains(&func);
        if !is_free || is_known() {
            return None;
        }
        state.claimed.insert(func);
        // If the compilation fails, nobody tries again before the function is called.
        state.ahead.insert(func, None);
        Some(Claim { of: self, func })
    }

    /// Returns how many functions that were compiled ahead have been called since, and how many have not.
    pub fn compiled_ahead(&self) -> (usize, usize) {
        let state = self.lock();
        (state.used, state.ahead.values().flatten().count())
    }
}

impl Claim<'_> {
    /// Returns the function.
    pub fn func(&self) -> u32 {
        self.func
    }

    /// Takes the code of the function that was compiled ahead, if there is any.
    pub fn take_ahead(&self) -> Option<CompiledAhead> {
        let mut state = self.of.lock();
        let compiled = state.ahead.remove(&self.func).flatten()?;
        state.used += 1;
        Some(compiled)
    }

    /// Keeps code of the function, compiled on a guess, until it is called.
    pub fn keep_ahead(self, ahead: CompiledAhead) {
        self.of.lock().ahead.insert(self.func, Some(ahead));
    }

    /// Keeps code of the function, compiled on request, until it is called.
    pub fn keep_ready(self, compiled: Compiled) {
        self.of.lock().ready.insert(self.func, compiled);
    }

    /// Returns the index of the first of `count` counters for the function; `None` if they would exceed `limit`.
    pub fn counters(&self, count: u32, limit: u64) -> Option<u32> {
        self.of.lock().counters.of_function(self.func, count, limit)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.of.lock();
        state.claimed.remove(&self.func);
        // Without waiting threads the notification would be a needless system call.
        if state.waiting > 0 {
            self.of.released.notify_all();
        }
    }
}
