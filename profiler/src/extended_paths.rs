//! Extended paths: paths that go on over back edges, or into calls.
//!
//! Input: what happens in bursts, in order ([`crate::BurstEvent`]). Output: how often each extended path ran.
//! Over at most x back edges, the paths of a frame are taken together, x + 1 at a time, or fewer when the function is left.
//! Into calls at most x deep, a path is taken together with the paths of the calls made along it, if these run through their
//! functions without a round of a loop; what loops is a path of its own, as is what lies deeper.
//! Invariant: each path that ends in a burst is part of one extended path, but for those that the burst's end cuts off.
//! Source: Vaswani, *Efficient Online Path Profiling*, PhD thesis 2007, section 5.3, "Detecting extended paths". There a path
//! into a callee has the caller's way up to the call in front; here, where calls do not end paths, all of the caller's path
//! comes behind it. Oracle: `tests/it/extended_paths.rs`.
//!
//! Example, over one back edge: a loop whose rounds are `a b a b a` has `a b` twice, and `a` alone when it is left.

use std::collections::HashMap;
use std::str::FromStr;

/// Over what paths are extended, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// So many back edges.
    BackEdges(u32),
    /// So many calls, one inside the other.
    Calls(u32),
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

/// Counts extended paths.
#[derive(Clone, Debug)]
pub struct ExtendedPaths {
    extension: Extension,
    /// The frames that are known, the innermost last.
    frames: Vec<Frame>,
    counts: HashMap<Vec<PathOf>, u64>,
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
        ExtendedPaths { extension, frames: Vec::new(), counts: HashMap::new() }
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
                if leaves || frame.paths.len() > most as usize {
                    self.count(std::mem::take(&mut frame.paths));
                }
            }
            Extension::Calls(most) => {
                let paths = std::mem::take(&mut frame.paths);
                let caller =
                    self.frames.last_mut().filter(|_| leaves && !frame.has_looped && frame.depth < most);
                match caller {
                    Some(caller) => {
                        caller.paths.extend(paths);
                        caller.depth = caller.depth.max(frame.depth + 1);
                    }
                    None => self.count(paths),
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
        let mut all: Vec<_> = self.counts.iter().map(|(paths, count)| (paths.as_slice(), *count)).collect();
        all.sort_unstable_by_key(|&(paths, count)| (std::cmp::Reverse(count), paths));
        all
    }

    fn count(&mut self, paths: Vec<PathOf>) {
        *self.counts.entry(paths).or_default() += 1;
    }

    /// Makes the innermost frame of a function the innermost of all: those above have ended otherwise than by a path. One that
    /// was called before the burst is new.
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
