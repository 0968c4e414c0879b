//! The call graph, as far as it decides which calls need an entry and where counters are placed.
//!
//! * A call needs an entry on the stack of calls in flight only if the callee may *stop*: end before its regular exit
//!   by a throw, by an `unreachable`, in an indirect call, or while it waits for another thread. If all traps are accounted for, any callee may stop.
//! * Only recursive functions, and functions that others than the module's direct calls can enter, can fill that stack.
//! * Code that seems to be hot counts in place; other code calls a function that counts, which is shorter.

use wasmparser::Operator;

use crate::Error;
use crate::module::Source;
use crate::sites::{is_end, is_wait};

/// Largest body, in bytes, of a function that counts as hot throughout when a loop calls it.
const SMALL: usize = 600;

/// Facts about all functions with bodies.
#[derive(Debug)]
pub struct Calls {
    first: u32,
    facts: Vec<Facts>,
    calls_others: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    stops: bool,
    recurs: bool,
    is_hot: bool,
}

/// A direct call: the callee, and whether the call is in a loop.
type Call = (u32, bool);

impl Calls {
    /// Analyses all functions.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn new(source: &Source<'_>, all_traps: bool) -> Result<Calls, Error> {
        let first = source.first_defined();
        let mut facts = vec![Facts { stops: all_traps, ..Facts::default() }; source.bodies.len()];
        let mut calls = Vec::with_capacity(facts.len());
        let mut calls_others = false;
        for (own, func) in facts.iter_mut().zip(first..) {
            let Called { direct, stops, calls_others: others } = called(source, func)?;
            own.stops |= stops;
            calls_others |= others;
            calls.push(direct);
        }
        for func in recurring(&calls, first) {
            facts[func].recurs = true;
        }
        for (callee, in_loop) in calls.iter().flatten() {
            if let Some(own) = facts.get_mut(callee.wrapping_sub(first) as usize) {
                own.is_hot |= *in_loop;
            }
        }
        for (own, body) in facts.iter_mut().zip(&source.bodies) {
            own.is_hot = (own.is_hot || own.recurs) && body.len() <= SMALL;
        }
        spread(&calls, first, &mut facts);
        Ok(Calls { first, facts, calls_others })
    }

    /// Reports whether a call of the function may not return.
    pub fn stops(&self, func: u32) -> bool {
        self.facts(func).is_none_or(|facts| facts.stops)
    }

    /// Reports whether the function may call itself, directly or through others.
    pub fn recurs(&self, func: u32) -> bool {
        self.facts(func).is_some_and(|facts| facts.recurs)
    }

    /// Reports whether more frames than the module has functions may be live, directly or by way of the host.
    pub fn nest(&self) -> bool {
        self.calls_others || self.facts.iter().any(|facts| facts.recurs)
    }

    /// Reports whether the whole function seems to be hot.
    pub fn is_hot(&self, func: u32) -> bool {
        self.facts(func).is_some_and(|facts| facts.is_hot)
    }

    fn facts(&self, func: u32) -> Option<&Facts> {
        self.facts.get(func.checked_sub(self.first)? as usize)
    }
}

/// The calls of a function.
#[derive(Debug, Default)]
struct Called {
    direct: Vec<Call>,
    /// Whether the function's own code may stop.
    stops: bool,
    /// Whether there are calls of the host, or of functions that are unknown here.
    calls_others: bool,
}

/// Returns the calls of a function.
fn called(source: &Source<'_>, func: u32) -> Result<Called, Error> {
    let mut reader = source.body(func).get_operators_reader()?;
    let mut all = Called::default();
    // For each open construct, whether it is a loop.
    let mut open = vec![false];
    while !reader.eof() {
        let op = reader.read()?;
        match op {
            Operator::Loop { .. } => open.push(true),
            Operator::Block { .. }
            | Operator::If { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. } => open.push(false),
            Operator::End | Operator::Delegate { .. } => drop(open.pop()),
            Operator::Call { function_index: callee } | Operator::ReturnCall { function_index: callee } => {
                all.calls_others |= callee < source.first_defined();
                all.direct.push((callee, open.contains(&true)));
            }
            Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => all.calls_others = true,
            _ => all.stops |= is_end(&op) || is_wait(&op),
        }
    }
    all.stops |= all.calls_others;
    Ok(all)
}

/// Returns the functions on call cycles, and those on paths between cycles: the remainder after functions without
/// callees, and then functions without callers, have been removed repeatedly.
fn recurring(calls: &[Vec<Call>], first: u32) -> Vec<usize> {
    let mut left = vec![true; calls.len()];
    for backward in [false, true] {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
        let mut degree = vec![0_usize; calls.len()];
        for (caller, called) in calls.iter().enumerate().filter(|(caller, _)| left[*caller]) {
            let callees = called.iter().filter_map(|(callee, _)| callee.checked_sub(first));
            for callee in callees.map(|callee| callee as usize).filter(|callee| left[*callee]) {
                let (from, to) = if backward { (callee, caller) } else { (caller, callee) };
                next[to].push(from);
                degree[from] += 1;
            }
        }
        let mut pending: Vec<usize> =
            (0..calls.len()).filter(|func| left[*func] && degree[*func] == 0).collect();
        while let Some(func) = pending.pop() {
            left[func] = false;
            for &other in &next[func] {
                degree[other] -= 1;
                if degree[other] == 0 {
                    pending.push(other);
                }
            }
        }
    }
    (0..calls.len()).filter(|func| left[*func]).collect()
}

/// Marks each caller of a function that may stop as a function that may stop.
fn spread(calls: &[Vec<Call>], first: u32, facts: &mut [Facts]) {
    let mut callers = vec![Vec::new(); calls.len()];
    for (caller, called) in calls.iter().enumerate() {
        for callee in called.iter().filter_map(|(callee, _)| callee.checked_sub(first)) {
            callers[callee as usize].push(caller);
        }
    }
    let mut pending: Vec<usize> = (0..facts.len()).filter(|func| facts[*func].stops).collect();
    while let Some(func) = pending.pop() {
        for &caller in &callers[func] {
            if !std::mem::replace(&mut facts[caller].stops, true) {
                pending.push(caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<(bool, bool)> {
        let wasm = wat::parse_str(text).expect("text");
        let source = Source::new(&wasm).expect("valid");
        let calls = Calls::new(&source, false).expect("read");
        (source.first_defined()..source.funcs.len() as u32)
            .map(|func| (calls.stops(func), calls.recurs(func)))
            .collect()
    }

    #[test]
    fn a_function_stops_if_one_that_it_calls_does() {
        let found =
            check(r#"(module (func) (func (call 0)) (func (call 1) unreachable) (func (call 0) (call 2)))"#);
        assert_eq!(found, [(false, false), (false, false), (true, false), (true, false)]);
    }

    #[test]
    fn functions_in_a_circle_recur_and_those_that_only_come_to_it_do_not() {
        let found = check("(module (func (call 1)) (func (call 2)) (func (call 1) (call 3)) (func))");
        assert_eq!(found, [(false, false), (false, true), (false, true), (false, false)]);
    }

    #[test]
    fn the_host_may_stop() {
        let found = check(r#"(module (import "m" "f" (func)) (func (call 0)) (func (call 1)))"#);
        assert_eq!(found, [(true, false), (true, false)]);
    }
    #[test]
    fn frames_nest_if_functions_recur_or_call_what_is_unknown() {
        let nest = |text: &str| {
            let wasm = wat::parse_str(text).expect("text");
            Calls::new(&Source::new(&wasm).expect("valid"), false).expect("read").nest()
        };
        assert!(!nest("(module (func) (func (call 0)) (func (call 1) unreachable))"));
        assert!(nest("(module (func (call 0)))"));
        assert!(nest(r#"(module (import "m" "f" (func)) (func (call 0)))"#));
        assert!(nest("(module (table 1 funcref) (func (call_indirect (i32.const 0))))"));
    }
}
