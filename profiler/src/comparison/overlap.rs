//! Measures how far two profiles agree.
//!
//! Invariant: the result is from 0 to 1. It is 1 for a profile with itself, and for profiles whose figures are
//! proportional.
//! Source: Hirzel & Chilimbi 2001, section 5.2.

use super::Change;

/// Returns the sum over all items of the smaller of their two shares; `None` if the figures of either profile sum to
/// 0.
pub fn overlap(items: &[Change]) -> Option<f64> {
    let (before, after) = totals(items)?;
    // Integer arithmetic, so that the overlap of equal profiles is exactly 1.
    let share = |item: &Change| {
        u128::from(item.before).saturating_mul(after).min(u128::from(item.after).saturating_mul(before))
    };
    let sum = items.iter().map(share).fold(0, u128::saturating_add);
    Some(sum as f64 / before.saturating_mul(after) as f64)
}

/// Returns the share of the weight of the first profile's `top` heaviest items that lies on items among the second's
/// `top` heaviest; `None` if the figures of either profile sum to 0. Among equally heavy items the first ones count.
pub fn hot_coverage(items: &[Change], top: usize) -> Option<f64> {
    totals(items)?;
    let hottest = |weight: fn(&Change) -> u64| {
        let mut order: Vec<usize> = (0..items.len()).filter(|&at| weight(&items[at]) > 0).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(weight(&items[at])));
        order.truncate(top);
        order
    };
    let (truly, found) = (hottest(|item| item.before), hottest(|item| item.after));
    let weight = |items_at: &mut dyn Iterator<Item = &usize>| -> f64 {
        items_at.map(|&at| items[at].before as f64).sum()
    };
    let all = weight(&mut truly.iter());
    (all > 0.0).then(|| weight(&mut truly.iter().filter(|at| found.contains(at))) / all)
}

fn totals(items: &[Change]) -> Option<(u128, u128)> {
    let sum = |figure: fn(&Change) -> u64| items.iter().map(|item| u128::from(figure(item))).sum::<u128>();
    let (before, after) = (sum(|item| item.before), sum(|item| item.after));
    (before > 0 && after > 0).then_some((before, after))
}
