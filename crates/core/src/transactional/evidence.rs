//! Why a verdict on a history of transactions is to be believed.

use super::orders::Misread;

/// Why a verdict on a history of transactions is to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnEvidence {
    /// It satisfies the model: a commit order, of all committed transactions.
    Order(Vec<u32>),
    /// It violates the model: facts that hold in every commit order make a cycle.
    Cycle {
        /// Each one rests only on those before it.
        facts: Vec<Fact>,
        /// Facts by their numbers. Each starts where the one before it ends, the first where the
        /// last does.
        cycle: Vec<u32>,
    },
    /// It violates every model because of this read.
    Misread {
        /// The read.
        op: u32,
        /// What is wrong with it.
        what: Misread,
    },
    /// It is not serializable, and nothing small shows it: all orders were tried.
    Searched,
}

/// One transaction comes before another one in every commit order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What comes first.
    pub from: u32,
    /// What comes later.
    pub to: u32,
    /// Why.
    pub reason: Reason,
}

/// Why a transaction comes before another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is [`BEGINNING`](super::BEGINNING), and the other one is a transaction.
    Beginning,
    /// Both are of one session.
    Session,
    /// This operation of the second one reads from the first one.
    Reads(u32),
    /// Lists show that of these two writes the first one's is older.
    Versions(u32, u32),
    /// This read of a variable takes its value from `to`. `from` writes the variable as well, and
    /// by these facts, a path, the reader sees it: so `from` is older, or the read would be of it.
    Older {
        /// The read.
        read: u32,
        /// From `from` to the transaction of the read.
        path: Vec<u32>,
    },
    /// Under serializability: this read, by `from`, takes its value from a transaction from which
    /// these facts, a path, lead to `to`, which overwrites the value: so `to` comes later.
    Overwrites {
        /// The read.
        read: u32,
        /// From the transaction that is read from to `to`.
        path: Vec<u32>,
    },
}
