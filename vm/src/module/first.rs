//! First compilations: which functions and parts of functions, by their rows of code slots, are being compiled, which
//! have been compiled ahead of their first call, and which counters each has.
//!
//! Invariant: a function is compiled for the first time by one thread at a time. Others that need it wait for that
//! function only; a compilation that fails or panics lets the next one try.
//! Invariant: a function gets counters once, however often its compilation is tried.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};

use super::code::Compiled;

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
    /// Index of the next free counter.
    pub next_counter: u32,
    /// Index of the first counter of each function that has got some from us.
    first_counters: HashMap<u32, u32>,
    /// What some thread is compiling.
    claimed: HashSet<u32>,
    /// How many threads wait until something is no longer being compiled.
    waiting: usize,
    /// What was compiled ahead and not called yet; `None` if it did not work.
    ahead: HashMap<u32, Option<Ahead>>,
    /// How many of those were called later.
    used: usize,
}

impl State {
    fn take_counters(&mut self, count: u32, limit: u64) -> Option<u32> {
        let first = self.next_counter;
        let next = u64::from(first) + u64::from(count);
        if next > limit {
            return None;
        }
        self.next_counter = next as u32;
        Some(first)
    }
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
        known: impl Fn() -> Option<T>,
        help: impl Fn() -> bool,
    ) -> Result<Claim<'_>, T> {
        let mut state = self.lock();
        let mut helps = true;
        loop {
            if let Some(code) = known() {
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
        let is_free = room && !state.ahead.contains_key(&func) && !state.claimed.contains(&func);
        if !is_free || is_known() {
            return None;
        }
        state.claimed.insert(func);
        // Should it fail, nobody tries again before it is called.
        state.ahead.insert(func, None);
        Some(Claim { of: self, func })
    }

    /// Index of the first of `count` counters besides those of first compilations; `None` likewise.
    pub fn more_counters(&self, count: u32, limit: u64) -> Option<u32> {
        self.lock().take_counters(count, limit)
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

    /// Index of the first of `count` counters for the function; `None` if they would not be below `limit`.
    pub fn counters(&self, count: u32, limit: u64) -> Option<u32> {
        let mut state = self.of.lock();
        if let Some(&first) = state.first_counters.get(&self.func) {
            return Some(first);
        }
        let first = state.take_counters(count, limit)?;
        state.first_counters.insert(self.func, first);
        Some(first)
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
