//! Names that are similar to an unknown one.

/// Returns those of at least this similarity, the most similar first.
pub(crate) fn most_similar<T>(
    all: impl Iterator<Item = T>,
    similarity: impl Fn(&T) -> f64,
    least: f64,
) -> impl Iterator<Item = T> {
    let mut rated: Vec<(f64, T)> = all.map(|name| (similarity(&name), name)).collect();
    rated.retain(|(similarity, _)| *similarity >= least);
    rated.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    rated.into_iter().map(|(_, name)| name)
}
