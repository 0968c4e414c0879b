//! The hot path table: counts of paths in bounded memory.
//!
//! Input: paths as they run, each named by a [`PathDescriptor`], or by the paths that it is made of. Output: the
//! counts of those that ran most, about. The table is divided into sets of few entries. A path has its place in one
//! set; where that is full, a new path replaces the one that was counted least there, whose count is lost.
//! Invariant: no path has a higher count than it has run; while nothing was replaced all counts are exact.
//! Source: Vaswani, *Efficient Online Path Profiling*, PhD thesis 2007, section 5.4, a table in hardware of 512
//! entries in sets of 4. Quality: `spec-tests/tests/hot_paths.rs`, by overlap with the complete profile.

/// What a path is called: where it begins, and which way each of its branches went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathDescriptor {
    /// Where it begins.
    pub start: u32,
    /// How many bits the outcomes of its branches take.
    pub branches: u8,
    /// These bits, the first branch's lowest.
    pub outcomes: u32,
}

/// A branch on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Which way it went.
    pub outcome: u32,
    /// How many bits that takes, at most [`PathDescriptor::MOST_BRANCHES`].
    pub bits: u8,
    /// Where control was then.
    pub to: u32,
}

impl PathDescriptor {
    /// How many bits of outcomes a descriptor has room for.
    pub const MOST_BRANCHES: u8 = 32;

    /// The descriptors of a path: one, or if it has too many branches several, each beginning where the one before
    /// ends.
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

/// How large a table is: sets, and entries in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// How many sets; a power of two.
    pub sets: usize,
    /// How many entries each has.
    pub ways: usize,
}

impl TableShape {
    /// 65,536 entries, two megabytes.
    pub const USUAL: Self = Self { sets: 1 << 14, ways: 4 };

    const MOST_ENTRIES: usize = 1 << 24;
}

/// `128x4`.
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

/// What names a path in a table.
pub trait PathName: Clone + Eq {
    /// What its place in the table depends on.
    fn index(&self) -> u32;
}

impl PathName for PathDescriptor {
    fn index(&self) -> u32 {
        self.start ^ u32::from(self.branches) ^ self.outcomes
    }
}

/// Its set of so many. The thesis takes low bits of the index, in which numbers of paths hardly differ.
fn set_of(path: &impl PathName, sets: usize) -> usize {
    let mixed = path.index().wrapping_mul(0x9e37_79b9);
    ((u64::from(mixed) * sets as u64) >> 32) as usize
}

/// How often some paths ran.
#[derive(Clone, Debug)]
pub struct HotPathTable<P = PathDescriptor> {
    /// Sets, one after the other; within one those that are free come last.
    entries: Vec<Option<(P, u64)>>,
    ways: usize,
    /// What was measured along each entry's path: so many figures an entry.
    measured: Vec<u64>,
    metrics: usize,
    lost: u64,
}

impl<P: PathName> HotPathTable<P> {
    /// An empty table of sets of `ways` entries, about as many as wanted: a power of two of sets.
    pub fn new(entries: usize, ways: usize) -> Self {
        let ways = ways.max(1);
        let sets = (entries / ways).max(1).next_power_of_two();
        HotPathTable { entries: vec![None; sets * ways], ways, measured: Vec::new(), metrics: 0, lost: 0 }
    }

    /// An empty table of a shape.
    pub fn of_shape(shape: TableShape) -> Self {
        Self::new(shape.sets.saturating_mul(shape.ways), shape.ways)
    }

    /// The same, empty, with room for so many metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: usize) -> Self {
        HotPathTable { measured: vec![0; self.entries.len() * metrics], metrics, ..self }
    }

    /// Counts a path.
    pub fn count(&mut self, path: P) {
        self.add(path, 1, &[]);
    }

    /// Counts a path so many times, along which so much was measured in all, by metric.
    pub fn add(&mut self, path: P, times: u64, measured: &[u64]) {
        let sets = self.entries.len() / self.ways;
        let first = set_of(&path, sets) * self.ways;
        let set = &mut self.entries[first..first + self.ways];
        let known = set.iter().position(|entry| entry.as_ref().is_some_and(|(there, _)| *there == path));
        // What is free was never counted.
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

    /// The paths in it, with their counts, in no order.
    pub fn paths(&self) -> impl Iterator<Item = (&P, u64)> {
        self.entries.iter().flatten().map(|(path, count)| (path, *count))
    }

    /// The same, each with what was measured along it.
    pub fn measured_paths(&self) -> impl Iterator<Item = (&P, u64, &[u64])> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(at, entry)| {
            let (path, count) = entry.as_ref()?;
            Some((path, *count, &self.measured[at * self.metrics..][..self.metrics]))
        })
    }

    /// The sum of the counts that were replaced.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
