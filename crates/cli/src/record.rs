//! `weakspot record`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;
use weakspot_core::{INITIAL, OpKind, Ops};
use weakspot_gen::{Client, Layout, MOST_CPUS, write_jsonl};

use crate::args::RecordArgs;
use crate::exit::Exit;
use crate::generate::sink;

/// Runs a random client, or those of a file, on real threads.
pub(crate) fn run(args: &RecordArgs) -> Result<Exit> {
    let layout = if args.packed { Layout::Packed } else { Layout::Apart };
    let mut sink = sink(args.output.as_deref())?;
    let mut record = |id: &str, client: &Ops, vars: Option<Vec<String>>| -> Result<()> {
        let (mut history, time) = weakspot_gen::record(client, layout);
        history.names.vars = vars.unwrap_or(history.names.vars);
        if !args.quiet {
            let (ops, seconds) = (client.len(), time.as_secs_f64());
            let rate = ops as f64 / seconds.max(1e-9) / 1e6;
            eprintln!("{id}: {ops} operations in {seconds:.6} s, {rate:.1} million per second");
        }
        Ok(write_jsonl(&mut sink, id, &history)?)
    };
    if let Some(path) = &args.client {
        let name = path.display().to_string();
        for (number, line) in open(path)?.lines().enumerate() {
            let line = line.with_context(|| format!("failed to read {name}"))?;
            if line.trim().is_empty() {
                continue;
            }
            let place = || format!("{name}:{}", number + 1);
            let (id, client, vars) = read_client(&line).with_context(place)?;
            record(&id.unwrap_or_else(|| format!("cpu-{}", number + 1)), &client, Some(vars))?;
        }
    } else {
        let processors = std::thread::available_parallelism().map_or(2, usize::from).max(2);
        let mix = &args.mix;
        let client = Client {
            cpus: args.cpus.unwrap_or(processors),
            operations: args.operations,
            variables: mix.variables,
            read_ratio: mix.read_ratio,
            updates: mix.updates,
            fences: mix.fences,
            seed: mix.seed,
        };
        record(&format!("cpu-{}", mix.seed), &client.operations()?, None)?;
    }
    sink.flush()?;
    Ok(Exit::Holds)
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let file = std::fs::File::open(path);
    let file = file.with_context(|| format!("failed to read {}", path.display()))?;
    Ok(Box::new(BufReader::new(file)))
}

/// The id, the operations and the names of the variables of a history. Values are not looked at.
fn read_client(line: &str) -> Result<(Option<String>, Ops, Vec<String>)> {
    let json: Json = serde_json::from_str(line)?;
    let Some(threads) = json["threads"].as_array() else {
        bail!("expected a history with `threads`");
    };
    if threads.len() > MOST_CPUS {
        bail!("more than {MOST_CPUS} threads");
    }
    let mut ops = Ops::new();
    let mut vars: Vec<String> = Vec::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for (t, thread) in threads.iter().enumerate() {
        ops.thread();
        let Some(thread) = thread.as_array() else { bail!("thread {t} is not a list") };
        for (i, op) in thread.iter().enumerate() {
            let kind = match op["kind"].as_str() {
                Some("r") => OpKind::Read,
                Some("w") => OpKind::Write,
                Some("u") => OpKind::Update,
                Some("f") => OpKind::Fence,
                _ => bail!("operation {i} of thread {t}: expected the `kind` r, w, u or f"),
            };
            let mut var = 0;
            if kind != OpKind::Fence {
                let Some(name) = op["var"].as_str() else {
                    bail!("operation {i} of thread {t} has no `var`");
                };
                var = *numbers.entry(name).or_insert_with(|| {
                    vars.push(name.to_owned());
                    vars.len() as u32 - 1
                });
            }
            if ops.len() == Ops::MOST {
                bail!("more than {} operations", Ops::MOST);
            }
            ops.push(kind, var, INITIAL);
        }
    }
    Ok((json["id"].as_str().map(str::to_owned), ops, vars))
}
