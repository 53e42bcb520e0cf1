//! `weakspot record`.

use anyhow::{Result, anyhow, bail};
use weakspot_core::History;
use weakspot_gen::{Layout, MOST_THREADS};
use weakspot_input::open_histories;
use weakspot_trace::LogError;

use crate::args::{Clients, RecordArgs};
use crate::generate::write;
use weakspot_jobs::exit::Exit;
use weakspot_jobs::interrupt;
use weakspot_jobs::output::{Sink, spare_inputs};
use weakspot_jobs::terminal::Count;

/// Runs a random client, or those of a file, on real threads.
pub(crate) fn run(args: &RecordArgs) -> Result<Exit> {
    let layout = if args.packed { Layout::Packed } else { Layout::Apart };
    if let Clients::Of(file, _) = &args.clients {
        spare_inputs("-o", args.output.as_deref(), std::slice::from_ref(file))?;
    }
    let mut sink = Sink::create(args.output.as_deref())?;
    let (mut histories, mut operations, mut seconds) = (0, 0, 0.0);
    let mut record = |id: &str, client: &History, vars: Option<Vec<String>>| -> Result<()> {
        if client.threads() > MOST_THREADS {
            bail!("{id}: more than {MOST_THREADS} threads");
        }
        let (mut history, time) = weakspot_gen::record(client, layout);
        history.names.vars = vars.unwrap_or(history.names.vars);
        histories += 1;
        operations += client.len();
        seconds += time.as_secs_f64();
        write(&mut sink, args.format, id, history)
    };
    match &args.clients {
        Clients::Of(file, format) => {
            let name = file.display().to_string();
            let wrong = |error: LogError| anyhow!(error.of(&name));
            let mut reader =
                open_histories(file, *format, None, interrupt::stop(None), None).map_err(wrong)?;
            let mut number = 0;
            while let Some(client) = reader.next().map_err(wrong)? {
                number += 1;
                let id = client.id.unwrap_or_else(|| format!("cpu-{number}"));
                record(&id, &client.ops, Some(client.names.vars))?;
            }
        }
        Clients::Random(client) => {
            record(&format!("cpu-{}", client.seed), &client.operations()?, None)?;
        }
    }
    sink.finish()?;
    if !args.quiet {
        let rate = operations as f64 / seconds.max(1e-9) / 1e6;
        let of = if histories == 1 {
            String::new()
        } else {
            format!("{} histories: ", Count(histories))
        };
        let operations = Count(operations as u64);
        eprintln!("{of}{operations} operations in {seconds:.6} s, {rate:.1} million per second");
    }
    Ok(Exit::Holds)
}
