//! The integration tests, one binary of them:
//! - `attack`: robustness against TSO by attacks, and triangular-race freedom, compared with the
//!   definitions, with each other and with the other search;
//! - `c_programs`: programs in C against labels found by other means, and against the same programs
//!   in our own language;
//! - `corpus`: the shipped programs get the answers that stand beside them;
//! - `counters`: programs whose counters grow for ever;
//! - `dual`: the dual semantics against the brute-force reference and against the search of the
//!   store buffers themselves;
//! - `extend`: the extension of a program by a path: Fig. 3 of the lazy TSO paper, and its Lemma 1
//!   by brute force;
//! - `families`: the programs of the lazy TSO reachability paper: what is known about them, in both
//!   languages;
//! - `fences`: fences against the definition: all cheaper sets of fences, on small random programs;
//! - `growing`: litmus tests that grow, with the final states that they have by reasoning, and random
//!   programs in which threads are alike or keep to themselves, against the reference;
//! - `lazy`: lazy TSO reachability against the brute-force reference, and on what it was made for;
//! - `limits`: limits hold for a question;
//! - `monitored`: monitors on programs against brute force;
//! - `outcomes`: both searches against the brute-force reference, and every run that they give
//!   replayed;
//! - `patches`: fences in the texts of the corpus: what a place in a text means, and how many are
//!   needed;
//! - `robust`: robustness against the definition: every execution of small random programs;
//! - `robust_blocks`: robustness of programs whose atomic blocks depend on what they read, against
//!   the definition;
//! - `robust_runs`: the runs that show that a program is not robust, and the pairs of accesses that
//!   they name;
//! - `robust_wide`: robustness of programs whose accesses overlap, against the definition;
//! - `widths`: litmus tests whose accesses have different widths, against a machine over bytes.

mod attack;
mod c_programs;
mod corpus;
mod counters;
mod dual;
mod extend;
mod families;
mod fences;
mod growing;
mod lazy;
mod limits;
mod monitored;
mod outcomes;
mod patches;
mod robust;
mod robust_blocks;
mod robust_runs;
mod robust_wide;
mod widths;

/// References allocate a lot: this makes them faster by a third.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
