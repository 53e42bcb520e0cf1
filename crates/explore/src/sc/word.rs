//! What a worker says to all others at the end of a level of a search by several processes.

use std::time::Duration;

use weakspot_core::{Limit, LostProcess};

use crate::sc::wire::{Garbled, get, number, put};

/// What a worker says at the end of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// States expanded by this worker in this level.
    pub(crate) expanded: u64,
    /// States expanded by its process so far.
    pub(crate) states: u64,
    /// It may not have expanded all that it had.
    pub(crate) stopped: bool,
    /// It has not expanded all that it had in this level.
    pub(crate) halfway: bool,
    /// Whether it has the search kept.
    pub(crate) keeps: Keeps,
    /// Why, if it knows.
    pub(crate) why: Option<Why>,
}

/// Whether a worker has the search kept. One of process 0 may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeps {
    #[default]
    Never,
    /// If a limit ends it.
    AtLimits,
    /// After this level.
    Now,
}

const KEEPS: [Keeps; 3] = [Keeps::Never, Keeps::AtLimits, Keeps::Now];

/// Why a search stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// What is looked for is at this state, or one step from it.
    Goal(u32),
    /// The program does what has no meaning at this state.
    Fault(u32),
    Limit(Limit),
}

/// How a process can be lost, by number.
const LOST: [LostProcess; 4] =
    [LostProcess::Gone, LostProcess::Silent, LostProcess::Absent, LostProcess::Garbled];

impl Word {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.expanded);
        put(out, self.states);
        put(out, u64::from(self.stopped));
        put(out, u64::from(self.halfway));
        put(out, self.keeps as u64);
        let (what, number) = match &self.why {
            None => (0, 0),
            Some(Why::Goal(state)) => (1, u64::from(*state)),
            Some(Why::Fault(state)) => (2, u64::from(*state)),
            Some(Why::Limit(Limit::Time(time))) => (3, time.as_nanos() as u64),
            Some(Why::Limit(Limit::Memory(bytes))) => (4, *bytes),
            Some(Why::Limit(Limit::Process { process, why })) => {
                let how = LOST.iter().position(|w| w == why).unwrap_or(0);
                (6 + how as u64, *process as u64)
            }
            // A search over packed states reaches no others.
            Some(Why::Limit(_)) => (5, 0),
        };
        put(out, what);
        put(out, number);
    }

    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Word, Garbled> {
        let (expanded, states) = (get(bytes)?, get(bytes)?);
        let (stopped, halfway) = (get(bytes)? != 0, get(bytes)? != 0);
        let keeps = usize::try_from(get(bytes)?).ok().and_then(|at| KEEPS.get(at));
        let keeps = *keeps.ok_or(Garbled)?;
        let what = get(bytes)?;
        let why = match what {
            0 => get(bytes).map(|_| None)?,
            1 => Some(Why::Goal(number(bytes)?)),
            2 => Some(Why::Fault(number(bytes)?)),
            3 => Some(Why::Limit(Limit::Time(Duration::from_nanos(get(bytes)?)))),
            4 => Some(Why::Limit(Limit::Memory(get(bytes)?))),
            5 => get(bytes).map(|_| Some(Why::Limit(Limit::Interrupted)))?,
            _ => {
                let how = usize::try_from(what - 6).ok().and_then(|how| LOST.get(how));
                let why = *how.ok_or(Garbled)?;
                Some(Why::Limit(Limit::Process { process: get(bytes)? as usize, why }))
            }
        };
        Ok(Word { expanded, states, stopped, halfway, keeps, why })
    }
}
