//! Divisions by constants: quotients, remainders, and tests of these for zero, in conditions and as values.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const DIVISORS: [i64; 18] =
    [1, 2, 3, 5, 6, 7, 8, 10, 18, 60, 641, 1000, 5000, 0x7fff_ffff, -1, -3, -7, i64::MIN >> 32];
const NUMBERS: [i64; 16] =
    [0, 1, 2, 3, 6, 12, 60, 999, 1000, -1, -3, -60, -1000, 0x7fff_ffff, i64::MIN >> 32, 0x7fff_fffe];

/// The type of a division, its signedness, and its divisor.
type Division = (&'static str, &'static str, i64);

/// Checks that functions of a number, one per division, return these results in all tiers, or trap where there are
/// none.
fn agree(
    function: impl Fn(&str, Division) -> String,
    numbers: &[i64],
    expected: impl Fn(Division, i64) -> Option<Vec<i64>>,
) -> Outcome {
    let kinds = ["i32", "i64"].into_iter().flat_map(|ty| [(ty, "u"), (ty, "s")]);
    let divisions: Vec<Division> = kinds.flat_map(|(ty, sign)| DIVISORS.map(|by| (ty, sign, by))).collect();
    let functions: String =
        (0..).zip(&divisions).map(|(at, &division)| function(&format!("{at}"), division)).collect();
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let engine = Engine::new(Config::new().strategy(strategy))?;
        let module = Module::new(&engine, format!("(module {functions})"))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        for (at, &division) in divisions.iter().enumerate() {
            let func = instance.get_func(&mut store, &at.to_string()).expect("exported");
            for &x in numbers {
                let argument = if division.0 == "i32" { Val::I32(x as i32) } else { Val::I64(x) };
                let expected = expected(division, x);
                let mut results = vec![Val::I32(0); expected.as_ref().map_or(3, Vec::len)];
                let outcome = func.call(&mut store, &[argument], &mut results);
                let value = |val: &Val| val.i32().map_or_else(|| val.i64(), |low| Some(low.into()));
                let found = outcome.ok().and_then(|()| results.iter().map(value).collect::<Option<Vec<_>>>());
                assert_eq!(found, expected, "{strategy:?}: {division:?} of {x}");
            }
        }
    }
    Ok(())
}

/// Returns a function that gives `eqz` of the remainder, and two more bits for its use in a branch and in a select.
fn tests(name: &str, (ty, sign, by): Division) -> String {
    let remainder = format!("({ty}.rem_{sign} (local.get $x) ({ty}.const {by}))");
    let test = match ty {
        "i32" => remainder.clone(),
        // Conditions have 32 bits.
        _ => format!("(i32.eqz ({ty}.eqz {remainder}))"),
    };
    format!(
        "(func (export \"{name}\") (param $x {ty}) (result i32)
            (i32.or ({ty}.eqz {remainder}) (i32.or
                (if (result i32) {test} (then (i32.const 0)) (else (i32.const 2)))
                (select (i32.const 0) (i32.const 4) {test}))))"
    )
}

#[test]
fn conditions_and_values_agree_with_remainders() -> Outcome {
    agree(tests, &NUMBERS, |(ty, sign, by), x| {
        let is_zero = match (ty, sign) {
            ("i32", "u") => (x as u32).is_multiple_of(by as u32),
            ("i32", _) => (x as i32).wrapping_rem(by as i32) == 0,
            (_, "u") => (x as u64).is_multiple_of(by as u64),
            _ => x.wrapping_rem(by) == 0,
        };
        Some(vec![if is_zero { 7 } else { 0 }])
    })
}

/// Returns a function that gives a quotient, a remainder, and the remainder of a part of the number, as C programs
/// compute it for random numbers.
fn divisions(name: &str, (ty, sign, by): Division) -> String {
    let division = |op: &str, of: &str| format!("({ty}.{op}_{sign} {of} ({ty}.const {by}))");
    let part = format!("({ty}.shr_u (local.get $x) ({ty}.const 10))");
    let all = [("div", "(local.get $x)"), ("rem", "(local.get $x)"), ("rem", &part)];
    let results = all.map(|(op, of)| division(op, of)).concat();
    format!("(func (export \"{name}\") (param $x {ty}) (result {ty} {ty} {ty}) {results})")
}

/// Returns the expected results; a quotient that overflows traps.
fn divided((ty, sign, by): Division, x: i64) -> Option<Vec<i64>> {
    macro_rules! of {
        ($ty:ty, $unsigned:ty) => {{
            let (x, by) = (x as $ty, by as $ty);
            let part = (x as $unsigned >> 10) as $ty;
            let quotient = x.checked_div(by)?;
            vec![quotient as i64, x.wrapping_rem(by) as i64, part.wrapping_rem(by) as i64]
        }};
    }
    Some(match (ty, sign) {
        ("i32", "u") => of!(u32, u32).into_iter().map(|result| i64::from(result as i32)).collect(),
        ("i32", _) => of!(i32, u32),
        (_, "u") => of!(u64, u64),
        _ => of!(i64, u64),
    })
}

#[test]
fn quotients_and_remainders_are_right() -> Outcome {
    let spread = (0..500).map(|at: i64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64));
    agree(divisions, &NUMBERS.into_iter().chain(spread).collect::<Vec<_>>(), divided)
}
