//! Event plans, run, against the events in the log.

use wprof_profiler::{BlockId, Cfg, EdgeId, EdgeWeights, EventPlan};

/// The example of the module's documentation.
#[test]
fn a_branch_with_different_events_on_its_ways() {
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let weights = EdgeWeights::from_vec(vec![1.0, 5.0, 6.0, 4.0, 9.0]);
    let plan = EventPlan::new(&cfg, &weights, &[1, 0, 5, 2, 0], &[]);
    assert_eq!(plan.increments, [(EdgeId(0), 6), (EdgeId(3), 2)]);
    assert_eq!(plan.queries, [0, -5, 0]);
    assert_eq!(plan.max_correction(), 5);
    // A call in b1 is cheaper corrected twice than b1 -> EXIT counted.
    let plan = EventPlan::new(&cfg, &weights, &[1, 0, 5, 2, 0], &[BlockId(1)]);
    assert_eq!(plan.queries, [0, -5, 0]);
    assert_eq!(plan.around, [(BlockId(1), -5)]);
}
