//! What the runtime library is told: which executions of a program, and what is watched in them. One
//! type for exploring, replaying, comparing and measuring, with one writer and one reader.
//!
//! As text it is the value of the environment variable [`VARIABLE`]: pairs `key=value` with blanks between
//! them. What is written has every key, so that nothing depends on what the reader takes for granted.

use std::fmt;

use weakspot_core::{Drain, Model};

use super::{Place, PlacedFence, escape, fences, joined, place, unescape};
use crate::{Plan, Rules};

/// For a function whose second argument says where it reads, and the third one how many bytes.
pub const BEHIND_FIRST: u64 = 1 << 31;

/// The name of the variable.
pub const VARIABLE: &str = "WEAKSPOT_RUN";

/// The configuration of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `fd`: where messages are written to.
    pub fd: i32,
    /// `report`: the same as a file that is opened.
    pub report: Option<String>,
    /// `parts`: a file that tells which parts of the whole are to be explored, one after the other.
    pub parts: Option<String>,
    /// `models=tso,pso,pso-own`: what monitors watch for.
    pub models: Vec<Model>,
    /// `under=tso`, `under=pso`: stores go through buffers.
    pub under: Model,
    /// `delayed`: stores at these places may wait in buffers, and what their threads store behind them;
    /// all others are in memory at once. If there are none, every store may wait.
    pub delayed: Vec<Place>,
    /// `races=c11`, `races=rust`: by whose rules data races are watched for; `off` if they are not.
    pub races: Option<Rules>,
    /// `transactions=OFFSET+LEN,...`: functions of the program that are transactions; `marked` if
    /// there are only those that it marks itself, nothing if none are watched.
    pub transactions: Option<Vec<(u64, u64)>>,
    /// `fence-transactions=on`: the monitors see a fence at the end of each transaction.
    pub fence_transactions: bool,
    /// `fences`: the monitors see the program as if it had these.
    pub fences: Vec<PlacedFence>,
    /// `strategy`: which one, as [`Plan`] names it.
    pub plan: Plan,
    /// `seed`: of what is random for the program.
    pub seed: u64,
    /// `executions`: how many there may be, 0 for any number.
    pub executions: u64,
    /// `steps`: how many steps an execution may take.
    pub steps: u64,
    /// `threads`: how many threads an execution may have.
    pub threads: usize,
    /// `memory`: how many bytes an execution may allocate.
    pub memory: usize,
    /// `hang`: after how many milliseconds of processor time without a step an execution hangs.
    pub hang: u64,
    /// `timeout`: milliseconds in all, 0 for no end.
    pub timeout: u64,
    /// `spins`: how often a thread reads the same value at the same place before it is taken to wait
    /// for another one, when its own state is not the same.
    pub spins: u32,
    /// `filter=off`: every access is a scheduling point.
    pub filter: bool,
    /// `reuse=on`: freed memory is given out again.
    pub reuse: bool,
    /// `output=all`: what the program prints is not only that of its first execution.
    pub all_output: bool,
    /// `isolate=fork`: a process for each execution.
    pub fork: bool,
    /// `shared=ADDR+LEN,...`: bytes that are known to be shared. Schedules depend on them.
    pub shared: Vec<(u64, u64)>,
    /// `codes=on`: an exit code that is not 0 is a failure.
    pub codes: bool,
    /// `traps=OFFSET+LEN,...`: atomic updates of the program that are not instrumented.
    pub traps: Vec<(u64, u64)>,
    /// `quiet-traps=OFFSET+LEN,...`: others whose order nobody can notice, so that they are only fences.
    pub quiet_traps: Vec<(u64, u64)>,
    /// `reads=OFFSET+BYTES,...`: functions that nobody has instrumented and that read so many bytes, where their first argument is. If
    /// there are none, the second one says how many; [`BEHIND_FIRST`]: the second one says where, and the third one how many.
    pub reads: Vec<(u64, u64)>,
    /// `jumps=OFFSET+LEN,...`: those of both that may be replaced by a jump, with so many bytes of whole
    /// instructions to which nobody else jumps.
    pub jumps: Vec<(u64, u64)>,
    /// `patient=OFFSET+LEN,...`: calls of the program from loops whose rounds differ only in how long they
    /// have waited, if they read the same.
    pub patient: Vec<(u64, u64)>,
    /// `channels=OFFSET+LEN,...`: functions that are operations of Rust's channels.
    pub channels: Vec<(u64, u64)>,
    /// `locks=OFFSET+LEN,...`: where mutexes of Rust are taken.
    pub locks: Vec<(u64, u64)>,
    /// `unlocks=OFFSET+LEN,...`: where they are freed.
    pub unlocks: Vec<(u64, u64)>,
    /// `rwlocks=OFFSET+LEN,...`: where read-write locks of Rust are taken and freed.
    pub rwlocks: Vec<(u64, u64)>,
    /// `tries=OFFSET+LEN,...`: where threads try to take one for reading.
    pub tries: Vec<(u64, u64)>,
    /// `counts=OFFSET+LEN,...`: updates of counts of which only the last is noticed.
    pub counts: Vec<(u64, u64)>,
    /// `references=OFFSET+LEN,...`: where references are counted.
    pub references: Vec<(u64, u64)>,
    /// `parks=OFFSET+LEN,...`: where threads of Rust begin to park.
    pub parks: Vec<(u64, u64)>,
    /// `unused=OFFSET+LEN,...`: additions of Rust whose results nobody uses.
    pub unused: Vec<(u64, u64)>,
    /// `harness=on`: the first thread does nothing but to wait for the test that it has started.
    pub harness: bool,
    /// `trace=on`: each step is a message.
    pub trace: bool,
    /// `stop`: the number of the traced step, from 1, at which a debugger stops; 0 for none.
    pub stop: u64,
    /// `virtual-time=on`: who sleeps goes on when nobody else can, in the order of deadlines.
    pub virtual_time: bool,
    /// `announced=on`: all that the program changes is announced, or known to be nothing that ends a loop.
    pub announced: bool,
    /// `progress`: milliseconds between two messages that say how far it is, 0 for none.
    pub progress: u64,
    /// `profile=on`: it is reported in the end how the exploration went.
    pub profile: bool,
}

impl Config {
    /// Reads the value of the variable; what is wrong with it. What is typed by hand may leave keys out.
    pub fn parse(text: &str) -> Result<Config, String> {
        let mut config = unset();
        for pair in text.split_ascii_whitespace() {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("`{pair}` has no value"))?;
            config.set(key, value)?;
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("`{key}` cannot be `{value}`");
        let number = || value.parse::<u64>().map_err(|_| wrong());
        let size = || value.parse::<usize>().map_err(|_| wrong());
        let list = || pieces(value).ok_or_else(wrong);
        let choice = |yes: &str, no: &str| match value {
            _ if value == yes => Ok(true),
            _ if value == no => Ok(false),
            _ => Err(wrong()),
        };
        let flag = || choice("on", "off");
        match key {
            "fd" => self.fd = value.parse().map_err(|_| wrong())?,
            "report" => {
                let path = unescape(value).ok_or_else(wrong)?;
                self.report = (!path.is_empty()).then_some(path);
            }
            "parts" => {
                let path = unescape(value).ok_or_else(wrong)?;
                self.parts = (!path.is_empty()).then_some(path);
            }
            "models" => self.models = models(value).ok_or_else(wrong)?,
            "under" => self.under = model(value).ok_or_else(wrong)?,
            "delayed" => self.delayed = super::list(value, place).ok_or_else(wrong)?,
            "races" => {
                self.races = match value {
                    "off" => None,
                    "c11" => Some(Rules::C11),
                    "rust" => Some(Rules::Rust),
                    _ => return Err(wrong()),
                }
            }
            "transactions" => {
                self.transactions = match value {
                    "none" => None,
                    "marked" => Some(Vec::new()),
                    _ => Some(list()?),
                }
            }
            "fence-transactions" => self.fence_transactions = flag()?,
            "fences" => self.fences = fences(value).ok_or_else(wrong)?,
            "strategy" => self.plan = value.parse()?,
            "seed" => self.seed = number()?,
            "executions" => self.executions = number()?,
            "steps" => self.steps = number()?,
            "threads" => self.threads = size()?,
            "memory" => self.memory = size()?,
            "hang" => self.hang = number()?,
            "timeout" => self.timeout = number()?,
            "spins" => self.spins = value.parse().map_err(|_| wrong())?,
            "filter" => self.filter = flag()?,
            "reuse" => self.reuse = flag()?,
            "output" => self.all_output = choice("all", "first")?,
            "isolate" => self.fork = choice("fork", "memory")?,
            "shared" => self.shared = list()?,
            "codes" => self.codes = flag()?,
            "traps" => self.traps = list()?,
            "quiet-traps" => self.quiet_traps = list()?,
            "reads" => self.reads = list()?,
            "jumps" => self.jumps = list()?,
            "patient" => self.patient = list()?,
            "channels" => self.channels = list()?,
            "locks" => self.locks = list()?,
            "unlocks" => self.unlocks = list()?,
            "rwlocks" => self.rwlocks = list()?,
            "tries" => self.tries = list()?,
            "counts" => self.counts = list()?,
            "references" => self.references = list()?,
            "parks" => self.parks = list()?,
            "unused" => self.unused = list()?,
            "harness" => self.harness = flag()?,
            "trace" => self.trace = flag()?,
            "stop" => self.stop = number()?,
            "virtual-time" => self.virtual_time = flag()?,
            "announced" => self.announced = flag()?,
            "progress" => self.progress = number()?,
            "profile" => self.profile = flag()?,
            _ => return Err(format!("there is no option `{key}`")),
        }
        Ok(())
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By name, so that nobody adds a field that is not written.
        let Config {
            fd,
            report,
            parts,
            models,
            under,
            delayed,
            races,
            transactions,
            fence_transactions,
            fences,
            plan,
            seed,
            executions,
            steps,
            threads,
            memory,
            hang,
            timeout,
            spins,
            filter,
            reuse,
            all_output,
            fork,
            shared,
            codes,
            traps,
            quiet_traps,
            reads,
            jumps,
            patient,
            channels,
            locks,
            unlocks,
            rwlocks,
            tries,
            counts,
            references,
            parks,
            unused,
            harness,
            trace,
            stop,
            virtual_time,
            announced,
            progress,
            profile,
        } = self;
        let on = |on: &bool| if *on { "on" } else { "off" };
        let models: Vec<String> = models.iter().map(|&model| key(model)).collect();
        let transactions = match transactions.as_deref() {
            None => "none".to_owned(),
            Some([]) => "marked".to_owned(),
            Some(functions) => written(functions),
        };
        let races = match races {
            None => "off",
            Some(Rules::C11) => "c11",
            Some(Rules::Rust) => "rust",
        };
        write!(f, "fd={fd} report={}", escape(report.as_deref().unwrap_or("")))?;
        write!(f, " parts={}", escape(parts.as_deref().unwrap_or("")))?;
        write!(f, " models={} under={} races={races}", listed(&models), key(*under))?;
        write!(f, " delayed={}", joined(delayed))?;
        write!(f, " transactions={transactions} fence-transactions={}", on(fence_transactions))?;
        write!(f, " fences={} strategy={plan} seed={seed}", joined(fences))?;
        write!(f, " executions={executions} steps={steps} threads={threads} memory={memory}")?;
        write!(f, " hang={hang} timeout={timeout} spins={spins} filter={}", on(filter))?;
        write!(f, " reuse={}", on(reuse))?;
        write!(f, " output={}", if *all_output { "all" } else { "first" })?;
        write!(f, " isolate={}", if *fork { "fork" } else { "memory" })?;
        write!(f, " shared={} codes={}", written(shared), on(codes))?;
        write!(f, " traps={} quiet-traps={}", written(traps), written(quiet_traps))?;
        write!(f, " reads={}", written(reads))?;
        write!(f, " jumps={} patient={}", written(jumps), written(patient))?;
        write!(f, " channels={}", written(channels))?;
        write!(f, " locks={} unlocks={}", written(locks), written(unlocks))?;
        write!(f, " rwlocks={} tries={}", written(rwlocks), written(tries))?;
        write!(f, " counts={} references={}", written(counts), written(references))?;
        write!(f, " parks={} unused={}", written(parks), written(unused))?;
        write!(f, " harness={} trace={} stop={stop}", on(harness), on(trace))?;
        write!(f, " virtual-time={} announced={}", on(virtual_time), on(announced))?;
        write!(f, " progress={progress}")?;
        write!(f, " profile={}", on(profile))
    }
}

/// What holds for keys that somebody who types a configuration leaves out.
fn unset() -> Config {
    Config {
        fd: 2,
        report: None,
        parts: None,
        models: Vec::new(),
        under: Model::Sc,
        delayed: Vec::new(),
        races: None,
        transactions: None,
        fence_transactions: false,
        fences: Vec::new(),
        plan: Plan::Bounded(None),
        seed: 0,
        executions: 0,
        steps: 100_000,
        threads: 1024,
        memory: 1 << 30,
        hang: 2000,
        timeout: 0,
        spins: 32,
        filter: true,
        reuse: false,
        all_output: false,
        fork: false,
        shared: Vec::new(),
        codes: false,
        traps: Vec::new(),
        quiet_traps: Vec::new(),
        reads: Vec::new(),
        jumps: Vec::new(),
        patient: Vec::new(),
        channels: Vec::new(),
        locks: Vec::new(),
        unlocks: Vec::new(),
        rwlocks: Vec::new(),
        tries: Vec::new(),
        counts: Vec::new(),
        references: Vec::new(),
        parks: Vec::new(),
        unused: Vec::new(),
        harness: false,
        trace: false,
        stop: 0,
        virtual_time: false,
        announced: false,
        progress: 0,
        profile: false,
    }
}

/// The names of models here.
const MODELS: [(&str, Model); 4] = [
    ("sc", Model::Sc),
    ("tso", Model::Tso),
    ("pso", Model::Pso(Drain::All)),
    ("pso-own", Model::Pso(Drain::Own)),
];

fn key(model: Model) -> String {
    let named = MODELS.iter().find(|(_, named)| *named == model);
    named.map_or_else(|| model.to_string(), |(name, _)| (*name).to_owned())
}

fn model(word: &str) -> Option<Model> {
    MODELS.iter().find(|(name, _)| *name == word).map(|(_, model)| *model)
}

fn models(value: &str) -> Option<Vec<Model>> {
    if value == "-" { Some(Vec::new()) } else { value.split(',').map(model).collect() }
}

/// Items with commas between them, or `-`.
fn listed(items: &[String]) -> String {
    if items.is_empty() { "-".to_owned() } else { items.join(",") }
}

/// Pieces of memory or of the program: `START+LEN,...`, hexadecimal.
fn written(pieces: &[(u64, u64)]) -> String {
    let pieces: Vec<String> =
        pieces.iter().map(|(start, len)| format!("{start:#x}+{len:#x}")).collect();
    listed(&pieces)
}

fn pieces(value: &str) -> Option<Vec<(u64, u64)>> {
    let hex = |s: &str| u64::from_str_radix(s.strip_prefix("0x")?, 16).ok();
    let piece = |part: &str| {
        let (start, len) = part.split_once('+')?;
        Some((hex(start)?, hex(len)?))
    };
    if value == "-" { Some(Vec::new()) } else { value.split(',').map(piece).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;

    /// A configuration in which nothing is as it is for keys that were left out.
    fn all_set() -> Config {
        let place = |offset| Place { module: Some(1), offset };
        Config {
            fd: 7,
            report: Some("/proc/1/fd/a b".to_owned()),
            parts: Some("/proc/1/fd/b".to_owned()),
            models: vec![Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)],
            under: Model::Pso(Drain::All),
            delayed: vec![place(4), place(5)],
            races: Some(Rules::Rust),
            transactions: Some(vec![(0x10, 0x20), (0x40, 8)]),
            fence_transactions: true,
            fences: vec![
                PlacedFence::Full(place(1), place(2)),
                PlacedFence::Order(place(3), Order::SeqCst),
            ],
            plan: "replay:ws1_e8b6ecea".parse().expect("a schedule"),
            seed: 5,
            executions: 6,
            steps: 8,
            threads: 9,
            memory: 10,
            hang: 11,
            timeout: 12,
            spins: 13,
            filter: false,
            reuse: true,
            all_output: true,
            fork: true,
            shared: vec![(0x7fff_0000_0000, 16)],
            codes: true,
            traps: vec![(0x100, 5)],
            quiet_traps: vec![(0x200, 4), (0x300, 3)],
            reads: vec![(0x400, 0), (0x500, 8)],
            jumps: vec![(0x100, 9)],
            patient: vec![(0x400, 5)],
            channels: vec![(0x480, 5)],
            locks: vec![(0x500, 5)],
            unlocks: vec![(0x600, 1)],
            rwlocks: vec![(0x700, 5)],
            tries: vec![(0x780, 5)],
            counts: vec![(0x800, 1)],
            references: vec![(0x880, 5)],
            parks: vec![(0x8c0, 1)],
            unused: vec![(0x8e0, 5)],
            harness: true,
            trace: true,
            stop: 7,
            virtual_time: true,
            announced: true,
            progress: 14,
            profile: true,
        }
    }

    #[test]
    fn configurations_are_read_as_they_were_written() {
        let marked = Config { transactions: Some(Vec::new()), ..unset() };
        let c11 = Config { races: Some(Rules::C11), ..unset() };
        for config in [unset(), all_set(), marked, c11] {
            assert_eq!(Config::parse(&config.to_string()), Ok(config));
        }
    }

    /// Whatever is read depends on the text alone: every key is written, and each makes a difference.
    #[test]
    fn every_key_is_written_and_counts() {
        let (text, empty) = (all_set().to_string(), unset().to_string());
        for (pair, other) in text.split(' ').zip(empty.split(' ')) {
            assert_ne!(pair, other);
            assert_ne!(Config::parse(pair), Config::parse(other), "{pair}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, wrong) in [
            ("nothing", "`nothing` has no value"),
            ("colour=blue", "there is no option `colour`"),
            ("steps=many", "`steps` cannot be `many`"),
            ("models=tso,arm", "`models` cannot be `tso,arm`"),
            ("traps=10+4", "`traps` cannot be `10+4`"),
            ("isolate=on", "`isolate` cannot be `on`"),
        ] {
            assert_eq!(Config::parse(text), Err(wrong.to_owned()));
        }
    }
}
