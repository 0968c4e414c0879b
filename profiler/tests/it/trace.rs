//! Regenerated runs against the log of the run.

use crate::random_cfg::small_cfgs;
use crate::rng::Rng;
use crate::trace_machine::{
    Function, METHODS, check, joined, random_calls, random_program, regenerate, run, traced,
};

#[test]
fn what_is_regenerated_is_what_ran() {
    arbtest::arbtest(|u| {
        let size = u.int_in_range(1..=30)?;
        let steps = u.int_in_range(0..=2000)?;
        let mut rng = Rng::new(u.arbitrary()?);
        let program = random_program(&mut rng, size);
        check(&program, &run(&program, &mut rng, steps));
        Ok(())
    })
    .budget_ms(4000);
}

#[test]
fn what_is_regenerated_on_all_small_graphs_is_what_ran() {
    let mut rng = Rng::new(12);
    for (index, cfg) in small_cfgs().enumerate() {
        let calls = if index % 2 == 0 { vec![] } else { random_calls(&cfg, 1, &mut rng) };
        let program = [Function::new(cfg, calls, METHODS[index % 3])];
        check(&program, &run(&program, &mut rng, 120));
    }
}

#[test]
fn segments_joined_are_the_whole_run() {
    let mut rng = Rng::new(13);
    for _ in 0..200 {
        let program = random_program(&mut rng, 12);
        let run = run(&program, &mut rng, 400);
        let (events, error) = regenerate(&traced(&program), &joined(&run));
        assert_eq!((events, error), (run.logs.concat(), None));
    }
}
