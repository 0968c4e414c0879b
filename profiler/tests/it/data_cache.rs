//! The simulated cache against lists that are searched, and by hand.

use std::collections::HashMap;

use wprof_profiler::{AccessEnergy, BadCacheShape, CacheLevels, CacheShape, DataCache, LevelMisses};

use crate::rng::Rng;

/// By set, its lines, those used last at the end.
#[derive(Default)]
struct Lists(HashMap<u64, Vec<(u64, u64)>>);

impl Lists {
    fn touch(&mut self, [size, ways, line]: [u32; 3], memory: u64, byte: u64) -> u64 {
        let number = byte / u64::from(line);
        let set = self.0.entry(number % u64::from(size / line / ways)).or_default();
        let known = set.len();
        set.retain(|&other| other != (memory, number));
        let missed = set.len() == known;
        set.push((memory, number));
        if set.len() > ways as usize {
            set.remove(0);
        }
        missed.into()
    }
}

#[test]
fn misses_are_those_of_lists() {
    let mut rng = Rng::new(1);
    for shape in [[256, 1, 16], [1024, 4, 64], [512, 32, 16], [4096, 2, 128]] {
        let [size, ways, line] = shape;
        let mut cache = DataCache::new(CacheShape::new(size, ways, line).expect("a cache"));
        let mut lists = Lists::default();
        let mut misses = [0; 2];
        for _ in 0..20_000 {
            let (memory, address) = (rng.next() % 2, rng.next() % (3 * u64::from(size)));
            let bytes = rng.next() % (3 * u64::from(line));
            let mut expected = 0;
            let mut last = None;
            for byte in address..address + bytes {
                if last != Some(byte / u64::from(line)) {
                    expected += lists.touch(shape, memory, byte);
                    last = Some(byte / u64::from(line));
                }
            }
            let found = cache.touch(memory, address, bytes);
            assert_eq!(found, expected, "{shape:?}");
            misses[usize::from(found > 0)] += 1;
        }
        assert!(misses[0] > 1000 && misses[1] > 1000, "{misses:?}");
    }
}

/// The second level sees the lines that the first misses, whole.
#[test]
fn levels_are_caches_in_a_row() {
    let mut rng = Rng::new(2);
    for shapes in
        [[[256, 1, 16], [1024, 2, 64]], [[512, 2, 64], [2048, 4, 64]], [[256, 2, 64], [1024, 1, 16]]]
    {
        let [first, second] =
            shapes.map(|[size, ways, line]| CacheShape::new(size, ways, line).expect("a cache"));
        let (mut levels, mut alone) = (CacheLevels::new(first, Some(second)), CacheLevels::new(first, None));
        let mut lists = [Lists::default(), Lists::default()];
        let mut seen = LevelMisses::default();
        for _ in 0..20_000 {
            let (address, bytes) = (rng.next() % 4096, rng.next() % 100);
            let lengths = shapes.map(|shape| u64::from(shape[2]));
            let mut expected = LevelMisses::default();
            let mut lines: Vec<u64> = (address..address + bytes).map(|byte| byte / lengths[0]).collect();
            lines.dedup();
            for line in lines {
                expected.lines += 1;
                if lists[0].touch(shapes[0], 0, line * lengths[0]) > 0 {
                    expected.first += 1;
                    let parts = (line * lengths[0]..(line + 1) * lengths[0])
                        .step_by(lengths[0].min(lengths[1]) as usize);
                    let missed: u64 = parts.map(|byte| lists[1].touch(shapes[1], 0, byte)).sum();
                    expected.second += missed.min(1);
                }
            }
            let found = levels.touch(0, address, bytes);
            assert_eq!(found, expected, "{shapes:?}");
            assert_eq!(alone.touch(0, address, bytes), LevelMisses { second: 0, ..expected });
            seen.add(found);
        }
        assert!(seen.lines > seen.first && seen.first > seen.second && seen.second > 1000, "{seen:?}");
    }
}

#[test]
fn energy_is_that_of_the_level_with_the_line() {
    let shape = |size| CacheShape::new(size, 1, 64).expect("a cache");
    let costs = AccessEnergy { first: 1, second: 10, memory: 100 };
    let energy = |mut levels: CacheLevels| {
        [0, 8, 64, 0].map(|address| {
            let seen = levels.touch(0, address, 8);
            levels.energy(seen, costs)
        })
    };
    // Lines 0 and 1 of a cache with one line drop each other; both are in the second level.
    assert_eq!(energy(CacheLevels::new(shape(64), Some(shape(128)))), [111, 1, 111, 11]);
    assert_eq!(energy(CacheLevels::new(shape(64), None)), [101, 1, 101, 101]);
    let most = AccessEnergy { first: u32::MAX, second: u32::MAX, memory: u32::MAX };
    let all = LevelMisses { lines: u64::from(u32::MAX), first: u64::from(u32::MAX), second: 0 };
    assert_eq!(CacheLevels::new(shape(64), None).energy(all, most), u64::MAX);
}

#[test]
fn the_line_used_longest_ago_goes() {
    let mut cache = DataCache::new(CacheShape::new(128, 2, 64).expect("a cache"));
    let misses = [0, 64, 0, 128, 0, 64].map(|address| cache.touch(0, address, 1));
    assert_eq!(misses, [1, 1, 0, 1, 0, 1]);
    assert_eq!(cache.touch(0, u64::MAX, 7), 1, "what would wrap ends at the end");
}

#[test]
fn caches_have_sensible_shapes() {
    use BadCacheShape::{BadLine, BadSize, NoPowerOfTwo};
    let refused = |size, ways, line| CacheShape::new(size, ways, line).err();
    assert_eq!(CacheShape::new(32 << 10, 8, 64), Ok(CacheShape::USUAL));
    assert_eq!(refused(3000, 2, 64), Some(NoPowerOfTwo));
    assert_eq!(refused(1024, 0, 64), Some(NoPowerOfTwo));
    assert_eq!(refused(1024, 2, 8), Some(BadLine));
    assert_eq!(refused(64, 2, 64), Some(BadSize));
    assert_eq!(refused(1 << 31, 2, 64), Some(BadSize));
}
