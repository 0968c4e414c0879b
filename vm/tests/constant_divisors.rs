//! Divisions by constants: quotients, remainders, and whether these are zero, in conditions and as values.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const DIVISORS: [i64; 18] =
    [1, 2, 3, 5, 6, 7, 8, 10, 18, 60, 641, 1000, 5000, 0x7fff_ffff, -1, -3, -7, i64::MIN >> 32];
const NUMBERS: [i64; 16] =
    [0, 1, 2, 3, 6, 12, 60, 999, 1000, -1, -3, -60, -1000, 0x7fff_ffff, i64::MIN >> 32, 0x7fff_fffe];

/// By a divisor: `eqz` of the remainder, and two bits more for what a branch and a select take it for.
fn function(name: &str, ty: &str, sign: &str, by: i64) -> String {
    let remainder = format!("({ty}.rem_{sign} (local.get $x) ({ty}.const {by}))");
    let test = match ty {
        "i32" => remainder.clone(),
        // Conditions are of 32 bits.
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
    let kinds = ["i32", "i64"].into_iter().flat_map(|ty| [(ty, "u"), (ty, "s")]);
    let cases: Vec<_> = kinds.flat_map(|kind| DIVISORS.map(|by| (kind, by))).collect();
    let functions: String =
        (0..).zip(&cases).map(|(at, &((ty, sign), by))| function(&format!("{at}"), ty, sign, by)).collect();
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let engine = Engine::new(Config::new().strategy(strategy))?;
        let module = Module::new(&engine, format!("(module {functions})"))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        for (at, &((ty, sign), by)) in cases.iter().enumerate() {
            for x in NUMBERS {
                let is_zero = match (ty, sign) {
                    ("i32", "u") => (x as u32).is_multiple_of(by as u32),
                    ("i32", _) => (x as i32).wrapping_rem(by as i32) == 0,
                    (_, "u") => (x as u64).is_multiple_of(by as u64),
                    _ => x.wrapping_rem(by) == 0,
                };
                let argument = if ty == "i32" { Val::I32(x as i32) } else { Val::I64(x) };
                let mut results = [Val::I32(0)];
                let func = instance.get_func(&mut store, &at.to_string()).expect("exported");
                func.call(&mut store, &[argument], &mut results)?;
                let expected = if is_zero { 7 } else { 0 };
                assert_eq!(results[0].i32(), Some(expected), "{strategy:?}: {ty}.rem_{sign} of {x} by {by}");
            }
        }
    }
    Ok(())
}

/// A quotient, a remainder, and one of a part of the number, as C has it of random numbers.
fn divisions(name: &str, ty: &str, sign: &str, by: i64) -> String {
    let division = |op: &str, of: &str| format!("({ty}.{op}_{sign} {of} ({ty}.const {by}))");
    let part = format!("({ty}.shr_u (local.get $x) ({ty}.const 10))");
    let all = [("div", "(local.get $x)"), ("rem", "(local.get $x)"), ("rem", &part)];
    let results = all.map(|(op, of)| division(op, of)).concat();
    format!("(func (export \"{name}\") (param $x {ty}) (result {ty} {ty} {ty}) {results})")
}

/// What that is of `x`, of `u32`, `i32`, `u64` or `i64`; and so what a division of the greatest negative number by -1 does.
fn divided(ty: &str, sign: &str, (x, by): (i64, i64)) -> Option<[i64; 3]> {
    macro_rules! of {
        ($ty:ty, $unsigned:ty) => {{
            let (x, by) = (x as $ty, by as $ty);
            let part = (x as $unsigned >> 10) as $ty;
            let quotient = x.checked_div(by)?;
            [quotient, x.wrapping_rem(by), part.wrapping_rem(by)].map(|result| result as i64)
        }};
    }
    Some(match (ty, sign) {
        ("i32", "u") => of!(u32, u32).map(|result| i64::from(result as i32)),
        ("i32", _) => of!(i32, u32),
        (_, "u") => of!(u64, u64),
        _ => of!(i64, u64),
    })
}

#[test]
fn quotients_and_remainders_are_right() -> Outcome {
    let kinds = ["i32", "i64"].into_iter().flat_map(|ty| [(ty, "u"), (ty, "s")]);
    let cases: Vec<_> = kinds.flat_map(|kind| DIVISORS.map(|by| (kind, by))).collect();
    let functions: String =
        (0..).zip(&cases).map(|(at, &((ty, sign), by))| divisions(&format!("{at}"), ty, sign, by)).collect();
    let spread = (0..500).map(|at: i64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64));
    let numbers: Vec<i64> = NUMBERS.into_iter().chain(spread).collect();
    for strategy in [Strategy::Baseline, Strategy::Optimized] {
        let engine = Engine::new(Config::new().strategy(strategy))?;
        let module = Module::new(&engine, format!("(module {functions})"))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        for (at, &((ty, sign), by)) in cases.iter().enumerate() {
            let func = instance.get_func(&mut store, &at.to_string()).expect("exported");
            for &x in &numbers {
                let argument = if ty == "i32" { Val::I32(x as i32) } else { Val::I64(x) };
                let mut results = [const { Val::I32(0) }; 3];
                let outcome = func.call(&mut store, &[argument], &mut results);
                let value = |val: &Val| val.i32().map_or_else(|| val.i64(), |low| Some(low.into()));
                let found = outcome.ok().and_then(|()| results.iter().map(value).collect::<Option<Vec<_>>>());
                let expected = divided(ty, sign, (x, by)).map(Vec::from);
                assert_eq!(found, expected, "{strategy:?}: {ty} {sign}, {x} by {by}");
            }
        }
    }
    Ok(())
}
