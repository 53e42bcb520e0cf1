//! Two plain strategies.

use weakspot_live::{Agent, Choice, Ended, Next, Strategy};

/// All executions, one after the other: depth first, the thread that runs goes on first.
#[derive(Default)]
pub struct Dfs {
    path: Vec<(usize, usize)>,
    depth: usize,
    over: bool,
    cut: bool,
}

impl Strategy for Dfs {
    fn begin(&mut self) -> bool {
        self.depth = 0;
        !self.over
    }

    fn choose(&mut self, next: &[Next], last: Option<Agent>) -> Choice {
        let mut enabled: Vec<Agent> = next.iter().filter(|n| n.enabled).map(|n| n.agent).collect();
        if let Some(i) = enabled.iter().position(|&a| Some(a) == last) {
            enabled[..=i].rotate_right(1);
        }
        if self.depth == self.path.len() {
            self.path.push((0, enabled.len()));
        }
        let (i, _) = self.path[self.depth];
        self.depth += 1;
        Choice::Run(enabled[i.min(enabled.len() - 1)])
    }

    fn end(&mut self, ended: Ended) {
        self.cut |= ended == Ended::Cut;
        self.path.truncate(self.depth);
        while let Some((i, n)) = self.path.pop() {
            if i + 1 < n {
                self.path.push((i + 1, n));
                return;
            }
        }
        self.over = true;
    }

    fn complete(&self) -> bool {
        self.over && !self.cut
    }
}

/// Any executions.
pub struct Random {
    state: u64,
}

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15) | 1 }
    }
}

impl Strategy for Random {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, next: &[Next], _last: Option<Agent>) -> Choice {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let enabled = next.iter().filter(|n| n.enabled).count();
        let i = (self.state >> 16) as usize % enabled.max(1);
        let chosen = next.iter().filter(|n| n.enabled).nth(i);
        chosen.map_or(Choice::Stop, |n| Choice::Run(n.agent))
    }

    fn end(&mut self, _ended: Ended) {}

    fn complete(&self) -> bool {
        false
    }
}
