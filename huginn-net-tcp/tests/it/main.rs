//! Integration tests of `huginn-net-tcp`.

mod clocks;
mod observer;
mod raw_sig;
