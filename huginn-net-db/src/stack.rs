//! Systems with one TCP stack.

/// The groups of systems that have one TCP stack, by the names that databases give them.
pub const SHARED_STACKS: &[&[&str]] = &[
    &["Linux", "Android"],
    &["Windows", "Xbox"],
    &["macOS or iOS", "macOS", "iOS", "Mac OS X", "iPhone or iPad"],
];

/// Whether two systems have the same TCP stack.
pub fn same_stack(one: &str, other: &str) -> bool {
    one == other || SHARED_STACKS.iter().any(|stack| stack.contains(&one) && stack.contains(&other))
}
