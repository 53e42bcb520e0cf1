//! The tables of `weakspot bench history` that count: pairs of writes that partial store orders
//! leave open, and violations that weaker models catch.

use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};
use weakspot_args::{BenchHistoryArgs, HistoryTable};
use weakspot_core::{History, HistoryModel, Limits, Silent, Verdict};
use weakspot_history::{Complete, Method, check, open_pairs};
use weakspot_report::Rows;

use super::task::{Origin, Shape};
use super::{sample, title};
use crate::tables::Tables;

const LIMITS: Limits =
    Limits { time: None, memory: Some(4 << 30), buffer: 0, workers: 1, ..Limits::UNLIMITED };

/// The orders that are compared, and what they are called.
const ORDERS: [(HistoryModel, &str); 7] = [
    (HistoryModel::Cc, "causal"),
    (HistoryModel::Ccv, "CCv"),
    (HistoryModel::Ccm, "CCM"),
    (HistoryModel::Sc, "sat. SC"),
    (HistoryModel::Wccm, "wCCM"),
    (HistoryModel::Tso, "sat. TSO"),
    (HistoryModel::Pso, "sat. PSO"),
];

/// The share of pairs of writes that each partial store order leaves open.
pub(super) fn pairs(args: &BenchHistoryArgs, tables: &mut Tables<'_>) -> Result<()> {
    let mut rows = Rows::new(tables.format);
    let columns: String = ORDERS.iter().map(|(_, name)| format!(" {name:>8}")).collect();
    tables.text(format_args!(
        "{}\n\n{:>4} {:>6} {:>3}{columns}\n",
        title(HistoryTable::Pairs),
        "CPUs",
        "op.",
        "n"
    ))?;
    let mut shapes: Vec<(usize, usize)> = [100, 200, 300, 400, 500].map(|n| (4, n)).to_vec();
    shapes.extend([2, 3, 6, 8, 16, 32].map(|cpus| (cpus, 200)));
    shapes.extend([4, 8, 16, 32].map(|cpus| (cpus, if args.quick { 500 } else { 20_000 })));
    for (cpus, operations) in shapes {
        let shape = Shape { origin: Origin::Protocols, cpus, operations, variables: 10 };
        let count = if args.quick || operations > 500 { 4 } else { 10 * sample(args) };
        let mut all = [0; ORDERS.len()];
        let mut open = [0; ORDERS.len()];
        for seed in 0..count {
            (tables.busy)(&format!("{cpus} CPUs, history {} of {count}", seed + 1));
            let ops = shape.history(seed)?;
            for (i, (model, name)) in ORDERS.into_iter().enumerate() {
                let found = open_pairs(&ops, model, &LIMITS, &mut Silent)
                    .map_err(|limit| anyhow!("stopped at a limit: {limit:?}"))?
                    .ok_or_else(|| anyhow!("seed {seed} of {shape:?} is wrong for {name}"))?;
                all[i] += found.all;
                open[i] += found.open;
            }
        }
        let share = |i: usize| percent(open[i], all[i]);
        let text = || {
            let shares: String = (0..ORDERS.len()).map(|i| format!(" {:>8.2}", share(i))).collect();
            format!("{cpus:>4} {operations:>6} {count:>3}{shares}\n")
        };
        let json = || {
            let orders = ["co", "ccv", "ccm", "sc", "wccm", "tso", "pso"];
            let open: Map<String, Value> =
                (orders.iter().enumerate()).map(|(i, o)| ((*o).into(), share(i).into())).collect();
            json!({
                "table": HistoryTable::Pairs.key(), "cpus": cpus, "operations": operations,
                "variables": shape.variables, "histories": count, "pairs": all[0],
                "open_percent": open,
            })
        };
        tables.row(&mut rows, text, json)?;
    }
    tables.note(format_args!(
        "op.: operations, on 10 variables; n: histories; causal: program order and reads-from; CCv: and cf of it; CCM, wCCM: the paper's pww and \
             wpww; sat.: both rules to a fixpoint. All histories are SC."
    ))?;
    tables.text(format_args!("\n"))
}

/// Which of the violations of SC and TSO show in weaker models already.
pub(super) fn caught(args: &BenchHistoryArgs, tables: &mut Tables<'_>) -> Result<()> {
    use HistoryModel::{Cc, Ccm, Ccv, Cm, Pso, Sc, Tso, Wccm};
    const OF_SC: [(HistoryModel, &str); 5] =
        [(Cc, "CC"), (Ccv, "CCv"), (Cm, "CM"), (Ccm, "CCM"), (Tso, "TSO")];
    const OF_TSO: [(HistoryModel, &str); 4] =
        [(Cc, "CC"), (Ccv, "CCv"), (Wccm, "wCCM"), (Pso, "PSO")];
    let mut rows = Rows::new(tables.format);
    let names = |models: &[(HistoryModel, &str)]| -> String {
        models.iter().map(|(_, name)| format!(" {name:>5}")).collect()
    };
    tables.text(format_args!(
        "{}\n\n{:>4} {:>4} {:>7}{} {:>8}{}\n",
        title(HistoryTable::Caught),
        "CPUs",
        "n",
        "not SC",
        names(&OF_SC),
        "not TSO",
        names(&OF_TSO)
    ))?;
    let count = 10 * sample(args);
    let mut total = [[0; HistoryModel::ALL.len()]; 2];
    for cpus in (2..=8).map(Some).chain([None]) {
        // Per model how many of the violations of SC and of TSO it catches.
        let mut found = [[0; HistoryModel::ALL.len()]; 2];
        if let Some(cpus) = cpus {
            let shape = Shape { origin: Origin::Bugs, cpus, operations: 50 * cpus, variables: 10 };
            for seed in 0..count {
                (tables.busy)(&format!("{cpus} CPUs, history {} of {count}", seed + 1));
                let violated = violated(&shape.history(seed)?)?;
                for (i, strong) in [Sc, Tso].into_iter().enumerate() {
                    for model in HistoryModel::ALL {
                        let both = violated[strong as usize] && violated[model as usize];
                        found[i][model as usize] += u64::from(both);
                        total[i][model as usize] += u64::from(both);
                    }
                }
            }
        } else {
            found = total;
        }
        let of = |i: usize, model: HistoryModel| found[i][model as usize];
        let histories = cpus.map_or(7 * count, |_| count);
        let text = || {
            let name = cpus.map_or("all".to_owned(), |cpus| cpus.to_string());
            let shares = |i: usize, strong, models: &[(HistoryModel, &str)]| -> String {
                let share = |model| percent(of(i, model), of(i, strong));
                models.iter().map(|(model, _)| format!(" {:>5.1}", share(*model))).collect()
            };
            format!(
                "{name:>4} {histories:>4} {:>7}{} {:>8}{}\n",
                of(0, Sc),
                shares(0, Sc, &OF_SC),
                of(1, Tso),
                shares(1, Tso, &OF_TSO)
            )
        };
        let json = || {
            let counts = |i: usize, of_what: &[(HistoryModel, &str)]| -> Map<String, Value> {
                of_what.iter().map(|&(m, _)| (m.key().to_owned(), of(i, m).into())).collect()
            };
            json!({
                "table": HistoryTable::Caught.key(), "cpus": cpus, "histories": histories,
                "not_sc": of(0, Sc), "of_sc": counts(0, &OF_SC),
                "not_tso": of(1, Tso), "of_tso": counts(1, &OF_TSO),
            })
        };
        tables.row(&mut rows, text, json)?;
    }
    tables.note(format_args!(
        "n: histories with 50 operations for each CPU, of the four protocols with all their bugs in turn. Of those that violate SC (or \
             TSO), how many of 100 violate the weaker model, too."
    ))?;
    tables.text(format_args!("\n"))
}

/// Per model whether a history violates it.
fn violated(ops: &History) -> Result<[bool; HistoryModel::ALL.len()]> {
    let method = Method { complete: Complete::Auto, saturate: true };
    let mut violated = [false; HistoryModel::ALL.len()];
    for model in HistoryModel::ALL {
        match &check(ops, model, method, &LIMITS, &mut Silent)?.verdict {
            Verdict::Holds => {}
            Verdict::Violated => violated[model as usize] = true,
            Verdict::Unknown(limit) => return Err(anyhow!("stopped at a limit: {limit:?}")),
        }
    }
    Ok(violated)
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}
