//! The hot path table: counts of paths in bounded memory.
//!
//! Input: paths as they run, each named by a [`PathDescriptor`], or by the paths that it consists of. Output: the
//! approximate counts of the most frequent paths. The table is divided into sets of a few entries. A path belongs to
//! one set; if that is full, a new path replaces the least frequent path of the set, whose count is lost.
//! Invariant: no path has a higher count than its executions; as long as nothing was replaced, all counts are exact.
//! Source: Vaswani, *Efficient Online Path Profiling*, PhD thesis 2007, section 5.4: a hardware table of 512 entries
//! in sets of 4. Quality: `spec-tests/tests/hot_paths.rs`, by overlap with the complete profile.

/// The name of a path: its start, and the outcomes of its branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathDescriptor {
    /// Start of the path.
    pub start: u32,
    /// Number of bits in `outcomes`.
    pub branches: u8,
    /// The outcomes of the branches, the first branch's in the lowest bits.
    pub outcomes: u32,
}

/// A branch on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Outcome of the branch.
    pub outcome: u32,
    /// Number of bits of the outcome, at most [`PathDescriptor::MOST_BRANCHES`].
    pub bits: u8,
    /// The place of control after the branch.
    pub to: u32,
}

impl PathDescriptor {
    /// Number of bits of outcomes that a descriptor holds.
    pub const MOST_BRANCHES: u8 = 32;

    /// Returns the descriptors of a path: one, or several if it has too many branches, each beginning where the
    /// previous one ends.
    pub fn of_path(start: u32, branches: impl IntoIterator<Item = Branch>) -> Vec<PathDescriptor> {
        let (mut full, mut last) = (Vec::new(), PathDescriptor { start, branches: 0, outcomes: 0 });
        let mut here = start;
        for branch in branches {
            if last.branches + branch.bits > Self::MOST_BRANCHES {
                let next = PathDescriptor { start: here, branches: 0, outcomes: 0 };
                full.push(std::mem::replace(&mut last, next));
            }
            last.outcomes |= branch.outcome << last.branches;
            last.branches += branch.bits;
            here = branch.to;
        }
        full.push(last);
        full
    }
}

/// The size of a table: sets, and entries per set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Number of sets; a power of two.
    pub sets: usize,
    /// Number of entries per set.
    pub ways: usize,
}

impl TableShape {
    /// The default shape: 65,536 entries, two megabytes.
    pub const USUAL: Self = Self { sets: 1 << 14, ways: 4 };

    const MOST_ENTRIES: usize = 1 << 24;
}

/// Parses `SETSxWAYS`, such as `128x4`.
impl std::str::FromStr for TableShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('x').and_then(|(sets, ways)| Some((sets.parse().ok()?, ways.parse().ok()?)));
        let fits = |&(sets, ways): &(usize, usize)| {
            let entries = sets.saturating_mul(ways);
            sets.is_power_of_two() && (1..=Self::MOST_ENTRIES).contains(&entries)
        };
        let (sets, ways) = numbers.filter(fits).ok_or_else(|| {
            format!(
                "give SETSxWAYS, such as 128x4: sets are a power of two, and there are at most {} entries",
                Self::MOST_ENTRIES
            )
        })?;
        Ok(Self { sets, ways })
    }
}

impl std::fmt::Display for TableShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.sets, self.ways)
    }
}

/// The name of a path in a table.
pub trait PathName: Clone + Eq {
    /// Returns the hash that determines the path's set.
    fn index(&self) -> u32;
}

impl PathName for PathDescriptor {
    fn index(&self) -> u32 {
        self.start ^ u32::from(self.branches) ^ self.outcomes
    }
}

/// Returns the set of a path among `sets` sets. The thesis takes the low bits of the index, in which path numbers
/// hardly differ.
fn set_of(path: &impl PathName, sets: usize) -> usize {
    let mixed = path.index().wrapping_mul(0x9e37_79b9);
    ((u64::from(mixed) * sets as u64) >> 32) as usize
}

/// The approximate counts of the most frequent paths.
#[derive(Clone, Debug)]
pub struct HotPathTable<P = PathDescriptor> {
    /// The sets, one after the other; within a set, free entries come last.
    entries: Vec<Option<(P, u64)>>,
    ways: usize,
    /// Figures measured along each entry's path: `metrics` figures per entry.
    measured: Vec<u64>,
    metrics: usize,
    lost: u64,
}

impl<P: PathName> HotPathTable<P> {
    /// Creates an empty table of about `entries` entries: a power of two of sets of `ways` entries.
    pub fn new(entries: usize, ways: usize) -> Self {
        let ways = ways.max(1);
        let sets = (entries / ways).max(1).next_power_of_two();
        HotPathTable { entries: vec![None; sets * ways], ways, measured: Vec::new(), metrics: 0, lost: 0 }
    }

    /// Creates an empty table of a shape.
    pub fn of_shape(shape: TableShape) -> Self {
        Self::new(shape.sets.saturating_mul(shape.ways), shape.ways)
    }

    /// Returns an empty table of the same shape with room for `metrics` metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: usize) -> Self {
        HotPathTable { measured: vec![0; self.entries.len() * metrics], metrics, ..self }
    }

    /// Counts one execution of a path.
    pub fn count(&mut self, path: P) {
        self.add(path, 1, &[]);
    }

    /// Counts `times` executions of a path, along which `measured` was measured in all, by metric.
    pub fn add(&mut self, path: P, times: u64, measured: &[u64]) {
        let sets = self.entries.len() / self.ways;
        let first = set_of(&path, sets) * self.ways;
        let set = &mut self.entries[first..first + self.ways];
        let known = set.iter().position(|entry| entry.as_ref().is_some_and(|(there, _)| *there == path));
        // A free entry has count 0.
        let least = || (0..set.len()).min_by_key(|&at| set[at].as_ref().map_or(0, |(_, count)| *count));
        let Some(at) = known.or_else(least) else { return };
        let figures = &mut self.measured[(first + at) * self.metrics..][..self.metrics];
        match &mut set[at] {
            Some((there, count)) if *there == path => *count = count.saturating_add(times),
            other => {
                let lost = other.replace((path, times));
                self.lost = self.lost.saturating_add(lost.map_or(0, |(_, count)| count));
                figures.fill(0);
            }
        }
        figures.iter_mut().zip(measured).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }

    /// Iterates over the paths in the table with their counts, in no particular order.
    pub fn paths(&self) -> impl Iterator<Item = (&P, u64)> {
        self.entries.iter().flatten().map(|(path, count)| (path, *count))
    }

    /// Iterates over the paths in the table with their counts and measured figures, in no particular order.
    pub fn measured_paths(&self) -> impl Iterator<Item = (&P, u64, &[u64])> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(at, entry)| {
            let (path, count) = entry.as_ref()?;
            Some((path, *count, &self.measured[at * self.metrics..][..self.metrics]))
        })
    }

    /// Returns the sum of the counts that were replaced.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
