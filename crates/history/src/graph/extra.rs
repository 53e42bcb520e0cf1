//! Edges that were derived, listed by where they lead.

/// Derived edges in the order in which they were found.
pub(crate) struct Extra {
    /// Per operation the last edge that leads there.
    head: Vec<u32>,
    edges: Vec<ExtraEdge>,
}

/// An edge, and the read that it was derived with.
#[derive(Clone, Copy)]
pub(crate) struct ExtraEdge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) read: u32,
    next: u32,
}

const NONE: u32 = u32::MAX;

impl Extra {
    pub(crate) fn new(ops: usize) -> Extra {
        Extra { head: vec![NONE; ops], edges: Vec::new() }
    }

    pub(crate) fn push(&mut self, from: u32, to: u32, read: u32) {
        let new = self.edges.len() as u32;
        // Initial writes have no list: what leads there is a violation.
        let next = self.head.get_mut(to as usize).map_or(NONE, |head| std::mem::replace(head, new));
        self.edges.push(ExtraEdge { from, to, read, next });
    }

    /// Adds all edges of another list.
    pub(crate) fn append(&mut self, other: &Extra) {
        for edge in &other.edges {
            self.push(edge.from, edge.to, edge.read);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.edges.len()
    }

    pub(crate) fn get(&self, index: u32) -> ExtraEdge {
        self.edges[index as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ExtraEdge> {
        self.edges.iter()
    }

    /// Whether any edge leads there.
    pub(crate) fn leads_to(&self, op: u32) -> bool {
        self.head[op as usize] != NONE
    }

    /// The edges that lead to an operation, the newest first, with their numbers.
    pub(crate) fn leading_to(&self, op: u32) -> impl Iterator<Item = (u32, ExtraEdge)> + '_ {
        let mut at = self.head[op as usize];
        std::iter::from_fn(move || {
            let edge = *self.edges.get(at as usize)?;
            let index = std::mem::replace(&mut at, edge.next);
            Some((index, edge))
        })
    }

    /// Forgets all edges.
    pub(crate) fn clear(&mut self) {
        for edge in self.edges.drain(..) {
            if let Some(head) = self.head.get_mut(edge.to as usize) {
                *head = NONE;
            }
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.head.capacity() * 4 + self.edges.capacity() * size_of::<ExtraEdge>()) as u64
    }
}
