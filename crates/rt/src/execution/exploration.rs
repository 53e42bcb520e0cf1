//! How far the exploration is, and how the current execution goes.

use weakspot_live::{Agent, Choices, Ended};

/// What is counted over all executions, and what is known of the current one.
pub struct Exploration {
    /// How many steps this execution had.
    steps: u64,
    /// How many of them were taken before a second thread was started.
    before_threads: u64,
    /// What the strategy chose in this execution.
    choices: Choices,
    /// The strategy is not asked any more: this execution is only there to learn from.
    learning: bool,
    /// How the execution ended.
    ended: Ended,
    /// An assumption does not hold in it.
    denied: bool,
    /// How often the exploration started again.
    restarts: u64,
    counts: Counts,
    /// The threads of the execution that had most.
    threads: usize,
}

/// What makes an exploration less than complete, or is worth saying of it.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// How often a thread was taken to wait without certainty.
    pub guesses: u64,
    /// Executions that ended with an exit code that is not 0.
    pub exits: u64,
    /// Executions in which an assumption does not hold.
    pub assumed: u64,
    /// Executions that were left where threads wait in loops.
    pub left: u64,
    /// How often a round of a loop was left out that monitors may miss.
    pub undone: u64,
    /// Transactions that began.
    pub transactions: u64,
    /// Loads by the last thread alone, which the strategy was not asked about. What they read depends
    /// on the order of stores before.
    pub alone: u64,
}

impl Exploration {
    /// Before the first execution.
    pub fn new() -> Exploration {
        Exploration {
            steps: 0,
            before_threads: 0,
            choices: Choices::new(),
            learning: false,
            ended: Ended::Over,
            denied: false,
            restarts: 0,
            counts: Counts::default(),
            threads: 0,
        }
    }

    /// The execution that is over had so many threads.
    pub fn count_threads(&mut self, threads: usize) {
        self.threads = self.threads.max(threads);
    }

    /// The threads of the execution that had most.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.steps = 0;
        self.before_threads = 0;
        self.choices.clear();
        self.learning = false;
        self.ended = Ended::Over;
        self.denied = false;
    }

    /// The exploration starts again.
    pub fn restart(&mut self) {
        self.restarts += 1;
        self.counts = Counts::default();
    }

    /// How often the exploration started again.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// One more step; whether that is more than there may be.
    #[inline(always)]
    pub fn add_step(&mut self, limit: u64) -> bool {
        self.steps += 1;
        self.is_long(limit)
    }

    /// The next step is one before a second thread was started. There is one way to take those, however
    /// many there are, so they do not count for the limit.
    pub fn no_thread_yet(&mut self) {
        self.before_threads += 1;
    }

    fn is_long(&self, limit: u64) -> bool {
        self.steps - self.before_threads > limit
    }

    /// How many steps this execution had.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The strategy has chosen.
    #[inline(always)]
    pub fn chosen(&mut self, agent: Agent) {
        self.choices.push(agent);
    }

    /// What it has chosen in this execution.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// The choices so far, if they can be replayed: an execution to learn from has steps that were
    /// not announced.
    pub fn replayable(&self) -> Option<String> {
        (!self.learning).then(|| self.choices.to_string())
    }

    /// From now on the execution is only there to learn from.
    pub fn learn(&mut self) {
        self.learning = true;
    }

    /// Whether it is.
    pub fn learning(&self) -> bool {
        self.learning
    }

    /// How the execution ended.
    pub fn ended(&self) -> Ended {
        self.ended
    }

    /// The execution ends like this.
    pub fn set_ended(&mut self, ended: Ended) {
        self.ended = ended;
    }

    /// A thread is taken to wait without certainty.
    pub fn guessed(&mut self) {
        self.counts.guesses += 1;
    }

    /// The last thread loads alone.
    pub fn loaded_alone(&mut self) {
        self.counts.alone += 1;
    }

    /// A transaction begins.
    pub fn count_transaction(&mut self) {
        self.counts.transactions += 1;
    }

    /// The program ends with an exit code that is not 0.
    pub fn failed_by_code(&mut self) {
        self.counts.exits += u64::from(!self.learning);
    }

    /// An assumption does not hold.
    pub fn not_assumed(&mut self) {
        self.denied = true;
    }

    /// The execution is over, and counts.
    pub fn count(&mut self) {
        self.counts.assumed += u64::from(self.denied);
    }

    /// The execution is left where threads wait in loops.
    pub fn leave(&mut self) {
        self.counts.left += 1;
    }

    /// A round of a loop may be left out that monitors may miss.
    pub fn undoes(&mut self) {
        self.counts.undone += u64::from(!self.learning);
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
