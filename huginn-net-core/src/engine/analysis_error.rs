//! Errors of an analysis.

use std::any::Any;

/// Error of [`Analyzer::analyze`](crate::Analyzer::analyze). Events before the error were reported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError<E> {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] E),
    /// A thread of a parallel analysis panicked, or could not be started.
    #[error("thread '{name}': {message}")]
    Thread {
        /// The name of the thread.
        name: &'static str,
        /// The panic message, or why the thread could not be started.
        message: String,
    },
}

/// A thread that panicked or could not be started.
pub(super) struct ThreadFailure {
    pub(super) name: &'static str,
    pub(super) message: String,
}

impl ThreadFailure {
    /// Converts a panic.
    pub(super) fn panicked(name: &'static str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self { name, message: message.unwrap_or("panic without a message").to_owned() }
    }

    pub(super) fn into_error<E>(self) -> AnalysisError<E> {
        AnalysisError::Thread { name: self.name, message: self.message }
    }
}
