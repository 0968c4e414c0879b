//! Making a failing case smaller: fewer calls, fewer functions that do anything.

use crate::generate::Case;
use crate::splice::Splice;

/// A case as small as is easy that still `fails`.
pub fn shrink(mut case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    loop {
        let found = smaller(&case).find(|case| fails(case));
        match found {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

/// Cases that are a little smaller.
fn smaller(case: &Case) -> impl Iterator<Item = Case> {
    let fewer_calls = (0..case.drive.calls.len()).rev().map(|index| {
        let mut smaller = case.clone();
        smaller.drive.calls.remove(index);
        smaller
    });
    let bodies = Splice::new(&case.wasm).map_or(0, |splice| splice.bodies.len());
    let fewer_functions = (0..bodies).filter_map(|defined| {
        let mut splice = Splice::new(&case.wasm).ok()?;
        splice.stub(defined);
        let wasm = splice.apply();
        (wasm.len() < case.wasm.len()).then(|| Case { wasm, ..case.clone() })
    });
    fewer_calls.chain(fewer_functions)
}
