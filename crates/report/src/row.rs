//! What summaries are made of, as rows of words: what another process came to is brought back so.

use weakspot_core::{HistoryModel, Limit, TxnModel, Verdict};

use crate::answer::ModelName;
use crate::json::{model_key, model_of_key, verdict_key};
use crate::program::summary::{LitmusEnd, LitmusResult};
use crate::program::tally::ProgramResult;
use crate::transactional::AskedModel;

/// The end of a question, as a row of words and back.
pub trait Row: Sized {
    /// The words.
    fn words(&self) -> Vec<String>;

    /// What these words stand for. Which limit was reached is not among them: no summary says it.
    fn of_words(words: &[String]) -> Option<Self>;
}

/// What stands for a model or an answer that is not there.
const NONE: &str = "";

fn word_of(verdict: Option<&Verdict>) -> String {
    verdict.map_or(NONE, verdict_key).to_owned()
}

fn verdict_of(word: &str) -> Option<Option<Verdict>> {
    Some(match word {
        NONE => None,
        "holds" => Some(Verdict::Holds),
        "violated" => Some(Verdict::Violated),
        "unknown" => Some(Verdict::Unknown(Limit::Interrupted)),
        _ => return None,
    })
}

impl Row for ProgramResult {
    fn words(&self) -> Vec<String> {
        let model = self.model.map_or(NONE, model_key).to_owned();
        vec![self.file.clone(), self.name.clone(), model, word_of(self.verdict.as_ref())]
    }

    fn of_words(words: &[String]) -> Option<ProgramResult> {
        let [file, name, model, verdict] = words else { return None };
        let model = if model == NONE { None } else { Some(model_of_key(model)?) };
        let verdict = verdict_of(verdict)?;
        Some(ProgramResult { file: file.clone(), name: name.clone(), model, verdict })
    }
}

impl Row for LitmusResult {
    fn words(&self) -> Vec<String> {
        let model = self.model.map_or(NONE, model_key).to_owned();
        let mut words = vec![self.file.clone(), model];
        if let LitmusEnd::Answer { name, ok, observation, states, complete, listed } = &self.end {
            let ok = ok.map_or(NONE.to_owned(), |ok| ok.to_string());
            let observation = observation.unwrap_or(NONE).to_owned();
            let states = [states.to_string(), complete.to_string()];
            words.extend([name.clone(), ok, observation].into_iter().chain(states));
            if let Some((listed, complete)) = listed {
                words.push(complete.to_string());
                words.extend(listed.iter().cloned());
            }
        }
        words
    }

    fn of_words(words: &[String]) -> Option<LitmusResult> {
        let [file, model, rest @ ..] = words else { return None };
        let model = if model == NONE { None } else { Some(model_of_key(model)?) };
        let end = match rest {
            [] => LitmusEnd::Error,
            [name, ok, observation, states, complete, listed @ ..] => LitmusEnd::Answer {
                name: name.clone(),
                ok: if ok == NONE { None } else { Some(ok.parse().ok()?) },
                observation: match &**observation {
                    NONE => None,
                    word => {
                        Some(["Always", "Sometimes", "Never"].into_iter().find(|w| *w == word)?)
                    }
                },
                states: states.parse().ok()?,
                complete: complete.parse().ok()?,
                listed: match listed {
                    [] => None,
                    [complete, states @ ..] => Some((states.to_vec(), complete.parse().ok()?)),
                },
            },
            _ => return None,
        };
        Some(LitmusResult { file: file.clone(), model, end })
    }
}

impl Row for (AskedModel, Option<Verdict>) {
    fn words(&self) -> Vec<String> {
        let of = match self.0 {
            AskedModel::Memory(_) => "memory",
            AskedModel::Transactions(_) => "transactions",
        };
        vec![of.to_owned(), self.0.key().to_owned(), word_of(self.1.as_ref())]
    }

    fn of_words(words: &[String]) -> Option<(AskedModel, Option<Verdict>)> {
        let [of, key, verdict] = words else { return None };
        let model = match &**of {
            "memory" => AskedModel::Memory(HistoryModel::from_key(key)?),
            _ => {
                let model = TxnModel::ALL.into_iter().find(|m| ModelName::key(*m) == key)?;
                AskedModel::Transactions(model)
            }
        };
        Some((model, verdict_of(verdict)?))
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::Model;

    use super::*;

    /// What comes back is what went, but for the limit.
    fn check<T: Row + PartialEq + std::fmt::Debug>(result: &T) {
        assert_eq!(T::of_words(&result.words()).as_ref(), Some(result));
    }

    fn verdicts() -> [Option<Verdict>; 4] {
        let unknown = Verdict::Unknown(Limit::Interrupted);
        [None, Some(Verdict::Holds), Some(Verdict::Violated), Some(unknown)]
    }

    #[test]
    fn results_of_programs() {
        for verdict in verdicts() {
            for model in Model::ALL.into_iter().map(Some).chain([None]) {
                let (file, name) = ("a b\n.weak".to_owned(), String::new());
                check(&ProgramResult { file, name, model, verdict: verdict.clone() });
            }
        }
        assert_eq!(ProgramResult::of_words(&["a".to_owned()]), None);
    }

    #[test]
    fn results_of_tests() {
        check(&LitmusResult::error("a", None));
        check(&LitmusResult::unknown("a", Model::Tso));
        for observation in [None, Some("Always"), Some("Sometimes"), Some("Never")] {
            for ok in [None, Some(true), Some(false)] {
                let name = "SB".to_owned();
                for listed in [None, Some((Vec::new(), true)), Some((vec!["x=1;".into()], false))] {
                    let (name, states, complete) = (name.clone(), 4, listed.is_none());
                    let end = LitmusEnd::Answer { name, ok, observation, states, complete, listed };
                    check(&LitmusResult { file: "a".to_owned(), model: Some(Model::Sc), end });
                }
            }
        }
    }

    #[test]
    fn results_of_histories() {
        let memory = HistoryModel::ALL.into_iter().chain([HistoryModel::PsoOwn]);
        let memory = memory.map(AskedModel::Memory);
        for model in memory.chain(TxnModel::ALL.map(AskedModel::Transactions)) {
            for verdict in verdicts() {
                check(&(model, verdict));
            }
        }
    }
}
