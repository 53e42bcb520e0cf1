use crate::reference::{Form, emitted, reports};
use crate::test_logs::{log, random_log, tables};
use weakspot_core::testing::Rng;
use weakspot_core::{Drain, Model};

const PSO: Model = Model::Pso(Drain::All);
const OWN: Model = Model::Pso(Drain::Own);

/// What is reported, as `store<access` by their places in the log.
fn check(text: &str, model: Model, form: Form, expected: &str) {
    let (events, tables) = (log(text), tables());
    let found = reports(&events, &tables, model, form);
    let words: Vec<String> = found.iter().map(|r| format!("{}<{}", r.store, r.access)).collect();
    assert_eq!(words.join(" "), expected, "{text} under {model}, {form:?}");
    assert!(found.iter().all(|r| r.previous.is_some_and(|p| r.store < p && p < r.access)));
}

fn check_all(text: &str, expected: [&str; 3]) {
    for form in [Form::All, Form::Last] {
        for (model, expected) in [Model::Tso, PSO, OWN].into_iter().zip(expected) {
            check(text, model, form, expected);
        }
        check(text, Model::Sc, form, "");
    }
}

#[test]
fn store_buffering() {
    check_all("0wx 0ry 1wy 1rx", ["0<3", "0<3", "0<3"]);
    check_all("0wx 0ry 1wy 1ux", ["0<3", "0<3", "0<3"]);
    check_all("0wx 0ry 1wy 1wx", ["0<3", "0<3", "0<3"]);
    check_all("0wx 0f 0ry 1wy 1f 1rx", ["", "", ""]);
    check_all("0wx 0uy 1uy 1rx", ["", "", "0<3"]);
    check_all("0wx 0s 0uy 1uy 1rx", ["", "", ""]);
    // A lock is an update, and taking a lock that another one released comes after that.
    check_all("0wx 0lz 0mz 0ry 1wy 1lz 1mz 1rx", ["", "", "0<7"]);
}

#[test]
fn message_passing() {
    check_all("0wx 0wy 1ry 1rx", ["", "0<3", "0<3"]);
    check_all("0wx 0s 0wy 1ry 1rx", ["", "", ""]);
    check_all("0wx 0wy 1uy 1rx", ["", "0<3", "0<3"]);
    check_all("0wx 0uy 1uy 1rx", ["", "", "0<3"]);
}

/// Only the first of the two stores happens before the other thread's store.
#[test]
fn all_pending_stores_or_the_last() {
    let text = "0wx 0ry 0wx 1wy 1rx";
    check(text, Model::Tso, Form::All, "0<4");
    check(text, Model::Tso, Form::Last, "");
    let text = "0wx 0wx 0ry 1wy 1rx";
    check(text, Model::Tso, Form::All, "0<4 1<4");
    check(text, Model::Tso, Form::Last, "1<4");
}

/// The report's Fig. 8: the store of a third thread commits the first one.
#[test]
fn committed_by_a_third_thread() {
    check_all("0wx 0ry 1wx 2wy 2rx", ["", "", ""]);
    check_all("0wx 0ry 2wy 2rx 1wx", ["0<3", "0<3", "0<3"]);
}

#[test]
fn threads_start_and_end() {
    check_all("0wx 0>1 1rx", ["", "", ""]);
    check_all("1wx 0<1 0rx", ["", "", ""]);
    check_all("2wx 2ry 0wy 0>1 1rx", ["0<4", "0<4", "0<4"]);
    // A join waits for the buffer of the child, not for one's own.
    check_all("0wx 0<1 0ry 2wy 2rx", ["0<4", "0<4", "0<4"]);
    // Starting a thread twice, or oneself, is odd but no reason to fall over.
    check_all("0>0 0<0 0>1 1wx 0>1 0<7", ["", "", ""]);
}

/// `w` is the first half of `v`, `u` its second half.
#[test]
fn overlapping_locations() {
    check_all("0wv 0ry 1wy 1rw", ["0<3", "0<3", "0<3"]);
    check_all("0ww 0ry 1wy 1rv", ["0<3", "0<3", "0<3"]);
    check_all("0ww 0ry 1wy 1ru", ["", "", ""]);
    check("0ww 0wu 0ry 1wy 1rv", PSO, Form::All, "0<4 1<4");
    check("0ww 0wu 0ry 1wy 1rv", PSO, Form::Last, "1<4");
    // The halves may change places on their way to memory, but not past a store to the whole.
    check_all("0ww 0wu 1ru 1rw", ["", "0<3", "0<3"]);
    check_all("0ww 0wv 0wu 1ru 1rw", ["", "", ""]);
}

/// What is emitted, as `thread` and location before a place in the log.
fn check_emitted(text: &str, model: Model, expected: &str) {
    let tables = tables();
    let name = |loc: u32| &tables.locs[loc as usize].name;
    let commits = emitted(&log(text), &tables, model);
    let words: Vec<String> =
        commits.iter().map(|c| format!("{}:{}{}", c.before, c.thread, name(c.loc))).collect();
    assert_eq!(words.join(" "), expected, "{text} under {model}");
}

#[test]
fn commits_are_late() {
    let text = "0wx 0wy 0wz 1ry 0s 0wx 1rx 0f";
    check_emitted(text, Model::Tso, "3:0x 3:0y 6:0z 6:0x");
    check_emitted(text, PSO, "3:0y 6:0x 6:0z 6:0x");
    check_emitted("0wx 0wy 0wz 0ux 0s 0wx 0uy", PSO, "3:0x 3:0y 3:0z 6:0x");
    check_emitted("0wx 0wy 0wz 0ux 0s 0wx 0uy", OWN, "3:0x 6:0y 6:0z");
    check_emitted("0wx 0wy 1<0", OWN, "2:0x 2:0y");
    // Nothing is pending under SC.
    check_emitted(text, Model::Sc, "");
}

/// What the last form reports, the form that looks at all pending stores does, too.
#[test]
fn forms_compare() {
    let (mut all, mut last) = (0, 0);
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let length = 4 + rng.below(30);
        let events = random_log(&mut rng, length, seed % 2 == 0);
        for model in [Model::Tso, PSO, OWN] {
            let (a, b) = (
                reports(&events, &tables(), model, Form::All),
                reports(&events, &tables(), model, Form::Last),
            );
            assert!(b.iter().all(|report| a.contains(report)), "seed {seed}");
            assert!(a.is_sorted_by_key(|r| (r.access, r.store)), "seed {seed}");
            all += a.len();
            last += b.len();
        }
    }
    assert!(last > 1000 && all > last + 100, "{all} {last}");
}
