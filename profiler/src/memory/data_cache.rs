//! A simulated data cache: how many lines a program's loads and stores miss.
//!
//! Input: accesses, in order. Output: the misses of each.
//! Invariant: set-associative, the line that was used longest ago goes first, and stores bring lines in as loads do.
//! What it says depends on the accesses alone, so one program with one input has the same misses on any machine.
//! Source: Ammons, Ball & Larus 1997, section 3, of misses as a metric. Oracle: lists of lines that are searched one by one, in `tests/it/data_cache.rs`.

/// The size and shape of a cache. All three are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheShape {
    bytes: u32,
    ways: u32,
    line: u32,
}

/// Why there is no cache of some shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCacheShape {
    /// A figure is none.
    #[error("size, ways and line size of a cache must be powers of two")]
    NoPowerOfTwo,
    /// Lines are too short for one access, or longer than a page.
    #[error("a line of a cache has from 16 to 4096 bytes")]
    BadLine,
    /// Too little for one set, or more than anyone has.
    #[error("a cache has room for at least as many lines as it has ways, and at most for 1 GiB")]
    BadSize,
}

impl CacheShape {
    /// Usual today: 32 KiB, 8 ways, lines of 64 bytes.
    pub const USUAL: Self = Self { bytes: 32 << 10, ways: 8, line: 64 };

    /// A cache of so many bytes, which has so many places for each line, of so many bytes.
    ///
    /// # Errors
    /// If there can be none.
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

    /// Bytes in a line.
    pub fn line(self) -> u32 {
        self.line
    }

    /// How many lines have the same places.
    fn sets(self) -> u64 {
        u64::from(self.bytes / self.line / self.ways)
    }
}

/// A line of one of several memories.
type Line = (u64, u64);

/// The lines that a cache holds.
#[derive(Clone, Debug)]
pub struct DataCache {
    shape: CacheShape,
    /// By set, its ways, those used last first.
    places: Vec<Option<Line>>,
}

impl DataCache {
    /// An empty cache.
    pub fn new(shape: CacheShape) -> Self {
        Self { shape, places: vec![None; (shape.bytes / shape.line) as usize] }
    }

    /// Its shape.
    pub fn shape(&self) -> CacheShape {
        self.shape
    }

    /// A load or store of `bytes` bytes from `address` on, in the memory that this number names. Gives the lines
    /// missed.
    pub fn touch(&mut self, memory: u64, address: u64, bytes: u64) -> u64 {
        let Some(more) = bytes.checked_sub(1) else { return 0 };
        let [first, last] =
            [address, address.saturating_add(more)].map(|byte| byte / u64::from(self.shape.line));
        (first..=last).map(|line| u64::from(!self.use_line((memory, line)))).sum()
    }

    /// Makes a line the one used last of its set; whether it was there.
    fn use_line(&mut self, line: Line) -> bool {
        let ways = self.shape.ways as usize;
        let first = (line.1 % self.shape.sets()) as usize * ways;
        let set = &mut self.places[first..first + ways];
        let found = set.iter().position(|place| *place == Some(line));
        set[..=found.unwrap_or(ways - 1)].rotate_right(1);
        set[0] = Some(line);
        found.is_some()
    }
}
