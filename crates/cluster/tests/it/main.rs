//! Processes over real connections, as threads of this one: each joins with its own list, token and
//! question, and searches with timely.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use weakspot_cluster::{Cluster, Hosts, Place, Token};
use weakspot_core::testing::{Rng, Size, random_program, scaled, show};
use weakspot_core::{
    Limit, Limits, LostProcess, Model, PointId, Program, Silent, Thread, Verdict, reference,
};
use weakspot_explore::{Algorithm, Decide, Team, reach, reach_together, robust, robust_together};
use weakspot_lang::{Format, parse};

fn hosts(processes: usize) -> Hosts {
    let free: Vec<TcpListener> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    Hosts(free.iter().map(|l| l.local_addr().expect("an address").to_string()).collect())
}

fn token(folder: &Path, name: &str) -> Token {
    let path = folder.join(name);
    if !path.exists() {
        Token::make(&path).expect("made");
    }
    Token::read(&path).expect("a token")
}

fn place(hosts: &Hosts, process: usize, token: &Token) -> Place {
    Place {
        hosts: hosts.clone(),
        process,
        token: token.clone(),
        patience: Duration::from_secs(20),
        asked_to_stop: || false,
    }
}

/// What all processes come to.
fn together<T: Send>(processes: usize, ask: impl Fn(&Cluster) -> T + Sync) -> Vec<T> {
    let folder = tempfile::tempdir().expect("a folder");
    let (hosts, token) = (hosts(processes), token(folder.path(), "token"));
    std::thread::scope(|scope| {
        let (ask, hosts, token) = (&ask, &hosts, &token);
        let process = |i| {
            scope.spawn(move || {
                let asked = vec![("input", "the same".to_owned())];
                ask(&Cluster::join(place(hosts, i, token), asked).expect("connected"))
            })
        };
        let all: Vec<_> = (0..processes).map(process).collect();
        all.into_iter().map(|p| p.join().expect("no panic")).collect()
    })
}

fn limits(threads: usize) -> Limits {
    Limits { time: Some(Duration::from_secs(60)), workers: threads, ..Limits::UNLIMITED }
}

/// Verdict and states, which are the same for all settings if the search comes to its end.
type Answer = (Verdict, Option<u64>);

fn answer(verdict: &Verdict, states: u64) -> Answer {
    (verdict.clone(), (*verdict == Verdict::Holds).then_some(states))
}

/// What one thread answers, under SC and against TSO.
fn alone(program: &Program) -> [Option<Answer>; 2] {
    let limits = limits(1);
    let reach = reach(program, Model::Sc, Algorithm::Auto, &limits, &mut Silent).ok();
    let robust = robust(program, Model::Tso, Decide::Pending, &limits, &mut Silent).ok();
    [reach.map(|r| answer(&r.verdict, r.states)), robust.map(|r| answer(&r.verdict, r.states))]
}

/// What a process answers. Its evidence is checked, as always.
fn of_process(program: &Program, team: &dyn Team, threads: usize) -> [Option<Answer>; 2] {
    let limits = limits(threads);
    let reach = reach_together(program, team, None, &limits, &mut Silent).ok();
    let robust = robust_together(program, Model::Tso, team, None, &limits, &mut Silent).ok();
    [reach.map(|r| answer(&r.verdict, r.states)), robust.map(|r| answer(&r.verdict, r.states))]
}

#[test]
fn random_programs_get_the_answers_of_one_thread() {
    let size = Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true };
    let mut programs = Vec::new();
    for seed in 7_000_000.. {
        let mut program = random_program(&mut Rng::new(seed), size);
        let middle = |t: &Thread| Some(PointId::new(t.points.len() / 2));
        program.forbidden = vec![program.threads.iter().map(middle).collect()];
        if reference::reachable(&program, Model::Sc, 5_000).is_some() {
            programs.push(program);
        }
        if programs.len() == scaled(40).max(8) {
            break;
        }
    }
    let expected: Vec<_> = programs.iter().map(alone).collect();
    for (processes, threads) in [(1, 1), (2, 1), (3, 1), (2, 2)] {
        let ask = |team: &Cluster| -> Vec<_> {
            programs.iter().map(|program| of_process(program, team, threads)).collect()
        };
        for found in together(processes, ask) {
            for ((found, expected), program) in found.iter().zip(&expected).zip(&programs) {
                assert_eq!(
                    found,
                    expected,
                    "{processes} processes with {threads} threads\n{}",
                    show(program)
                );
            }
        }
    }
}

#[test]
fn programs_of_the_corpus_get_the_answers_of_one_thread() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
    let names = ["peterson.weak", "dekker.weak", "clh-3.weak", "lamport-fast-3.weak", "mcs-4.weak"];
    for name in names {
        let text = std::fs::read_to_string(corpus.join(name)).expect("a program");
        let program = parse(Format::Weak, &text).expect("a program").program;
        let expected = alone(&program);
        for (processes, threads) in [(2, 2), (3, 1)] {
            for found in together(processes, |team| of_process(&program, team, threads)) {
                assert_eq!(found, expected, "{name}: {processes} processes, {threads} threads");
            }
        }
    }
}

/// A process that has another token is refused, and told so; the other one waits for the right one.
#[test]
fn another_token_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = hosts(2);
    let tokens = ["first", "second"].map(|name| token(folder.path(), name));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let patience = Duration::from_secs(2);
            let place = Place { patience, ..place(&hosts, 0, &tokens[0]) };
            let cluster = Cluster::join(place, Vec::new()).expect("it may still come");
            cluster.begin(1)
        });
        let second = Cluster::join(place(&hosts, 1, &tokens[1]), Vec::new());
        let why = second.err().expect("refused");
        assert!(why.contains("has another token"), "{why}");
        let lost = Limit::Process { process: 1, why: LostProcess::Absent };
        assert_eq!(first.join().expect("no panic"), Err(lost));
    });
}

#[test]
fn another_question_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hosts, token) = (hosts(2), token(folder.path(), "token"));
    std::thread::scope(|scope| {
        let (hosts, token) = (&hosts, &token);
        let join = |i: usize| {
            let asked = vec![("version", "1".to_owned()), ("input", i.to_string())];
            scope.spawn(move || Cluster::join(place(hosts, i, token), asked))
        };
        for process in [join(0), join(1)] {
            let why = process.join().expect("no panic").err().expect("refused");
            assert!(why.contains("input differs"), "{why}");
        }
    });
}

/// Somebody who says his part byte by byte holds nobody up for long.
#[test]
fn a_slow_stranger_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hosts, token) = (hosts(2), token(folder.path(), "token"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| Cluster::join(place(&hosts, 0, &token), Vec::new()));
        let connect = || std::net::TcpStream::connect(&hosts.0[0]).ok();
        let mut stranger = std::iter::repeat_with(connect).find_map(|s| s).expect("it listens");
        scope.spawn(move || {
            // Until the other end has enough of it.
            while stranger.write_all(b"w").is_ok() {
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        let began = std::time::Instant::now();
        let second = Cluster::join(place(&hosts, 1, &token), Vec::new());
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        assert!(second.is_ok() && first.join().expect("no panic").is_ok());
    });
}
