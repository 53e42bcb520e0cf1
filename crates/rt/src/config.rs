//! What the library is told: the environment variable `WEAKSPOT_RUN`, pairs `key=value` with spaces
//! between them.

use weakspot_core::{Drain, Model};
use weakspot_live::Plan;
use weakspot_live::wire::{self, PlacedFence};

/// The name of the variable.
pub const VARIABLE: &str = "WEAKSPOT_RUN";

/// No execution can have more threads.
pub const MOST_THREADS: usize = 4096;

/// How to explore, and what to report.
#[derive(Clone, Debug)]
pub struct Config {
    /// `fd`: where lines are written to.
    pub fd: i32,
    /// `report`: the same as a file that is opened.
    pub report: Option<String>,
    /// `models=tso,pso,pso-own`: what monitors watch for.
    pub models: Vec<Model>,
    /// `under=tso,pso`: stores go through buffers.
    pub under: Model,
    /// `transactions=OFFSET+LEN,...`: functions of the program that are transactions, or `marked` if
    /// there are only those that it marks itself.
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
    /// `shared=ADDR+LEN,...`: bytes that are known to be shared, hexadecimal.
    pub shared: Vec<(usize, usize)>,
    /// `codes=on`: an exit code that is not 0 is a failure.
    pub codes: bool,
    /// `traps=OFFSET+LEN,...`: atomic updates of the program that are not instrumented.
    pub traps: Vec<(u64, u64)>,
    /// `quiet-traps=OFFSET+LEN,...`: others whose order nobody can notice, so that they are only fences.
    pub quiet_traps: Vec<(u64, u64)>,
    /// `harness=on`: the first thread does nothing but to wait for the test that it has started.
    pub harness: bool,
    /// `trace=on`: each step is a line of the report.
    pub trace: bool,
    /// `progress`: milliseconds between two lines that tell how far it is, 0 for none.
    pub progress: u64,
}

impl Config {
    /// Reads the value of the variable; what is wrong with it.
    pub fn parse(text: &str) -> Result<Config, String> {
        let mut config = Config {
            fd: 2,
            report: None,
            models: Vec::new(),
            fences: Vec::new(),
            under: Model::Sc,
            transactions: None,
            fence_transactions: false,
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
            harness: false,
            trace: false,
            progress: 0,
        };
        for pair in text.split_ascii_whitespace() {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("`{pair}` has no value"))?;
            let wrong = || format!("`{key}` cannot be `{value}`");
            let number = || value.parse::<u64>().map_err(|_| wrong());
            let choice = |yes: &str, no: &str| match value {
                _ if value == yes => Ok(true),
                _ if value == no => Ok(false),
                _ => Err(wrong()),
            };
            match key {
                "fd" => config.fd = value.parse().map_err(|_| wrong())?,
                "report" => config.report = Some(value.to_owned()),
                "models" => {
                    let model = |name: &str| match name {
                        "tso" => Ok(Model::Tso),
                        "pso" => Ok(Model::Pso(Drain::All)),
                        "pso-own" => Ok(Model::Pso(Drain::Own)),
                        _ => Err(wrong()),
                    };
                    config.models = value.split(',').map(model).collect::<Result<_, _>>()?;
                }
                "under" => {
                    config.under = match value {
                        "sc" => Model::Sc,
                        "tso" => Model::Tso,
                        "pso" => Model::Pso(Drain::All),
                        _ => return Err(wrong()),
                    }
                }
                "transactions" if value == "marked" => config.transactions = Some(Vec::new()),
                "transactions" => config.transactions = Some(pieces(value).ok_or_else(wrong)?),
                "traps" => config.traps = pieces(value).ok_or_else(wrong)?,
                "quiet-traps" => config.quiet_traps = pieces(value).ok_or_else(wrong)?,
                "harness" => config.harness = choice("on", "off")?,
                "fence-transactions" => config.fence_transactions = choice("on", "off")?,
                "fences" => config.fences = wire::fences(value).ok_or_else(wrong)?,
                "strategy" => config.plan = value.parse()?,
                "seed" => config.seed = number()?,
                "executions" => config.executions = number()?,
                "steps" => config.steps = number()?,
                "threads" => config.threads = number()?.clamp(1, MOST_THREADS as u64) as usize,
                "memory" => config.memory = usize::try_from(number()?).map_err(|_| wrong())?,
                "hang" => config.hang = number()?.max(1),
                "timeout" => config.timeout = number()?,
                "spins" => config.spins = u32::try_from(number()?).map_err(|_| wrong())?.max(1),
                "filter" => config.filter = choice("on", "off")?,
                "reuse" => config.reuse = choice("on", "off")?,
                "output" => config.all_output = choice("all", "first")?,
                "isolate" => config.fork = choice("fork", "memory")?,
                "shared" => {
                    for part in value.split(',') {
                        let (addr, len) = part.split_once('+').ok_or_else(wrong)?;
                        let hex = |s: &str| {
                            usize::from_str_radix(s.trim_start_matches("0x"), 16)
                                .map_err(|_| wrong())
                        };
                        config.shared.push((hex(addr)?, hex(len)?.min(1 << 30)));
                    }
                }
                "codes" => config.codes = choice("on", "off")?,
                "trace" => config.trace = choice("on", "off")?,
                "progress" => config.progress = number()?,
                _ => return Err(format!("there is no option `{key}`")),
            }
        }
        Ok(config)
    }
}

/// Pieces of the program: `OFFSET+LEN,...`, hexadecimal.
fn pieces(value: &str) -> Option<Vec<(u64, u64)>> {
    let hex = |s: &str| u64::from_str_radix(s.strip_prefix("0x")?, 16).ok();
    let piece = |part: &str| {
        let (start, len) = part.split_once('+')?;
        Some((hex(start)?, hex(len)?))
    };
    value.split(',').map(piece).collect()
}
