//! Programs as they are written down: .weak, litmus tests, families.

pub(crate) mod checkpoint;
mod fences;
mod generate;
mod monitor_program;
mod on_cpu;
mod robust;
mod serial_program;
mod state_storage;
mod why_not;
