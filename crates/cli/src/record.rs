//! `weakspot record`.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, anyhow, bail};
use indicatif::HumanCount;
use weakspot_core::Ops;
use weakspot_gen::{Client, Layout, MOST_CPUS};
use weakspot_trace::{HistoryReader, LogError};

use crate::args::RecordArgs;
use crate::exit::Exit;
use crate::generate::{output_format, write};
use crate::output::{Sink, spare_inputs};

/// Runs a random client, or those of a file, on real threads.
pub(crate) fn run(args: &RecordArgs) -> Result<Exit> {
    let layout = if args.packed { Layout::Packed } else { Layout::Apart };
    spare_inputs("-o", args.output.as_deref(), args.client.as_slice())?;
    let format = output_format(args.output.as_deref())?;
    let mut sink = Sink::create(args.output.as_deref())?;
    let (mut histories, mut operations, mut seconds) = (0, 0, 0.0);
    let mut record = |id: &str, client: &Ops, vars: Option<Vec<String>>| -> Result<()> {
        let (mut history, time) = weakspot_gen::record(client, layout);
        history.names.vars = vars.unwrap_or(history.names.vars);
        histories += 1;
        operations += client.len();
        seconds += time.as_secs_f64();
        write(&mut sink, format, id, history)
    };
    if let Some(path) = &args.client {
        let name = path.display().to_string();
        let source: Box<dyn Read + Send> = match path.as_os_str() == "-" {
            true => Box::new(std::io::stdin()),
            false => {
                let file = File::open(path);
                Box::new(file.with_context(|| format!("failed to read {name}"))?)
            }
        };
        let wrong = |error: LogError| anyhow!(error.of(&name));
        let mut reader = HistoryReader::sniff(source).map_err(wrong)?;
        let mut number = 0;
        while let Some(client) = reader.next().map_err(wrong)? {
            number += 1;
            if client.ops.threads() > MOST_CPUS {
                bail!("{name}: history {number} has more than {MOST_CPUS} threads");
            }
            let id = client.id.unwrap_or_else(|| format!("cpu-{number}"));
            record(&id, &client.ops, Some(client.names.vars))?;
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
    sink.finish()?;
    if !args.quiet {
        let rate = operations as f64 / seconds.max(1e-9) / 1e6;
        let of = if histories == 1 {
            String::new()
        } else {
            format!("{} histories: ", HumanCount(histories))
        };
        let operations = HumanCount(operations as u64);
        eprintln!("{of}{operations} operations in {seconds:.6} s, {rate:.1} million per second");
    }
    Ok(Exit::Holds)
}
