//! Vectorised loops do what they did: with any number of rounds, overlapping or not, at the ends of memory, and on NaNs.
//!
//! Loops are random: expressions of values that are side by side in memory, in each type, once or several times a round,
//! counted in several ways. Baseline code, which is not vectorised, says what they do.

use std::fmt::Write;

use wprof::profiler::BurstLengths;
use wprof::*;

use crate::random::Random;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Size of the memory of a program.
const PAGE: usize = 1 << 16;

impl Random {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// What is in memory side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F64,
    F32,
    I64,
    I32,
    I16,
    I8,
}

const KINDS: [Kind; 6] = [Kind::F64, Kind::F32, Kind::I64, Kind::I32, Kind::I16, Kind::I8];

impl Kind {
    fn size(self) -> i32 {
        match self {
            Kind::F64 | Kind::I64 => 8,
            Kind::F32 | Kind::I32 => 4,
            Kind::I16 => 2,
            Kind::I8 => 1,
        }
    }

    /// Returns the type of the values that loops compute with.
    fn ty(self) -> &'static str {
        match self {
            Kind::F64 => "f64",
            Kind::F32 => "f32",
            Kind::I64 => "i64",
            Kind::I32 | Kind::I16 | Kind::I8 => "i32",
        }
    }

    fn load(self) -> &'static str {
        match self {
            Kind::I16 => "i32.load16_u",
            Kind::I8 => "i32.load8_u",
            Kind::F64 => "f64.load",
            Kind::F32 => "f32.load",
            Kind::I64 => "i64.load",
            Kind::I32 => "i32.load",
        }
    }

    fn store(self) -> &'static str {
        match self {
            Kind::I16 => "i32.store16",
            Kind::I8 => "i32.store8",
            Kind::F64 => "f64.store",
            Kind::F32 => "f32.store",
            Kind::I64 => "i64.store",
            Kind::I32 => "i32.store",
        }
    }

    fn operators(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Kind::F64 | Kind::F32 => {
                (&["add", "sub", "mul", "div"], &["neg", "abs", "sqrt", "ceil", "floor", "trunc"])
            }
            Kind::I64 => (&["add", "sub", "and", "or", "xor"], &[]),
            Kind::I32 | Kind::I16 => (&["add", "sub", "mul", "and", "or", "xor"], &[]),
            Kind::I8 => (&["add", "sub", "and", "or", "xor"], &[]),
        }
    }

    /// Returns a constant of the type of its values.
    fn constant(self, number: i64) -> String {
        format!("({}.const {number})", self.ty())
    }
}

/// An expression of what is side by side at an index.
#[derive(Clone, Debug)]
enum Expr {
    /// What is so many places further in one of three arrays.
    Load(usize, i32),
    /// What is always at the same address.
    Kept,
    Constant(i64),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A shift by a constant.
    Shift(&'static str, Box<Expr>, i64),
    Select(&'static str, Box<[Expr; 4]>),
}

impl Expr {
    fn random(random: &mut Random, kind: Kind, deep: u32) -> Expr {
        let part = |random: &mut Random| Box::new(Expr::random(random, kind, deep - 1));
        let (binary, unary) = kind.operators();
        match if deep == 0 { random.below(5) } else { 3 + random.below(9) } {
            3 => Expr::Kept,
            4 => Expr::Constant(random.below(9) as i64 - 2),
            5 if !unary.is_empty() => Expr::Unary(random.pick(unary), part(random)),
            6 if kind == Kind::I32 || kind == Kind::I64 => {
                Expr::Shift(random.pick(&["shl", "shr_u"]), part(random), random.below(9) as i64)
            }
            7 if kind == Kind::I8 || kind == Kind::I16 => {
                Expr::Shift("shr_u", Box::new(Expr::Load(random.below(3), 0)), random.below(7) as i64)
            }
            8 if kind.size() >= 4 => {
                let test = match kind {
                    Kind::F64 | Kind::F32 => random.pick(&["lt", "ge", "eq", "ne"]),
                    _ => random.pick(&["lt_s", "lt_u", "ge_s", "gt_u", "eq", "ne"]),
                };
                Expr::Select(test, Box::new([(); 4].map(|()| Expr::random(random, kind, deep - 1))))
            }
            9.. => Expr::Binary(random.pick(binary), part(random), part(random)),
            _ => Expr::Load(random.below(3), random.pick(&[0, 0, 0, 1, -1, 2, 7])),
        }
    }
}

/// A loop that computes an array from three, of which it may be one.
#[derive(Clone, Debug)]
struct Kernel {
    kind: Kind,
    value: Expr,
    /// The array that it stores to, and how many places further.
    to: (usize, i32),
    /// How often a round computes.
    copies: i32,
    /// How it addresses: by pointers, by an offset, by an index.
    addressing: usize,
    /// The test by which it continues.
    counting: usize,
}

impl Kernel {
    fn random(random: &mut Random, kind: Kind) -> Kernel {
        let value = Expr::random(random, kind, 3);
        let (to, copies) = ((random.below(4), random.pick(&[0, 0, 0, 1])), random.pick(&[1, 1, 2, 3, 4, 8]));
        Kernel { kind, value, to, copies, addressing: random.below(3), counting: random.below(4) }
    }

    /// Returns the address of a place of an array, and the constant to add to it.
    fn address(&self, array: usize, place: i32) -> String {
        let array = ["$a", "$b", "$c", "$d"][array];
        let base = match self.addressing {
            0 => format!("(local.get {array})"),
            1 => format!("(i32.add (local.get {array}) (local.get $at))"),
            _ => {
                let shift = self.kind.size().trailing_zeros();
                format!("(i32.add (local.get {array}) (i32.shl (local.get $i) (i32.const {shift})))")
            }
        };
        match place * self.kind.size() {
            0 => base,
            // Compilers fold only what cannot wrap.
            by if by > 0 && self.counting.is_multiple_of(2) => format!("offset={by} {base}"),
            by => format!("(i32.add {base} (i32.const {by}))"),
        }
    }

    fn render(&self, value: &Expr, copy: i32) -> String {
        let (ty, part) = (self.kind.ty(), |value: &Expr| self.render(value, copy));
        match value {
            Expr::Load(array, place) => {
                format!("({} {})", self.kind.load(), self.address(*array, place + copy))
            }
            Expr::Kept => format!("({} (local.get $kept))", self.kind.load()),
            Expr::Constant(number) => self.kind.constant(*number),
            Expr::Unary(op, a) => format!("({ty}.{op} {})", part(a)),
            Expr::Binary(op, a, b) => format!("({ty}.{op} {} {})", part(a), part(b)),
            Expr::Shift(op, a, by) => format!("({ty}.{op} {} {})", part(a), self.kind.constant(*by)),
            Expr::Select(test, of) => {
                let [a, b, c, d] = of.each_ref().map(part);
                format!("(select {a} {b} ({ty}.{test} {c} {d}))")
            }
        }
    }

    /// Returns a function of the addresses of four arrays, of that of a value, and of the number of rounds.
    fn function(&self, name: &str) -> String {
        let Kernel { kind, copies, .. } = *self;
        let mut text = format!(
            "(func (export \"{name}\")
                (param $a i32) (param $b i32) (param $c i32) (param $d i32) (param $kept i32) (param $n i32)
                (local $at i32) (local $i i32) (loop $again "
        );
        for copy in 0..copies {
            let (to, place) = self.to;
            let value = self.render(&self.value, copy);
            _ = writeln!(text, "({} {} {value})", kind.store(), self.address(to, place + copy));
        }
        let add = |local: &str, by: i32| {
            format!("(local.set {local} (i32.add (local.get {local}) (i32.const {by})))")
        };
        for array in ["$a", "$b", "$c", "$d"].iter().filter(|_| self.addressing == 0) {
            text += &add(array, copies * kind.size());
        }
        text += &add("$at", copies * kind.size());
        text += &add("$i", copies);
        text += match self.counting {
            0 => "(br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))",
            1 => "(br_if $again (i32.lt_s (local.get $i) (local.get $n)))",
            2 => "(br_if $again (i32.le_u (local.get $i) (local.get $n)))",
            _ => {
                "(br_if $again (i32.ne (local.tee $n (i32.sub (local.get $n) (i32.const 3))) (i32.const 2)))"
            }
        };
        text + "))"
    }
}

/// Returns a module with a function for each of these loops.
fn module(kernels: &[Kernel]) -> String {
    let functions: String =
        kernels.iter().enumerate().map(|(index, kernel)| kernel.function(&format!("f{index}"))).collect();
    format!("(module (memory (export \"memory\") 1 2) {functions})")
}

/// A call of a loop: its number, and its arguments.
#[derive(Clone, Copy, Debug)]
struct Call {
    function: usize,
    arrays: [i32; 4],
    kept: i32,
    rounds: i32,
}

struct Program {
    store: Store<()>,
    module: Module,
    instance: Instance,
    memory: Memory,
}

impl Program {
    fn new(config: &Config, text: &str) -> Result<Program> {
        let engine = Engine::new(config)?;
        let module = Module::new(&engine, text)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        Ok(Program { store, module, instance, memory })
    }

    /// Makes a call in memory filled with `bytes`. Returns whether it returned, and what is in memory.
    fn call(&mut self, call: &Call, bytes: &[u8]) -> Result<(bool, Vec<u8>)> {
        self.memory.data_mut(&mut self.store).copy_from_slice(bytes);
        let name = format!("f{}", call.function);
        let function =
            self.instance.get_typed_func::<(i32, i32, i32, i32, i32, i32), ()>(&mut self.store, &name)?;
        let [a, b, c, d] = call.arrays;
        let result = function.call(&mut self.store, (a, b, c, d, call.kept, call.rounds));
        Ok((result.is_ok(), self.memory.data(&self.store).to_vec()))
    }

    /// Returns how many loops are vectorised, and why others are not.
    fn decided(&self) -> (usize, Vec<NoVectors>) {
        let loops = self.module.vectorized_loops();
        let refused: Vec<NoVectors> = loops.iter().filter_map(|found| found.outcome.err()).collect();
        (loops.len() - refused.len(), refused)
    }
}

pub fn plain(strategy: Strategy) -> Config {
    let mut config = Config::new();
    config.strategy(strategy).background_compilation(false).profiling(ProfilingConfig::Off);
    config
}

/// Returns a configuration in which all that ran is reoptimized.
fn eager() -> Config {
    let mut config = Config::new();
    config.strategy(Strategy::Tiered).background_compilation(false).promote_after(3);
    let lengths = BurstLengths::new(20, 30);
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config.reoptimization(Some(Policy::eager()));
    config
}

/// Returns random bytes in which numbers of the kind are often special: NaNs with different bits, infinities, zeros.
fn filled(random: &mut Random, kind: Kind) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..PAGE).map(|_| random.next() as u8).collect();
    let size = kind.size() as usize;
    let special = |random: &mut Random| match (kind, random.below(16)) {
        (Kind::F64, 0) => (0x7ff0_0000_0000_0001 | random.next()).to_le_bytes().to_vec(),
        (Kind::F64, 1) => f64::INFINITY.to_le_bytes().to_vec(),
        (Kind::F64, 2) => (-0.0_f64).to_le_bytes().to_vec(),
        (Kind::F64, 3..14) => (random.below(2000) as f64 / 8.0 - 100.0).to_le_bytes().to_vec(),
        (Kind::F32, 0) => (0x7f80_0001 | random.next() as u32).to_le_bytes().to_vec(),
        (Kind::F32, 1) => f32::INFINITY.to_le_bytes().to_vec(),
        (Kind::F32, 2) => (-0.0_f32).to_le_bytes().to_vec(),
        (Kind::F32, 3..14) => (random.below(2000) as f32 / 8.0 - 100.0).to_le_bytes().to_vec(),
        _ => Vec::new(),
    };
    for place in bytes.chunks_mut(size) {
        let value = special(random);
        if value.len() == place.len() {
            place.copy_from_slice(&value);
        }
    }
    bytes
}

/// Returns a call with arrays near each other, or near the ends of memory.
fn call(random: &mut Random, function: usize, kind: Kind, copies: i32) -> Call {
    let around = match random.below(8) {
        0 => PAGE as i32 - 64 - random.below(400) as i32,
        1 => random.below(40) as i32 - 20,
        _ => 1000 + random.below(20_000) as i32,
    };
    let near = random.pick(&[40, 300, 4000]);
    let size = if random.below(4) == 0 { 1 } else { kind.size() };
    let place = |random: &mut Random| (around + random.below(near) as i32) / size * size;
    let arrays = [(); 4].map(|()| place(random));
    let rounds = match random.below(6) {
        0 => random.below(2000) as i32,
        1 => random.below(6) as i32,
        _ => random.below(70) as i32,
    };
    Call { function, arrays, kept: place(random), rounds: rounds * random.pick(&[1, copies]) }
}

#[test]
fn vectorized_loops_store_what_they_stored() -> Outcome {
    let (mut made, mut returned) = (0, 0);
    for seed in 0..24 {
        let mut random = Random::new(seed);
        let kind = KINDS[seed as usize % KINDS.len()];
        let kernels: Vec<Kernel> = (0..6).map(|_| Kernel::random(&mut random, kind)).collect();
        let text = module(&kernels);
        let mut expected = Program::new(&plain(Strategy::Baseline), &text)?;
        let mut others = [Program::new(&plain(Strategy::Optimized), &text)?, Program::new(&eager(), &text)?];
        let bytes = filled(&mut random, kind);
        // Here the loops become hot.
        for (index, round) in (0..kernels.len()).flat_map(|index| (0..30).map(move |round| (index, round))) {
            let call =
                Call { function: index, arrays: [8, 4000, 8000, 12000], kept: 0, rounds: 302 + 3 * round };
            others[1].call(&call, &bytes)?;
        }
        made += others[1].decided().0;
        for _ in 0..120 {
            let function = random.below(kernels.len());
            let call = call(&mut random, function, kind, kernels[function].copies);
            let wanted = expected.call(&call, &bytes)?;
            returned += usize::from(wanted.0);
            for (number, other) in others.iter_mut().enumerate() {
                let found = other.call(&call, &bytes)?;
                let differs = wanted.1.iter().zip(&found.1).position(|(a, b)| a != b);
                assert!(
                    wanted.0 == found.0 && differs.is_none(),
                    "seed {seed}, configuration {number}, {call:?}: returned {} and {}, differs at {differs:?}\n{:?}\n{}",
                    wanted.0,
                    found.0,
                    kernels[function],
                    kernels[function].function("f")
                );
            }
        }
    }
    assert!(made > 50 && returned > 1000, "{made} loops vectorized, {returned} calls returned");
    Ok(())
}

/// Loops whose arrays tests place: each is vectorised if its arrays are apart.
fn simple() -> Vec<Kernel> {
    let load = |array: usize, place: i32| Box::new(Expr::Load(array, place));
    let kernel = |kind: Kind, value: Expr, copies: i32| {
        let (to, addressing, counting) = ((2, 0), 1, 1);
        Kernel { kind, value, to, copies, addressing, counting }
    };
    let sum = Expr::Binary("add", load(0, 0), load(1, 0));
    let mut all: Vec<Kernel> = KINDS.iter().map(|&kind| kernel(kind, sum.clone(), 1)).collect();
    all.push(kernel(Kind::F64, Expr::Binary("mul", Box::new(sum.clone()), Box::new(Expr::Kept)), 2));
    all.push(kernel(Kind::F32, Expr::Unary("sqrt", load(0, 3)), 8));
    all.push(kernel(Kind::F64, Expr::Binary("div", load(0, -1), load(0, 1)), 5));
    all
}

/// Makes the loops hot, so that they are reoptimized; returns the program.
fn warm(config: &Config, text: &str, loops: usize) -> Result<Program> {
    let mut program = Program::new(config, text)?;
    let bytes = vec![1; PAGE];
    for (function, round) in (0..loops).flat_map(|function| (0..160).map(move |round| (function, round))) {
        let call = Call { function, arrays: [8, 8000, 16_000, 24_000], kept: 0, rounds: 300 + round % 40 };
        program.call(&call, &bytes)?;
    }
    Ok(program)
}

#[test]
fn arrays_may_overlap_by_any_distance() -> Outcome {
    let kernels = simple();
    let text = module(&kernels);
    let mut expected = Program::new(&plain(Strategy::Baseline), &text)?;
    let mut others =
        [Program::new(&plain(Strategy::Optimized), &text)?, warm(&eager(), &text, kernels.len())?];
    let bytes = filled(&mut Random::new(3), Kind::I8);
    for (function, by) in (0..kernels.len()).flat_map(|function| (-70..=70).map(move |by| (function, by))) {
        // The array that is stored to begins so far from the first one; then from the value that is always loaded.
        for (third, kept) in [(5000 + by, 0), (9000, 9000 + 4 * by)] {
            let call = Call { function, arrays: [5000, 7000, third, 0], kept, rounds: 67 };
            let wanted = expected.call(&call, &bytes)?;
            for other in &mut others {
                assert!(other.call(&call, &bytes)? == wanted, "{call:?} {:?}", kernels[function]);
            }
        }
    }
    Ok(())
}

#[test]
fn loops_stop_at_the_end_of_memory_in_the_same_round() -> Outcome {
    let kernels = simple();
    let text = module(&kernels);
    let mut expected = Program::new(&plain(Strategy::Baseline), &text)?;
    let mut others =
        [Program::new(&plain(Strategy::Optimized), &text)?, warm(&eager(), &text, kernels.len())?];
    let bytes = filled(&mut Random::new(4), Kind::I8);
    let mut trapped = 0;
    for (function, left) in (0..kernels.len()).flat_map(|function| (0..40).map(move |left| (function, left)))
    {
        let size = kernels[function].kind.size();
        let end = PAGE as i32 - left * size - left % 3;
        // The end of each array in turn; before memory, so that indices wrap around to its begin.
        for arrays in
            [[end, 100, 30_000, 0], [100, end, 30_000, 0], [100, 30_000, end, 0], [-left, 9000, 500, 0]]
        {
            let call = Call { function, arrays, kept: 40_000, rounds: 37 };
            let wanted = expected.call(&call, &bytes)?;
            trapped += usize::from(!wanted.0);
            for other in &mut others {
                assert!(other.call(&call, &bytes)? == wanted, "{call:?} {:?}", kernels[function]);
            }
        }
    }
    assert!(trapped > 500, "{trapped}");
    Ok(())
}

#[test]
fn a_module_says_which_loops_are_vectorized() -> Outcome {
    let kernels = simple();
    let text = module(&kernels);
    let mut checking = eager();
    checking.reoptimization(None);
    for config in [eager(), checking, plain(Strategy::Optimized)] {
        let program = warm(&config, &text, kernels.len())?;
        let loops = program.module.vectorized_loops();
        let funcs: Vec<u32> =
            loops.iter().filter(|found| found.outcome.is_ok()).map(|found| found.func).collect();
        assert_eq!(funcs, (0..kernels.len() as u32).collect::<Vec<u32>>(), "{loops:?}");
    }
    let mut without = eager();
    without.passes("all,-vectors".parse()?);
    assert_eq!(warm(&without, &text, kernels.len())?.decided(), (0, Vec::new()));
    Ok(())
}

#[test]
fn loops_of_few_rounds_lose_their_vectors() -> Outcome {
    let text = "(module (memory (export \"memory\") 1) (func (export \"f0\")
        (param $a i32) (param $b i32) (param $c i32) (param $d i32) (param $kept i32) (param $n i32) (local $i i32)
        (loop $again
            (f64.store (local.get $i) (f64.neg (f64.load offset=8000 (local.get $i))))
            (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $n))))))";
    let mut config = eager();
    config.reoptimization(Some(Policy { least_windows: 5.0, ..Policy::eager() }));
    for (rounds, expected) in [(6, (0, vec![NoVectors::FewRounds])), (30, (1, Vec::new()))] {
        let mut program = Program::new(&config, text)?;
        let call = Call { function: 0, arrays: [0; 4], kept: 0, rounds: 8 * rounds };
        (0..2000).try_for_each(|_| program.call(&call, &[1; PAGE]).map(drop))?;
        assert_eq!(program.decided(), expected, "{rounds} rounds");
    }
    Ok(())
}

/// A loop in which each element depends on the one before, behind one that can be vectorised.
const RECURRENCE: &str = "(module (memory (export \"memory\") 1) (func (export \"f0\")
    (param $a i32) (param $b i32) (param $c i32) (param $d i32) (param $kept i32) (param $n i32) (local $i i32)
    (loop $again
        (f64.store (i32.add (local.get $c) (local.get $i)) (f64.load (i32.add (local.get $b) (local.get $i))))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $again
        (f64.store offset=8 (i32.add (local.get $a) (local.get $i))
            (f64.neg (f64.load (i32.add (local.get $a) (local.get $i)))))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (local.get $n))))))";

#[test]
fn a_module_says_why_a_loop_is_not_vectorized() -> Outcome {
    let program = warm(&eager(), RECURRENCE, 1)?;
    let (made, refused) = program.decided();
    assert!(made > 0 && refused.first() == Some(&NoVectors::Dependence), "{made} {refused:?}");
    Ok(())
}

#[test]
fn code_around_vectors_is_proven() -> Outcome {
    let kernels = simple();
    let text = module(&kernels);
    for mut config in [plain(Strategy::Optimized), eager()] {
        let engine = Engine::new(config.verify(true))?;
        let module = Module::new(&engine, &text)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        let names = (0..kernels.len()).map(|index| format!("f{index}"));
        for name in names.flat_map(|name| (0..40).map(move |_| name.clone())) {
            let run = instance.get_typed_func::<(i32, i32, i32, i32, i32, i32), ()>(&mut store, &name)?;
            run.call(&mut store, (8, 8000, 16_000, 24_000, 0, 300))?;
        }
        assert_eq!(engine.unproven(), [] as [String; 0]);
        assert!(engine.proofs().0 >= kernels.len() as u64);
    }
    Ok(())
}

#[test]
fn a_vectorized_loop_that_does_not_end_is_interrupted() -> Outcome {
    // The step is even and the bound odd; the address stays, and what is stored fills a vector.
    let text = "(module (memory 1) (func (export \"f\") (param $n i32) (local $i i32)
        (loop $again
            (i64.store (i32.const 64) (i64.const 7)) (i64.store (i32.const 72) (i64.const 7))
            (br_if $again (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 2))) (local.get $n))))))";
    let engine = Engine::new(&eager())?;
    let module = Module::new(&engine, text)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<i32, ()>(&mut store, "f")?;
    for rounds in 0..60 {
        run.call(&mut store, 2000 + 2 * rounds)?;
    }
    assert!(module.vectorized_loops().iter().any(|found| found.outcome.is_ok()));
    let handle = store.interrupt_handle();
    let interrupter = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        handle.interrupt();
    });
    assert!(run.call(&mut store, 7).is_err());
    interrupter.join().expect("it only waits");
    Ok(())
}

#[test]
fn what_a_loop_stores_at_one_place_is_loaded_in_each_round() -> Outcome {
    let text = "(module (memory (export \"memory\") 1) (func (export \"f0\")
        (param $a i32) (param $b i32) (param $c i32) (param $d i32) (param $kept i32) (param $n i32) (local $t f64)
        (loop $again
            (local.set $t (f64.load (local.get $kept)))
            (f64.store (local.get $kept) (f64.add (local.get $t) (f64.load (local.get $a))))
            (f64.store offset=8 (local.get $kept) (f64.add (local.get $t) (f64.load offset=8 (local.get $a))))
            (local.set $a (i32.add (local.get $a) (i32.const 16)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))";
    let bytes: Vec<u8> = (0..PAGE / 8).flat_map(|number| (number as f64).to_le_bytes()).collect();
    let mut expected = Program::new(&plain(Strategy::Baseline), text)?;
    let mut others = [Program::new(&plain(Strategy::Optimized), text)?, warm(&eager(), text, 1)?];
    assert!(others[1].decided().0 > 0);
    for kept in [16, 800, 808, 4800, 40_000] {
        let call = Call { function: 0, arrays: [800, 0, 0, 0], kept, rounds: 250 };
        let wanted = expected.call(&call, &bytes)?;
        for other in &mut others {
            assert!(other.call(&call, &bytes)? == wanted, "{call:?}");
        }
    }
    Ok(())
}
