//! What can be wrong with a live capture.

use std::io;

/// Why interfaces cannot be captured from, or not any longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// No interface was named.
    #[error("no interface to capture from")]
    NoInterface,
    /// There is no interface of this name.
    #[error("{name}: there is no such interface; there are: {}", .known.join(", "))]
    UnknownInterface {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// An interface was named more than once; all of its frames would come as often.
    #[error("{name}: named twice")]
    DuplicateInterface {
        /// The name.
        name: String,
    },
    /// The interface `any`, which is all of them, was named to the backend that does not know it.
    #[error("'any' is no interface: the backend of libpcap alone knows it")]
    AnyNeedsLibpcap,
    /// The rights to capture are missing (on Linux `CAP_NET_RAW`).
    #[error("{name}: no right to capture: {source}")]
    PermissionDenied {
        /// The interface.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The interface could not be opened for another reason.
    #[error("{name}: cannot be opened: {source}")]
    Open {
        /// The interface.
        name: String,
        /// What the system or libpcap says.
        source: io::Error,
    },
    /// The interface has frames that begin in a way that is not known.
    #[error("{name}: frames of hardware type {hardware} cannot be read")]
    UnknownLinkType {
        /// The interface.
        name: String,
        /// The type: an `ARPHRD_` number of Linux, or with libpcap a `DLT_` number.
        hardware: i32,
    },
    /// The backend is not in this build, or not for this system.
    #[error("this build has no such backend: {}", if cfg!(feature = "libpcap") {
        "AF_PACKET is Linux's"
    } else {
        "it was built without libpcap: install libpcap-dev and build with `--features libpcap`"
    })]
    NoBackend,
    /// A filter expression was given to the backend that knows none.
    #[error("filter expressions need the backend of libpcap")]
    ExpressionNeedsLibpcap,
    /// The filter expression is wrong.
    #[error("filter expression '{expression}': {reason}")]
    Expression {
        /// The expression.
        expression: String,
        /// What libpcap says.
        reason: String,
    },
    /// Reading from an interface failed for good.
    #[error("{name}: cannot be read any longer: {source}")]
    Receive {
        /// The interface.
        name: String,
        /// What the system or libpcap says.
        source: io::Error,
    },
    /// No interface is left that frames can come from.
    #[error("no interface is left to capture from")]
    NoInterfaceLeft,
    /// Interfaces could not be listed, or waited for.
    #[error("{operation}: {source}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the system says.
        source: io::Error,
    },
}
