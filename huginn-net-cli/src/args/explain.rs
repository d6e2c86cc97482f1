//! `huginn-net explain`.

use clap::Args;
use huginn_net::explain::Fingerprint;

use super::DatabaseArguments;

const EXAMPLES: &str = "\
Examples:
  huginn-net explain t13d3112h2_e8f1e7e78f70_b26ce05bbdd6
  huginn-net explain '1|1:30000;4:15728640;f*0;11:1,1,g'
  huginn-net explain '4:64+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0'
  huginn-net explain \"$(od -An -v -tx1 hello.bin)\"
  Compare two JA4:
    huginn-net explain t13d3112h2_e8f1e7e78f70_b26ce05bbdd6 \\
      t13d3112h1_e8f1e7e78f70_b26ce05bbdd6";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// JA4 with hashes (ja4, ja4_o, ja4_stable) or with its lists (ja4_r, ja4_ro, ja4_stable_r), JA3 or JA3S, the MD5 of either, HASSH
    /// or its algorithms, Akamai's fingerprint of HTTP/2 or its MD5, that of HTTP/3, a QUIC fingerprint in either form, a p0f signature of TCP or HTTP,
    /// or a TLS hello in hexadecimal digits (a handshake message, or its records)
    #[arg(value_name = "FINGERPRINT", allow_hyphen_values = true)]
    pub(crate) fingerprint: Fingerprint,

    /// A second JA4: list the differences and their possible reasons
    #[arg(value_name = "OTHER", conflicts_with_all = ["db", "clients"])]
    pub(crate) other: Option<Fingerprint>,

    #[command(flatten)]
    pub(crate) databases: DatabaseArguments,
}
