//! Prefix codes for witnesses.
//!
//! Input: the weight of each symbol. Output: a code word for each symbol, as the low bits of a number, of which the
//! lowest bit is read first.
//! Invariant: each word has from 1 to 32 bits; no word is a prefix of another; equal input gives equal words.
//! Source: Huffman, *A Method for the Construction of Minimum-Redundancy Codes*, 1952, built with two queues (van
//! Leeuwen 1976); words are assigned in canonical order. Ours: no symbol counts for less than 1/4096 of the total
//! weight, which bounds the length.
//! Oracle: all prefixes, and the cost of all codes of few symbols, in the tests below.

use std::collections::VecDeque;

/// Returns the value and the number of bits of each symbol's word.
pub(super) fn prefix_code(weights: &[f64]) -> Vec<(u32, u8)> {
    let lengths = bounded_lengths(weights);
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&symbol| (lengths[symbol], symbol));
    let mut words = vec![(0, 0); weights.len()];
    let (mut next, mut length) = (0_u64, 0);
    for symbol in order {
        next <<= lengths[symbol] - length;
        length = lengths[symbol];
        words[symbol] = (reversed(next, length), length);
        next += 1;
    }
    words
}

/// Reverses a word so that its first bit is lowest.
fn reversed(word: u64, length: u8) -> u32 {
    (word as u32).reverse_bits().checked_shr(32 - u32::from(length)).unwrap_or(0)
}

fn bounded_lengths(weights: &[f64]) -> Vec<u8> {
    if weights.len() < 2 {
        return vec![1; weights.len()];
    }
    let lengths = huffman_lengths(weights);
    match lengths.iter().max() {
        Some(&longest) if longest <= 32 => lengths.into_iter().map(|length| length as u8).collect(),
        _ => vec![bits_for(weights.len()); weights.len()],
    }
}

/// Returns the least number of bits that distinguishes this many things.
pub(super) fn bits_for(things: usize) -> u8 {
    (usize::BITS - things.saturating_sub(1).leading_zeros()) as u8
}

/// Returns the depth of each leaf in a tree of least weighted depth.
fn huffman_lengths(weights: &[f64]) -> Vec<u32> {
    let total: f64 = weights.iter().sum();
    let least = if total > 0.0 { total / 4096.0 } else { 1.0 };
    let mut leaves: Vec<(f64, usize)> =
        weights.iter().enumerate().map(|(symbol, weight)| (weight.max(least), symbol)).collect();
    leaves.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut queues = [leaves.into(), VecDeque::new()];
    let mut parents = vec![0; 2 * weights.len() - 1];
    for node in weights.len()..parents.len() {
        let (first, second) = (lightest(&mut queues), lightest(&mut queues));
        parents[first.1] = node;
        parents[second.1] = node;
        queues[1].push_back((first.0 + second.0, node));
    }
    let mut depths = vec![0; parents.len()];
    for node in (0..parents.len() - 1).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(weights.len());
    depths
}

/// Takes the lighter front of two sorted queues, at least one of which is not empty.
fn lightest(queues: &mut [VecDeque<(f64, usize)>; 2]) -> (f64, usize) {
    let [leaves, nodes] = queues;
    let leaf_first = match (leaves.front(), nodes.front()) {
        (Some(leaf), Some(node)) => leaf.0 <= node.0,
        (leaf, _) => leaf.is_some(),
    };
    let queue = if leaf_first { leaves } else { nodes };
    queue.pop_front().expect("a tree of n leaves takes 2n - 2 nodes from its queues")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_prefix_free(words: &[(u32, u8)]) -> bool {
        let low = |value: u32, bits: u8| u64::from(value) & ((1 << bits) - 1);
        words.iter().enumerate().all(|(i, a)| {
            let clash = |b: &(u32, u8)| low(a.0, a.1.min(b.1)) == low(b.0, a.1.min(b.1));
            words[i + 1..].iter().all(|b| !clash(b))
        })
    }

    #[test]
    fn words_are_prefix_free_and_short() {
        assert_eq!(prefix_code(&[]), []);
        assert_eq!(prefix_code(&[3.0]), [(0, 1)]);
        assert_eq!(prefix_code(&[1.0, 1.0]), [(0, 1), (1, 1)]);
        assert_eq!(prefix_code(&[1.0, 2.0, 4.0]), [(1, 2), (3, 2), (0, 1)]);
        let skewed: Vec<f64> = (0..300).map(|i| 2_f64.powi(i % 200)).collect();
        for weights in [&skewed[..], &skewed[..5], &[0.0; 7], &[1e100, 0.0, 0.0]] {
            let words = prefix_code(weights);
            assert!(is_prefix_free(&words));
            assert!(words.iter().all(|word| (1..=32).contains(&word.1)));
            // Kraft's sum is 1, so no word could be shorter.
            assert_eq!(words.iter().map(|word| 0.5_f64.powi(word.1.into())).sum::<f64>(), 1.0);
        }
    }

    #[test]
    fn no_code_of_four_symbols_costs_less() {
        let weights = [5.0, 1.0, 1.0, 3.0];
        let cost: f64 =
            prefix_code(&weights).iter().zip(weights).map(|(word, w)| f64::from(word.1) * w).sum();
        let all = (0..256).map(|code| [code % 4 + 1, code / 4 % 4 + 1, code / 16 % 4 + 1, code / 64 + 1]);
        let fair = all.filter(|lengths| lengths.iter().map(|&l| 0.5_f64.powi(l)).sum::<f64>() <= 1.0);
        let costs = fair.map(|lengths| lengths.iter().zip(weights).map(|(&l, w)| f64::from(l) * w).sum());
        assert_eq!(cost, costs.fold(f64::INFINITY, f64::min));
    }

    #[test]
    fn widths_are_logarithms() {
        let widths = [0, 1, 2, 3, 4, 5, 256, 257].map(bits_for);
        assert_eq!(widths, [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
