//! All executions by rising number of preemptions, for several workers: a part is some executions of a
//! round with all that cost no more than they do. What costs more is handed in for the rounds after.
//! Parts are taken in as they were handed out, so that executions come in the same order whoever
//! runs them, unless there are more in a part than it may have.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::Agent;
use crate::strategy::share::{Read, Whole, Written};

/// Executions that depart from another one, at any of these steps.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    /// Where that one departs from the plain one.
    pub(super) way: Rc<[(u32, Agent)]>,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) agent: Agent,
}

/// Some executions.
pub(super) struct Part {
    /// How many there may be at most.
    pub(super) most: u64,
    pub(super) round: u32,
    /// Where they depart; the plain one if there are none.
    pub(super) ways: Vec<Vec<(u32, Agent)>>,
}

/// What a part has led to.
pub(super) struct Rest {
    /// Something was left out.
    pub(super) cut: bool,
    /// Those of the same round that are still to be executed.
    pub(super) ways: Vec<Vec<(u32, Agent)>>,
    /// Those of the round after, and the one after that.
    pub(super) later: [Vec<Stretch>; 2],
}

/// The whole of what `bounded` explores.
#[derive(Debug, Default)]
pub struct BoundedWhole {
    begun: bool,
    cut: bool,
    round: u32,
    /// How many parts are out.
    out: usize,
    /// Executions of this round that come first.
    first: VecDeque<Vec<(u32, Agent)>>,
    /// Those of this round, the next one, and the one after.
    rounds: [VecDeque<Stretch>; 3],
}

impl BoundedWhole {
    /// Everything.
    #[must_use]
    pub fn new() -> BoundedWhole {
        BoundedWhole::default()
    }

    fn take(&mut self) -> Option<Vec<(u32, Agent)>> {
        if let Some(way) = self.first.pop_front() {
            return Some(way);
        }
        let stretch = self.rounds[0].front_mut()?;
        let mut way = stretch.way.to_vec();
        way.push((stretch.from, stretch.agent));
        stretch.from += 1;
        if stretch.from >= stretch.to {
            self.rounds[0].pop_front();
        }
        Some(way)
    }
}

impl Whole for BoundedWhole {
    fn next(&mut self, most: u64) -> Option<String> {
        if !std::mem::replace(&mut self.begun, true) {
            self.out = 1;
            return Some(Part { most, round: 0, ways: Vec::new() }.text());
        }
        while self.first.is_empty() && self.rounds[0].is_empty() {
            if self.out > 0 || self.rounds.iter().all(VecDeque::is_empty) {
                return None;
            }
            self.rounds.rotate_left(1);
            self.round += 1;
        }
        // Each brings others with it.
        let count = (most / 2).max(1);
        let ways = (0..count).map_while(|_| self.take()).collect();
        self.out += 1;
        Some(Part { most, round: self.round, ways }.text())
    }

    fn merge(&mut self, rest: &str) -> bool {
        let Some(rest) = Rest::parse(rest) else { return false };
        self.out -= 1;
        self.cut |= rest.cut;
        for way in rest.ways.into_iter().rev() {
            self.first.push_front(way);
        }
        for (round, later) in self.rounds[1..].iter_mut().zip(rest.later) {
            round.extend(later);
        }
        true
    }

    fn complete(&self) -> bool {
        let left = self.out > 0 || !self.first.is_empty();
        self.begun && !self.cut && !left && self.rounds.iter().all(VecDeque::is_empty)
    }
}

fn put_way(w: &mut Written, way: &[(u32, Agent)]) {
    w.all(way, |w, &(step, agent)| {
        w.put(step);
        w.put(agent.0);
    });
}

fn read_way(r: &mut Read<'_>) -> Option<Vec<(u32, Agent)>> {
    r.all(|r| Some((r.short()?, Agent(r.short()?))))
}

impl Part {
    pub(super) fn text(&self) -> String {
        let mut w = Written::default();
        w.put(self.most);
        w.put(self.round);
        w.all(&self.ways, |w, way| put_way(w, way));
        w.0
    }

    pub(super) fn parse(text: &str) -> Option<Part> {
        let r = &mut Read::new(text);
        Some(Part { most: r.long()?, round: r.short()?, ways: r.all(read_way)? })
    }
}

impl Rest {
    pub(super) fn text(&self) -> String {
        let mut w = Written::default();
        w.put(self.cut);
        w.all(&self.ways, |w, way| put_way(w, way));
        for later in &self.later {
            // Those of one execution come one after the other.
            let same: Vec<&[Stretch]> = later.chunk_by(|a, b| a.way == b.way).collect();
            w.all(&same, |w, stretches| {
                put_way(w, &stretches[0].way);
                w.all(stretches, |w, s| {
                    [s.from, s.to, s.agent.0].into_iter().for_each(|n| w.put(n))
                });
            });
        }
        w.0
    }

    pub(super) fn parse(text: &str) -> Option<Rest> {
        let r = &mut Read::new(text);
        let (cut, ways) = (r.flag()?, r.all(read_way)?);
        let mut later = || {
            let all = r.all(|r| {
                let way: Rc<[(u32, Agent)]> = read_way(r)?.into();
                r.all(|r| {
                    let (way, from) = (Rc::clone(&way), r.short()?);
                    Some(Stretch { way, from, to: r.short()?, agent: Agent(r.short()?) })
                })
            });
            all.map(|all| all.concat())
        };
        Some(Rest { cut, ways, later: [later()?, later()?] })
    }
}
