//! Statistics that are robust on noisy machines: medians of interleaved runs, geometric means of ratios.

/// Minimum, median and maximum of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of at least one value.
    ///
    /// # Panics
    /// Panics if there are no values.
    pub fn new(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        Spread { min: sorted[0], median, max: sorted[sorted.len() - 1] }
    }

    /// Computes the ratios of paired measurements: run k of one against run k of the other, so that drift cancels.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Spread {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        Spread::new(&ratios)
    }
}

/// Returns the geometric mean of positive values; 1 for none.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0u32), |(sum, count), v| (sum + v.ln(), count + 1));
    if count == 0 { 1.0 } else { (sum / f64::from(count)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(Spread::new(&[4.0, 1.0, 2.0, 8.0]), Spread { min: 1.0, median: 3.0, max: 8.0 });
    }

    #[test]
    fn a_ratio_and_its_inverse_cancel() {
        assert!((geometric_mean([0.5, 2.0]) - 1.0).abs() < 1e-12);
    }
}
