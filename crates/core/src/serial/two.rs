//! The largest number that some thread gave, and the largest one of another thread.

#[derive(Clone, Copy, Default)]
pub(super) struct Two([Option<(usize, u32)>; 2]);

impl Two {
    pub(super) fn put(&mut self, thread: u32, number: usize) {
        let [first, second] = &mut self.0;
        match first {
            Some((most, of)) if *of == thread => *most = number.max(*most),
            Some((most, _)) if *most >= number => {
                let other = second.map_or(0, |(most, _)| most);
                *second = Some((number, thread)).filter(|_| number >= other).or(*second);
            }
            _ => (*first, *second) = (Some((number, thread)), *first),
        }
    }

    pub(super) fn of_others(&self, thread: u32) -> Option<usize> {
        self.0.iter().flatten().find(|(_, of)| *of != thread).map(|&(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that three threads may give, number by number.
    #[test]
    fn the_largest_of_others() {
        let all = 9usize.pow(4);
        for mut code in 0..all {
            let mut two = Two::default();
            let mut given: Vec<(u32, usize)> = Vec::new();
            for _ in 0..4 {
                let (thread, number) = ((code % 3) as u32, code / 3 % 3 + 1);
                code /= 9;
                two.put(thread, number);
                given.push((thread, number));
                for thread in 0..4 {
                    let others = given.iter().filter(|(of, _)| *of != thread);
                    assert_eq!(two.of_others(thread), others.map(|&(_, n)| n).max(), "{given:?}");
                }
            }
        }
    }
}
