//! Medians and spreads.

/// The median, and the range without the lowest and highest tenth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Spread {
    /// Returns NaN for no values.
    pub(super) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let cut = sorted.len() / 10;
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let median = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
        Self { median, low: at(cut), high: at(last.saturating_sub(cut)) }
    }
}

/// Divides each value by the reference's value of the same turn; turns in which the reference is 0 are left out.
pub(super) fn ratios(values: &[f64], reference: &[f64]) -> Vec<f64> {
    values.iter().zip(reference).filter(|(_, base)| **base != 0.0).map(|(value, base)| value / base).collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::*;

    #[test]
    fn spread_leaves_out_a_tenth_on_either_side() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(Spread::of(&values), Spread { median: 10.5, low: 3.0, high: 18.0 });
    }

    #[test]
    fn spread_of_few_values_is_their_range() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(Spread::of(&[5.0]), Spread { median: 5.0, low: 5.0, high: 5.0 });
        assert!(Spread::of(&[]).median.is_nan());
    }

    #[test]
    fn ratios_pair_the_turns() {
        assert_eq!(ratios(&[2.0, 9.0, 4.0], &[1.0, 3.0, 0.0]), [2.0, 3.0]);
    }
}
