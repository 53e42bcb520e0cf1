//! Who runs: threads are coroutines that announce their steps, and a strategy says who goes on.
//!
//! A step is *conditional* if memory or other threads decide whether it can be taken, or what kind of
//! step it is: who has announced one is looked at again before anybody is chosen.
//!
//! `threads.rs` is what is known of each thread, `coroutine.rs` what it stands on, `turns.rs` how a
//! thread announces a step and gets its turn, `life.rs` its first step and its last, `choice.rs` who is
//! chosen, `finish.rs` the end of an execution, `spin.rs` who only waits in
//! a loop, `undone.rs` who undoes in one what it stores, `rounds.rs` who only gives way in one (`yields.rs`),
//! `buffers.rs` the store buffers of `--under`.

pub mod buffers;
pub mod choice;
pub mod closed;
pub mod coroutine;
pub mod finish;
pub mod life;
pub mod rounds;
pub mod spin;
pub mod threads;
pub mod turns;
pub mod undone;
pub mod yields;
