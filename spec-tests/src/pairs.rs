//! Covering arrays: few rows of choices that contain each pair of choices.
//!
//! Most faults that only some settings show are shown by two of them. With settings of `n` choices each, `n^2 log k`
//! rows contain all pairs of `k` settings, where all combinations would be `n^k`. Rows are made one by one, greedily:
//! each begins with a pair that no row has yet, and the other settings get the choices that complete the most such
//! pairs, among those that may be combined.
//! Source: Cohen, Dalal, Fredman & Patton, The AETG System: An Approach to Testing Based on Combinatorial Design, IEEE
//! Transactions on Software Engineering 23(7), 1997. Oracle: the tests below.

use std::collections::BTreeSet;

use crate::rng::Rng;

/// A choice for each setting, by its number. The first choice of a setting is its default.
pub type Row = Vec<usize>;

/// Two choices: each the number of a setting, and of its choice.
pub type Pair = [(usize, usize); 2];

/// A covering array.
#[derive(Clone, Debug, Default)]
pub struct Covering {
    /// The rows.
    pub rows: Vec<Row>,
    /// The pairs that may not be combined, whatever the other settings are.
    pub excluded: Vec<Pair>,
}

/// Returns rows that contain each pair of choices that may be combined. `sizes` has the number of choices of each
/// setting; `may_be` tells whether a row, in which settings that are not chosen yet have their defaults, may be.
pub fn covering(sizes: &[usize], may_be: impl Fn(&[usize]) -> bool) -> Covering {
    let mut covering = Covering::default();
    let mut missing: BTreeSet<Pair> = pairs(sizes).collect();
    let mut rng = Rng::new(0);
    while let Some(&pair) = missing.first() {
        let mut row = vec![0; sizes.len()];
        pair.iter().for_each(|&(setting, choice)| row[setting] = choice);
        // Two choices may need a third, so others are tried before a pair is given up.
        let first = [row.clone()].into_iter().chain(variants(&row, pair, sizes)).find(|row| may_be(row));
        let Some(mut row) = first else {
            missing.remove(&pair);
            covering.excluded.push(pair);
            continue;
        };
        let mut fixed: Vec<usize> = pair.iter().map(|&(setting, _)| setting).collect();
        let mut others: Vec<usize> = (0..sizes.len()).filter(|setting| !fixed.contains(setting)).collect();
        while !others.is_empty() {
            let setting = others.swap_remove(rng.below(others.len()));
            row[setting] = best(&row, setting, &fixed, sizes, &missing, &may_be);
            fixed.push(setting);
        }
        pairs_of(&row).for_each(|pair| _ = missing.remove(&pair));
        covering.rows.push(row);
    }
    covering
}

/// Returns the choice for a setting that completes the most missing pairs with the settings fixed before. Its current
/// choice is allowed.
fn best(
    row: &[usize],
    setting: usize,
    fixed: &[usize],
    sizes: &[usize],
    missing: &BTreeSet<Pair>,
    may_be: impl Fn(&[usize]) -> bool,
) -> usize {
    let mut order: Vec<usize> = (0..sizes[setting]).collect();
    let completed = |&choice: &usize| {
        let pair = |&other: &usize| ordered((setting, choice), (other, row[other]));
        fixed.iter().filter(|&other| missing.contains(&pair(other))).count()
    };
    order.sort_by_key(|choice| std::cmp::Reverse(completed(choice)));
    let is_allowed = |&choice: &usize| {
        let mut row = row.to_vec();
        row[setting] = choice;
        may_be(&row)
    };
    order.into_iter().find(is_allowed).unwrap_or(row[setting])
}

/// Returns a row with one or two other settings changed.
fn variants(row: &[usize], pair: Pair, sizes: &[usize]) -> impl Iterator<Item = Row> {
    let is_free = move |setting: usize| pair.iter().all(|&(own, _)| own != setting);
    let choices: Vec<(usize, usize)> = (0..sizes.len())
        .filter(|&setting| is_free(setting))
        .flat_map(|setting| (1..sizes[setting]).map(move |choice| (setting, choice)))
        .collect();
    let changed = |changes: &[(usize, usize)]| {
        let mut row = row.to_vec();
        changes.iter().for_each(|&(setting, choice)| row[setting] = choice);
        row
    };
    let one = choices.iter().map(|&change| changed(&[change]));
    let two = choices.iter().enumerate().flat_map(|(at, &first)| {
        let behind = choices[at + 1..].iter().filter(move |(setting, _)| *setting != first.0);
        behind.map(move |&second| (first, second))
    });
    let two = two.map(|(first, second)| changed(&[first, second]));
    one.chain(two).collect::<Vec<_>>().into_iter()
}

/// Returns all pairs of choices of different settings.
fn pairs(sizes: &[usize]) -> impl Iterator<Item = Pair> {
    let choices: Vec<(usize, usize)> = sizes
        .iter()
        .enumerate()
        .flat_map(|(setting, &size)| (0..size).map(move |choice| (setting, choice)))
        .collect();
    let of = choices.clone();
    choices.into_iter().flat_map(move |first| {
        let later: Vec<_> = of.iter().copied().filter(|other| other.0 > first.0).collect();
        later.into_iter().map(move |second| [first, second])
    })
}

/// Returns the pairs that a row contains.
pub fn pairs_of(row: &[usize]) -> impl Iterator<Item = Pair> {
    let chosen = |setting: usize| (setting, row[setting]);
    (0..row.len()).flat_map(move |a| (a + 1..row.len()).map(move |b| [chosen(a), chosen(b)]))
}

fn ordered(a: (usize, usize), b: (usize, usize)) -> Pair {
    if a.0 < b.0 { [a, b] } else { [b, a] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sizes: &[usize], most: usize, may_be: impl Fn(&[usize]) -> bool) -> Covering {
        let covering = covering(sizes, &may_be);
        assert!(covering.rows.iter().all(|row| may_be(row)));
        let covered: BTreeSet<Pair> = covering.rows.iter().flat_map(|row| pairs_of(row)).collect();
        for pair in pairs(sizes) {
            assert_ne!(covered.contains(&pair), covering.excluded.contains(&pair), "{pair:?}");
        }
        assert!(covering.rows.len() <= most, "{} rows", covering.rows.len());
        covering
    }

    #[test]
    fn all_pairs_are_in_few_rows() {
        let none = check(&[2; 10], 10, |_| true).excluded;
        assert!(none.is_empty());
        check(&[3; 13], 24, |_| true);
        check(&[5, 2, 2, 4, 3, 3, 2, 2], 28, |_| true);
        assert_eq!(check(&[3, 4], 12, |_| true).rows.len(), 12);
    }

    #[test]
    fn what_may_not_be_combined_is_left_out() {
        let apart = |row: &[usize]| !(row[0] == 1 && row[2] == 2);
        assert_eq!(check(&[2, 3, 3, 2], 14, apart).excluded, [[(0, 1), (2, 2)]]);
        // The second setting's other choice needs the third's.
        let needs = |row: &[usize]| row[1] == 0 || row[2] == 1;
        assert_eq!(check(&[2, 2, 2], 8, needs).excluded, [[(1, 1), (2, 0)]]);
    }
}
