//! Integration tests of `huginn-net-ssh`.

#[cfg(feature = "packets")]
mod observer;
mod reader;
