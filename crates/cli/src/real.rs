//! Real programs: how they are compiled, and what is asked about them. The feature `real` has it all.

pub(crate) mod cargo;
pub(crate) mod compile;
pub(crate) mod run;
