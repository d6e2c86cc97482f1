//! Entries of a database: a signature or MTU with its label.

use std::sync::Arc;

use huginn_net_tcp::Mtu;

use crate::Label;

/// A signature with its label.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<P> {
    /// The signature.
    pub pattern: P,
    /// The label of the signature.
    pub label: Arc<Label>,
    /// Line in the file, counted from 1.
    pub line: u32,
}

/// A link type and its MTU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkEntry {
    /// The MTU.
    pub mtu: Mtu,
    /// The link type.
    pub link: Arc<str>,
    /// Line in the file, counted from 1.
    pub line: u32,
}
