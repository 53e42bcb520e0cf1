//! What several workers have heard, together; and what is kept of what was heard.

use weakspot_core::Model;
use weakspot_live::wire::{Message, Place};

use super::Heard;
use crate::explore::findings::Findings;
use crate::testing::Steady;

const HERE: Place = Place { module: Some(0), offset: 16 };
const THERE: Place = Place { module: Some(0), offset: 32 };

fn failure(place: Place, schedule: &str) -> Message {
    Message::Failure {
        number: place.offset,
        kind: "crash".to_owned(),
        thread: None,
        place: Some(place),
        execution: 1,
        schedule: schedule.to_owned(),
        text: String::new(),
        related: Vec::new(),
    }
}

fn overtaking(model: Model) -> Message {
    Message::Overtaking {
        number: 1,
        model,
        store: HERE,
        access: THERE,
        execution: 1,
        schedule: "ws1".to_owned(),
        fences: Vec::new(),
    }
}

fn heard(messages: Vec<Message>) -> Heard {
    let mut heard = Heard::nothing(0);
    messages.into_iter().for_each(|message| heard.hear(message, &Steady::new(None)));
    heard
}

/// What only the second one has heard is not lost.
#[test]
fn the_second_worker_is_heard() {
    let second = heard(vec![
        failure(HERE, "ws1"),
        overtaking(Model::Tso),
        Message::Outside { what: "writes to a file".to_owned(), places: Vec::new() },
        Message::Unsupported { what: "fork".to_owned(), place: None },
        Message::Mixed(Model::Tso),
        Message::Volatile(None),
        Message::Diverged { step: 7, thread: 0 },
        Message::Defect("a defect".to_owned()),
        Message::Idle(2),
        Message::Exits(3),
        Message::Assumed(4),
        Message::Left(5),
        Message::Transactions(6),
        Message::Threads(9),
        Message::Unserializable { execution: 1, schedule: "ws1".to_owned(), executions: 8 },
        Message::Done { how: "complete".to_owned(), executions: 10, steps: 11 },
    ]);
    let first = heard(vec![
        Message::Transactions(1),
        Message::Threads(1),
        Message::Done { how: "complete".to_owned(), executions: 1, steps: 1 },
    ]);
    let both = Heard::joined(vec![first, second], &|_, execution| execution);
    assert_eq!((both.outside.len(), both.unsupported.len(), both.mixed.len()), (1, 1, 1));
    assert_eq!((both.volatile, both.diverged), (Some(None), Some(7)));
    assert_eq!(both.defect.as_deref(), Some("a defect"));
    assert_eq!((both.idle, both.exits, both.assumed, both.left), (2, 3, 4, 5));
    assert_eq!((both.transactions, both.threads), (7, 9));
    assert_eq!((both.executions, both.steps), (11, 12));
    let Findings { overtakings, failures, unserializable, .. } = both.findings();
    assert_eq!((overtakings.len(), failures.len()), (1, 1));
    assert_eq!(unserializable.map(|found| found.seen.executions), Some(8));
}

/// What was found before an exploration had to start again is forgotten only by who has looked at everything since.
#[test]
fn what_was_found_before_starting_again() {
    for (how, kept) in [("complete", 0), ("limit", 1), ("timeout", 1)] {
        let done = Message::Done { how: how.to_owned(), executions: 1, steps: 1 };
        let heard = heard(vec![overtaking(Model::Tso), Message::Again, done]);
        assert_eq!(heard.findings().overtakings.len(), kept, "{how}");
    }
}

/// Things that differ in their place, or in the model, are two; and none goes when others are added.
#[test]
fn each_thing_is_found_once() {
    let pso = Model::Pso(weakspot_core::Drain::All);
    let found = |messages| heard(messages).findings();
    let mut all = found(vec![failure(HERE, ""), overtaking(Model::Tso)]);
    all.add(found(vec![failure(THERE, "ws1"), failure(HERE, "ws2"), overtaking(pso)]), 10);
    all.add(found(vec![failure(THERE, "")]), 20);
    let failures = all.failures.iter().map(|f| (f.place, &*f.seen.schedule, f.seen.executions));
    // A schedule that can be followed is better than none.
    assert_eq!(failures.collect::<Vec<_>>(), [(Some(HERE), "ws2", 2), (Some(THERE), "ws1", 2)]);
    let models: Vec<Model> = all.overtakings.iter().map(|found| found.model).collect();
    assert_eq!(models, [Model::Tso, pso]);
    let mut later = found(vec![failure(HERE, "ws3"), overtaking(pso)]);
    later.add_missing(all);
    assert_eq!((later.failures.len(), later.overtakings.len()), (2, 2));
    assert_eq!(later.failures[0].seen.schedule, "ws3");
}
