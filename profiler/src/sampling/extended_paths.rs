//! Extended paths: paths that go on over back edges, or into calls.
//!
//! Input: what happens in bursts, in order ([`crate::BurstEvent`]), afterwards or while the program runs. Output: how
//! often each extended path ran; while it runs, of those that ran most, in the bounded memory of a [`HotPathTable`].
//! Over at most x back edges, the paths of a frame are taken together, x + 1 at a time, or fewer when the function is
//! left. Into calls at most x deep, a path is taken together with the paths of the calls made along it, if these run
//! through their functions without a round of a loop; what loops is a path of its own, as is what lies deeper.
//! Invariant: each path that ends in a burst is part of one extended path, but for those that the burst's end cuts
//! off. In bounded memory none is made of more than [`MOST_PIECES`] paths: longer ones are split.
//! Source: Vaswani, *Efficient Online Path Profiling*, PhD thesis 2007, section 5.3, "Detecting extended paths".
//! There a path into a callee has the caller's way up to the call in front; here, where calls do not end paths, all
//! of the caller's path comes behind it. Oracle: `tests/it/extended_paths.rs`.
//!
//! Example, over one back edge: a loop whose rounds are `a b a b a` has `a b` twice, and `a` alone when it is left.

mod profile;

use std::collections::HashMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{HotPathTable, PathName};
pub use profile::{ExtendedPath, ExtendedProfile};

/// Of how many paths an extended path is made at most, in bounded memory: as many as a descriptor has branches.
const MOST_PIECES: usize = 32;

/// How many entries there are in a set of the table.
const WAYS: usize = 4;

/// Over what paths are extended, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extension {
    /// So many back edges.
    BackEdges(u32),
    /// So many calls, one inside the other.
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

/// `back-edges:N` or `calls:N`.
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

/// A path of a function: its index, and the path's number.
pub type PathOf = (u32, u64);

impl PathName for Vec<PathOf> {
    /// As those of descriptors, but for the order of the paths, which is told by turning the bits.
    fn index(&self) -> u32 {
        let mix = |all: u32, &(func, id): &PathOf| all.rotate_left(5) ^ func ^ (id as u32).rotate_left(16);
        self.iter().fold(self.len() as u32, mix)
    }
}

/// Counts of extended paths: of all, or of those that ran most.
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

/// Counts extended paths.
#[derive(Clone, Debug)]
pub struct ExtendedPaths {
    extension: Extension,
    /// The frames that are known, the innermost last.
    frames: Vec<Frame>,
    counts: Counts,
    /// Of how many paths one is made at most.
    most: usize,
}

#[derive(Clone, Debug)]
struct Frame {
    func: u32,
    /// What is part of the extended path so far, in the order in which it ended.
    paths: Vec<PathOf>,
    /// How many calls deep that is.
    depth: u32,
    /// Whether a path of the frame has ended already.
    has_looped: bool,
}

impl ExtendedPaths {
    /// None yet.
    pub fn new(extension: Extension) -> ExtendedPaths {
        let counts = Counts::All(HashMap::new());
        ExtendedPaths { extension, frames: Vec::new(), counts, most: usize::MAX }
    }

    /// None yet, and never more than about so many.
    pub fn bounded(extension: Extension, entries: usize) -> ExtendedPaths {
        let counts = Counts::Hot(HotPathTable::new(entries, WAYS));
        ExtendedPaths { extension, frames: Vec::new(), counts, most: MOST_PIECES }
    }

    /// A burst begins: what is on the stack is not known.
    pub fn begin(&mut self) {
        self.frames.clear();
    }

    /// A function is entered.
    pub fn enter(&mut self, func: u32) {
        self.frames.push(Frame { func, paths: Vec::new(), depth: 0, has_looped: false });
    }

    /// A path of the innermost frame has ended, by a back edge or by leaving the function.
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
                // The caller's own path comes behind it.
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

    /// How often each ran, as the paths that it is made of in the order in which they end; the most frequent first.
    pub fn counts(&self) -> Vec<(&[PathOf], u64)> {
        let mut all = self.counts.of_each();
        all.sort_unstable_by_key(|&(paths, count)| (std::cmp::Reverse(count), paths));
        all
    }

    /// The same as part of a profile.
    pub fn profile(&self) -> ExtendedProfile {
        let path = |(pieces, count): (&[PathOf], u64)| ExtendedPath { pieces: pieces.to_vec(), count };
        let mut paths: Vec<ExtendedPath> = self.counts.of_each().into_iter().map(path).collect();
        paths.sort();
        ExtendedProfile { extension: self.extension, paths }
    }

    /// Makes the innermost frame of a function the innermost of all: those above have ended otherwise than by a path.
    /// One that was called before the burst is new.
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
