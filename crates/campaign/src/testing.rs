//! A runtime for tests: programs that are only data (`live::testing`), run by the strategies and watched
//! by the monitors of the real one; and a clock that only goes on when somebody looks at it.

use std::cell::Cell;
use std::time::Duration;

use weakspot_core::Model;
use weakspot_live::testing::{Buffers, State, System};
use weakspot_live::wire::{Config, Message, Place, PlacedFence, TracedStep};
use weakspot_live::{
    Choice, Choices, Ended as End, Op, Order, Parts, Plan, Step, Watch, preventing,
};

use crate::{
    Control, Ended, Facts, Isolate, Locks, Naming, Question, Result, Runtime, Shared, SoFar, Start,
    Strategy, Until,
};

/// A program that is only data, as a runtime.
pub(crate) struct Fake<'a> {
    pub(crate) system: &'a System,
    /// Whether replayed executions do something else than those that were explored.
    pub(crate) forgetful: bool,
    /// What it says besides when an exploration ends.
    pub(crate) says: Vec<Message>,
    /// All configurations so far.
    pub(crate) configs: std::cell::RefCell<Vec<Config>>,
}

impl<'a> Fake<'a> {
    pub(crate) fn new(system: &'a System) -> Fake<'a> {
        let configs = std::cell::RefCell::default();
        Fake { system, forgetful: false, says: Vec::new(), configs }
    }
}

/// Where an instruction of a thread is.
fn place(at: u64) -> Place {
    Place { module: Some(0), offset: at }
}

impl Runtime for Fake<'_> {
    fn run(&self, start: &Start<'_>, hear: &mut dyn FnMut(Message) -> bool) -> Result<Ended> {
        self.explore(start, None, hear)
    }

    /// All parts by one.
    fn run_parts(
        &self,
        start: &Start<'_>,
        _workers: usize,
        parts: &mut Parts,
        hear: &mut dyn FnMut(usize, Message) -> bool,
    ) -> Result<Shared> {
        let ended = self.explore(start, Some(parts), &mut |message| hear(0, message))?;
        Ok(Shared { ended, again: false, given: Vec::new() })
    }
}

impl Fake<'_> {
    fn explore(
        &self,
        start: &Start<'_>,
        mut parts: Option<&mut Parts>,
        hear: &mut dyn FnMut(Message) -> bool,
    ) -> Result<Ended> {
        let config = start.config;
        // Whatever is told has to be understood by the real one.
        assert_eq!(Config::parse(&config.to_string()).as_ref(), Ok(config));
        self.configs.borrow_mut().push(config.clone());
        let replays = matches!(config.plan, Plan::Replay(_));
        let address = |place: Place| Some(place.offset);
        let fences: Vec<_> = config.fences.iter().filter_map(|f| f.addressed(address)).collect();
        // What an execution shows when it is executed again is up to who asks for its steps.
        let models = if config.trace { &[][..] } else { &config.models };
        let mut watch = Watch::new(models, &fences);
        let mut strategy = config.plan.strategy(config.under != Model::Sc);
        let buffers = match config.under {
            Model::Sc => Buffers::None,
            Model::Tso => Buffers::Tso,
            Model::Pso(_) => Buffers::Pso,
        };
        let system = &System { buffers, ..self.system.clone() };
        hear(Message::Module { base: 0, end: 1, path: "fake".to_owned() });
        let (mut executions, mut all_steps) = (0, 0);
        let mut part = parts.as_deref_mut().and_then(Parts::hand_out);
        if let Some((_, text)) = &part {
            assert!(strategy.start(text));
        }
        let mut before = 0;
        let how = loop {
            if (start.stop)() {
                return Ok(Ended::Stopped);
            }
            let begun = strategy.begin();
            if let (false, Some(parts), Some((number, _))) = (begun, &mut parts, &part) {
                assert!(parts.hand_in(*number, strategy.rest(), executions - before));
                before = executions;
                part = parts.hand_out();
                let Some((_, text)) = &part else { break "parts" };
                assert!(strategy.start(text));
                continue;
            }
            if !begun {
                break if strategy.complete() { "complete" } else { "incomplete" };
            }
            // Only if there is another one is the limit in its way.
            if config.executions > 0 && executions >= config.executions {
                break "limit";
            }
            watch.begin();
            let mut schedule = Choices::new();
            // How many choices were made up to a step of the monitors, and steps of each thread.
            let mut taken = Vec::new();
            let mut counts = vec![0_u64; system.threads.len()];
            let mut state = State::new(system);
            let mut last = None;
            let ended = loop {
                if let Some(ended) = state.ended(system) {
                    break ended;
                }
                let next = state.next(system);
                match strategy.choose(&next, last) {
                    Choice::Stop => break End::Stopped,
                    Choice::Run(agent) => {
                        last = Some(agent);
                        let op = state.step(system, agent);
                        schedule.push(agent);
                        let thread = agent.of();
                        let count = &mut counts[usize::from(thread)];
                        let at = u64::from(thread) << 32 | (*count + 1);
                        *count += 1;
                        all_steps += 1;
                        let order = Order::Relaxed;
                        taken.push(schedule.len());
                        let op = match self.forgetful && replays {
                            true => Op { addr: op.addr + 1000 * at, ..op },
                            false => op,
                        };
                        watch.step(Step { thread, op, order, at });
                        if config.trace {
                            hear(Message::Step(TracedStep {
                                thread,
                                kind: op.kind,
                                order,
                                addr: op.addr,
                                len: op.len,
                                old: None,
                                value: None,
                                place: Some(place(at)),
                            }));
                        }
                    }
                }
            };
            strategy.end(ended, &state.next(system));
            let before = watch.findings().len();
            watch.end();
            executions += 1;
            if let Some((thread, at, _)) = state.crash() {
                let at = u64::from(thread) << 32 | at as u64;
                let enough = hear(Message::Failure {
                    number: at,
                    kind: "crash".to_owned(),
                    thread: None,
                    place: Some(place(at)),
                    execution: executions,
                    schedule: schedule.to_string(),
                    text: String::new(),
                    related: Vec::new(),
                });
                if enough {
                    return Ok(Ended::Heard);
                }
            }
            for (i, f) in watch.findings().iter().enumerate().skip(before) {
                let extra = preventing(watch.steps(), f, watch.extra());
                let mut until = vec![0; system.threads.len()];
                for &step in &f.shown {
                    until[usize::from(watch.steps()[step].thread)] = taken[step];
                }
                let enough = hear(Message::Overtaking {
                    number: i as u64 + 1,
                    model: f.model,
                    store: place(f.store),
                    access: place(f.access),
                    execution: executions,
                    schedule: schedule.part(&until).to_string(),
                    fences: extra.into_iter().map(|e| PlacedFence::placed(e, place)).collect(),
                });
                if enough {
                    return Ok(Ended::Heard);
                }
            }
        };
        for (i, f) in watch.findings().iter().enumerate() {
            hear(Message::Overtaken { number: i as u64 + 1, executions: f.executions });
        }
        for said in &self.says {
            hear(said.clone());
        }
        hear(Message::Done { how: how.to_owned(), executions, steps: all_steps });
        Ok(Ended::Heard)
    }
}

/// A clock that goes on by a millisecond whenever somebody looks at it, and a Ctrl-C that comes when
/// somebody has asked for it so many times.
pub(crate) struct Steady {
    looks: Cell<u64>,
    asks: Cell<u64>,
    pub(crate) interrupted_after: Option<u64>,
}

impl Steady {
    pub(crate) fn new(interrupted_after: Option<u64>) -> Steady {
        Steady { looks: Cell::new(0), asks: Cell::new(0), interrupted_after }
    }

    /// How often somebody has asked whether there was a Ctrl-C.
    pub(crate) fn asks(&self) -> u64 {
        self.asks.get()
    }
}

impl Control for Steady {
    fn elapsed(&self) -> Duration {
        self.looks.set(self.looks.get() + 1);
        Duration::from_millis(self.looks.get())
    }

    fn interrupted(&self) -> bool {
        self.asks.set(self.asks.get() + 1);
        self.interrupted_after.is_some_and(|after| self.asks.get() > after)
    }

    fn progress(&self, _: SoFar) {}
}

/// Everything about a program, with this strategy.
pub(crate) fn question(strategy: Strategy, models: &[Model]) -> Question {
    Question {
        models: models.to_vec(),
        robust: true,
        all_count: true,
        baseline: Vec::new(),
        under: Model::Sc,
        strategy,
        shared: Vec::new(),
        virtual_time: false,
        profile: false,
        workers: 1,
        executions: None,
        steps: 100_000,
        spins: 32,
        until: Until::End,
        isolate: Isolate::Auto,
        all_output: false,
        codes: true,
        reuse: false,
        races: true,
        transactions: None,
        fence_transactions: false,
        advice: false,
        log: false,
        debug: false,
        details: true,
        timeout: Duration::from_secs(600),
        memory: 1 << 30,
    }
}

/// A program without a file.
pub(crate) fn facts() -> Facts {
    Facts {
        name: "fake".to_owned(),
        file: None,
        naming: Naming::default(),
        rust: false,
        harness: false,
        test: None,
        transactions: None,
        traps: Vec::new(),
        quiet_traps: Vec::new(),
        reads: Vec::new(),
        unseen: Vec::new(),
        in_no_order: false,
        announced: true,
        jumps: Vec::new(),
        patient: Vec::new(),
        channels: Vec::new(),
        locks: Locks::default(),
    }
}
