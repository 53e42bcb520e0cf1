//! Random clients: what each CPU does, before anybody knows what its reads will see.

use std::fmt;

use weakspot_core::testing::Rng;
use weakspot_core::{History, INITIAL, OpKind};

/// What a random client looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Client {
    /// How many CPUs there are.
    pub cpus: usize,
    /// How many operations they do in all, shared out evenly.
    pub operations: usize,
    /// How many variables there are.
    pub variables: usize,
    /// The share of reads in what is neither update nor fence.
    pub read_ratio: f64,
    /// The share of atomic updates in all operations.
    pub updates: f64,
    /// The share of full fences in all operations.
    pub fences: f64,
    /// The same seed, the same client.
    pub seed: u64,
}

/// The most CPUs that a client may have.
pub(crate) const MOST_CPUS: usize = 65536;

/// Why a client makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// No CPU, or too many.
    Cpus,
    /// No variable, or too many.
    Variables,
    /// Too many operations.
    Operations,
    /// A share that is no number from 0 to 1, or updates and fences that are more than all.
    Share,
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Cpus => write!(f, "a client has 1 to {MOST_CPUS} CPUs"),
            ClientError::Variables => write!(f, "a client has 1 to {} variables", History::MOST),
            ClientError::Operations => {
                write!(f, "a client has at most {} operations", History::MOST)
            }
            ClientError::Share => f.write_str(
                "read ratio, updates and fences are shares from 0 to 1, updates and fences \
                 together at most 1",
            ),
        }
    }
}

impl std::error::Error for ClientError {}

impl Client {
    /// The operations of the client. Reads and updates read from [`INITIAL`] until they have been
    /// run.
    ///
    /// # Errors
    /// When the numbers make no sense.
    pub fn operations(&self) -> Result<History, ClientError> {
        self.check()?;
        let mut rng = Rng::new(self.seed);
        // A share as a threshold for 32 random bits, so that seeds mean the same everywhere.
        let threshold = |share: f64| (share * f64::from(u32::MAX)) as u64;
        let fences = threshold(self.fences);
        let updates = fences + threshold(self.updates);
        let reads = threshold(self.read_ratio);
        let mut ops = History::new();
        for cpu in 0..self.cpus {
            ops.thread();
            let more = usize::from(cpu < self.operations % self.cpus);
            for _ in 0..self.operations / self.cpus + more {
                let bits = rng.next_u64();
                let (what, which) = (bits & 0xffff_ffff, bits >> 32);
                let kind = match what {
                    _ if what < fences => OpKind::Fence,
                    _ if what < updates => OpKind::Update,
                    _ if which < reads => OpKind::Read,
                    _ => OpKind::Write,
                };
                let var = if kind == OpKind::Fence { 0 } else { rng.below(self.variables) as u32 };
                ops.push(kind, var, INITIAL);
            }
        }
        Ok(ops)
    }

    /// Whether the numbers make sense.
    pub(crate) fn check(&self) -> Result<(), ClientError> {
        let share = |x: f64| (0.0..=1.0).contains(&x);
        if self.cpus == 0 || self.cpus > MOST_CPUS {
            Err(ClientError::Cpus)
        } else if self.variables == 0 || self.variables > History::MOST {
            Err(ClientError::Variables)
        } else if self.operations > History::MOST {
            Err(ClientError::Operations)
        } else if ![self.read_ratio, self.updates, self.fences].into_iter().all(share)
            || !share(self.updates + self.fences)
        {
            Err(ClientError::Share)
        } else {
            Ok(())
        }
    }
}
