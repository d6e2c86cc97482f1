//! Lists as text.

use std::fmt::{self, Display};

/// Displays values with a separator between two.
///
/// ```
/// use huginn_net_wire::Joined;
///
/// assert_eq!(Joined([80, 443], ", ").to_string(), "80, 443");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Joined<'s, I>(pub I, pub &'s str);

impl<I: Clone + IntoIterator<Item: Display>> Display for Joined<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(values, separator) = self;
        values.clone().into_iter().enumerate().try_for_each(|(index, value)| match index {
            0 => write!(f, "{value}"),
            _ => write!(f, "{separator}{value}"),
        })
    }
}
