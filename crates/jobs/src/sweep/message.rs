//! What processes say to each other in a sweep, as bytes.

use std::time::Duration;

use weakspot_report::Row;

use crate::exit::Exit;
use crate::pool::{Answer, Figures};
use crate::terminal::Screen;

/// What is said. Numbers are those of inputs.
pub(super) enum Message<T> {
    /// To process 0 twice a second, with what its progress line shows.
    Alive(Figures),
    /// From process 0 at first: what answers are written for.
    Screen(Screen),
    /// To process 0: a thread is free.
    Free,
    /// From process 0: an input, and a name for its contents.
    Input(usize, String),
    /// To process 0: the contents are others here.
    Differs(usize),
    /// To process 0: a part of an answer.
    Part(usize, Answer<T>),
    /// To process 0: that was all of it, after so long.
    End(usize, Duration),
    /// From process 0: somebody has asked for an end.
    Stop,
    /// From process 0: everything is answered.
    Done,
}

/// As it is sent: its kind, and bytes.
pub(super) fn pack<T: Row>(message: &Message<T>) -> (u8, Vec<u8>) {
    let mut out = Vec::new();
    let kind = match message {
        Message::Alive(figures) => {
            figures.iter().for_each(|&figure| number(&mut out, figure));
            0
        }
        Message::Screen(Screen { color, color_of_errors, width }) => {
            let screen = [u64::from(*color), u64::from(*color_of_errors), *width as u64];
            screen.into_iter().for_each(|value| number(&mut out, value));
            1
        }
        Message::Free => 2,
        Message::Input(i, digest) => {
            number(&mut out, *i as u64);
            text(&mut out, digest);
            3
        }
        Message::Differs(i) => {
            number(&mut out, *i as u64);
            4
        }
        Message::Part(i, answer) => {
            number(&mut out, *i as u64);
            put_answer(&mut out, answer);
            5
        }
        Message::End(i, time) => {
            number(&mut out, *i as u64);
            number(&mut out, time.as_nanos() as u64);
            6
        }
        Message::Stop => 7,
        Message::Done => 8,
    };
    (kind, out)
}

/// What was sent; `None` if it is no message.
pub(super) fn unpack<T: Row>(kind: u8, mut bytes: &[u8]) -> Option<Message<T>> {
    let from = &mut bytes;
    let message = match kind {
        0 => {
            let mut figures = Figures::default();
            for figure in &mut figures {
                *figure = take(from)?;
            }
            Message::Alive(figures)
        }
        1 => Message::Screen(Screen {
            color: take(from)? == 1,
            color_of_errors: take(from)? == 1,
            width: index(from)?,
        }),
        2 => Message::Free,
        3 => Message::Input(index(from)?, take_text(from)?),
        4 => Message::Differs(index(from)?),
        5 => Message::Part(index(from)?, take_answer(from)?),
        6 => Message::End(index(from)?, Duration::from_nanos(take(from)?)),
        7 => Message::Stop,
        8 => Message::Done,
        _ => return None,
    };
    bytes.is_empty().then_some(message)
}

const EXITS: [Exit; 4] = [Exit::Holds, Exit::Unknown, Exit::Violated, Exit::Bad];

/// Adds an answer, or a part of one.
pub(super) fn put_answer<T: Row>(out: &mut Vec<u8>, answer: &Answer<T>) {
    let Answer { out: printed, err, objects, exit, results } = answer;
    [printed, err, objects].into_iter().for_each(|part| text(out, part));
    let exit = EXITS.iter().position(|e| e == exit).unwrap_or(0);
    number(out, exit as u64);
    number(out, results.len() as u64);
    for result in results {
        let words = result.words();
        number(out, words.len() as u64);
        words.iter().for_each(|word| text(out, word));
    }
}

/// The answer, or part of one, that bytes begin with.
pub(super) fn take_answer<T: Row>(from: &mut &[u8]) -> Option<Answer<T>> {
    let (out, err, objects) = (take_text(from)?, take_text(from)?, take_text(from)?);
    let exit = *EXITS.get(index(from)?)?;
    let mut results = Vec::new();
    for _ in 0..take(from)? {
        let words = (0..take(from)?).map(|_| take_text(from));
        results.push(T::of_words(&words.collect::<Option<Vec<_>>>()?)?);
    }
    Some(Answer { out, err, objects, exit, results })
}

pub(super) fn number(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn take(from: &mut &[u8]) -> Option<u64> {
    let (value, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(u64::from_le_bytes(*value))
}

fn index(from: &mut &[u8]) -> Option<usize> {
    usize::try_from(take(from)?).ok()
}

pub(super) fn take_text(from: &mut &[u8]) -> Option<String> {
    let length = index(from)?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::Rng;
    use weakspot_core::{Model, Verdict};
    use weakspot_report::ProgramResult;

    use super::*;

    fn messages() -> Vec<Message<ProgramResult>> {
        let result = ProgramResult {
            file: "a b.weak".to_owned(),
            name: "a".to_owned(),
            model: Some(Model::Tso),
            verdict: Some(Verdict::Violated),
        };
        let answer = Answer {
            out: "out\n".to_owned(),
            err: String::new(),
            objects: "{}".to_owned(),
            exit: Exit::Violated,
            results: vec![result, ProgramResult::error("b", None)],
        };
        vec![
            Message::Alive([1, 2, 3, 4, 5, u64::MAX]),
            Message::Screen(Screen { color: true, color_of_errors: false, width: 80 }),
            Message::Free,
            Message::Input(3, "abc".to_owned()),
            Message::Differs(4),
            Message::Part(7, answer),
            Message::End(7, Duration::from_micros(5)),
            Message::Stop,
            Message::Done,
        ]
    }

    #[test]
    fn messages_come_back() {
        for message in messages() {
            let (kind, bytes) = pack(&message);
            let again = unpack::<ProgramResult>(kind, &bytes).expect("a message");
            assert_eq!(pack(&again), (kind, bytes));
        }
    }

    /// No bytes make it panic, and what is cut off is no message.
    #[test]
    fn damaged_messages_are_none() {
        let mut rng = Rng::new(5);
        for message in messages() {
            let (kind, bytes) = pack(&message);
            for end in 0..bytes.len() {
                assert!(unpack::<ProgramResult>(kind, &bytes[..end]).is_none());
                let mut damaged = bytes.clone();
                damaged[end] = rng.below(256) as u8;
                let _ = unpack::<ProgramResult>(kind, &damaged);
            }
        }
    }
}
