//! The database that comes with the crate.

use std::sync::{Arc, LazyLock};

use crate::Database;

/// All signature files, in this order: it decides between signatures that match equally well.
const SIGNATURES: &str = concat!(
    include_str!("../signatures/00-classes.fp"),
    include_str!("../signatures/10-mtu.fp"),
    include_str!("../signatures/20-linux.fp"),
    include_str!("../signatures/21-android.fp"),
    include_str!("../signatures/30-windows.fp"),
    include_str!("../signatures/40-apple.fp"),
    include_str!("../signatures/50-bsd.fp"),
    include_str!("../signatures/60-solaris.fp"),
    include_str!("../signatures/70-devices.fp"),
    include_str!("../signatures/75-generic.fp"),
    include_str!("../signatures/80-tools.fp"),
    include_str!("../signatures/85-http-requests.fp"),
    include_str!("../signatures/86-http-responses.fp"),
);

static BUILTIN: LazyLock<Arc<Database>> = LazyLock::new(|| {
    // The tests read it: it has no error to hide.
    Arc::new(Database::parse(SIGNATURES).unwrap_or_default())
});

impl Database {
    /// The database that comes with the crate; it is read on first use, and then shared.
    ///
    /// ```
    /// let database = huginn_net_db::Database::builtin();
    /// assert!(database.stats().tcp_request > 0);
    /// ```
    pub fn builtin() -> Arc<Self> {
        BUILTIN.clone()
    }

    /// The text of the database that comes with the crate, in the syntax of p0f v3: a start for one's own.
    pub fn builtin_text() -> &'static str {
        SIGNATURES
    }
}
