//! Reduces failing cases.
//!
//! A case with a tree loses parts of its tree, the largest first ([`hot::reduce`](crate::generate::hot::reduce));
//! other cases lose functions. All cases lose calls.
//! Invariant: the reduced case still fails, and is valid.

use crate::engines::reference;
use crate::generate::Case;
use crate::generate::hot::reduce::{Grain, edited};
use crate::splice::Splice;

/// Reduces a case while it still `fails`, with at most `tries` attempts.
pub fn shrink(case: Case, tries: usize, fails: impl FnMut(&Case) -> bool) -> Case {
    let mut shrinker = Shrinker { case, tries, fails };
    loop {
        let before = shrinker.tries;
        let calls = shrinker.fewer_calls();
        let code = match shrinker.case.tree {
            Some(_) => shrinker.smaller_tree(),
            None => shrinker.fewer_functions(),
        };
        if !(calls | code) || shrinker.tries == 0 || shrinker.tries == before {
            return shrinker.case;
        }
    }
}

struct Shrinker<F> {
    case: Case,
    tries: usize,
    fails: F,
}

impl<F: FnMut(&Case) -> bool> Shrinker<F> {
    /// Adopts a smaller case if it fails too.
    fn take(&mut self, smaller: Case) -> bool {
        if self.tries == 0 || !smaller.drive.fits(&smaller.wasm) {
            return false;
        }
        self.tries -= 1;
        let fails = (self.fails)(&smaller);
        if fails {
            self.case = smaller;
        }
        fails
    }

    fn fewer_calls(&mut self) -> bool {
        let mut any = false;
        // Most calls are unnecessary: removes long runs of them first, then single calls.
        let mut run = (self.case.drive.calls.len() / 2).max(1);
        loop {
            let mut at = 0;
            while at < self.case.drive.calls.len() {
                let mut smaller = self.case.clone();
                let end = (at + run).min(smaller.drive.calls.len());
                smaller.drive.calls.drain(at..end);
                match self.take(smaller) {
                    true => any = true,
                    false => at += run,
                }
            }
            if run == 1 {
                return any;
            }
            run /= 2;
        }
    }

    fn smaller_tree(&mut self) -> bool {
        let mut any = false;
        for grain in Grain::ALL {
            let mut number = 0;
            while let Some(tree) = self.case.tree.as_ref().and_then(|tree| edited(tree, grain, number)) {
                let smaller = Case { wasm: tree.encode(), tree: Some(Box::new(tree)), ..self.case.clone() };
                match self.take(smaller) {
                    true => any = true,
                    false => number += 1,
                }
                if self.tries == 0 {
                    return any;
                }
            }
        }
        any
    }

    fn fewer_functions(&mut self) -> bool {
        let bodies = Splice::new(&self.case.wasm).map_or(0, |splice| splice.bodies.len());
        (0..bodies).fold(false, |any, defined| {
            let Ok(mut splice) = Splice::new(&self.case.wasm) else { return any };
            splice.stub(defined);
            self.take_if_smaller(splice.apply()) || any
        })
    }

    /// Adopts a smaller module, with the calls of functions that it still exports.
    fn take_if_smaller(&mut self, wasm: Vec<u8>) -> bool {
        wasm.len() < self.case.wasm.len() && self.take(Case { wasm, ..self.case.clone() })
    }
}

/// Checks that every 61st edit of programs leaves a module that the calls of the case fit, and a lowered form that the interpreter
/// accepts; returns how many edits that were.
///
/// # Panics
/// Panics if one does not.
pub fn checked_edits(cases: impl IntoIterator<Item = Case>) -> u32 {
    let interpreter = reference::engine();
    let mut edits = 0;
    for case in cases {
        let tree = case.tree.expect("it has a tree");
        for grain in Grain::ALL {
            for number in (0..).step_by(61) {
                let Some(smaller) = edited(&tree, grain, number) else { break };
                assert!(case.drive.fits(&smaller.encode()), "seed {}, {grain:?} {number}", case.seed);
                wasmi::Module::new(&interpreter, smaller.lowered())
                    .unwrap_or_else(|e| panic!("seed {}, {grain:?} {number}: {e}", case.seed));
                edits += 1;
            }
        }
    }
    edits
}
