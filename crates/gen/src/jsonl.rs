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
    write!(sink, "{{\"id\":{},\"threads\":[", quoted(id))?;
    let vars: Vec<String> = names.vars.iter().map(|var| quoted(var)).collect();
    let mut line = Vec::with_capacity(1 << 16);
    for t in 0..ops.threads() {
        line.extend_from_slice(if t == 0 { b"[" } else { b",[" });
        for op in ops.of_thread(t) {
            if op != ops.of_thread(t).start {
                line.push(b',');
            }
            let value = names.values[op as usize];
            let var = vars.get(ops.var(op) as usize).map_or("", String::as_str);
            match ops.kind(op) {
                OpKind::Fence => line.extend_from_slice(b"{\"kind\":\"f\"}"),
                OpKind::Read => {
                    write!(line, "{{\"kind\":\"r\",\"var\":{var},\"val\":{value}}}")?;
                }
                OpKind::Write => {
                    write!(line, "{{\"kind\":\"w\",\"var\":{var},\"val\":{value}}}")?;
                }
                OpKind::Update => {
                    let old = match ops.from(op) {
                        Some(from) => names.values[from as usize],
                        None => names.initial[ops.var(op) as usize],
                    };
                    write!(line, "{{\"kind\":\"u\",\"var\":{var},\"old\":{old},\"new\":{value}}}")?;
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

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            c if c < ' ' => quoted += &format!("\\u{:04x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use weakspot_core::{INITIAL, Ops};

    use super::*;

    #[test]
    fn every_kind_of_operation_has_its_form() {
        let mut ops = Ops::new();
        ops.thread();
        ops.push(OpKind::Write, 0, INITIAL);
        ops.push(OpKind::Fence, 0, INITIAL);
        ops.push(OpKind::Update, 0, 0);
        ops.thread();
        ops.push(OpKind::Read, 1, INITIAL);
        ops.push(OpKind::Update, 1, INITIAL);
        ops.thread();
        let mut history = Recorded::new(ops, None);
        history.names.vars[1] = "a\"b\n".to_owned();
        let mut line = Vec::new();
        write_jsonl(&mut line, "h\\1", &history).expect("a line");
        assert_eq!(
            String::from_utf8(line).expect("UTF-8"),
            concat!(
                r#"{"id":"h\\1","threads":[["#,
                r#"{"kind":"w","var":"x0","val":1},{"kind":"f"},"#,
                r#"{"kind":"u","var":"x0","old":1,"new":3}],"#,
                r#"[{"kind":"r","var":"a\"b\u000a","val":0},"#,
                r#"{"kind":"u","var":"a\"b\u000a","old":0,"new":5}],[]]}"#,
                "\n"
            )
        );
    }
}
