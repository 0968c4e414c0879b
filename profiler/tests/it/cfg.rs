//! Construction, order, fingerprints.

use wprof_profiler::{BlockId, Cfg, CfgError, EdgeId};

use crate::random_cfg::{for_random_cfgs, small_cfgs};

#[test]
fn rows_hold_the_edges_in_the_order_given() {
    let cfg = Cfg::from_pairs(3, &[(1, 2), (0, 2), (0, 1), (0, 2), (2, 3)]).unwrap();
    assert_eq!(cfg.out_edges(BlockId(0)), [EdgeId(1), EdgeId(2), EdgeId(3)]);
    assert_eq!(cfg.successors(BlockId(0)).collect::<Vec<_>>(), [BlockId(2), BlockId(1), BlockId(2)]);
    assert_eq!(cfg.predecessors(BlockId(2)).collect::<Vec<_>>(), [BlockId(1), BlockId(0), BlockId(0)]);
    assert_eq!(cfg.predecessors(cfg.exit()).collect::<Vec<_>>(), [BlockId(2)]);
    assert_eq!((cfg.block_count(), cfg.vertex_count(), cfg.edge_count()), (3, 4, 5));
    assert_eq!(cfg.edge(cfg.closing_edge()).to, BlockId::ENTRY);
}

#[test]
fn graphs_are_well_formed() {
    for_random_cfgs(|cfg, _| cfg.verify());
    small_cfgs().for_each(|cfg| cfg.verify());
}

#[test]
fn what_is_no_graph_is_refused() {
    assert_eq!(Cfg::from_pairs(0, &[]), Err(CfgError::NoEntry));
    let from_exit = Cfg::from_pairs(1, &[(0, 1), (1, 0)]);
    assert_eq!(from_exit, Err(CfgError::BadSource { edge: 1, from: BlockId(1), blocks: 1 }));
    let beyond = Cfg::from_pairs(1, &[(0, 2)]);
    assert_eq!(beyond, Err(CfgError::BadTarget { edge: 0, to: BlockId(2), blocks: 1 }));
    assert_eq!(Cfg::from_pairs(u32::MAX, &[]), Err(CfgError::TooLarge));
}

#[test]
fn critical_edges_need_a_block_of_their_own() {
    // 0 branches to 1 and 2, 1 goes on to 2; 2 loops to 0 or returns.
    let cfg = Cfg::from_pairs(3, &[(0, 1), (0, 2), (1, 2), (2, 0), (2, 3)]).unwrap();
    let critical: Vec<bool> = cfg.edges().map(|edge| cfg.is_critical(edge)).collect();
    assert_eq!(critical, [false, true, false, true, false]);
}

#[test]
fn fingerprints_never_change() {
    let cfg = Cfg::from_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
    assert_eq!(format!("{:016x}", cfg.fingerprint()), "82250bd7a083df67");
}

#[test]
fn small_graphs_have_different_fingerprints() {
    let mut seen: Vec<u64> = small_cfgs().map(|cfg| cfg.fingerprint()).collect();
    let graphs = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), graphs);
}
