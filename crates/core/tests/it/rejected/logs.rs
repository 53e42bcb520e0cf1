//! What monitors say about logs: runs with delayed stores.

use weakspot_core::certify::{Rejected, delayed};
use weakspot_core::{DelayedCommit, DelayedRun, Model};

use super::{Case, case};
use crate::delayed::{MP, PSO, SB, run, tables};

fn check(text: &str, model: Model, cycle: &str) -> Result<(), Rejected> {
    changed(text, model, cycle, &|_| ())
}

fn changed(
    text: &str,
    model: Model,
    cycle: &str,
    change: &dyn Fn(&mut DelayedRun),
) -> Result<(), Rejected> {
    let (events, mut run) = run(text, model, cycle);
    change(&mut run);
    delayed(&events, &tables(), &run)
}

pub(super) fn cases() -> Vec<Case> {
    let text = "0wx 0ry 1wy 1rx";
    let good = || check(text, Model::Tso, SB);
    let bad = |change: &dyn Fn(&mut DelayedRun)| changed(text, Model::Tso, SB, change);
    let tso = |text| check(text, Model::Tso, SB);
    let pso = |text| check(text, PSO, SB);
    let about =
        "delayed delayed: the run is not about a store and a later access of another thread to it";
    let mp = || check("0wx 0wy 0cy 1ry 1rx", PSO, MP);
    let cycle = |cycle| check(text, Model::Tso, cycle);
    let late = DelayedCommit { before: 9, thread: 0, loc: 0 };
    vec![
        case(
            "delayed delayed: the log is shorter than the run",
            good(),
            bad(&|run| run.access = 4),
        ),
        case("delayed delayed: the log is shorter than the run", good(), bad(&|run| run.store = 4)),
        case("delayed delayed: the run is one under SC", good(), bad(&|run| run.model = Model::Sc)),
        case(about, good(), bad(&|run| run.store = 1)),
        case(about, good(), bad(&|run| run.store = 2)),
        case(about, good(), bad(&|run| run.store = 3)),
        case(about, good(), bad(&|run| run.access = 0)),
        case(
            about,
            check("0wx 0ry 1wy 1cy 1ux", Model::Tso, SB),
            check("0wx 0ry 1wy 1cy 1f", Model::Tso, SB),
        ),
        case(about, good(), check("0wx 0ry 1wy 0rx", Model::Tso, SB)),
        case(about, good(), check("0wx 0ry 1wy 1rz", Model::Tso, SB)),
        case(
            "delayed delayed: a commit stands out of order",
            good(),
            bad(&|run| run.commits = vec![late]),
        ),
        case(
            "delayed commit: the thread has no pending store there that could be next",
            good(),
            tso("0wx 1cx 0ry 1wy 1rx"),
        ),
        case(
            "delayed commit: the thread has no pending store there that could be next",
            good(),
            tso("0wx 0cy 0ry 1wy 1rx"),
        ),
        case(
            "delayed commit: an older store to overlapping bytes is still pending",
            check("0wu 0wx 0cx 1rx 1ru", PSO, MP),
            check("0wu 0wv 0cv 1rw 1ru", PSO, MP),
        ),
        case(
            "delayed commit: an older store has to reach memory first",
            mp(),
            check("0wx 0wy 0cy 1ry 1rx", Model::Tso, MP),
        ),
        case(
            "delayed commit: an older store has to reach memory first",
            check("0s 0wx 0wy 0cy 1ry 1rx", PSO, "1-po->2 2-rf->3 3-po->4 4-fr->1"),
            check("0wx 0s 0wy 0cy 1ry 1rx", PSO, "0-po->2 2-rf->3 3-po->4 4-fr->0"),
        ),
        case(
            "delayed issue: an update has to wait for older stores of its thread",
            tso("0wx 0ry 1wy 1cy 1ux"),
            tso("0wx 0ry 1wy 1ux"),
        ),
        case(
            "delayed issue: the thread has to wait for its older stores",
            check("0f 0wx 0ry 1wy 1rx", PSO, "1-po->2 2-fr->3 3-po->4 4-fr->1"),
            check("0wx 0f 0ry 1wy 1rx", PSO, "0-po->2 2-fr->3 3-po->4 4-fr->0"),
        ),
        case(
            "delayed issue: a join has to wait for the stores of the other thread",
            check("2wx 2ry 3wy 3cy 0<3 0rx", PSO, "0-po->1 1-fr->2 2-join->3 3-po->4 4-fr->0"),
            check("2wx 2ry 3wy 0<3 0rx", PSO, "0-po->1 1-fr->2 2-join->3 3-po->4 4-fr->0"),
        ),
        case(
            "delayed issue: the log is not one of an SC execution",
            good(),
            pso("0wx 0Cx 0ry 1wy 1rx"),
        ),
        case(
            "delayed read: the program would notice that a store is late",
            mp(),
            check("0wx 0wy 1ry 1rx", PSO, MP),
        ),
        case(
            "delayed check_cycle: the arcs of the cycle do not meet",
            good(),
            cycle("0-po->1 1-fr->2 2-po->3"),
        ),
        case(
            "delayed check_cycle: an arc of the cycle does not hold",
            good(),
            cycle("0-po->1 1-rf->2 2-po->3 3-fr->0"),
        ),
        case(
            "delayed check_cycle: the cycle misses the store or the access",
            good(),
            bad(&|run| run.cycle.clear()),
        ),
    ]
}
