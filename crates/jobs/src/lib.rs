//! What all commands of weakspot share, whatever they ask: many inputs side by side ([`pool`]), perhaps in several
//! processes ([`sweep`]), each on its way to answers ([`job`]), within limits and
//! until a signal comes ([`within`], [`interrupt`]), what is printed around a progress line ([`terminal`]), files that
//! are whole or not there ([`output`]), schedules that have a number ([`kept`]), the options that ask about a program
//! once more ([`options`]), executions as logs ([`mod@log`]), the runs of witnesses ([`stepped`]), inputs with
//! transactions ([`transactions`]), searches that can go on another time ([`checkpoint`]), and the exit code ([`exit`]).

/// As those of the standard library, but no reader that has gone makes them panic, and they keep clear
/// of the progress line.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::terminal::print(format_args!($($text)*)) };
}
/// See [`print!`].
#[macro_export]
macro_rules! println {
    ($($text:tt)*) => { $crate::terminal::print(format_args!("{}\n", format_args!($($text)*))) };
}
/// See [`print!`].
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => { $crate::terminal::message(format_args!($($text)*)) };
}
/// See [`print!`].
#[macro_export]
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::terminal::message(format_args!("{}\n", format_args!($($text)*))) };
}

pub mod checkpoint;
pub mod compared;
pub mod exit;
pub mod interrupt;
pub mod job;
pub mod kept;
pub mod log;
pub mod options;
pub mod output;
pub mod part;
pub mod pool;
pub mod reached;
pub mod scratch;
pub mod signed;
pub mod stepped;
pub mod sweep;
pub mod terminal;
pub mod transactions;
pub mod within;
