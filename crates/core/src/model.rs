//! The three memory models, by name. What they mean is said twice and compared in tests: as a
//! machine with buffers ([`machine`](crate::machine)) and as axioms ([`axioms`](crate::execution::axioms)).

use std::fmt;

/// A memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Sequential consistency: no buffers.
    Sc,
    /// Total store order: one FIFO store buffer per thread.
    Tso,
    /// Partial store order: one FIFO store buffer per thread and address.
    Pso(Drain),
}

/// What an atomic update waits for under PSO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Drain {
    /// The strict reading, as on x86: every earlier store of the thread is in memory.
    All,
    /// The reading of the monitoring paper (Fig. 3): only the earlier stores to its own address.
    /// A pending store-store fence still holds it back, because an update stores.
    Own,
}

impl Model {
    /// All models, with both readings of PSO.
    pub const ALL: [Model; 4] =
        [Model::Sc, Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Model::Sc => "SC",
            Model::Tso => "TSO",
            Model::Pso(Drain::All) => "PSO",
            Model::Pso(Drain::Own) => "PSO-own",
        })
    }
}
