//! The cost of a burst besides its checks: the change to burst code and back, and what is noted of the stack.
//!
//! Input: of each length of bursts what it was measured to take beyond the paper's equation, and how many bursts there
//! were. Output: the cost of a burst, and what each length should take by it.
//! The equation, `t = (n t_c + m t_i) / (n + m)`, counts checks only, as if a burst began and ended for nothing. With
//! `B` bursts of which each costs `c` it is `t + c B`. `c` is the line through the origin that is nearest to what was
//! measured. To predict a length, `c` is taken from the others alone, so that nothing predicts itself.

/// One length of bursts.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Time beyond the equation.
    pub beyond: f64,
    /// Number of bursts.
    pub bursts: f64,
}

/// Returns the cost of a burst by these points, 0 if there were no bursts.
pub fn cost(points: &[Point]) -> f64 {
    let squares: f64 = points.iter().map(|point| point.bursts * point.bursts).sum();
    let products: f64 = points.iter().map(|point| point.bursts * point.beyond).sum();
    if squares > 0.0 { (products / squares).max(0.0) } else { 0.0 }
}

/// Returns for each point the time of its bursts, at the cost that the other points give.
pub fn predicted(points: &[Point]) -> Vec<f64> {
    let of = |at: usize| {
        let others: Vec<Point> =
            (0..points.len()).filter(|&other| other != at).map(|other| points[other]).collect();
        cost(&others) * points[at].bursts
    };
    (0..points.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_costs_the_same_in_all_lengths() {
        let points = [1.0, 10.0, 50.0].map(|bursts| Point { beyond: 0.3 * bursts, bursts });
        assert!((cost(&points) - 0.3).abs() < 1e-9);
        let expected = [0.3, 3.0, 15.0];
        assert!(predicted(&points).iter().zip(expected).all(|(found, time)| (found - time).abs() < 1e-9));
        // A point that lies apart is predicted by the others.
        let apart = [points[0], points[1], Point { beyond: 99.0, bursts: 50.0 }];
        assert!((predicted(&apart)[2] - 15.0).abs() < 1e-9);
        assert_eq!((cost(&[]), cost(&[Point { beyond: -1.0, bursts: 9.0 }])), (0.0, 0.0));
    }
}
