//! Programs with phases: versions that were optimised for one phase are made anew in the next.

use wprof::profiler::BurstLengths;
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// `run(n, which)` calls `step` n times, on its path `which`, each of which calls another function; `calls(n, which)`
/// calls through a table; `mixed(n)` alternates between both paths.
const WAT: &str = r#"(module
    (type $unary (func (param i32) (result i32)))
    (table 2 funcref) (elem (i32.const 0) $double $shift)
    (func $double (type $unary) (i32.mul (local.get 0) (i32.const 2)))
    (func $shift (type $unary) (i32.shr_u (local.get 0) (i32.const 3)))
    (func $step (param $i i32) (param $which i32) (result i32)
        (if (local.get $which)
            (then (local.set $i (call $shift (i32.xor (local.get $i) (i32.const 5)))))
            (else (local.set $i (call $double (i32.add (local.get $i) (i32.const 7))))))
        (i32.rotl (local.get $i) (i32.const 1)))
    (func (export "run") (param $n i32) (param $which i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (call $step (local.get $n) (local.get $which)) (local.get $sum)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "calls") (param $n i32) (param $which i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add
                (call_indirect (type $unary) (local.get $n) (local.get $which)) (local.get $sum)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func (export "mixed") (param $n i32) (param $which i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add
                (call $step (local.get $n) (i32.and (local.get $n) (i32.const 1))) (local.get $sum)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

const STEP: u32 = 2;
const RUN: u32 = 3;
const CALLS: u32 = 4;
const DOUBLE: u32 = 0;
const SHIFT: u32 = 1;

/// Number of loop iterations in a phase: several rounds of the reoptimizer.
const ROUNDS: i32 = 100_000;

fn policy() -> Policy {
    Policy { first_round: 4, longest_round: 64, least_seen: 500, ..Policy::default() }
}

struct Program {
    store: Store<()>,
    module: Module,
    instance: Instance,
}

impl Program {
    fn new(config: &Config) -> Result<Program> {
        let engine = Engine::new(config)?;
        let (mut store, module) = (Store::new(&engine, ()), Module::new(&engine, WAT)?);
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        Ok(Program { store, module, instance })
    }

    /// Creates a program whose versions are deterministic.
    fn adaptive() -> Result<Program> {
        let lengths = BurstLengths::new(97, 20);
        let adaptive = Adaptive { lengths, ..Adaptive::default() };
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Adaptive(adaptive)).reoptimization(Some(policy()));
        config.strategy(Strategy::Tiered).promote_after(2).background_compilation(false);
        Program::new(&config)
    }

    fn call(&mut self, name: &str, args: (i32, i32)) -> Result<i32> {
        self.instance.get_typed_func::<(i32, i32), i32>(&mut self.store, name)?.call(&mut self.store, args)
    }

    /// Returns the phase changes of a function, in order: the changed decisions, and the functions inlined since.
    fn phases(&self, func: u32) -> Vec<(Vec<Decision>, Vec<u32>)> {
        let phase = |done: Reoptimization| {
            let is_change = |decision: &Decision| matches!(decision.verdict, Verdict::PhaseChange { .. });
            let (changes, others): (Vec<_>, Vec<_>) = done.decisions.into_iter().partition(is_change);
            let inlined = others.iter().filter_map(|decision| match decision.verdict {
                Verdict::Inlined { callee, .. } => Some(callee),
                _ => None,
            });
            Some((changes, inlined.collect())).filter(|(changes, _)| !changes.is_empty())
        };
        let all = self.module.reoptimizations().into_iter();
        all.filter(|done| done.func == func).filter_map(phase).collect()
    }
}

/// Runs the calls, and compares their results with those of plain code.
fn run(program: &mut Program, calls: &[(&str, i32, i32)]) -> Outcome {
    let mut plain = Program::new(&Config::new())?;
    for &(name, n, which) in calls {
        assert_eq!(program.call(name, (n, which))?, plain.call(name, (n, which))?, "{name}({n}, {which})");
    }
    Ok(())
}

#[test]
fn a_function_whose_paths_change_gets_a_version_for_them() -> Outcome {
    let mut program = Program::adaptive()?;
    run(&mut program, &[("run", ROUNDS, 0)])?;
    assert_eq!(program.phases(STEP).len(), 0, "{:?}", program.module.reoptimizations());
    run(&mut program, &[("run", ROUNDS, 1)])?;
    let phases = program.phases(STEP);
    let [(changes, inlined)] = &phases[..] else { panic!("{:?}", program.module.reoptimizations()) };
    let Verdict::PhaseChange { what, predicted, measured } = changes[0].verdict else { unreachable!() };
    assert_eq!((what, changes.len()), (SideExits::Paths, 1));
    assert!(predicted < 0.1 && measured > 0.5, "{changes:?}");
    assert_eq!(inlined[0], SHIFT);
    Ok(())
}

/// The loop is in a function that inlines the changing one.
#[test]
fn callers_of_a_function_whose_paths_change_get_another_version_too() -> Outcome {
    let mut program = Program::adaptive()?;
    run(&mut program, &[("run", ROUNDS, 0), ("run", ROUNDS, 1)])?;
    let phases = program.phases(RUN);
    let [(changes, inlined)] = &phases[..] else { panic!("{:?}", program.module.reoptimizations()) };
    assert!(changes.iter().all(|change| change.func == STEP), "{changes:?}");
    assert!(inlined.starts_with(&[STEP, SHIFT]), "{inlined:?}");
    Ok(())
}

#[test]
fn a_call_through_a_table_that_goes_elsewhere_gets_another_guess() -> Outcome {
    let mut program = Program::adaptive()?;
    run(&mut program, &[("calls", ROUNDS, 0), ("calls", ROUNDS, 1)])?;
    let phases = program.phases(CALLS);
    let [(changes, inlined)] = &phases[..] else { panic!("{:?}", program.module.reoptimizations()) };
    let Verdict::PhaseChange { what, predicted, measured } = changes[0].verdict else { unreachable!() };
    assert_eq!(what, SideExits::Callees);
    assert!(predicted < 0.1 && measured > 0.5, "{changes:?}");
    assert_eq!(inlined, &[SHIFT]);
    Ok(())
}

#[test]
fn without_phases_there_are_no_changes() -> Outcome {
    let mut program = Program::adaptive()?;
    run(&mut program, &[("mixed", ROUNDS, 0), ("run", 10, 1), ("mixed", 2 * ROUNDS, 0)])?;
    let done = program.module.reoptimizations();
    let inlined = |callee| {
        let is = |decision: &Decision| matches!(decision.verdict, Verdict::Inlined { callee: c, .. } if c == callee);
        done.iter().flat_map(|done| &done.decisions).any(is)
    };
    assert!(inlined(DOUBLE) && inlined(SHIFT), "{done:?}");
    assert!((0..6).all(|func| program.phases(func).is_empty()), "{done:?}");
    Ok(())
}

#[test]
fn phases_that_come_and_go_are_not_followed_for_ever() -> Outcome {
    let mut program = Program::adaptive()?;
    let most = policy().most_phases as usize;
    for turn in 0..3 * most as i32 {
        run(&mut program, &[("run", ROUNDS, turn & 1), ("calls", ROUNDS, turn & 1)])?;
    }
    for func in [STEP, RUN, CALLS] {
        assert_eq!(program.phases(func).len(), most, "function {func}");
    }
    Ok(())
}

#[test]
fn the_same_input_goes_through_the_same_versions() -> Outcome {
    let decisions = || -> std::result::Result<_, Box<dyn std::error::Error>> {
        let mut program = Program::adaptive()?;
        run(
            &mut program,
            &[("run", ROUNDS, 0), ("calls", ROUNDS, 0), ("run", ROUNDS, 1), ("calls", ROUNDS, 1)],
        )?;
        let all = program.module.reoptimizations().into_iter();
        Ok(all.map(|done| (done.func, done.bytes, done.decisions)).collect::<Vec<_>>())
    };
    assert_eq!(decisions()?, decisions()?);
    Ok(())
}
