//! What threads wait for that cannot go on, and who has it.

use weakspot_live::OpKind;
use weakspot_live::wire::{Awaited, Place, TracedStep, Waiter};

use crate::answer::ShownWait;
use crate::facts::symbols::{Frame, Symbols, called};
use crate::replay::Traced;
use crate::replay::names::Names;

/// What a thread waits for, in words; `word` is what the library says that it does.
pub(crate) fn shown(
    waiter: &Waiter,
    word: &str,
    traced: &Traced,
    names: &Names<'_>,
    symbols: &Symbols,
) -> ShownWait {
    let called = called(&waiter.calls, symbols);
    let held = held(waiter, called.as_deref());
    let object = match waiter.what {
        Awaited::End => u16::try_from(waiter.addr).ok().map(|thread| names.thread(thread)),
        // By what words others are woken is a matter of the library, but for those of locks.
        Awaited::Word => held.map(|(addr, _)| names.data(addr, 4)),
        Awaited::Other => None,
        _ => Some(names.data(waiter.addr, u64::from(waiter.len))),
    };
    let holders = held.map_or(Vec::new(), |(addr, how)| holders(&traced.steps, addr, how));
    let of = object.as_deref().unwrap_or("");
    let short = match (waiter.what, &called) {
        (Awaited::Lock, _) => format!("waits for {of}"),
        (Awaited::Condition, _) => format!("waits to be woken by {of}"),
        (Awaited::Semaphore, _) => format!("waits for the semaphore {of}"),
        (Awaited::Barrier, _) => format!("waits at the barrier {of}"),
        (Awaited::End, _) => format!("waits for the end of {of}"),
        (Awaited::Word, Some(called)) if object.is_some() => format!("waits in {called} for {of}"),
        (Awaited::Word | Awaited::Other, Some(called)) if word == "waits" => {
            format!("waits in {called}")
        }
        _ => word.to_owned(),
    };
    let holders = holders.into_iter().map(|(thread, step)| {
        let place = traced.own_place(step, symbols).or(traced.steps[step].place);
        let since = place.map(|place| symbols.text(place));
        let who = if thread == waiter.thread { "it".to_owned() } else { names.thread(thread) };
        (names.thread(thread), who, since)
    });
    let holders: Vec<(String, String, Option<String>)> = holders.collect();
    let hold = |(_, who, since): &(String, String, Option<String>)| {
        let since = since.as_ref().map_or(String::new(), |since| format!(" since {since}"));
        format!("{who} holds{since}")
    };
    let all: Vec<String> = holders.iter().map(hold).collect();
    let text = if all.is_empty() {
        short.clone()
    } else {
        format!("{short}, which {}", all.join(" and "))
    };
    ShownWait {
        thread: waiter.thread,
        text,
        short,
        object,
        holders: holders.into_iter().map(|(thread, _, since)| (thread, since)).collect(),
        place: own(&waiter.calls, symbols).or(waiter.calls.first().copied()),
    }
}

/// How it is known who has a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Taking and freeing it are steps of their own.
    Steps,
    /// By a word that is 0 when it is free: a `Mutex` of Rust.
    Word,
    /// By a word that counts readers: an `RwLock` of Rust.
    Readers,
}

/// Where the lock is that a thread waits for, if it waits for one.
fn held(waiter: &Waiter, called: Option<&str>) -> Option<(u64, How)> {
    match (waiter.what, called.unwrap_or_default()) {
        (Awaited::Lock, _) => Some((waiter.addr, How::Steps)),
        (Awaited::Word, "Mutex::lock") => Some((waiter.addr, How::Word)),
        (Awaited::Word, "RwLock::read" | "RwLock::write") => Some((waiter.addr, How::Readers)),
        _ => None,
    }
}

/// Who has a lock in the end, and since which step.
fn holders(steps: &[TracedStep], addr: u64, how: How) -> Vec<(u16, usize)> {
    /// How many readers there are; all bits are set for a writer.
    const READERS: u64 = 0x3fff_ffff;
    let mut holders: Vec<(u16, usize)> = Vec::new();
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.addr == addr) {
        let (takes, frees, all) = match (how, step.kind, step.old, step.value) {
            (How::Steps, OpKind::Acquire, ..) => (true, false, false),
            (How::Steps, OpKind::Release, ..) => (false, true, false),
            (How::Word, OpKind::Update, Some(old), Some(new)) => {
                (old == 0 && new != 0, false, new == 0)
            }
            (How::Readers, OpKind::Update, Some(old), Some(new)) => {
                let (old, new) = (old & READERS, new & READERS);
                (new > old, new < old, new == 0)
            }
            // What an update did that was trapped is not known: it may have freed the lock.
            (How::Word | How::Readers, OpKind::Update, ..) => {
                (false, holders.iter().any(|(thread, _)| *thread == step.thread), false)
            }
            (How::Word | How::Readers, OpKind::Write, _, Some(new)) => (false, false, new == 0),
            _ => continue,
        };
        if all {
            holders.clear();
        } else if takes {
            holders.push((step.thread, i));
        } else if frees {
            // Who unlocks for another one is found to have nothing.
            let own = holders.iter().rposition(|(thread, _)| *thread == step.thread);
            if let Some(i) = own.or(holders.len().checked_sub(1)) {
                holders.remove(i);
            }
        }
    }
    holders
}

/// The first of these calls that is in the user's own code.
fn own(calls: &[Place], symbols: &Symbols) -> Option<Place> {
    calls.iter().copied().find(|&place| symbols.frames(place).iter().any(Frame::is_own))
}

#[cfg(test)]
mod tests {
    use super::{How, OpKind, TracedStep, holders};
    use weakspot_live::Order;

    fn step(thread: u16, kind: OpKind, old: u64, value: u64) -> TracedStep {
        let (old, value) = (Some(old), Some(value));
        let order = Order::SeqCst;
        TracedStep { thread, kind, order, addr: 8, len: 4, old, value, place: None }
    }

    #[test]
    fn who_holds() {
        use OpKind::{Acquire, Compare, Release, Update};
        let check = |how, steps: &[TracedStep], expected: &[u16]| {
            let found: Vec<u16> = holders(steps, 8, how).into_iter().map(|h| h.0).collect();
            assert_eq!(found, expected);
        };
        let locked = [step(1, Acquire, 0, 0), step(1, Release, 0, 0), step(2, Acquire, 0, 0)];
        check(How::Steps, &locked, &[2]);
        check(How::Steps, &locked[..2], &[]);
        // Who waits says so in the word.
        let word = [step(1, Update, 0, 1), step(2, Compare, 1, 1), step(2, Update, 1, 2)];
        check(How::Word, &word, &[1]);
        check(How::Word, &[&word[..], &[step(1, Update, 2, 0)]].concat(), &[]);
        let waiting = 1 << 30;
        let readers =
            [step(1, Update, 0, 1), step(2, Update, 1, 2), step(3, Update, 2, 2 | waiting)];
        check(How::Readers, &readers, &[1, 2]);
        check(How::Readers, &[&readers[..], &[step(1, Update, 2 | waiting, 1)]].concat(), &[2]);
        check(How::Readers, &[step(4, Update, 0, 0x3fff_ffff)], &[4]);
    }
}
