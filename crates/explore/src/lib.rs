//! Questions about programs.
