//! Histories as JSON Lines: one history per line, as the checkers read them.

use std::io::{self, Write};

use weakspot_core::OpKind;

use crate::Recorded;

/// Writes one line.
///
/// # Errors
/// What the sink says.
pub fn write_jsonl(sink: &mut impl Write, id: &str, history: &Recorded) -> io::Result<()> {
    let Recorded { ops, names, .. } = history;
    // Ids and names are ours: letters, digits and dashes, nothing to escape.
    write!(sink, "{{\"id\":\"{id}\",\"threads\":[")?;
    let mut line = Vec::with_capacity(1 << 16);
    for t in 0..ops.threads() {
        line.extend_from_slice(if t == 0 { b"[" } else { b",[" });
        for op in ops.of_thread(t) {
            if op != ops.of_thread(t).start {
                line.push(b',');
            }
            let value = names.values[op as usize];
            let var = names.vars.get(ops.var(op) as usize).map_or("", String::as_str);
            match ops.kind(op) {
                OpKind::Fence => line.extend_from_slice(b"{\"kind\":\"f\"}"),
                OpKind::Read => {
                    write!(line, "{{\"kind\":\"r\",\"var\":\"{var}\",\"val\":{value}}}")?;
                }
                OpKind::Write => {
                    write!(line, "{{\"kind\":\"w\",\"var\":\"{var}\",\"val\":{value}}}")?;
                }
                OpKind::Update => {
                    let old = match ops.from(op) {
                        Some(from) => names.values[from as usize],
                        None => names.initial[ops.var(op) as usize],
                    };
                    write!(
                        line,
                        "{{\"kind\":\"u\",\"var\":\"{var}\",\"old\":{old},\"new\":{value}}}"
                    )?;
                }
            }
            if line.len() > (1 << 16) - 128 {
                sink.write_all(&line)?;
                line.clear();
            }
        }
        line.push(b']');
    }
    line.extend_from_slice(b"]}\n");
    sink.write_all(&line)
}
