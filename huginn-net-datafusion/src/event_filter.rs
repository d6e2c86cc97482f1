//! Filters on the column `event`.

use std::collections::BTreeSet;

use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// Names of events.
pub(crate) type EventNames<'a> = BTreeSet<&'a str>;

/// The events that a filter selects, if it compares nothing but the column `event` with texts: `=`, `IN`, `AND`, `OR`.
///
/// DataFusion makes `OR` of an `IN` with few texts.
pub(crate) fn selected_events(filter: &Expr) -> Option<EventNames<'_>> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::Eq if is_event(left) => Some(EventNames::from([text(right)?])),
            Operator::Eq if is_event(right) => Some(EventNames::from([text(left)?])),
            Operator::And => Some(&selected_events(left)? & &selected_events(right)?),
            Operator::Or => Some(&selected_events(left)? | &selected_events(right)?),
            _ => None,
        },
        Expr::InList(InList { expr, list, negated: false }) if is_event(expr) => {
            list.iter().map(text).collect()
        }
        _ => None,
    }
}

fn is_event(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(column) if column.name == "event")
}

/// The text of a literal; `None` for NULL, which equals nothing.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}
