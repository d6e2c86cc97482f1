//! Measurements behind `docs/decisions`: each bench compares a part of this project with its alternatives.
