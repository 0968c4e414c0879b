//! Atomic instructions on unshared memories: each behaves as specified, in all tiers.

use std::fmt::Write as _;

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The initial memory contents at the accessed address.
const BEFORE: u64 = 0xf1e2_d3c4_b5a6_9788;
/// The bits above the value of a narrow access, which must be ignored.
const ABOVE: u64 = 0xaaaa_aaaa_aaaa_aaaa;
const OPERAND: u64 = 0x1032_5476_98ba_dcfe;
/// The offset of each access.
const OFFSET: u64 = 8;

/// An instruction: type, width in bytes, and the word that names the operation.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    is_64: bool,
    bytes: u32,
    does: &'static str,
}

impl Case {
    fn all() -> Vec<Case> {
        let mut all = Vec::new();
        for (ty, is_64) in [("i32", false), ("i64", true)] {
            let full = if is_64 { 8 } else { 4 };
            for bytes in [1, 2, 4, 8].into_iter().filter(|&bytes| bytes <= full) {
                let (width, sign) = match bytes == full {
                    true => (String::new(), ""),
                    false => ((8 * bytes).to_string(), "_u"),
                };
                let mut add = |name: String, does| all.push(Case { name, is_64, bytes, does });
                add(format!("{ty}.atomic.load{width}{sign}"), "load");
                add(format!("{ty}.atomic.store{width}"), "store");
                for does in ["add", "sub", "and", "or", "xor", "xchg", "cmpxchg"] {
                    add(format!("{ty}.atomic.rmw{width}.{does}{sign}"), does);
                }
            }
        }
        all
    }

    /// Returns the text of a function of an address, an operand, and an expected value, all of 64 bits.
    fn function(&self, index: &str) -> String {
        let Case { name, does, .. } = self;
        let operand = |local| match self.is_64 {
            true => format!("(local.get {local})"),
            false => format!("(i32.wrap_i64 (local.get {local}))"),
        };
        let operands = match *does {
            "load" => String::new(),
            "cmpxchg" => operand("$expected") + &operand("$operand"),
            _ => operand("$operand"),
        };
        let access = format!("({name} offset={OFFSET} {index} {operands})");
        let result = match (*does, self.is_64) {
            ("store", _) => format!("{access} (i64.const 0)"),
            (_, false) => format!("(i64.extend_i32_u {access})"),
            _ => access,
        };
        format!(
            "(func (export \"{name}\") (param $at i64) (param $operand i64) (param $expected i64) (result i64)
                {result})\n"
        )
    }

    /// Returns the specified result and the memory contents afterwards.
    fn outcome(&self, operand: u64, expected: u64) -> (u64, u64) {
        let mask = u64::MAX >> (64 - 8 * self.bytes);
        let old = BEFORE & mask;
        let new = match self.does {
            "load" => old,
            "store" | "xchg" => operand,
            "add" => old.wrapping_add(operand),
            "sub" => old.wrapping_sub(operand),
            "and" => old & operand,
            "or" => old | operand,
            "xor" => old ^ operand,
            _ if expected & mask == old => operand,
            _ => old,
        };
        let result = if self.does == "store" { 0 } else { old };
        (result, BEFORE & !mask | new & mask)
    }
}

fn module(memory: &str, index: &str) -> String {
    let mut text = format!("(module (memory (export \"memory\") {memory})\n");
    Case::all().iter().for_each(|case| text += &case.function(index));
    let _ = write!(
        text,
        "(func (export \"wait32\") (param $at i64) (param $operand i64) (param i64) (result i64)
            (i64.extend_i32_u (memory.atomic.wait32 offset=8 {index} (i32.const 0) (local.get $operand))))
         (func (export \"wait64\") (param $at i64) (param $operand i64) (param i64) (result i64)
            (i64.extend_i32_u (memory.atomic.wait64 offset=8 {index} (i64.const 0) (local.get $operand))))
         (func (export \"notify\") (param $at i64) (param $operand i64) (param i64) (result i64)
            (i64.extend_i32_u (memory.atomic.notify offset=8 {index} (i32.wrap_i64 (local.get $operand)))))
         (func (export \"fence\") (param i64) (param i64) (param i64) (result i64) (atomic.fence) (i64.const 5)))"
    );
    text
}

const MEMORIES: [(&str, &str); 2] = [("1", "(i32.wrap_i64 (local.get $at))"), ("i64 1", "(local.get $at)")];

fn configs() -> Vec<Config> {
    let mut checked = Config::new();
    checked.strategy(Strategy::Optimized).memory_reservation(0).memory_guard_size(0);
    let mut baseline_checked = Config::new();
    baseline_checked.strategy(Strategy::Baseline).memory_reservation(0).memory_guard_size(0);
    let mut counting = Config::new();
    counting.profiling(ProfilingConfig::Exact(Collect::Paths)).strategy(Strategy::Optimized);
    let of = |strategy| {
        let mut config = Config::new();
        config.strategy(strategy);
        config
    };
    vec![
        of(Strategy::Baseline),
        of(Strategy::Optimized),
        checked,
        baseline_checked,
        counting,
        Config::conservative(),
    ]
}

type Function = TypedFunc<(i64, i64, i64), i64>;

#[test]
fn each_instruction_gives_what_was_there_and_writes_what_it_says() -> Outcome {
    for (config, (memory, index)) in configs().iter().flat_map(|c| MEMORIES.map(|memory| (c, memory))) {
        let engine = Engine::new(config)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, module(memory, index))?, &[])?;
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        for case in Case::all() {
            let function: Function = instance.get_typed_func(&mut store, &case.name)?;
            for expected in [BEFORE, BEFORE ^ 1, ABOVE << (8 * case.bytes - 1) ^ BEFORE] {
                memory.write(&mut store, 16, &BEFORE.to_le_bytes())?;
                let result = function.call(&mut store, (8, OPERAND as i64, expected as i64))?;
                let mut after = [0; 8];
                memory.read(&store, 16, &mut after)?;
                let found = (result as u64, u64::from_le_bytes(after));
                assert_eq!(found, case.outcome(OPERAND, expected), "{case:?} {config:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn addresses_must_be_multiples_of_the_size_and_lie_in_the_memory() -> Outcome {
    for (config, (memory, index)) in configs().iter().flat_map(|c| MEMORIES.map(|memory| (c, memory))) {
        let engine = Engine::new(config)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, module(memory, index))?, &[])?;
        for case in Case::all() {
            let function: Function = instance.get_typed_func(&mut store, &case.name)?;
            let mut trap =
                |at: i64| function.call(&mut store, (at, 0, 0)).err().and_then(|error| error.trap());
            for at in 0..8 {
                let is_aligned = at % i64::from(case.bytes) == 0;
                assert_eq!(trap(at), (!is_aligned).then_some(Trap::UnalignedAtomic), "{case:?} at {at}");
            }
            let last = 65536 - OFFSET as i64 - i64::from(case.bytes);
            assert_eq!(trap(last), None, "{case:?}");
            assert_eq!(trap(last + i64::from(case.bytes)), Some(Trap::MemoryOutOfBounds), "{case:?}");
        }
    }
    Ok(())
}

#[test]
fn nobody_waits_at_a_memory_that_is_not_shared() -> Outcome {
    for (config, (memory, index)) in configs().iter().flat_map(|c| MEMORIES.map(|memory| (c, memory))) {
        let engine = Engine::new(config)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, module(memory, index))?, &[])?;
        let mut run = |name, at| -> std::result::Result<i64, Option<Trap>> {
            let function: Function = instance.get_typed_func(&mut store, name).map_err(|e| e.trap())?;
            function.call(&mut store, (at, 1, 0)).map_err(|e| e.trap())
        };
        for (name, bytes) in [("wait32", 4), ("wait64", 8), ("notify", 4)] {
            assert_eq!(run(name, bytes / 2), Err(Some(Trap::UnalignedAtomic)), "{name}");
            assert_eq!(run(name, 65536 - 8), Err(Some(Trap::MemoryOutOfBounds)), "{name}");
            let expected = if name == "notify" { Ok(0) } else { Err(Some(Trap::ExpectedSharedMemory)) };
            assert_eq!(run(name, 65536 - 16), expected, "{name}");
        }
        assert_eq!(run("fence", 0), Ok(5));
    }
    Ok(())
}

/// The single-pass compiler writes the baseline code of atomic instructions; without support for one it would leave
/// the function to Cranelift.
#[test]
fn values_around_atomic_instructions_keep_what_they_are() -> Outcome {
    let wat = r#"(module (memory 1)
        (func (export "run") (param $a i32) (param $b i32) (result i32) (local $c i32)
            (local.set $c (i32.mul (local.get $a) (local.get $b)))
            (i32.atomic.store (i32.const 0) (local.get $c))
            (i32.add
                (i32.sub (local.get $c) (i32.atomic.rmw.and (i32.const 0) (local.get $a)))
                (i32.mul
                    (i32.atomic.rmw.cmpxchg (i32.const 0)
                        (i32.and (local.get $a) (local.get $c)) (i32.add (local.get $a) (local.get $b)))
                    (i32.add (i32.atomic.rmw.add (i32.const 0) (local.get $b)) (i32.atomic.load (i32.const 0)))))))"#;
    for config in configs() {
        let engine = Engine::new(&config)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
        for (a, b) in [(3, 5), (-1, 7), (0x1234_5678, 0x0fed_cba9), (i32::MIN, 3)] {
            let c = a.wrapping_mul(b);
            let sum = a.wrapping_add(b);
            let expected = (a & c).wrapping_mul(sum.wrapping_add(sum.wrapping_add(b)));
            assert_eq!(run.call(&mut store, (a, b))?, expected, "{a} {b} {config:?}");
        }
    }
    Ok(())
}
