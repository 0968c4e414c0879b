//! The most compact numbers that edge weights can give a few interesting paths.
//!
//! Input: a [`PathNumbering`] and the numbers of at most six interesting paths. Output: the least range of numbers that
//! tells them apart.
//! Invariant: it is at least the number of paths, and at most the range of a [`PreferentialNumbering`].
//! Source: Vaswani 2007, section 6.2.1, which asks for the optimum by integer programming. Ours: each edge is a vector of
//! zeros and ones, by the paths that take it, and what weights can give the paths is the lattice of these vectors. So the
//! search is not over weights, of which there is one for each edge, but over numbers, a path at a time, in a basis
//! with one new path each (Hermite's normal form); a branch ends where a number is taken, or out of range.
//! Oracle: all small weights on small graphs, in `tests/it/preferential_numbering.rs`.

use super::preferential_numbering::view_edges;
use crate::{PathNumbering, PreferentialNumbering};

/// The most paths of which the optimum is looked for.
const MOST_PATHS: usize = 6;

/// The number of steps after which the search is given up.
const MOST_STEPS: u32 = 1 << 22;

/// A number for each path.
type Numbers = [i64; MOST_PATHS];

/// Returns the least range of numbers, from 0 to below it, that weights on edges can give these paths so that all are
/// different; `None` if there are no paths, too many, or the search takes too long.
pub fn optimal_range(numbering: &PathNumbering, interesting: &[u64]) -> Option<u64> {
    let found = PreferentialNumbering::new(numbering, interesting)?;
    let paths = found.paths().len();
    if paths > MOST_PATHS {
        return None;
    }
    let basis = basis(&edges(numbering, &found), paths);
    let mut steps = MOST_STEPS;
    for range in paths as u64..found.range() {
        let mut search = Search { basis: &basis, range: range as i64, steps };
        if search.finds(&[], [0; MOST_PATHS]) {
            return Some(range);
        }
        steps = search.steps;
        if steps == 0 {
            return None;
        }
    }
    Some(found.range())
}

/// Returns the edges that the paths take, each as a one for each path that takes it.
fn edges(numbering: &PathNumbering, found: &PreferentialNumbering) -> Vec<Numbers> {
    let mut taken = vec![[0; MOST_PATHS]; numbering.view().edge_count()];
    for (path, of) in found.paths().iter().enumerate() {
        for edge in view_edges(numbering, of.id).into_iter().flatten() {
            taken[edge.index()][path] = 1;
        }
    }
    taken.sort_unstable();
    taken.dedup();
    taken
}

/// Returns by path a vector that is zero for earlier paths and not for this one, if there is any; all sums of multiples
/// of these are all those of `vectors`.
fn basis(vectors: &[Numbers], paths: usize) -> Vec<Option<Numbers>> {
    let mut rest = vectors.to_vec();
    let mut basis = Vec::new();
    for path in 0..paths {
        // Euclid's algorithm: the least one divides all others, or leaves something smaller.
        let least = loop {
            let least =
                rest.iter().filter(|vector| vector[path] != 0).min_by_key(|vector| vector[path].abs());
            let Some(least) = least.copied() else { break None };
            let mut is_only = true;
            for vector in rest.iter_mut().filter(|vector| **vector != least && vector[path] != 0) {
                let times = vector[path].div_euclid(least[path]);
                vector.iter_mut().zip(least).for_each(|(number, of_least)| *number -= times * of_least);
                is_only &= vector[path] == 0;
            }
            if is_only {
                break Some(least);
            }
        };
        rest.retain(|vector| vector[path] == 0);
        basis.push(least);
    }
    basis
}

/// A search for different numbers below a range.
struct Search<'a> {
    basis: &'a [Option<Numbers>],
    range: i64,
    steps: u32,
}

impl Search<'_> {
    /// Reports whether the first paths can have the numbers `taken`, and the others some. What the earlier parts of the
    /// basis give to all paths is `sum`.
    fn finds(&mut self, taken: &[i64], sum: Numbers) -> bool {
        let path = taken.len();
        if path == self.basis.len() {
            return true;
        }
        let step = self.basis[path].map_or(0, |vector| vector[path].abs());
        // A number that no vector can change is what it is.
        let first = if step > 0 { sum[path].rem_euclid(step) } else { sum[path] };
        let last = if step > 0 { self.range - 1 } else { first };
        let mut number = first;
        while number <= last && self.steps > 0 {
            self.steps -= 1;
            if (0..self.range).contains(&number) && !taken.contains(&number) {
                let mut next = sum;
                if let Some(vector) = self.basis[path] {
                    let times = (number - sum[path]) / vector[path];
                    next.iter_mut().zip(vector).for_each(|(sum, of_vector)| *sum += times * of_vector);
                }
                if self.finds(&[taken, &[number]].concat(), next) {
                    return true;
                }
            }
            number += step.max(1);
        }
        false
    }
}
