//! Who writes a variable, session by session.

use weakspot_core::TxnHistory;

/// Per variable the committed transactions that write it, in pieces of one session each.
pub(super) struct Writers {
    /// Variable `x` has the pieces `of_var[x]..of_var[x + 1]`.
    of_var: Vec<u32>,
    pieces: Vec<Piece>,
    txns: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Piece {
    session: u32,
    start: u32,
    end: u32,
}

impl Writers {
    pub(super) fn new(history: &TxnHistory) -> Writers {
        let committed = || (0..history.txns() as u32).filter(|&t| history.committed(t));
        let mut starts = vec![0u32; history.vars() + 1];
        for txn in committed() {
            for (var, _) in history.written_by(txn) {
                starts[*var as usize + 1] += 1;
            }
        }
        for var in 0..history.vars() {
            starts[var + 1] += starts[var];
        }
        let mut next = starts.clone();
        let mut txns = vec![0; starts[history.vars()] as usize];
        for txn in committed() {
            for (var, _) in history.written_by(txn) {
                let next = &mut next[*var as usize];
                txns[*next as usize] = txn;
                *next += 1;
            }
        }
        let (mut of_var, mut pieces) = (vec![0], Vec::new());
        for var in 0..history.vars() {
            let of = starts[var] as usize..starts[var + 1] as usize;
            let mut at = of.start;
            for same in txns[of].chunk_by(|&a, &b| history.session_of(a) == history.session_of(b)) {
                let (start, end) = (at as u32, (at + same.len()) as u32);
                pieces.push(Piece { session: history.session_of(same[0]), start, end });
                at += same.len();
            }
            of_var.push(pieces.len() as u32);
        }
        Writers { of_var, pieces, txns }
    }

    /// The writers of a variable by session, each in order.
    pub(super) fn of(&self, var: u32) -> impl Iterator<Item = (u32, &[u32])> {
        let range = self.of_var[var as usize] as usize..self.of_var[var as usize + 1] as usize;
        self.pieces[range].iter().map(|p| (p.session, &self.txns[p.start as usize..p.end as usize]))
    }
}
