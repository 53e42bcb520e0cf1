//! Are all executions of a program serializable, under SC and under TSO?
//!
//! Under SC it is a search of all executions together with a finite summary of their conflict graphs
//! ([`search`], [`summary`]); if it ends, the answer is exact. Under TSO most programs need no search
//! of buffers (Enea and Farzan, "On atomicity in presence of non-atomic writes", TACAS 2016, Theorems
//! 2 and 3):
//! - a program that is robust and SC-serializable is TSO-serializable;
//! - the converse holds, too, if between a store and a read of another transaction of the same thread
//!   there is always something that waits for the buffer, as when every transaction ends in a fence.
//!   Then TSO keeps all of program order between transactions, directly or through what waits;
//! - a run that shows that a program is not SC-serializable, or not robust, is often not
//!   TSO-serializable itself.
//!
//! What is left is searched, with buffers, breadth first.
//!
//! An atomic block outside of all transactions is one: nothing comes between its steps anyway.

mod fenced;
mod locals;
mod marked;
mod search;
mod summary;
#[cfg(test)]
mod tests;

use weakspot_core::machine::Schedule;
use weakspot_core::serial::{BufferedReads, TxnCycle, relation, txn_run};
use weakspot_core::{
    Certified, Claim, Effort, Evidence, Limits, Model, Program, Progress, Transactions, TxnClaim,
    Verdict,
};

pub use fenced::{AddedFence, FencedProgram, fence_program};
use marked::Marked;
use search::{Searched, search};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::{self, Decide};

/// The answer.
#[derive(Clone, Debug)]
pub struct Serializable {
    /// Holds if all executions are serializable.
    pub verdict: Verdict,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
    /// A cycle of transactions in the run of the evidence.
    pub cycle: Option<TxnCycle>,
    /// States that the searches visited.
    pub states: u64,
    /// How it was found out.
    pub by: SerialBy,
    /// Under TSO, whether something waits for the buffer between a store and a read of another
    /// transaction of its thread, whatever happens.
    pub fenced: Option<bool>,
    /// Under TSO, whether the program is SC-serializable, as far as that was asked.
    pub sc: Option<Verdict>,
    /// Under TSO, whether the program is robust, as far as that was asked.
    pub robust: Option<Verdict>,
}

impl Claim for Serializable {
    type Evidence = Evidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }
}

impl TxnClaim for Serializable {
    fn cycle(&self) -> Option<&TxnCycle> {
        self.cycle.as_ref()
    }
}

/// How an answer about a program with transactions was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialBy {
    /// By a search of the executions under the model.
    Search,
    /// Under TSO: by a search of those under SC, and robustness.
    ScAndRobust,
}

/// Decides whether all executions of `program` under `model`, which is SC or TSO, are serializable.
/// Under TSO, `reads` says which reads count as reads of the buffer.
pub fn serializable(
    program: &Program,
    transactions: &Transactions,
    (model, reads): (Model, BufferedReads),
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Serializable>, NoAnswer> {
    let limits = limits.begin();
    if !program.wides.is_empty() {
        let why = "transactions are not asked about where accesses have different widths";
        return Err(NoAnswer::NotApplicable(why));
    }
    let marked = Marked::new(program, transactions);
    let question = Question { program, transactions, reads, marked: &marked, limits };
    let answer = match model {
        Model::Sc => question.by_search(model, progress)?,
        Model::Tso => question.tso(progress)?,
        Model::Pso(_) => {
            return Err(NoAnswer::NotApplicable("transactions are asked about under SC and TSO"));
        }
    };
    let asked = (model, reads);
    Certified::transactions(program, transactions, asked, answer, Effort::within(&limits))
        .map_err(NoAnswer::Rejected)
}

struct Question<'a> {
    program: &'a Program,
    transactions: &'a Transactions,
    reads: BufferedReads,
    marked: &'a Marked,
    limits: Limits,
}

impl Question<'_> {
    fn by_search(
        &self,
        model: Model,
        progress: &mut dyn Progress,
    ) -> Result<Serializable, NoAnswer> {
        let mut meter = Meter::new(self.limits, progress);
        let asked = (model, self.reads);
        let searched =
            search(self.marked, asked, &self.limits, &mut meter).map_err(NoAnswer::Fault)?;
        let states = meter.states;
        let (verdict, evidence) = match searched {
            Searched::All => (Verdict::Holds, Some(Evidence::Exhausted { states })),
            Searched::Cycle(run) => (Verdict::Violated, Some(Evidence::Run(run))),
            Searched::Limit(limit) => (Verdict::Unknown(limit), None),
        };
        let cycle = match &evidence {
            Some(Evidence::Run(run)) => self.cycle(model, run),
            _ => None,
        };
        let by = SerialBy::Search;
        Ok(Serializable {
            verdict,
            evidence,
            cycle,
            states,
            by,
            fenced: None,
            sc: None,
            robust: None,
        })
    }

    /// A cycle of a run.
    fn cycle(&self, model: Model, run: &Schedule) -> Option<TxnCycle> {
        let run = txn_run(self.program, self.transactions, model, run).ok()?;
        run.cycle(relation(model, self.reads))
    }

    fn tso(&self, progress: &mut dyn Progress) -> Result<Serializable, NoAnswer> {
        let model = Model::Tso;
        let fenced = self.marked.is_fenced();
        let sc = self.by_search(Model::Sc, progress)?;
        let mut answer = Serializable {
            verdict: sc.verdict.clone(),
            evidence: None,
            cycle: None,
            states: sc.states,
            by: SerialBy::ScAndRobust,
            fenced: Some(fenced),
            sc: Some(sc.verdict.clone()),
            robust: None,
        };
        if let Some(Evidence::Run(run)) = &sc.evidence
            && let Some(run) = run.committing_at_once(self.program, model)
            && let Some(cycle) = self.cycle(model, &run)
        {
            answer.evidence = Some(Evidence::Run(run));
            answer.cycle = Some(cycle);
            return Ok(answer);
        }
        let robust = robust::decided(self.program, model, Decide::Pending, &self.limits, progress)?;
        answer.states += robust.states;
        answer.robust = Some(robust.verdict.clone());
        if let Some(Evidence::Run(run)) = robust.evidence
            && let Some(cycle) = self.cycle(model, &run)
        {
            answer.verdict = Verdict::Violated;
            answer.evidence = Some(Evidence::Run(run));
            answer.cycle = Some(cycle);
            return Ok(answer);
        }
        if let (Verdict::Holds, Verdict::Holds) = (&sc.verdict, &robust.verdict) {
            answer.evidence = Some(Evidence::Exhausted { states: answer.states });
            return Ok(answer);
        }
        let searched = self.by_search(model, progress)?;
        answer.states += searched.states;
        answer.by = SerialBy::Search;
        (answer.verdict, answer.evidence) = (searched.verdict, searched.evidence);
        answer.cycle = searched.cycle;
        Ok(answer)
    }
}
