//! Witnesses about real programs, which are executed again: by whoever can.

use anyhow::{Context, Result};
use weakspot_core::Model;
use weakspot_witness::{RUN, RunWitness, model_key};

use crate::{Asked, Checked, Claim};

/// Checks a witness about a real program.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let witness = RunWitness::from_json(text).with_context(|| asked.unread())?;
    let models = witness.models();
    let keys: Vec<&str> = models.iter().copied().map(model_key).collect();
    let names: Vec<String> = models.iter().map(Model::to_string).collect();
    *claim = Some(Claim::new(RUN, (&keys.join(","), names.join(", ")), &witness.verdict()));
    asked.is_about(&witness.input_hash, "program")?;
    match asked.execute {
        Some(execute) => execute(asked.input, &witness),
        None => Ok(Checked::Unknown(
            "this program executes none; `weakspot certify` does, and compares".to_owned(),
        )),
    }
}
