//! The simulated cache against lists that are searched, and by hand.

use std::collections::HashMap;

use wprof_profiler::{BadCacheShape, CacheShape, DataCache};

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
