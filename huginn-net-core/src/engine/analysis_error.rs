//! Why an analysis ended early.

use std::any::Any;

/// Why [`Analyzer::analyze`](crate::Analyzer::analyze) ended early. What came before has been reported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError<E> {
    /// The source has none of the frames that should follow.
    #[error(transparent)]
    Source(#[from] E),
    /// A thread of a parallel analysis panicked, or could not be started.
    #[error("thread '{name}': {message}")]
    Thread {
        /// Which it was.
        name: &'static str,
        /// What it panicked with, or why it could not be started.
        message: String,
    },
}

/// A thread that ended otherwise than it should.
pub(super) struct ThreadFailure {
    pub(super) name: &'static str,
    pub(super) message: String,
}

impl ThreadFailure {
    /// The failure that a panic is.
    pub(super) fn panicked(name: &'static str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self { name, message: message.unwrap_or("panic without a message").to_owned() }
    }

    pub(super) fn into_error<E>(self) -> AnalysisError<E> {
        AnalysisError::Thread { name: self.name, message: self.message }
    }
}
