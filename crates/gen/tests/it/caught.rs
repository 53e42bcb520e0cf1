//! Which bug of a protocol is caught by which model: measures the tables of
//! `docs/how/protocol-bugs.md`, and rewrites them with `UPDATE_EXPECT=1`.

use expect_test::expect_file;
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{History, HistoryModel, Limits, Silent, Verdict};
use weakspot_gen::{Bug, Client, Run, Source, generate};
use weakspot_history::{Complete, Method, check};

const PROTOCOLS: [Source; 4] =
    [Source::Mi, Source::Mesi, Source::MoesiHammer, Source::MoesiDirectory];

/// What holds of the right one holds of the left one.
const WEAKER: [(HistoryModel, HistoryModel); 9] = {
    use HistoryModel::{Cc, Ccm, Ccv, Cm, Coherence, Pso, Sc, Tso, Wccm};
    [
        (Cc, Ccv),
        (Cc, Cm),
        (Ccv, Ccm),
        (Cm, Ccm),
        (Ccm, Sc),
        (Coherence, Pso),
        (Pso, Tso),
        (Wccm, Tso),
        (Tso, Sc),
    ]
};

/// The short clients, in which a bug that strikes often shows often enough, and not always.
const SHORT: Client = Client {
    cpus: 4,
    operations: 100,
    variables: 10,
    read_ratio: 0.5,
    updates: 0.05,
    fences: 0.0,
    seed: 0,
};

/// The long ones, for bugs that need a rare race.
const LONG: Client =
    Client { cpus: 2, operations: 5_000, variables: 4, read_ratio: 0.7, updates: 0.0, ..SHORT };

/// A table of so many histories per bug and protocol.
struct Table {
    client: Client,
    store_buffer: bool,
    seeds: u64,
}

impl Table {
    fn head(models: &[HistoryModel]) -> String {
        let names: Vec<&str> = models.iter().map(|&model| name(model)).collect();
        let rule = "---|".repeat(2 + models.len());
        format!("| bug | protocol | {} |\n|{rule}\n", names.join(" | "))
    }

    fn row(&self, bug: Option<Bug>, source: Source, models: &[HistoryModel]) -> String {
        let mut caught = [0; HistoryModel::ALL.len()];
        for seed in 0..self.seeds {
            let client = Client { seed, ..self.client }.operations().expect("a client");
            let store_buffer = self.store_buffer;
            let seed = Rng::new(seed).next_u64();
            let run = Run { source, bug, store_buffer, seed, check: false };
            let ops = generate(&client, &run).expect("a history").ops;
            for model in violated(&ops) {
                caught[model as usize] += 1;
            }
        }
        if bug.is_none() {
            let model = if self.store_buffer { HistoryModel::Tso } else { HistoryModel::Sc };
            assert_eq!(caught[model as usize], 0, "{source:?} has no bug");
        }
        let bug = bug.map_or("none".to_owned(), |bug| format!("`{}`", bug.key()));
        let numbers: Vec<String> =
            models.iter().map(|&model| caught[model as usize].to_string()).collect();
        format!("| {bug} | `{}` | {} |\n", source.key(), numbers.join(" | "))
    }

    fn of_all_bugs(&self, models: &[HistoryModel]) -> String {
        let mut text = Table::head(models);
        for bug in Bug::ALL {
            for &source in bug.sources() {
                text += &self.row(Some(bug), source, models);
            }
        }
        PROTOCOLS.into_iter().for_each(|source| text += &self.row(None, source, models));
        text
    }
}

/// The models that a history violates.
fn violated(ops: &History) -> Vec<HistoryModel> {
    let limits = Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };
    let method = Method { complete: Complete::Auto, saturate: true };
    let violates = |model| {
        let answer = check(ops, model, method, &limits, &mut Silent).expect("evidence");
        match &answer.verdict {
            Verdict::Holds => false,
            Verdict::Violated => true,
            Verdict::Unknown(limit) => panic!("{model:?} is unknown: {limit:?}"),
        }
    };
    let violated: Vec<HistoryModel> =
        HistoryModel::ALL.into_iter().filter(|&model| violates(model)).collect();
    for (weak, strong) in WEAKER {
        let (weak, strong) = (violated.contains(&weak), violated.contains(&strong));
        assert!(!weak || strong, "{violated:?}");
    }
    violated
}

fn name(model: HistoryModel) -> &'static str {
    match model {
        HistoryModel::Cc => "CC",
        HistoryModel::Ccv => "CCv",
        HistoryModel::Cm => "CM",
        HistoryModel::Ccm => "CCM",
        HistoryModel::Wccm => "wCCM",
        HistoryModel::Coherence => "coherence",
        HistoryModel::Pso => "PSO",
        HistoryModel::Tso => "TSO",
        HistoryModel::Sc => "SC",
        HistoryModel::PsoOwn => "PSO-own",
        HistoryModel::Lin => "linearizable",
        HistoryModel::TsoRt => "TSO-rt",
    }
}

/// The text with what is between two marks replaced.
fn replace(text: &str, part: &str, with: &str) -> String {
    let (start, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->\n"));
    let (before, rest) = text.split_once(&start).expect("the first mark");
    let (_, after) = rest.split_once(&end).expect("the second mark");
    format!("{before}{start}{with}{end}{after}")
}

#[test]
fn the_tables_of_the_page_are_measured() {
    use HistoryModel::{Cc, Ccv, Pso, Tso, Wccm};
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how/protocol-bugs.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let plain = Table { client: SHORT, store_buffer: false, seeds: 200 };
    let buffered = Table { store_buffer: true, ..plain };
    let long = Table { client: LONG, store_buffer: false, seeds: 50 };
    if scaled(100) < 25 {
        // Half a minute for all three: with a quarter of the random inputs and more.
        let plain = plain.of_all_bugs(&HistoryModel::ALL);
        return expect_file![path].assert_eq(&replace(&page, "without store buffers", &plain));
    }
    let mut rare = Table::head(&HistoryModel::ALL);
    for bug in [Bug::LostAck, Bug::EarlyAck] {
        for source in [Source::Mesi, Source::MoesiHammer, Source::MoesiDirectory] {
            rare += &long.row(Some(bug), source, &HistoryModel::ALL);
        }
    }
    let (plain, buffered) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| plain.of_all_bugs(&HistoryModel::ALL));
        let buffered = buffered.of_all_bugs(&[Cc, Ccv, Wccm, Pso, Tso]);
        (plain.join().expect("a table"), buffered)
    });
    let page = replace(&page, "without store buffers", &plain);
    let page = replace(&page, "rare", &rare);
    let page = replace(&page, "with store buffers", &buffered);
    expect_file![path].assert_eq(&page);
}
