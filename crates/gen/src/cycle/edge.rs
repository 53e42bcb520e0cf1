//! The steps of a cycle and their names.

use std::fmt;

/// A read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dir {
    /// A read.
    R,
    /// A write.
    W,
}

/// How an access of one location is followed by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Com {
    /// Reads-from: a write and a read of its value.
    Rf,
    /// From-reads: a read and a write that overwrites what was read.
    Fr,
    /// Coherence: a write and a later one.
    Co,
}

/// A fence between two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FenceKind {
    /// `mfence`.
    Full,
    /// `sfence`.
    StoreStore,
}

/// A step from one access to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// Program order.
    Po {
        /// To the same location.
        same: bool,
        /// With a fence in between.
        fence: Option<FenceKind>,
        /// What it leads from.
        from: Dir,
        /// What it leads to.
        to: Dir,
    },
    /// Communication through a location.
    Com {
        /// The relation: reads-from, coherence or from-reads.
        com: Com,
        /// To another thread.
        external: bool,
    },
}

const ORDERS: [(&str, bool, Option<FenceKind>); 6] = [
    ("Pod", false, None),
    ("Pos", true, None),
    ("MFenced", false, Some(FenceKind::Full)),
    ("MFences", true, Some(FenceKind::Full)),
    ("SFenced", false, Some(FenceKind::StoreStore)),
    ("SFences", true, Some(FenceKind::StoreStore)),
];

const COMS: [(&str, Com); 4] = [("Rf", Com::Rf), ("Fr", Com::Fr), ("Co", Com::Co), ("Ws", Com::Co)];

impl Edge {
    /// The step called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Edge> {
        for (prefix, com) in COMS {
            match name.strip_prefix(prefix) {
                Some("e") => return Some(Edge::Com { com, external: true }),
                Some("i") => return Some(Edge::Com { com, external: false }),
                _ => {}
            }
        }
        ORDERS.iter().find_map(|&(prefix, same, fence)| {
            let mut dirs = name.strip_prefix(prefix)?.chars();
            let mut dir = || match dirs.next() {
                Some('R') => Some(Dir::R),
                Some('W') => Some(Dir::W),
                _ => None,
            };
            let (from, to) = (dir()?, dir()?);
            dirs.next().is_none().then_some(Edge::Po { same, fence, from, to })
        })
    }

    /// What it leads from.
    #[must_use]
    pub fn from(self) -> Dir {
        match self {
            Edge::Po { from, .. } => from,
            Edge::Com { com: Com::Fr, .. } => Dir::R,
            Edge::Com { .. } => Dir::W,
        }
    }

    /// What it leads to.
    #[must_use]
    pub fn to(self) -> Dir {
        match self {
            Edge::Po { to, .. } => to,
            Edge::Com { com: Com::Rf, .. } => Dir::R,
            Edge::Com { .. } => Dir::W,
        }
    }

    /// Whether it leads to another thread.
    #[must_use]
    pub fn is_external(self) -> bool {
        matches!(self, Edge::Com { external: true, .. })
    }

    /// Whether it leads to another location.
    #[must_use]
    pub(crate) fn changes_location(self) -> bool {
        matches!(self, Edge::Po { same: false, .. })
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Edge::Po { same, fence, from, to } => {
                let order = ORDERS.iter().find(|o| (o.1, o.2) == (same, fence));
                write!(f, "{}{from:?}{to:?}", order.map_or("Pod", |o| o.0))
            }
            Edge::Com { com, external } => {
                write!(f, "{com:?}{}", if external { 'e' } else { 'i' })
            }
        }
    }
}
