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
