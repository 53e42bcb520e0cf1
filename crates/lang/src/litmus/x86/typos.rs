//! Warnings about names that are accepted but probably misspelt. A name that occurs only in the
//! condition is a location or a register that is always 0, and the answer is then a confident one
//! to another question than was meant.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use weakspot_core::{Instr, RegId, Thread};

use super::ast::Source;
use super::mentions::{each_code_symbol, each_symbol, may_be_locations};
use super::registers::{Family, Register};
use super::thread;
use super::threads::{ThreadTable, resolve};
use crate::Diagnostic;
use crate::litmus::arch::Arch;
use crate::litmus::ast::{Prop, RegRef, Symbol, Target};
use crate::litmus::mentions::{each_asked_term, each_init_symbol, each_register, each_term_symbol};
use crate::suggest::did_you_mean;

/// The warnings about `test`, of which the threads have been compiled to `compiled`.
pub(super) fn typos(
    test: Source<'_>,
    threads: &ThreadTable,
    compiled: &[&Thread],
) -> Vec<Diagnostic> {
    let mut warnings = locations(test);
    if let Some(condition) = &test.frame.condition {
        warnings.extend(registers(test, &condition.prop, threads, compiled));
    }
    warnings
}

/// Locations that nothing can touch, and names that differ in the case of letters only. At most
/// one warning for each name.
fn locations(test: Source<'_>) -> Vec<Diagnostic> {
    let mut in_init = BTreeSet::new();
    each_init_symbol(test.frame, &mut |s| {
        in_init.insert(s.name.as_str());
    });
    let mut in_code = BTreeSet::new();
    each_code_symbol(test, may_be_locations, &mut |s| {
        in_code.insert(s.name.as_str());
    });
    let mut first_of_case: BTreeMap<String, &str> = BTreeMap::new();
    for name in &in_init {
        first_of_case.entry(name.to_ascii_lowercase()).or_insert(name);
    }
    let mut reported = HashSet::new();
    let mut warnings = Vec::new();
    each_symbol(test, &mut |s| {
        let first = *first_of_case.entry(s.name.to_ascii_lowercase()).or_insert(&s.name);
        if first != s.name && !in_init.contains(s.name.as_str()) && reported.insert(s.name.as_str())
        {
            warnings.push(
                Diagnostic::new(
                    s.place.0,
                    format!("`{}` and `{first}` are two locations", s.name),
                    "the case of letters counts",
                )
                .help(format!("did you mean `{first}`?")),
            );
        }
    });
    each_asked_term(test.frame, &mut |term| {
        each_term_symbol(term, &mut |s| {
            let name = s.name.as_str();
            if !in_init.contains(name) && !in_code.contains(name) && reported.insert(name) {
                warnings.push(untouched(test, s, in_init.union(&in_code).copied()));
            }
        });
    });
    warnings
}

/// The warning that a location occurs only in the question.
fn untouched<'a>(
    test: Source<'_>,
    s: &Symbol,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let name = &s.name;
    if let Some(register) = Register::parse(test.frame.arch, name) {
        let thread = of_register(test, register.family);
        return Diagnostic::new(
            s.place.0,
            format!("`{name}` is a location here, and no instruction touches it"),
            "a register is written with its thread",
        )
        .help(format!("did you mean `{thread}:{}`?", register.name(test.frame.arch)));
    }
    let listed: Vec<String> = known.clone().take(6).map(|k| format!("`{k}`")).collect();
    let expected = match listed.is_empty() {
        true => String::new(),
        false => format!("the test is about {}", listed.join(", ")),
    };
    let message =
        format!("no instruction touches `{name}`, and the initial state does not name it");
    did_you_mean(Diagnostic::new(s.place.0, message, expected), name, known)
}

/// The number of the first thread that uses a register, or else of the first one.
fn of_register(test: Source<'_>, family: Family) -> u32 {
    let uses = |index: &usize| thread::families(test, *index).contains(&family);
    let index = (0..test.table.threads.len()).find(uses).unwrap_or(0);
    test.table.threads.get(index).map_or(0, |head| head.id)
}

/// Registers in the condition that their threads never write and the initial state does not set.
fn registers(
    test: Source<'_>,
    prop: &Prop,
    threads: &ThreadTable,
    compiled: &[&Thread],
) -> Vec<Diagnostic> {
    let mut set = HashSet::new();
    for item in &test.frame.init {
        if let Target::Reg(r) = &item.target {
            set.insert((r.thread, resolve(test.frame.arch, r).family));
        }
    }
    let written: Vec<HashSet<RegId>> = compiled.iter().map(|t| writes(t)).collect();
    let mut warnings = Vec::new();
    each_register(prop, &mut |r| {
        let Ok(index) = threads.index(r) else { return };
        let Some(written) = written.get(index) else { return };
        let is_written = |family| written.contains(&threads.register(index, family));
        if !is_written(resolve(test.frame.arch, r).family)
            && set.insert((r.thread, resolve(test.frame.arch, r).family))
        {
            let mut families = thread::families(test, index);
            families.sort_unstable();
            families.dedup();
            families.retain(|f| is_written(*f));
            warnings.push(never_written(test.frame.arch, r, &families));
        }
    });
    warnings
}

fn never_written(arch: Arch, r: &RegRef, written: &[Family]) -> Diagnostic {
    let name = &r.reg;
    let thread = r.thread;
    let names: Vec<String> = written
        .iter()
        .map(|f| format!("`{thread}:{}`", Register::whole(arch, *f).name(arch)))
        .collect();
    let expected = match names.is_empty() {
        true => format!("P{thread} writes no register"),
        false => format!("P{thread} writes {}", names.join(", ")),
    };
    let message = format!("P{thread} never writes `{name}`, and the initial state does not set it");
    Diagnostic::new(r.place.0, message, expected)
}

/// The registers that some instruction writes.
fn writes(thread: &Thread) -> HashSet<RegId> {
    let edges = thread.points.iter().flat_map(|point| &point.edges);
    edges
        .filter_map(|edge| match &edge.instr {
            Instr::Assign { reg, .. }
            | Instr::Choose { reg, .. }
            | Instr::Load { reg, .. }
            | Instr::Update { reg, .. } => Some(*reg),
            _ => None,
        })
        .collect()
}
