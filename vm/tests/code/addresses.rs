//! Addresses that are sums and shifts, whether these may wrap or not: each access reads what the specification says,
//! or traps.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const MEMORY: u64 = 1 << 16;

fn byte(at: u32) -> u32 {
    (at ^ at >> 8) & 0xff
}

/// Expressions of `$x` as text, with their values.
type Expression = (&'static str, fn(u32) -> u32);

const EXPRESSIONS: &[Expression] = &[
    ("(local.get $x)", |x| x),
    ("(i32.load8_u (i32.and (local.get $x) (i32.const 0xfff)))", |x| byte(x & 0xfff)),
    ("(i32.load8_s (i32.and (local.get $x) (i32.const 0xfff)))", |x| byte(x & 0xfff) as i8 as i32 as u32),
    ("(i32.load16_u (i32.and (local.get $x) (i32.const 0xfff)))", |x| {
        byte(x & 0xfff) | byte((x & 0xfff) + 1) << 8
    }),
    ("(i32.and (i32.const 0xff) (local.get $x))", |x| x & 0xff),
    ("(i32.and (local.get $x) (i32.const 0x7fffffff))", |x| x & 0x7fff_ffff),
    ("(i32.shr_u (local.get $x) (i32.const 24))", |x| x >> 24),
    ("(i32.shr_u (local.get $x) (i32.const 32))", |x| x),
    ("(i32.shr_s (local.get $x) (i32.const 24))", |x| (x as i32 >> 24) as u32),
    ("(i32.rem_u (local.get $x) (i32.const 7))", |x| x % 7),
    // The largest remainder wraps around to 0 if it is shifted by 31.
    ("(i32.rem_u (local.get $x) (i32.const 3))", |x| x % 3),
    ("(i32.rem_s (local.get $x) (i32.const 7))", |x| (x as i32 % 7) as u32),
    ("(i32.div_u (local.get $x) (i32.const 0x1000000))", |x| x / 0x100_0000),
    ("(i32.div_u (local.get $x) (i32.const 0x80000000))", |x| x >> 31),
    ("(i32.rem_u (local.get $x) (i32.const 0x80000000))", |x| x & 0x7fff_ffff),
    ("(i32.eq (local.get $x) (i32.const 3))", |x| u32::from(x == 3)),
    ("(select (i32.const 5) (i32.const 900) (local.get $x))", |x| if x != 0 { 5 } else { 900 }),
    ("(i32.or (i32.shr_u (local.get $x) (i32.const 25)) (i32.const 0x180))", |x| x >> 25 | 0x180),
    ("(i32.xor (i32.shr_u (local.get $x) (i32.const 25)) (i32.const 0x35))", |x| x >> 25 ^ 0x35),
    ("(i32.mul (i32.and (local.get $x) (i32.const 15)) (i32.const 17))", |x| (x & 15) * 17),
    ("(i32.mul (i32.and (local.get $x) (i32.const 15)) (i32.const 0x20000000))", |x| {
        (x & 15).wrapping_mul(0x2000_0000)
    }),
    ("(i32.add (i32.and (local.get $x) (i32.const 3)) (i32.shr_u (local.get $x) (i32.const 30)))", |x| {
        (x & 3) + (x >> 30)
    }),
    ("(i32.sub (i32.and (local.get $x) (i32.const 3)) (i32.const 1))", |x| (x & 3).wrapping_sub(1)),
    ("(i32.wrap_i64 (i64.shr_u (i64.extend_i32_s (local.get $x)) (i64.const 60)))", |x| {
        (i64::from(x as i32) as u64 >> 60) as u32
    }),
];

const SHIFTS: [u32; 5] = [0, 2, 3, 24, 31];
const CONSTANTS: [u32; 8] = [0, 1, 4096, 65532, 0x7fff_ffff, 0xffff_fe00, 0xffff_fffc, 0xffff_ffff];
const OFFSETS: [u32; 4] = [0, 8, 0x1_0000, 0xffff_ffff];
const ARGUMENTS: [u32; 10] = [0, 1, 2, 3, 7, 255, 256, 12345, 0x7fff_ffff, 0xffff_ffff];

/// Returns the word that an access reads; `None` if it traps.
fn word(index: u32, offset: u32) -> Option<u32> {
    let at = u64::from(index) + u64::from(offset);
    (at + 4 <= MEMORY).then(|| (0..4).fold(0, |all, part| all | byte(at as u32 + part) << (8 * part)))
}

#[test]
fn sums_and_shifts_lead_where_they_should() -> Outcome {
    let mut functions = String::new();
    let mut cases = Vec::new();
    for &(text, of) in EXPRESSIONS {
        for shift in SHIFTS {
            for constant in CONSTANTS {
                // One offset per case; over all cases every combination occurs.
                let offset = OFFSETS[cases.len() % OFFSETS.len()];
                functions += &format!(
                    "(func (export \"{}\") (param $x i32) (result i32) (i32.load offset={offset}
                        (i32.add (i32.shl {text} (i32.const {shift})) (i32.const {constant}))))",
                    cases.len(),
                );
                cases.push((of, shift, constant, offset));
            }
        }
    }
    let data: String = (0..MEMORY as u32).map(|at| format!("\\{:02x}", byte(at))).collect();
    let wat = format!("(module (memory 1) (data (i32.const 0) \"{data}\") {functions})");
    let strategies = [Strategy::Baseline, Strategy::Optimized];
    for (strategy, is_tested) in
        strategies.into_iter().flat_map(|strategy| [(strategy, false), (strategy, true)])
    {
        let mut config = Config::new();
        config.strategy(strategy);
        if is_tested {
            // No guard pages, and addresses that are sums of constants.
            config.memory_reservation(1 << 16).spectre_guards(false);
        }
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, &wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let mut outcomes = [0, 0];
        for (number, (of, shift, constant, offset)) in cases.iter().enumerate() {
            let load = instance.get_typed_func::<i32, i32>(&mut store, &number.to_string())?;
            for x in ARGUMENTS {
                let index = of(x).wrapping_shl(*shift).wrapping_add(*constant);
                let found = load.call(&mut store, x as i32);
                let case = format!("{strategy:?}, tested: {is_tested}, {number}, {x:#x}");
                match (word(index, *offset), found) {
                    (Some(expected), Ok(found)) => assert_eq!(found as u32, expected, "{case}"),
                    (None, Err(error)) => assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds), "{case}"),
                    (expected, found) => panic!("{case}: {found:?} instead of {expected:?}"),
                }
                outcomes[usize::from(word(index, *offset).is_some())] += 1;
            }
        }
        assert!(outcomes.iter().all(|&count| count > 200), "{outcomes:?}");
    }
    Ok(())
}
