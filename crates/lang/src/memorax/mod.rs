//! Memorax's `.rmm` programs.
