//! Integration tests of `huginn-net-ssh`.

mod observer;
mod reader;
