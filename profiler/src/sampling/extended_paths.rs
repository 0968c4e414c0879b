//! Extended paths: paths that continue over back edges, or into calls.
//!
//! Input: the events of bursts, in order ([`crate::BurstEvent`]), afterwards or while the program runs. Output: the
//! count of each extended path; while the program runs, only of the most frequent ones, in the bounded memory of a
//! [`HotPathTable`].
//! An extension over at most x back edges combines the paths of a frame, x + 1 at a time, or fewer when the function
//! returns. An extension into calls at most x deep combines a path with the paths of the calls made along it, if
//! these run through their functions without a loop iteration; a callee's path that loops is a path of its own, as is
//! one that lies deeper.
//! Invariant: each path that ends in a burst is part of one extended path, except those that the burst's end cuts
//! off. In bounded memory none consists of more than [`MOST_PIECES`] paths: longer ones are split.
//! Source: Vaswani, *Efficient Online Path Profiling*, PhD thesis 2007, section 5.3, "Detecting extended paths". In
//! the thesis a path into a callee is preceded by the caller's prefix up to the call; here, where calls do not end
//! paths, the caller's whole path follows it. Oracle: `tests/it/extended_paths.rs`.
//!
//! Example, over one back edge: a loop whose iterations are `a b a b a` has `a b` twice, and `a` alone when it is
//! left.

mod profile;

use std::collections::HashMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{HotPathTable, PathName};
pub use profile::{ExtendedPath, ExtendedProfile};

/// Greatest number of paths in an extended path, in bounded memory: as many as a descriptor has branches.
const MOST_PIECES: usize = 32;

/// Number of entries in a set of the table.
const WAYS: usize = 4;

/// The edges or calls that extended paths cross, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extension {
    /// Over this many back edges.
    BackEdges(u32),
    /// Into calls nested this deep.
    Calls(u32),
}

impl std::fmt::Display for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Extension::BackEdges(times) => write!(f, "back-edges:{times}"),
            Extension::Calls(times) => write!(f, "calls:{times}"),
        }
    }
}

/// Parses `back-edges:N` or `calls:N`.
impl FromStr for Extension {
    type Err = String;

    fn from_str(text: &str) -> Result<Extension, String> {
        let parts = text.split_once(':').and_then(|(what, times)| Some((what, times.parse().ok()?)));
        match parts {
            Some(("back-edges", times)) => Ok(Extension::BackEdges(times)),
            Some(("calls", times)) => Ok(Extension::Calls(times)),
            _ => Err("give back-edges:N or calls:N, such as back-edges:1".to_owned()),
        }
    }
}

/// A path of a function: the function's index, and the path's number.
pub type PathOf = (u32, u64);

impl PathName for Vec<PathOf> {
    /// Hashes as descriptors do; the rotation makes the hash depend on the order of the paths.
    fn index(&self) -> u32 {
        let mix = |all: u32, &(func, id): &PathOf| all.rotate_left(5) ^ func ^ (id as u32).rotate_left(16);
        self.iter().fold(self.len() as u32, mix)
    }
}

/// Counts of all extended paths, or of the most frequent ones.
#[derive(Clone, Debug)]
enum Counts {
    All(HashMap<Vec<PathOf>, u64>),
    Hot(HotPathTable<Vec<PathOf>>),
}

impl Counts {
    fn count(&mut self, paths: Vec<PathOf>) {
        match self {
            Counts::All(all) => *all.entry(paths).or_default() += 1,
            Counts::Hot(table) => table.count(paths),
        }
    }

    fn of_each(&self) -> Vec<(&[PathOf], u64)> {
        match self {
            Counts::All(all) => all.iter().map(|(paths, count)| (&paths[..], *count)).collect(),
            Counts::Hot(table) => table.paths().map(|(paths, count)| (&paths[..], count)).collect(),
        }
    }
}

/// Counter of extended paths.
#[derive(Clone, Debug)]
pub struct ExtendedPaths {
    extension: Extension,
    /// The known frames, innermost last.
    frames: Vec<Frame>,
    counts: Counts,
    /// Greatest number of paths in an extended path.
    most: usize,
}

#[derive(Clone, Debug)]
struct Frame {
    func: u32,
    /// The paths of the current extended path so far, in the order in which they ended.
    paths: Vec<PathOf>,
    /// Number of calls that these paths are deep.
    depth: u32,
    /// Whether a path of the frame has already ended.
    has_looped: bool,
}

impl ExtendedPaths {
    /// Creates a counter of all extended paths.
    pub fn new(extension: Extension) -> ExtendedPaths {
        let counts = Counts::All(HashMap::new());
        ExtendedPaths { extension, frames: Vec::new(), counts, most: usize::MAX }
    }

    /// Creates a counter of about `entries` extended paths, the most frequent ones.
    pub fn bounded(extension: Extension, entries: usize) -> ExtendedPaths {
        let counts = Counts::Hot(HotPathTable::new(entries, WAYS));
        ExtendedPaths { extension, frames: Vec::new(), counts, most: MOST_PIECES }
    }

    /// Begins a burst, whose stack is unknown.
    pub fn begin(&mut self) {
        self.frames.clear();
    }

    /// Enters a function.
    pub fn enter(&mut self, func: u32) {
        self.frames.push(Frame { func, paths: Vec::new(), depth: 0, has_looped: false });
    }

    /// Ends a path of the innermost frame, by a back edge or, if `leaves`, by leaving the function.
    pub fn end(&mut self, path: PathOf, leaves: bool) {
        self.find_frame(path.0);
        let Some(mut frame) = self.frames.pop() else { return };
        frame.paths.push(path);
        match self.extension {
            Extension::BackEdges(most) => {
                if leaves || frame.paths.len() > most as usize || frame.paths.len() >= self.most {
                    self.counts.count(std::mem::take(&mut frame.paths));
                }
            }
            Extension::Calls(most) => {
                let paths = std::mem::take(&mut frame.paths);
                // The caller's own path follows the callee's.
                let has_room = |caller: &&mut Frame| caller.paths.len() + paths.len() < self.most;
                let is_part = leaves && !frame.has_looped && frame.depth < most;
                match self.frames.last_mut().filter(|_| is_part).filter(has_room) {
                    Some(caller) => {
                        caller.paths.extend(paths);
                        caller.depth = caller.depth.max(frame.depth + 1);
                    }
                    None => self.counts.count(paths),
                }
                frame.depth = 0;
            }
        }
        if !leaves {
            self.frames.push(Frame { has_looped: true, ..frame });
        }
    }

    /// Returns the count of each extended path, as its paths in the order in which they ended; most frequent first.
    pub fn counts(&self) -> Vec<(&[PathOf], u64)> {
        let mut all = self.counts.of_each();
        all.sort_unstable_by_key(|&(paths, count)| (std::cmp::Reverse(count), paths));
        all
    }

    /// Returns the counts as part of a profile.
    pub fn profile(&self) -> ExtendedProfile {
        let path = |(pieces, count): (&[PathOf], u64)| ExtendedPath { pieces: pieces.to_vec(), count };
        let mut paths: Vec<ExtendedPath> = self.counts.of_each().into_iter().map(path).collect();
        paths.sort();
        ExtendedProfile { extension: self.extension, paths }
    }

    /// Makes the innermost frame of a function the innermost of all: the frames above have ended other than by a
    /// path. A frame that was called before the burst is new.
    fn find_frame(&mut self, func: u32) {
        match self.frames.iter().rposition(|frame| frame.func == func) {
            Some(at) => self.frames.truncate(at + 1),
            None => {
                self.frames.clear();
                self.enter(func);
                self.frames[0].has_looped = true;
            }
        }
    }
}
