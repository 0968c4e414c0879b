//! The hot path table against a table without bound.

use std::collections::BTreeMap;

use wprof_profiler::{TableShape, Branch, HotPathTable, PathDescriptor};

use crate::rng::Rng;

fn path(start: u32, outcomes: u32) -> PathDescriptor {
    PathDescriptor { start, branches: 8, outcomes }
}

#[test]
fn counts_are_exact_while_there_is_room_and_never_too_high() {
    let mut rng = Rng::new(11);
    for different in [3, 60, 500] {
        let (mut table, mut all) = (HotPathTable::new(64, 4), BTreeMap::new());
        for _ in 0..5000 {
            let path = path(4 * rng.below(different) as u32, rng.below(2) as u32);
            table.count(path);
            *all.entry(path).or_insert(0) += 1;
        }
        let found: BTreeMap<PathDescriptor, u64> =
            table.paths().map(|(path, count)| (*path, count)).collect();
        assert!(found.iter().all(|(path, count)| *count <= all[path]));
        assert_eq!(found.values().sum::<u64>() + table.lost(), 5000);
        assert_eq!(table.lost() == 0, found == all, "{different}");
    }
}

#[test]
fn a_path_that_ran_often_stays() {
    let mut table = HotPathTable::new(4, 4);
    (0..10).for_each(|_| table.count(path(1, 1)));
    for other in 0..1000 {
        table.count(path(2 + other, 0));
    }
    assert!(table.paths().any(|found| found == (&path(1, 1), 10)));
    assert_eq!((table.paths().count(), table.lost()), (4, 1010 - 10 - 3));
}

#[test]
fn odd_sizes_are_made_to_fit() {
    for (entries, ways, most) in [(0, 0, 1), (1, 4, 4), (6, 2, 8), (512, 4, 512)] {
        let mut table = HotPathTable::new(entries, ways);
        (0..10_000).for_each(|start| table.count(path(start, 0)));
        assert_eq!(table.paths().count(), most);
    }
}

#[test]
fn long_paths_have_several_descriptors() {
    let branch = |number: u32| Branch { outcome: number & 1, bits: 1, to: 100 + number };
    let found = PathDescriptor::of_path(7, (0..70).map(branch));
    let lengths: Vec<(u32, u8)> = found.iter().map(|part| (part.start, part.branches)).collect();
    assert_eq!(lengths, [(7, 32), (131, 32), (163, 6)]);
    assert_eq!(found[0].outcomes, 0xaaaa_aaaa);
    assert_eq!(PathDescriptor::of_path(3, []), [PathDescriptor { start: 3, branches: 0, outcomes: 0 }]);
    let wide = [Branch { outcome: 9, bits: 31, to: 1 }, Branch { outcome: 2, bits: 2, to: 5 }];
    let parts = PathDescriptor::of_path(0, wide).iter().map(|part| part.outcomes).collect::<Vec<_>>();
    assert_eq!(parts, [9, 2]);
}

#[test]
fn shapes_are_sets_and_ways() {
    assert_eq!("128x4".parse(), Ok(TableShape { sets: 128, ways: 4 }));
    assert_eq!(TableShape::USUAL.to_string().parse(), Ok(TableShape::USUAL));
    for text in ["", "128", "100x4", "0x4", "4x0", "x", "1x99999999999", "4294967296x4294967296", "-1x4"] {
        let error = text.parse::<TableShape>().unwrap_err();
        assert!(error.starts_with("give SETSxWAYS, such as 128x4"), "{text}: {error}");
    }
    let mut small = HotPathTable::of_shape(TableShape { sets: 2, ways: 1 });
    (0..100).for_each(|outcomes| small.count(PathDescriptor { start: 1, branches: 5, outcomes }));
    assert!(small.paths().count() <= 2 && small.lost() >= 98);
}
