//! What can be wrong with a signature file.

use huginn_net_tcp::{IpVersion, LayoutError, OptionLayout, Quirks, TcpField, UnknownQuirk};

/// Why a signature file, or one signature out of it, is refused.
///
/// Lines and columns count from 1, columns in characters; a signature alone is line 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// A line that cannot be read, or does not belong where it stands.
    #[error("line {line}, column {column}: {fault}")]
    Syntax {
        /// The line.
        line: u32,
        /// Where in it the error begins.
        column: u32,
        /// What is wrong.
        #[source]
        fault: Fault,
    },
    /// A signature that can never be reached: whatever it matches, an earlier one matches before.
    #[error("line {line}: the signature can never be reached, the one in line {earlier} covers it")]
    Covered {
        /// The line of the signature.
        line: u32,
        /// The line of the earlier one.
        earlier: u32,
    },
}

/// What is wrong in a line of a signature file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Neither an assignment nor a section.
    #[error("'{text}' is neither 'key = value' nor a section in brackets")]
    Statement {
        /// The line.
        text: Box<str>,
    },
    /// An unknown key.
    #[error("'{key}' is none of classes, ua_os, label, sys and sig")]
    Key {
        /// The key.
        key: Box<str>,
    },
    /// An unknown section.
    #[error("'{name}' is none of [mtu], [tcp:request], [tcp:response], [http:request] and [http:response]")]
    Section {
        /// The text of the line.
        name: Box<str>,
    },
    /// `classes` after the first section.
    #[error("classes must stand before the first section")]
    ClassesInSection,
    /// `ua_os` elsewhere than before the labels of `[http:request]`.
    #[error("ua_os must stand in [http:request], before the first label")]
    UaOsMisplaced,
    /// A label before the first section.
    #[error("label must stand in a section")]
    LabelOutsideSection,
    /// A signature without a label.
    #[error("sig must stand behind a label of its section")]
    SigWithoutLabel,
    /// `sys` elsewhere than right after a label of class `!`.
    #[error("sys must stand right behind a label of class '!'")]
    SysMisplaced,
    /// A label of class `!` without `sys` right after it.
    #[error("a label of class '!' must be followed by sys")]
    SysMissing,
    /// A class whose name has other characters than letters and digits.
    #[error("class: '{name}' is not made of letters and digits")]
    ClassName {
        /// The name.
        name: Box<str>,
    },
    /// A class that `classes` does not list.
    #[error("class: '{name}' is not listed in classes")]
    UnknownClass {
        /// The name.
        name: Box<str>,
    },
    /// A label that has not four fields.
    #[error("label: {found} fields, not the 4 of type:class:name:flavor")]
    LabelFieldCount {
        /// How many there are.
        found: usize,
    },
    /// A label whose type is neither specific nor generic.
    #[error("label type: '{value}' is neither 's' nor 'g'")]
    LabelType {
        /// The type.
        value: Box<str>,
    },
    /// A name, of a label or of a system, that is empty or has characters that names must not have.
    #[error("name: '{name}' is not made of letters, digits, blanks and ./-_!?()")]
    Name {
        /// The name.
        name: Box<str>,
    },
    /// An empty label in `[mtu]`.
    #[error("label: empty")]
    EmptyLabel,
    /// An MTU out of range.
    #[error("MTU: '{value}' is not a number from 1 to 65535")]
    Mtu {
        /// What stands in its place.
        value: Box<str>,
    },
    /// A TCP signature that has not eight fields.
    #[error("{found} fields, not the 8 of ver:ittl:olen:mss:wsize,scale:olayout:quirks:pclass")]
    TcpFieldCount {
        /// How many there are.
        found: usize,
    },
    /// A field of a TCP signature that cannot be read.
    #[error("{field}: '{value}' is not {}", expected(*field))]
    TcpField {
        /// Which one.
        field: TcpField,
        /// What it holds.
        value: Box<str>,
    },
    /// The option layout of a TCP signature.
    #[error("option layout: {0}")]
    Layout(#[source] LayoutError),
    /// The quirks of a TCP signature.
    #[error("quirks: {0}")]
    Quirks(#[source] UnknownQuirk),
    /// A quirk that no packet of the signature's IP version can have.
    #[error("quirks: '{quirk}' does not occur in IPv{version}")]
    QuirkOfOtherVersion {
        /// The quirk.
        quirk: Quirks,
        /// The version.
        version: IpVersion,
    },
    /// An HTTP signature that has not four fields.
    #[error("{found} fields, not the 4 of ver:horder:habsent:expsw")]
    HttpFieldCount {
        /// How many there are.
        found: usize,
    },
    /// The version of an HTTP signature.
    #[error("HTTP version: '{value}' is not '0', '1' or '*'")]
    HttpVersion {
        /// What stands in its place.
        value: Box<str>,
    },
    /// A header name that is empty or has characters that names must not have.
    #[error("header: '{name}' is not made of letters, digits, '-' and '_'")]
    HeaderName {
        /// The name.
        name: Box<str>,
    },
    /// A value, of a header or behind `=` in `ua_os`, that is empty or not between brackets.
    #[error("value: '{value}' is not a text in brackets")]
    BracketedValue {
        /// What stands in its place.
        value: Box<str>,
    },
    /// More headers than a signature may list.
    #[error("more than {max} headers")]
    TooManyHeaders {
        /// How many it may.
        max: usize,
    },
}

/// What a pattern for this field looks like.
fn expected(field: TcpField) -> String {
    match field {
        TcpField::Version => "'4', '6' or '*'".into(),
        TcpField::Ttl => "a number from 1 to 255, 'N-' or 'N+DISTANCE'".into(),
        TcpField::IpOptionsLen => "a number up to 255".into(),
        TcpField::Mss => "a number up to 65535 or '*'".into(),
        TcpField::Window => "a number, '*', '%N', 'mss*N' or 'mtu*N'".into(),
        TcpField::Scale => "a number up to 255 or '*'".into(),
        TcpField::Layout => format!("a list of up to {} options", OptionLayout::MAX_OPTIONS),
        TcpField::Quirks => "a list of quirks".into(),
        TcpField::Payload => "'0', '+' or '*'".into(),
    }
}
