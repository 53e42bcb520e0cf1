//! The numbers that a thread has given to its transactions, so that none comes back.
//!
//! Most threads count: then their numbers are a few ranges, or at least rise, and one that is larger
//! than all before is new. The others are remembered, up to a limit for the log. Beyond that
//! numbers have to rise, so that it is always known whether one is new.

use std::collections::HashSet;

/// The numbers of the transactions of a thread.
#[derive(Default)]
pub(super) struct Labels {
    /// Numbers that were larger than all before when they came, in ranges, the last one included.
    risen: Vec<(u32, u32)>,
    /// The others.
    others: HashSet<u32>,
    /// Whether some were not remembered.
    forgot: bool,
}

/// What is known about a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    New,
    /// The thread has used it.
    Used,
    /// Too many were used to know.
    Unknown,
}

impl Labels {
    /// Whether the thread uses a number for the first time. `room` is for how many numbers there is
    /// room in all threads together.
    pub(super) fn add(&mut self, label: u32, room: &mut usize) -> Label {
        let Some(last) = self.risen.last_mut() else {
            self.risen.push((label, label));
            return Label::New;
        };
        if label > last.1 {
            if label == last.1 + 1 || self.forgot {
                last.1 = label;
            } else if *room > 0 {
                *room -= 1;
                self.risen.push((label, label));
            } else {
                self.forgot = true;
                last.1 = label;
            }
            return Label::New;
        }
        let after = self.risen.partition_point(|&(first, _)| first <= label);
        let in_range = after.checked_sub(1).is_some_and(|at| label <= self.risen[at].1);
        let in_last = in_range && after == self.risen.len();
        match () {
            // Since numbers were forgotten, the last range has gaps that are not known.
            () if in_last && self.forgot => Label::Unknown,
            () if in_range || self.others.contains(&label) => Label::Used,
            () if *room == 0 => Label::Unknown,
            () => {
                *room -= 1;
                self.others.insert(label);
                Label::New
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.risen.capacity() * size_of::<(u32, u32)>() + self.others.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(labels: &mut Labels, room: &mut usize, all: &[u32]) -> Vec<Label> {
        all.iter().map(|&label| labels.add(label, room)).collect()
    }

    #[test]
    fn counting_takes_no_room() {
        let (mut labels, mut room) = (Labels::default(), 2);
        assert!((5..100_000).all(|label| labels.add(label, &mut room) == Label::New));
        assert_eq!(room, 2);
        assert_eq!(
            add(&mut labels, &mut room, &[5, 4, 4, 99_999]),
            [Label::Used, Label::New, Label::Used, Label::Used]
        );
    }

    #[test]
    fn without_room_numbers_have_to_rise() {
        let (mut labels, mut room) = (Labels::default(), 2);
        use Label::{New, Unknown, Used};
        let all = [10, 20, 3, 3, 30, 40, 41, 35, 40, 5, 20, 3, 50, 10];
        let said = [
            New, New, New, Used, New, New, New, Unknown, Unknown, Unknown, Unknown, Used, New, Used,
        ];
        assert_eq!(add(&mut labels, &mut room, &all), said);
    }

    /// Whatever comes, a number that was used is never called new.
    #[test]
    fn none_comes_back() {
        let mut rng = crate::testing::Rng::new(1);
        for _ in 0..20_000 {
            let (mut labels, mut room) = (Labels::default(), rng.below(12));
            let (mut used, mut at) = (HashSet::new(), 0);
            let full = room;
            for step in 0..30 {
                at = if rng.one_in(4) { rng.below(60) as u32 } else { at + rng.below(3) as u32 };
                let said = labels.add(at, &mut room);
                match said {
                    Label::New => assert!(used.insert(at), "{at} came back"),
                    Label::Used => assert!(used.contains(&at)),
                    Label::Unknown => assert!(full < 12 && step >= full),
                }
            }
        }
    }
}
