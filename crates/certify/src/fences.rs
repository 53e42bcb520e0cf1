//! Witnesses about fences.

use anyhow::{Context, Result, bail};
use weakspot_core::certify::Rejected;
use weakspot_core::{Goal, Model, Verdict, fence_proof, same_program};
use weakspot_lang::patch::{Patches, has_fence, patches_with};
use weakspot_lang::{Format, Parsed};
use weakspot_witness::{FENCE, FenceWitness, input_hash, model_key};

use crate::claim::counted;
use crate::programs::{MAX_STATES, TOO_STRONG, is_too_strong, judged_program, reach, read, robust};
use crate::{Asked, Checked, Claim};

/// Checks a witness about fences.
pub(crate) fn check(asked: &Asked<'_>, text: &str, claim: &mut Option<Claim>) -> Result<Checked> {
    let witness = FenceWitness::from_json(text).with_context(|| asked.unread())?;
    if witness.model == Model::Sc {
        bail!("no program needs fences under SC, and no answer says so");
    }
    let model = (model_key(witness.model), witness.model.to_string());
    let option = (witness.goal == Goal::Safe).then_some("--goal safe");
    *claim = Some(Claim::new(FENCE, model, &witness.verdict).with(option));
    let (text, format, setting) = read(asked).with_context(|| asked.name())?;
    let parsed = match weakspot_lang::parse_with(format, &text, &setting) {
        Ok(parsed) => parsed,
        Err(why) => return Ok(Checked::Refused { text, why }),
    };
    asked.is_same(&input_hash(setting.identity(&text).as_bytes()), &witness.input_hash, "input")?;
    let patches = match patches_with(format, &text, &setting) {
        Ok(patches) => patches,
        Err(why) => return Ok(Checked::Refused { text, why }),
    };
    if is_too_strong(&parsed, witness.model) {
        return Ok(Checked::Unknown(TOO_STRONG.to_owned()));
    }
    let max_states = asked.max_states.unwrap_or(MAX_STATES);
    Ok(judged_program(shown((&parsed, &patches), format, &witness, max_states)))
}

/// What the fences and runs show.
fn shown(
    (parsed, patches): (&Parsed, &Patches),
    format: Format,
    witness: &FenceWitness,
    max_states: usize,
) -> Result<String, Rejected> {
    let FenceWitness { model, goal, costs, fences, optimal, clauses, .. } = witness;
    // What is claimed about runs over the places is about the program only if these change nothing.
    if !clauses.is_empty() && !same_program(&parsed.program, &patches.places.program) {
        return Err(Rejected::Fences("the program with places for fences is another one"));
    }
    let has_stores = has_fence(format, weakspot_core::Fence::StoreStore);
    if costs.store_store.is_some() != has_stores {
        return Err(Rejected::Fences("the language has other kinds of fences"));
    }
    fence_proof::check_claim(&patches.places, (*model, *goal), costs, witness.claimed())?;
    let runs = counted(clauses.len(), "run");
    let Some((chosen, enough)) = fences else {
        return Ok(match optimal {
            true => format!("and no fences help, by {runs}"),
            false => format!("by {runs}"),
        });
    };
    let fenced = patches
        .program(chosen)
        .map_err(|_| Rejected::Fences("the text with the fences is no program"))?;
    let (fenced, under) = (goal.question(&fenced), (*model, &Verdict::Holds));
    let by = match goal {
        Goal::Robust => robust(&fenced, under, enough, max_states)?,
        Goal::Safe => reach(&fenced, under, enough, max_states)?,
    };
    let counts = costs.full == 1 && costs.store_store.is_none_or(|cost| cost == 1);
    let cheapest = match counts {
        true => "none cheaper".to_owned(),
        false => format!("none below the cost of {}", costs.total(chosen)),
    };
    let many = counted(chosen.len(), "fence");
    Ok(match (chosen.is_empty(), optimal) {
        (true, _) => by,
        (false, false) => format!("{many} enough {by}"),
        (false, true) => format!("{many} enough {by}, {cheapest} by {runs}"),
    })
}
