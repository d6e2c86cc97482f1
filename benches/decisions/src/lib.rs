//! Measurements behind `docs/decisions`: each bench compares a chosen part with what might replace it.
