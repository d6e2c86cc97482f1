//! Counters that can be summed.

/// Counters that can be summed, such as the counters of several workers.
pub trait Tally {
    /// Adds the counts of `other`.
    fn add(&mut self, other: &Self);
}

/// Implemented for protocols without counters.
impl Tally for () {
    fn add(&mut self, (): &()) {}
}

impl Tally for u64 {
    fn add(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

/// Implements [`Tally`](crate::Tally) for structs by naming all of their fields.
///
/// ```
/// use huginn_net_core::{Tally, tally};
///
/// #[derive(Default)]
/// struct Seen {
///     requests: u64,
///     responses: u64,
/// }
/// tally!(Seen { requests, responses });
///
/// let mut sum = Seen { requests: 1, responses: 2 };
/// sum.add(&Seen { requests: 3, responses: 4 });
/// assert_eq!((sum.requests, sum.responses), (4, 6));
/// ```
#[macro_export]
macro_rules! tally {
    ($counters:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::Tally for $counters {
            fn add(&mut self, other: &Self) {
                let Self { $($field),+ } = other;
                $($crate::Tally::add(&mut self.$field, $field);)+
            }
        }
    };
}
