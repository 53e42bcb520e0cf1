//! Memory: of the library itself, of the program, what of it may be accessed, and how it is put back.

pub mod arena;
pub mod blocks;
pub mod check;
pub mod errors;
pub mod frames;
pub mod heap;
pub mod mappings;
pub mod shadow;
pub mod snapshot;
