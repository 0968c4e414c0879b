//! Policies of bursts: what they leave out is accounted for, and they change nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wprof::profiler::{BurstLengths, BurstPolicy, BurstSite, Phase, Profile, RareSites};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The only check is in the loop of `run` (2): the other functions are short.
const WAT: &str = r#"(module
    (func $left (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func $right (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
    (func (export "run") (param $n i32) (result i32) (local $x i32)
        (loop $again
            (local.set $x (call $right (call $left (local.get $x))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $x)))"#;

/// Lets every second burst begin, and sets the pace after the first one.
#[derive(Debug)]
struct Picky {
    asked: Arc<AtomicU64>,
}

impl BurstPolicy for Picky {
    fn begins(&mut self, site: BurstSite) -> bool {
        assert_eq!(site.function, 2, "{site:?}");
        self.asked.fetch_add(1, Relaxed).is_multiple_of(2)
    }

    fn after(&mut self, between: Phase, burst: Phase) -> Option<u32> {
        assert!(burst.checks > 0 && between.time > 0, "{between:?}, {burst:?}");
        Some(90)
    }
}

fn adaptive() -> Config {
    let lengths = BurstLengths::new(200, 3);
    let mut config = Config::new();
    config.background_compilation(false).reoptimization(None);
    config.profiling(ProfilingConfig::Adaptive(Adaptive { lengths, ..Adaptive::default() }));
    config
}

fn profile(config: &Config) -> Result<(i32, Profile)> {
    let engine = Engine::new(config)?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, WAT)?, &[])?;
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    let result = run.call(&mut store, 200_000)?;
    Ok((result, instance.profile(&store)?))
}

#[test]
fn what_a_policy_leaves_out_is_skipped_and_stands_for_its_checks() -> Outcome {
    let asked = Arc::new(AtomicU64::new(0));
    let (expected, usual) = profile(&adaptive())?;
    let mut config = adaptive();
    let counter = asked.clone();
    config.burst_policy(move || Box::new(Picky { asked: counter.clone() }));
    let (result, profile) = profile(&config)?;
    assert_eq!(result, expected);

    let skipped = profile.skipped.as_ref().expect("some are");
    let here = skipped.functions.iter().find(|skipped| skipped.function == 2).expect("those in `run`");
    let left_out = asked.load(Relaxed) / 2;
    assert!(left_out > 100 && here.bursts >= left_out, "{left_out}, {here:?}");
    assert!(here.ops > 0);
    // Bursts that began, at the pace that the policy has set: a check in 90 instead of one in 200.
    let due = |profile: &Profile| profile.skipped_bursts() + profile.effective_bursts() as u64;
    assert!(due(&profile) > due(&usual) * 3 / 2, "{} and {}", due(&profile), due(&usual));
    Ok(())
}

#[test]
fn rare_sites_change_neither_results_nor_what_is_due() -> Outcome {
    let (expected, usual) = profile(&adaptive())?;
    let mut config = adaptive();
    config.burst_policy(|| Box::new(RareSites::new(2, 100)));
    let (result, profile) = profile(&config)?;
    assert_eq!(result, expected);
    assert!(profile.skipped_bursts() > 100, "hot places have few bursts");
    assert!(profile.effective_bursts() < usual.effective_bursts() / 4.0);
    Ok(())
}

#[test]
fn a_policy_needs_bursts_that_it_may_spread() {
    let refused = |config: &mut Config| {
        config.burst_policy(|| Box::new(RareSites::default()));
        Engine::new(config).expect_err("refused").to_string()
    };
    assert!(refused(&mut Config::new()).contains("profile adaptively"));
    let with = |adaptive| {
        let mut config = Config::new();
        config.profiling(ProfilingConfig::Adaptive(adaptive));
        refused(&mut config)
    };
    let budget = "1%".parse().ok();
    assert!(with(Adaptive { budget, ..Adaptive::default() }).contains("a policy of its own"));
    let trigger = Trigger::Time(std::time::Duration::from_millis(1));
    assert!(with(Adaptive { trigger, ..Adaptive::default() }).contains("where time begins them"));
}
