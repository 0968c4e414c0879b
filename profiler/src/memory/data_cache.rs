//! A simulated data cache, which counts the lines that a program's loads and stores miss.
//!
//! Input: accesses, in order. Output: the misses of each access.
//! Invariant: the cache is set-associative with least-recently-used replacement, and stores allocate lines as loads
//! do. Misses depend on the accesses alone, so a program with the same input has the same misses on any machine.
//! Source: Ammons, Ball & Larus 1997, section 3, for misses as a metric. Oracle: linear lists of lines, in
//! `tests/it/data_cache.rs`.

/// The size and shape of a cache. All three figures are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheShape {
    bytes: u32,
    ways: u32,
    line: u32,
}

/// Why a cache shape is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCacheShape {
    /// A figure is not a power of two.
    #[error("size, ways and line size of a cache must be powers of two")]
    NoPowerOfTwo,
    /// A line is too short for one access, or longer than a page.
    #[error("a line of a cache has from 16 to 4096 bytes")]
    BadLine,
    /// The size does not hold one set, or exceeds 1 GiB.
    #[error("a cache has room for at least as many lines as it has ways, and at most for 1 GiB")]
    BadSize,
}

impl CacheShape {
    /// The usual shape today: 32 KiB, 8 ways, lines of 64 bytes.
    pub const USUAL: Self = Self { bytes: 32 << 10, ways: 8, line: 64 };

    /// Creates the shape of a cache of `bytes` bytes in total, with `ways` ways and lines of `line` bytes.
    ///
    /// # Errors
    /// Returns an error if a figure is not a power of two, or a line or the size is out of range.
    pub fn new(bytes: u32, ways: u32, line: u32) -> Result<Self, BadCacheShape> {
        if ![bytes, ways, line].iter().all(|figure| figure.is_power_of_two()) {
            return Err(BadCacheShape::NoPowerOfTwo);
        }
        if !(16..=4096).contains(&line) {
            return Err(BadCacheShape::BadLine);
        }
        let least = u64::from(ways) * u64::from(line);
        match (least..=1 << 30).contains(&u64::from(bytes)) {
            true => Ok(Self { bytes, ways, line }),
            false => Err(BadCacheShape::BadSize),
        }
    }

    /// Returns the bytes of a line.
    pub fn line(self) -> u32 {
        self.line
    }

    /// Returns the number of lines that `bytes` bytes at `address` lie in.
    pub(super) fn lines_of(self, address: u64, bytes: u64) -> u64 {
        self.lines(address, bytes).map_or(0, |[first, last]| last - first + 1)
    }

    /// Returns the numbers of the first and of the last of these lines; `None` if there is no byte.
    fn lines(self, address: u64, bytes: u64) -> Option<[u64; 2]> {
        let more = bytes.checked_sub(1)?;
        // A line's length is a power of two, but only known here: dividing by it would take most of the time.
        Some([address, address.saturating_add(more)].map(|byte| byte >> self.line.trailing_zeros()))
    }

    /// Returns the number of sets.
    fn sets(self) -> u64 {
        u64::from(self.bytes >> self.line.trailing_zeros() >> self.ways.trailing_zeros())
    }
}

/// A line: the number of its memory, and its number therein.
type Line = (u64, u64);

/// The lines that a cache holds.
#[derive(Clone, Debug)]
pub struct DataCache {
    shape: CacheShape,
    /// The lines by set and, within a set, from the most to the least recently used.
    places: Vec<Option<Line>>,
}

impl DataCache {
    /// Creates an empty cache.
    pub fn new(shape: CacheShape) -> Self {
        Self { shape, places: vec![None; (shape.bytes / shape.line) as usize] }
    }

    /// Returns the shape of the cache.
    pub fn shape(&self) -> CacheShape {
        self.shape
    }

    /// Simulates a load or store of `bytes` bytes at `address` in the memory numbered `memory`. Returns the number of
    /// lines missed.
    pub fn touch(&mut self, memory: u64, address: u64, bytes: u64) -> u64 {
        self.touch_each(memory, address, bytes, |_| ())
    }

    /// The same; `missed` is told the address of each line missed, ascending.
    pub(super) fn touch_each(
        &mut self,
        memory: u64,
        address: u64,
        bytes: u64,
        mut missed: impl FnMut(u64),
    ) -> u64 {
        let Some([first, last]) = self.shape.lines(address, bytes) else { return 0 };
        let mut misses = 0;
        for line in first..=last {
            if !self.use_line((memory, line)) {
                misses += 1;
                missed(line << self.shape.line.trailing_zeros());
            }
        }
        misses
    }

    /// Makes a line the most recently used of its set; returns whether it was cached.
    fn use_line(&mut self, line: Line) -> bool {
        let ways = self.shape.ways as usize;
        let first = (line.1 & (self.shape.sets() - 1)) as usize * ways;
        let set = &mut self.places[first..first + ways];
        if set[0] == Some(line) {
            return true;
        }
        let found = set.iter().position(|place| *place == Some(line));
        set[..=found.unwrap_or(ways - 1)].rotate_right(1);
        set[0] = Some(line);
        found.is_some()
    }
}
