//! Trencher's `.txt` programs.
