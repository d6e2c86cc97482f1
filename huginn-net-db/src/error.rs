//! Errors of signature files.

use huginn_net_tcp::{IpVersion, LayoutError, OptionLayout, Quirks, TcpField, UnknownQuirk};

/// Why a signature file or a single signature is rejected.
///
/// Lines and columns count from 1, columns in characters; a single signature is line 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// A line has a syntax error or is misplaced.
    #[error("line {line}, column {column}: {fault}")]
    Syntax {
        /// The line.
        line: u32,
        /// Column of the error.
        column: u32,
        /// The fault.
        #[source]
        fault: Fault,
    },
    /// A signature can never match, because an earlier one matches first.
    #[error("line {line}: the signature can never be reached, the one in line {earlier} covers it")]
    Covered {
        /// The line of the signature.
        line: u32,
        /// The line of the earlier one.
        earlier: u32,
    },
}

/// A fault in a line of a signature file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The line is neither an assignment nor a section.
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
    /// `ua_os` outside of `[http:request]`, or after its first label.
    #[error("ua_os must stand in [http:request], before the first label")]
    UaOsMisplaced,
    /// A label before the first section.
    #[error("label must stand in a section")]
    LabelOutsideSection,
    /// A signature without a label.
    #[error("sig must follow a label of its section")]
    SigWithoutLabel,
    /// `sys` without a preceding label of class `!`.
    #[error("sys must stand right behind a label of class '!'")]
    SysMisplaced,
    /// A label of class `!` without a following `sys`.
    #[error("a label of class '!' must be followed by sys")]
    SysMissing,
    /// A class name with characters other than letters and digits.
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
    /// A label without four fields.
    #[error("label: {found} fields, not the 4 of type:class:name:flavor")]
    LabelFieldCount {
        /// Number of fields found.
        found: usize,
    },
    /// A label whose type is neither specific nor generic.
    #[error("label type: '{value}' is neither 's' nor 'g'")]
    LabelType {
        /// The type.
        value: Box<str>,
    },
    /// A name of a label or system that is empty or has invalid characters.
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
        /// The invalid text.
        value: Box<str>,
    },
    /// A TCP signature without eight fields.
    #[error("{found} fields, not the 8 of ver:ittl:olen:mss:wsize,scale:olayout:quirks:pclass")]
    TcpFieldCount {
        /// Number of fields found.
        found: usize,
    },
    /// An invalid field of a TCP signature.
    #[error("{field}: '{value}' is not {}", expected(*field))]
    TcpField {
        /// The field.
        field: TcpField,
        /// The text of the field.
        value: Box<str>,
    },
    /// An invalid option layout of a TCP signature.
    #[error("option layout: {0}")]
    Layout(#[source] LayoutError),
    /// Invalid quirks of a TCP signature.
    #[error("quirks: {0}")]
    Quirks(#[source] UnknownQuirk),
    /// A quirk that cannot occur in the signature's IP version.
    #[error("quirks: '{quirk}' does not occur in IPv{version}")]
    QuirkOfOtherVersion {
        /// The quirk.
        quirk: Quirks,
        /// The version.
        version: IpVersion,
    },
    /// An HTTP signature without four fields.
    #[error("{found} fields, not the 4 of ver:horder:habsent:expsw")]
    HttpFieldCount {
        /// Number of fields found.
        found: usize,
    },
    /// An invalid version of an HTTP signature.
    #[error("HTTP version: '{value}' is not '0', '1' or '*'")]
    HttpVersion {
        /// The invalid text.
        value: Box<str>,
    },
    /// A header name that is empty or has invalid characters.
    #[error("header: '{name}' is not made of letters, digits, '-' and '_'")]
    HeaderName {
        /// The name.
        name: Box<str>,
    },
    /// A value of a header, or after `=` in `ua_os`, that is empty or not in brackets.
    #[error("value: '{value}' is not a text in brackets")]
    BracketedValue {
        /// The invalid text.
        value: Box<str>,
    },
    /// Too many headers in a signature.
    #[error("more than {max} headers")]
    TooManyHeaders {
        /// The limit.
        max: usize,
    },
}

/// Describes a valid pattern for this field.
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
