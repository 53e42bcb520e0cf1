//! The steps of an execution, and the events that monitors see of them.

use weakspot_core::LogKind;

use crate::{Op, OpKind};

/// A step of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who.
    pub thread: u16,
    /// What was done.
    pub op: Op,
    /// In which order, if it is atomic.
    pub order: Order,
    /// The program address.
    pub at: u64,
}

/// The order of an access, as C11 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// It is not atomic.
    Plain,
    /// Atomic, with no more than that.
    Relaxed,
    /// Acquire or consume.
    Acquire,
    /// Release.
    Release,
    /// Both.
    AcqRel,
    /// Sequentially consistent.
    SeqCst,
}

impl Order {
    /// Whether what is read with it was released to whoever reads it.
    #[must_use]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Whether what is written with it releases what came before.
    #[must_use]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }
}

/// The events that a step is made of. What its order demands, if `orders` count, are fences beside it.
pub(crate) fn parts(step: &Step, orders: bool, tell: &mut impl FnMut(LogKind)) {
    let order = if orders { step.order } else { Order::Relaxed };
    match step.op.kind {
        OpKind::Read => tell(LogKind::Read),
        // It waits for the stores to its bytes only, and counts as a store even if it fails.
        OpKind::Compare if !orders => tell(LogKind::Update),
        // On x86 it waits for the stores of its thread, whether it succeeds or not.
        OpKind::Compare => {
            tell(LogKind::Fence);
            tell(LogKind::Read);
        }
        OpKind::Write if !orders && step.order == Order::SeqCst => tell(LogKind::Update),
        OpKind::Write => {
            if order >= Order::Release {
                tell(LogKind::StoreFence);
            }
            tell(LogKind::Write);
            if order == Order::SeqCst {
                tell(LogKind::Fence);
            }
        }
        OpKind::Update | OpKind::Add => {
            match order {
                Order::Plain | Order::Relaxed | Order::Acquire => {}
                Order::Release | Order::AcqRel => tell(LogKind::StoreFence),
                Order::SeqCst => tell(LogKind::Fence),
            }
            tell(LogKind::Update);
        }
        OpKind::Acquire | OpKind::Share => {
            tell(LogKind::Fence);
            tell(LogKind::Acquire);
        }
        OpKind::Release => {
            tell(LogKind::Fence);
            tell(LogKind::Release);
        }
        OpKind::Fence => tell(LogKind::Fence),
        OpKind::StoreFence => tell(LogKind::StoreFence),
        OpKind::Spawn => tell(LogKind::Spawn),
        OpKind::Join => tell(LogKind::Join),
        OpKind::Begin => tell(LogKind::Begin),
        OpKind::End => tell(LogKind::End),
        OpKind::Commit => tell(LogKind::Commit),
        // Whom it matters to gets it as stores.
        OpKind::Free => {}
        OpKind::Start | OpKind::Exit | OpKind::Yield | OpKind::LoadFence => {}
    }
}
