//! Witnesses about fences: those that were chosen, why they are enough, and runs that any set of fences has to
//! forbid.
//!
//! ```json
//! {
//!   "witness": 1,
//!   "question": "fence",
//!   "input": "fnv1a64:cbf29ce484222325",
//!   "model": "tso",
//!   "verdict": "violated",
//!   "goal": "robust",
//!   "costs": {"full":1,"store_store":1},
//!   "optimal": true,
//!   "fences": [
//!     {"place":1,"kind":"full"}
//!   ],
//!   "clauses": [
//!     {
//!       "hit_by": [{"place":1,"kind":"full"}],
//!       "run": {"init":[0,0],"steps":[{"thread":0,"edge":0,"choice":0}]}
//!     }
//!   ],
//!   "enough": {
//!     "exhausted": {}
//!   }
//! }
//! ```
//!
//! Places are counted in the order of the text. `fences` is missing if none reach the goal, or none are known; then
//! `enough` is missing, too. Without `store_store` there is no such fence. `optimal` claims that nothing cheaper reaches the goal,
//! without `fences` that nothing does. A clause is a run of the program without fences that misses the goal, with steps over the places, and
//! the fences that forbid it. `enough` is evidence about the text with the fences in it, as in witnesses about programs.

use std::fmt::Write;

use weakspot_core::{
    Clause, Evidence, Fence, FenceCosts, FencesClaimed, Goal, Model, PlacedFence, Verdict,
};

use crate::file::{At, BadWitness, beginning, push_list};
use crate::keys::{model_key, model_of_key, verdict_key};
use crate::line::line;
use crate::program::{StepJson, evidence, push_evidence, schedule};
use crate::strict::{document, nothing_else};

/// What the question is called in witness files.
pub const FENCE: &str = "fence";

/// An answer about fences and why to believe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceWitness {
    /// The [`input_hash`](crate::input_hash) of the file that it was asked about.
    pub input_hash: String,
    /// Under which model.
    pub model: Model,
    /// What the fences are for.
    pub goal: Goal,
    /// What they cost.
    pub costs: FenceCosts,
    /// Holds if none are needed, violated if the goal is missed without fences.
    pub verdict: Verdict,
    /// Fences with which the goal is reached, if some are known, and the evidence that it is.
    pub fences: Option<(Vec<PlacedFence>, Evidence)>,
    /// No cheaper ones reach it; without fences, none do at all.
    pub optimal: bool,
    /// Runs that miss the goal.
    pub clauses: Vec<Clause>,
}

impl FenceWitness {
    /// What it claims, but for the evidence that the fences are enough.
    #[must_use]
    pub fn claimed(&self) -> FencesClaimed<'_> {
        FencesClaimed {
            verdict: &self.verdict,
            fences: self.fences.as_ref().map(|(fences, _)| fences.as_slice()),
            optimal: self.optimal,
            clauses: &self.clauses,
        }
    }

    /// The content of a witness file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let verdict = verdict_key(&self.verdict);
        let mut out = beginning(FENCE, &self.input_hash, model_key(self.model), verdict);
        let goal = match self.goal {
            Goal::Robust => "robust",
            Goal::Safe => "safe",
        };
        let stores =
            self.costs.store_store.map_or(String::new(), |cost| format!(",\"store_store\":{cost}"));
        let _ = writeln!(
            out,
            ",\n  \"goal\": \"{goal}\",\n  \"costs\": {{\"full\":{}{stores}}},\n  \"optimal\": {},",
            self.costs.full, self.optimal
        );
        if let Some((fences, _)) = &self.fences {
            let lines: Vec<String> = fences.iter().map(fence_json).collect();
            push_list(&mut out, 2, "fences", &lines);
            out.push_str(",\n");
        }
        let clauses: Vec<String> = self.clauses.iter().map(clause_json).collect();
        push_list(&mut out, 2, "clauses", &clauses);
        if let Some((_, enough)) = &self.fences {
            out.push_str(",\n  \"enough\": {\n    ");
            push_evidence(&mut out, enough);
            out.push_str("\n  }");
        }
        out.push_str("\n}\n");
        out
    }

    /// Reads the content of a witness file.
    pub fn from_json(text: &str) -> Result<FenceWitness, BadWitness> {
        let json = document(text)?;
        let root = At::root(&json)?;
        let (model, verdict) = (root.get("model")?, root.get("verdict")?);
        let (goal, costs) = (root.get("goal")?, root.get("costs")?);
        let cost = |at: At<'_>| match at.integer("a cost")? {
            0 => Err(at.bad("a cost of at least 1")),
            cost => Ok(cost),
        };
        let fences = match root.find("fences") {
            Some(fences) => Some((placed(&fences)?, evidence(&root.get("enough")?)?)),
            None => None,
        };
        let clauses = root.get("clauses")?.list()?;
        let optimal = root.get("optimal")?;
        let witness = FenceWitness {
            input_hash: root.get("input")?.string()?.to_owned(),
            model: model_of_key(model.string()?)
                .ok_or_else(|| model.bad("`sc`, `tso`, `pso` or `pso-own`"))?,
            goal: match goal.string()? {
                "robust" => Goal::Robust,
                "safe" => Goal::Safe,
                _ => return Err(goal.bad("`robust` or `safe`")),
            },
            costs: FenceCosts {
                full: cost(costs.get("full")?)?,
                store_store: costs.find("store_store").map(cost).transpose()?,
            },
            verdict: match verdict.string()? {
                "holds" => Verdict::Holds,
                "violated" => Verdict::Violated,
                _ => return Err(verdict.bad("`holds` or `violated`")),
            },
            fences,
            optimal: optimal.json.as_bool().ok_or_else(|| optimal.bad("`true` or `false`"))?,
            clauses: clauses.iter().map(clause).collect::<Result<_, _>>()?,
        };
        nothing_else(&json, &witness.to_json())?;
        Ok(witness)
    }
}

fn fence_json(fence: &PlacedFence) -> String {
    let kind = match fence.kind {
        Fence::Full => "full",
        Fence::StoreStore => "store_store",
    };
    format!("{{\"place\":{},\"kind\":\"{kind}\"}}", fence.place)
}

fn clause_json(clause: &Clause) -> String {
    let hit_by: Vec<String> = clause.hit_by.iter().map(fence_json).collect();
    format!(
        "{{\"hit_by\":[{}],\"run\":{{\"init\":{},\"steps\":{}}}}}",
        hit_by.join(","),
        line(&clause.run.init),
        line(&StepJson::all(&clause.run))
    )
}

fn placed(at: &At<'_>) -> Result<Vec<PlacedFence>, BadWitness> {
    let fence = |at: &At<'_>| {
        let kind = at.get("kind")?;
        Ok(PlacedFence {
            place: at.get("place")?.integer("the number of a place")?,
            kind: match kind.string()? {
                "full" => Fence::Full,
                "store_store" => Fence::StoreStore,
                _ => return Err(kind.bad("`full` or `store_store`")),
            },
        })
    };
    at.list()?.iter().map(fence).collect()
}

fn clause(at: &At<'_>) -> Result<Clause, BadWitness> {
    Ok(Clause { hit_by: placed(&at.get("hit_by")?)?, run: schedule(&at.get("run")?)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{damaged, input_hash};
    use weakspot_core::ThreadId;
    use weakspot_core::machine::{Schedule, Step};

    fn witness() -> FenceWitness {
        let fence = |place, kind| PlacedFence { place, kind };
        let step = Step::Execute { thread: ThreadId(1), edge: 0, choice: 7 };
        let commit = Step::Commit { thread: ThreadId(0), addr: 1 };
        let run = Schedule { init: vec![0, -1], steps: vec![step, commit] };
        let hit_by = vec![fence(1, Fence::Full), fence(2, Fence::StoreStore)];
        FenceWitness {
            input_hash: input_hash(b""),
            model: Model::Tso,
            goal: Goal::Safe,
            costs: FenceCosts { full: 3, store_store: Some(1) },
            verdict: Verdict::Violated,
            fences: Some((hit_by.clone(), Evidence::Exhausted { states: 0 })),
            optimal: true,
            clauses: vec![
                Clause { run: run.clone(), hit_by },
                Clause { run: Schedule { steps: vec![], ..run }, hit_by: vec![] },
            ],
        }
    }

    #[test]
    fn round_trips() {
        let right = witness();
        assert_eq!(FenceWitness::from_json(&right.to_json()), Ok(right.clone()));
        let none = FenceWitness {
            fences: None,
            goal: Goal::Robust,
            costs: FenceCosts { full: 1, store_store: None },
            optimal: false,
            ..right
        };
        assert_eq!(FenceWitness::from_json(&none.to_json()), Ok(none));
    }

    #[test]
    fn damaged_files() {
        let text = witness().to_json();
        for seed in 0..2_000 {
            if let Ok(read) = FenceWitness::from_json(&damaged(text.as_bytes(), seed)) {
                assert_eq!(FenceWitness::from_json(&read.to_json()), Ok(read));
            }
        }
    }
}
