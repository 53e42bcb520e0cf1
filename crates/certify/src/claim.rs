//! What a witness claims, in the words of whoever asked the question.

use weakspot_core::serial::BufferedReads;
use weakspot_core::{Model, Verdict};
use weakspot_witness::{Object, verdict_key};

/// What a witness claims: the verdict on a question under a model. It is what the checked evidence is evidence of, and
/// nothing that a file only says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What was asked: `litmus`, `reach`, `robust`, ...
    pub question: &'static str,
    /// The model as scripts write it; several are separated by commas.
    pub key: String,
    /// The model as people write it.
    pub model: String,
    /// `holds`, `violated` or `unknown`.
    pub verdict: &'static str,
    /// The option that this question needs, if another one is asked without it.
    pub option: Option<&'static str>,
}

impl Claim {
    /// A verdict on a question under the model with this key and name.
    pub(crate) fn new(
        question: &'static str,
        (key, model): (&str, String),
        verdict: &Verdict,
    ) -> Claim {
        Claim { question, key: key.to_owned(), model, verdict: verdict_key(verdict), option: None }
    }

    /// The same with an option, if it needs one.
    pub(crate) fn with(self, option: Option<&'static str>) -> Claim {
        Claim { option, ..self }
    }

    /// The claim in words.
    pub(crate) fn text(&self) -> String {
        let option = self.option.map_or(String::new(), |option| format!(" with {option}"));
        format!("{} under {}{option}: {}", self.question, self.model, self.verdict)
    }

    /// As a part of an object of JSON.
    pub(crate) fn json(&self) -> String {
        let mut object = Object::new();
        object.string("question", self.question).string("model", &self.key);
        object.string("verdict", self.verdict);
        object.end()
    }
}

/// The option for the reading of buffered reads that a witness is about. One that does not say is of a time when all
/// were static.
pub(crate) fn reading(model: Model, buffered: Option<BufferedReads>) -> Option<&'static str> {
    let is_static =
        model == Model::Tso && buffered.unwrap_or(BufferedReads::Static) == BufferedReads::Static;
    is_static.then_some("--buffered static")
}

/// A number with its digits in groups of three, and what is counted.
pub(crate) fn counted(n: usize, one: &str) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{out} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn numbers() {
        assert_eq!(counted(1, "step"), "1 step");
        assert_eq!(counted(0, "step"), "0 steps");
        assert_eq!(counted(999, "step"), "999 steps");
        assert_eq!(counted(1_000, "step"), "1,000 steps");
        assert_eq!(counted(1_234_567, "state"), "1,234,567 states");
    }
}
