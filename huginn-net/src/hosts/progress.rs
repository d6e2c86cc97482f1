//! What follows a SYN.

/// What follows a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProgressUpdate {
    pub(crate) step: Progress,
    /// Whether the SYN has the label of a tool.
    pub(crate) by_tool: bool,
}

/// A step of a connection, or a segment without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Progress {
    /// The client repeats its SYN.
    Repeats,
    /// The server answers the SYN with RST.
    Refused,
    /// The client goes on: the first segment with ACK after its SYN. `has_data`: with payload.
    Continues { has_data: bool },
    /// The client resets the connection before it goes on.
    Resets,
    /// The first payload of a side, later than [`Progress::Continues`].
    Data,
    /// What became of the login of an SSH connection.
    Login(SshLogin),
    /// A segment that belongs to no connection.
    Stray(StrayKind),
}

/// What followed the key exchange of an SSH connection that tried to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct SshLogin {
    /// Bytes of the client after SSH_MSG_NEWKEYS.
    pub(crate) client_bytes: u32,
    /// Bytes of the server after SSH_MSG_NEWKEYS.
    pub(crate) server_bytes: u32,
    /// Whether the login failed, and a side ended the connection.
    pub(crate) is_failed: bool,
}

/// The kind of a segment that belongs to no connection, by its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) enum StrayKind {
    Fin,
    /// No flags.
    Null,
    /// FIN, PSH and URG.
    Xmas,
    Ack,
    /// FIN and ACK.
    Maimon,
    /// RST, with or without ACK.
    Reset,
}
