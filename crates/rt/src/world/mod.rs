//! What is outside of the program: time, chance, files, the kernel.

pub mod clock;
pub mod descriptors;
pub mod outside;
