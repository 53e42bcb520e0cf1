//! X86 and X86_64 litmus tests.
