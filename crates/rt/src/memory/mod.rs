//! Memory: of the library itself, of the program, and how the latter is put back.

pub mod arena;
pub mod heap;
pub mod mappings;
pub mod shadow;
pub mod snapshot;
