//! A schedule as a word that can be printed, pasted and sent.
//!
//! `ws1_0x12_1x3_b0_0_b1q2x4_25cda302`: the version, runs of choices, a check. `0x12` is twelve steps
//! of thread 0, `1` one step of thread 1, `b0` one of its buffer, `b1q2` one of queue 2 of the buffer
//! of thread 1. The check is the FNV-1a hash of all before it, so that a token that was cut or mistyped
//! is not replayed as another. Only letters, digits and `_`: a double click takes all of it, and no
//! shell, URL or spreadsheet changes it.

use std::fmt;
use std::str::FromStr;

const VERSION: &str = "ws1";

/// No schedule is longer: a token says how often a choice is repeated, so a short one could ask for
/// any amount of memory.
const MOST_STEPS: usize = 1 << 28;

/// A thread of the program, or a queue of its store buffer.
///
/// Threads have the numbers 0, 1, 2, ... in the order in which they are created. With simulated
/// buffers, what leaves a buffer does so in steps of agents of its own: under TSO the buffer of
/// thread `t` is `Agent::buffer(t)`; under PSO it has a queue per address, `Agent::queue(t, k)` for
/// the `k`th address that the thread has stored to. So an agent has one thing to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(pub u32);

impl Agent {
    const BUFFER: u32 = 1 << 31;

    /// The thread with this number.
    #[must_use]
    pub fn thread(t: u16) -> Agent {
        Agent(u32::from(t))
    }

    /// The buffer of the thread with this number.
    #[must_use]
    pub fn buffer(t: u16) -> Agent {
        Agent::queue(t, 0)
    }

    /// A queue of the buffer of the thread with this number. At most 32,768 can be told apart.
    #[must_use]
    pub fn queue(t: u16, k: u16) -> Agent {
        Agent(Agent::BUFFER | u32::from(k & 0x7fff) << 16 | u32::from(t))
    }

    /// Whether it is a buffer.
    #[must_use]
    pub fn is_buffer(self) -> bool {
        self.0 & Agent::BUFFER != 0
    }

    /// The number of the thread that it is, or is the buffer of.
    #[must_use]
    pub fn of(self) -> u16 {
        self.0 as u16
    }

    /// Which queue of the buffer it is.
    #[must_use]
    pub fn queue_number(self) -> u16 {
        (self.0 >> 16) as u16 & 0x7fff
    }
}

/// The choices of an execution in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Who took how many steps in a row.
    runs: Vec<(Agent, u32)>,
    steps: usize,
}

impl Choices {
    /// No choices yet.
    #[must_use]
    pub fn new() -> Choices {
        Choices::default()
    }

    /// One more step.
    pub fn push(&mut self, agent: Agent) {
        self.repeat(agent, 1);
    }

    /// Forgets all choices, but not the memory for them.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.steps = 0;
    }

    /// The part of it in which each thread takes only those steps that come before a place in the
    /// whole, which is 0 for threads beyond the end of `until`.
    #[must_use]
    pub fn part(&self, until: &[usize]) -> Choices {
        let mut part = Choices::new();
        let mut at = 0;
        for &(agent, times) in &self.runs {
            let until = until.get(usize::from(agent.of())).copied().unwrap_or(0);
            let kept = until.saturating_sub(at).min(times as usize);
            if kept > 0 {
                part.repeat(agent, kept as u32);
            }
            at += times as usize;
        }
        part
    }

    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// Who took how many steps in a row, in order.
    #[must_use]
    pub fn runs(&self) -> &[(Agent, u32)] {
        &self.runs
    }

    fn repeat(&mut self, agent: Agent, times: u32) {
        self.steps += times as usize;
        match self.runs.last_mut() {
            Some(run) if run.0 == agent && run.1.checked_add(times).is_some() => run.1 += times,
            _ => self.runs.push((agent, times)),
        }
    }
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let mut text = String::from(VERSION);
        for &(agent, times) in &self.runs {
            write!(text, "_{}", Named(agent))?;
            if times > 1 {
                write!(text, "x{times}")?;
            }
        }
        let check = fnv1a(&text);
        write!(f, "{text}_{check:08x}")
    }
}

/// An agent as tokens name it.
struct Named(Agent);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(agent) = *self;
        if agent.is_buffer() {
            write!(f, "b")?;
        }
        write!(f, "{}", agent.of())?;
        if agent.queue_number() > 0 {
            write!(f, "q{}", agent.queue_number())?;
        }
        Ok(())
    }
}

/// What is wrong with a token, and after how many of its characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    /// Length of the valid prefix, in characters.
    pub at: usize,
    /// What is wrong then, as the end of "cannot replay: ".
    pub what: &'static str,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.what, self.at + 1)
    }
}

impl std::error::Error for TokenError {}

impl FromStr for Choices {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Choices, TokenError> {
        let wrong = |at, what| Err(TokenError { at, what });
        let text = text.trim();
        if !text.is_ascii() {
            let at = text.bytes().take_while(u8::is_ascii).count();
            return wrong(at, "a schedule has only letters, digits and _");
        }
        if !text.starts_with(VERSION) || !text[VERSION.len()..].starts_with('_') {
            return wrong(0, "a schedule begins with ws1_");
        }
        let Some(end) = text.rfind('_').filter(|&end| text.len() == end + 9) else {
            return wrong(text.len(), "the schedule ends too early or too late");
        };
        let mut schedule = Choices::new();
        let mut at = VERSION.len();
        while at < end {
            let part = &text[at + 1..end];
            let part = &part[..part.find('_').unwrap_or(part.len())];
            let (agent, times) =
                run(part).map_err(|(rel, what)| TokenError { at: at + 1 + rel, what })?;
            if schedule.steps + times as usize > MOST_STEPS {
                return wrong(at + 1, "the schedule has too many steps");
            }
            schedule.repeat(agent, times);
            at += 1 + part.len();
        }
        if u32::from_str_radix(&text[end + 1..], 16) != Ok(fnv1a(&text[..end])) {
            return wrong(end + 1, "the check at the end does not fit: some of it was changed");
        }
        Ok(schedule)
    }
}

fn run(part: &str) -> Result<(Agent, u32), (usize, &'static str)> {
    let buffer = part.starts_with('b');
    let mut at = usize::from(buffer);
    let mut number = |most: u32, what: &'static str| {
        let digits = part[at..].bytes().take_while(u8::is_ascii_digit).count();
        let value = part[at..at + digits].parse::<u32>().ok().filter(|&v| v <= most);
        let value = value.ok_or((at, what))?;
        at += digits;
        let mark = part[at..].chars().next();
        at += usize::from(mark.is_some());
        Ok((value, mark, at))
    };
    let (thread, mut mark, mut end) = number(u32::from(u16::MAX), "expected a thread's number")?;
    let thread = thread as u16;
    let mut agent = if buffer { Agent::buffer(thread) } else { Agent::thread(thread) };
    if buffer && mark == Some('q') {
        let queue;
        (queue, mark, end) = number(0x7fff, "expected a queue's number")?;
        agent = Agent::queue(thread, queue as u16);
    }
    let mut times = 1;
    if mark == Some('x') {
        (times, mark, end) = number(u32::MAX, "expected how often")?;
        if times == 0 {
            return Err((end - 1, "expected how often, at least once"));
        }
    }
    match mark {
        None => Ok((agent, times)),
        Some(_) => Err((end - 1, "expected _")),
    }
}

fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    fn sample(rng: &mut Rng) -> Choices {
        let mut schedule = Choices::new();
        for _ in 0..rng.below(40) {
            let t = rng.below(3) as u16;
            let agent = match rng.below(3) {
                0 => Agent::thread(t),
                1 => Agent::buffer(t),
                _ => Agent::queue(u16::MAX - t, rng.below(0x8000) as u16),
            };
            for _ in 0..rng.below(5) {
                schedule.push(agent);
            }
        }
        schedule
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let mut rng = Rng::new(1);
        for _ in 0..2000 {
            let schedule = sample(&mut rng);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }

    #[test]
    fn a_token_looks_like_this() {
        let mut schedule = Choices::new();
        for _ in 0..12 {
            schedule.push(Agent::thread(0));
        }
        schedule.push(Agent::buffer(0));
        schedule.push(Agent::queue(1, 2));
        schedule.push(Agent::queue(1, 2));
        assert_eq!(schedule.to_string(), "ws1_0x12_b0_b1q2x2_eef610cc");
        assert_eq!((schedule.len(), schedule.runs().len()), (15, 3));
    }

    #[test]
    fn every_change_of_one_character_is_noticed() {
        let mut rng = Rng::new(2);
        for _ in 0..100 {
            let token = sample(&mut rng).to_string();
            for at in 0..token.len() {
                for with in b"0123456789abfqxwsz_-" {
                    let mut changed = token.clone().into_bytes();
                    if changed[at] == *with {
                        continue;
                    }
                    changed[at] = *with;
                    let changed = String::from_utf8(changed).unwrap();
                    assert!(changed.parse::<Choices>().is_err(), "{token} {changed}");
                }
                assert!(token[..at].parse::<Choices>().is_err(), "{token} cut at {at}");
            }
        }
    }

    #[test]
    fn errors_say_where() {
        for (text, at, what) in [
            ("", 0, "a schedule begins with ws1_"),
            ("ws2_0_00000000", 0, "a schedule begins with ws1_"),
            ("ws1_0x", 6, "the schedule ends too early or too late"),
            ("ws1_0_äöü", 6, "a schedule has only letters, digits and _"),
            ("ws1_0x12_1y_00000000", 10, "expected _"),
            ("ws1_0x12_c1_00000000", 9, "expected a thread's number"),
            ("ws1_65536_00000000", 4, "expected a thread's number"),
            ("ws1_0x0_00000000", 6, "expected how often, at least once"),
            ("ws1_0x_00000000", 6, "expected how often"),
            ("ws1_b0qx_00000000", 7, "expected a queue's number"),
            ("ws1_0x5000000000_00000000", 6, "expected how often"),
            ("ws1_0x400000000_00000000", 4, "the schedule has too many steps"),
            ("ws1_0_00000000", 6, "the check at the end does not fit: some of it was changed"),
        ] {
            assert_eq!(text.parse::<Choices>(), Err(TokenError { at, what }), "{text}");
        }
    }
}
