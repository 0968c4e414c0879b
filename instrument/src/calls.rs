//! Who calls whom, as far as it decides what a function's calls and counters need.
//!
//! * A call needs an entry on the stack of calls in flight only if the callee may *stop*: end in its middle by a throw,
//!   an `unreachable`, or in whatever it does not call by name. Where all traps are accounted for, any may.
//! * Only functions that recur, or that others can call, can fill that stack.
//! * Code that seems to run often counts in place; the rest calls a function that does, which is shorter.

use wasmparser::Operator;

use crate::Error;
use crate::module::Source;
use crate::sites::is_end;

/// Bytes of a body up to which a function that loops call is said to run often all through.
const SMALL: usize = 600;

/// What is known of all functions with bodies.
#[derive(Debug)]
pub struct Calls {
    first: u32,
    facts: Vec<Facts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    stops: bool,
    recurs: bool,
    is_hot: bool,
}

/// A call by name: the callee, and whether it is in a loop.
type Call = (u32, bool);

impl Calls {
    /// Looks at all functions.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn new(source: &Source<'_>, all_traps: bool) -> Result<Calls, Error> {
        let first = source.first_defined();
        let mut facts = vec![Facts { stops: all_traps, ..Facts::default() }; source.bodies.len()];
        let mut calls = Vec::with_capacity(facts.len());
        for (own, func) in facts.iter_mut().zip(first..) {
            let (called, stops) = called(source, func)?;
            own.stops |= stops;
            calls.push(called);
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
        Ok(Calls { first, facts })
    }

    /// Whether a call of the function may not come back.
    pub fn stops(&self, func: u32) -> bool {
        self.of(func).is_none_or(|facts| facts.stops)
    }

    /// Whether the function may call itself, by others too.
    pub fn recurs(&self, func: u32) -> bool {
        self.of(func).is_some_and(|facts| facts.recurs)
    }

    /// Whether all of the function seems to run often.
    pub fn is_hot(&self, func: u32) -> bool {
        self.of(func).is_some_and(|facts| facts.is_hot)
    }

    fn of(&self, func: u32) -> Option<&Facts> {
        self.facts.get(func.checked_sub(self.first)? as usize)
    }
}

/// What a function calls by name, and whether it may stop by itself.
fn called(source: &Source<'_>, func: u32) -> Result<(Vec<Call>, bool), Error> {
    let mut reader = source.body(func).get_operators_reader()?;
    let (mut calls, mut stops) = (Vec::new(), false);
    // By construct that is open, whether it is a loop.
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
                stops |= callee < source.first_defined();
                calls.push((callee, open.contains(&true)));
            }
            Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. } => stops = true,
            _ => stops |= is_end(&op),
        }
    }
    Ok((calls, stops))
}

/// The functions that may call themselves, and those between them: what is left if, again and again, functions are taken
/// away that call none, or that none calls.
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

/// Whoever calls a function that may stop may stop.
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
}
