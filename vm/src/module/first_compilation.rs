//! First compilations: which functions and parts of functions, by their rows of code slots, are being compiled, which
//! have been compiled before their first call.
//!
//! Invariant: a function is compiled for the first time by one thread at a time. Others that need it wait for that
//! function only; a compilation that fails or panics lets the next one try.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::code::Compiled;
use super::counters::Counters;

/// How many functions and parts may be compiled ahead and not yet be called, for each that has been called, and from
/// the start.
/// Start-up stays proportional to what runs.
const AHEAD_PER_CALLED: usize = 1;
const AHEAD_AT_START: usize = 64;

/// The first compilations of one module.
#[derive(Debug, Default)]
pub struct FirstCompilations {
    state: Mutex<State>,
    /// Some function is no longer being compiled.
    released: Condvar,
}

/// What is known of them. Locked for moments only, and before the lock of the compiled functions.
#[derive(Debug, Default)]
pub struct State {
    /// Which counters functions have.
    pub counters: Counters,
    /// What was compiled before its first call since somebody asked for it: all functions were to be compiled, or an
    /// earlier run had called it.
    pub ready: HashMap<u32, Compiled>,
    /// What some thread is compiling.
    claimed: HashSet<u32>,
    /// How many threads wait until something is no longer being compiled.
    waiting: usize,
    /// What was compiled ahead, on a guess, and not called yet; `None` if it did not work.
    ahead: HashMap<u32, Option<Ahead>>,
    /// How many of those were called later.
    used: usize,
}

/// What is compiled and waits for its first call.
#[derive(Debug)]
pub enum Ahead {
    Function(Box<Compiled>),
    /// A part of a function, and its address.
    Part(usize),
}

/// The right and the duty to compile a function for the first time, until it is dropped.
#[derive(Debug)]
pub struct Claim<'a> {
    of: &'a FirstCompilations,
    func: u32,
}

impl FirstCompilations {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A claim to `func` for somebody who calls it, unless `known` finds its code. While another has it, `help` does
    /// something else that is to be done, or finds nothing.
    ///
    /// # Errors
    /// The code that was found.
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

    /// A claim to `func` ahead of any call; `None` if it is, was or has been compiled, or too much is ahead already of
    /// the `called` functions.
    pub fn claim_ahead(&self, func: u32, is_known: impl Fn() -> bool, called: usize) -> Option<Claim<'_>> {
        let mut state = self.lock();
        let room = state.ahead.len() < AHEAD_AT_START + AHEAD_PER_CALLED * called;
        let is_compiled = state.ahead.contains_key(&func) || state.ready.contains_key(&func);
        let is_free = room && !is_compiled && !state.claimed.contains(&func);
        if !is_free || is_known() {
            return None;
        }
        state.claimed.insert(func);
        // Should it fail, nobody tries again before it is called.
        state.ahead.insert(func, None);
        Some(Claim { of: self, func })
    }

    /// How many functions that were compiled ahead have been called since, and how many have not.
    pub fn ahead(&self) -> (usize, usize) {
        let state = self.lock();
        (state.used, state.ahead.values().flatten().count())
    }
}

impl Claim<'_> {
    /// The function.
    pub fn func(&self) -> u32 {
        self.func
    }

    /// What was compiled ahead of the function.
    pub fn take_ahead(&self) -> Option<Ahead> {
        let mut state = self.of.lock();
        let compiled = state.ahead.remove(&self.func).flatten()?;
        state.used += 1;
        Some(compiled)
    }

    /// Keeps code of the function until it is called.
    pub fn keep_ahead(self, ahead: Ahead) {
        self.of.lock().ahead.insert(self.func, Some(ahead));
    }

    /// Keeps code of the function until it is called, which somebody asked for.
    pub fn keep_ready(self, compiled: Compiled) {
        self.of.lock().ready.insert(self.func, compiled);
    }

    /// Index of the first of `count` counters for the function; `None` if they would not be below `limit`.
    pub fn counters(&self, count: u32, limit: u64) -> Option<u32> {
        self.of.lock().counters.of_function(self.func, count, limit)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.of.lock();
        state.claimed.remove(&self.func);
        // To wake nobody would be a call of the system for nothing.
        if state.waiting > 0 {
            self.of.released.notify_all();
        }
    }
}
