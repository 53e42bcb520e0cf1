//! Histories of transactions as Jepsen writes them for Elle, in EDN: reads and writes of registers,
//! `[[:w :x 1] [:r :y nil]]`, or lists to which elements are appended, `[[:append 3 1] [:r 3 [1 2]]]`.
//! Single operations of registers (`:f :read`, `:write` and `:cas`) are transactions of their own.
//!
//! What is `:ok` was committed, and what is `:fail` was not. Of the rest nobody knows: it counts as
//! committed if somebody has read what it wrote, and else is left out, which no read can tell.

use rustc_hash::{FxHashMap, FxHashSet};
use weakspot_core::{OpKind, SaidFrom, Value};

use super::form::Form;
use super::jepsen::{Next, Operation, Operations};
use crate::history::build::Builder;
use crate::history::decoder::{Decoded, Decoder};
use crate::history::scan::{Cursor, Place, Scan, fault};

/// Reads map by map.
#[derive(Default)]
pub(crate) struct Elle {
    operations: Operations,
    /// What each process has begun to write.
    begun: FxHashMap<u32, Unknown>,
    /// Transactions of which nobody knows whether they were committed.
    unknown: Vec<Unknown>,
    /// How many transactions each process has done.
    done: FxHashMap<u32, u32>,
    /// Whether variables are lists, once something says so.
    lists: Option<bool>,
}

/// A transaction that may have been committed.
struct Unknown {
    place: Place,
    process: u32,
    writes: Vec<(u32, Value)>,
    /// How many transactions the process had done.
    done: u32,
}

/// An operation of a transaction.
enum Micro<'a> {
    Write(Form<'a>, Value),
    Append(Form<'a>, Value),
    Read(Form<'a>, Seen),
}

/// What was read.
enum Seen {
    Nil,
    Value(Value),
    List(Vec<Value>),
}

impl Decoder for Elle {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        match self.operations.next(cursor)? {
            Next::End => {
                let at = cursor.at;
                std::mem::take(self).end(builder).or_else(|m| fault(at, m))?;
                return Ok(Decoded::End);
            }
            Next::Nothing => {}
            Next::Operation(operation) => self.operation(&operation, cursor, builder)?,
        }
        Ok(Decoded::Item)
    }
}

impl Elle {
    fn operation(
        &mut self,
        operation: &Operation<'_>,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<()> {
        let Operation { at, process, kind, f, value } = operation;
        let at = *at;
        let micros = micros(f.as_ref(), value.as_ref()).or_else(|m| fault(at, m))?;
        self.look(&micros).or_else(|m| fault(at, m))?;
        let place = cursor.place(at);
        let process = builder.numbered_thread(process.as_bytes()).or_else(|m| fault(at, m))?;
        match *kind {
            b"invoke" => {
                let begun = self.unknown(place, process, &micros, builder);
                let begun = begun.or_else(|m| fault(at, m))?;
                self.unknown.extend(self.begun.insert(process, begun));
            }
            b"ok" => {
                self.begun.remove(&process);
                for micro in &micros {
                    self.push(micro, place, process, builder).or_else(|m| fault(at, m))?;
                }
                builder.end_txn(true);
                *self.done.entry(process).or_default() += 1;
            }
            b"fail" => {
                self.begun.remove(&process);
                let failed = self.unknown(place, process, &micros, builder);
                let failed = failed.or_else(|m| fault(at, m))?;
                push_writes(&failed.writes, place, process, builder).or_else(|m| fault(at, m))?;
                builder.end_txn(false);
            }
            b"info" => {
                let said = self.unknown(place, process, &micros, builder);
                let said = said.or_else(|m| fault(at, m))?;
                self.unknown.push(self.begun.remove(&process).unwrap_or(said));
            }
            _ => return fault(at, "expected a `:type` of :invoke, :ok, :fail or :info"),
        }
        Ok(())
    }

    /// Notes whether variables are lists or registers.
    fn look(&mut self, micros: &[Micro<'_>]) -> Result<(), String> {
        for micro in micros {
            let says = match micro {
                Micro::Append(..) | Micro::Read(_, Seen::List(_)) => true,
                Micro::Write(..) | Micro::Read(_, Seen::Value(_)) => false,
                Micro::Read(_, Seen::Nil) => continue,
            };
            if *self.lists.get_or_insert(says) != says {
                return Err("lists and registers in one history".into());
            }
        }
        Ok(())
    }

    fn push(
        &self,
        micro: &Micro<'_>,
        place: Place,
        process: u32,
        builder: &mut Builder,
    ) -> Result<(), String> {
        match micro {
            Micro::Write(key, value) | Micro::Append(key, value) => {
                let var = builder.var(&key.name()?)?;
                builder.push(place, process, OpKind::Write, var, *value)
            }
            Micro::Read(key, seen) => {
                let var = builder.var(&key.name()?)?;
                let value = match seen {
                    Seen::Nil => 0,
                    Seen::Value(value) => *value,
                    Seen::List(elements) => elements.last().copied().unwrap_or(0),
                };
                builder.push(place, process, OpKind::Read, var, value)?;
                match seen {
                    Seen::Nil => builder.say_from(place, SaidFrom::Initial),
                    Seen::Value(_) => {}
                    Seen::List(elements) => {
                        let op = builder.len() - 1;
                        if let Some(marks) = &mut builder.marks {
                            marks.list(op, elements);
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn unknown(
        &self,
        place: Place,
        process: u32,
        micros: &[Micro<'_>],
        builder: &mut Builder,
    ) -> Result<Unknown, String> {
        let mut writes = Vec::new();
        for micro in micros {
            if let Micro::Write(key, value) | Micro::Append(key, value) = micro {
                writes.push((builder.var(&key.name()?)?, *value));
            }
        }
        let done = self.done.get(&process).copied().unwrap_or(0);
        Ok(Unknown { place, process, writes, done })
    }

    /// Decides which unknown transactions were committed.
    fn end(mut self, builder: &mut Builder) -> Result<(), String> {
        let mut begun: Vec<Unknown> = self.begun.into_values().collect();
        begun.sort_by_key(|u| u.process);
        self.unknown.extend(begun);
        let possible: FxHashSet<(u32, Value)> =
            self.unknown.iter().flat_map(|u| &u.writes).copied().collect();
        let mut seen: FxHashSet<(u32, Value)> = FxHashSet::default();
        if self.lists == Some(true) {
            if let Some(marks) = &mut builder.marks {
                marks.say_lists();
            }
            seen.extend(builder.read_elements().filter(|read| possible.contains(read)));
        } else {
            seen.extend(builder.reads().filter(|read| possible.contains(read)));
        }
        // What another transaction wrote for certain was read from that one.
        for written in builder.written() {
            seen.remove(&written);
        }
        let (mut kept, mut lost) = (0, 0);
        for Unknown { place, process, writes, done } in self.unknown {
            if !writes.iter().any(|write| seen.contains(write)) {
                lost += usize::from(!writes.is_empty());
                continue;
            }
            kept += 1;
            let goes_on = self.done.get(&process).copied().unwrap_or(0) > done;
            let process = if goes_on { builder.extra_thread()? } else { process };
            push_writes(&writes, place, process, builder)?;
            builder.end_txn(true);
        }
        if kept + lost > 0 {
            let verbs = |n: usize| if n == 1 { ("was", "is") } else { ("were", "are") };
            let ((were, are), (lost_were, lost_are)) = (verbs(kept), verbs(lost));
            builder.notes.push(format!(
                "of the transactions of which it is not known whether they were committed, {kept} \
                 {were} read from and {are} counted as committed, and {lost} {lost_were} not and \
                 {lost_are} left out"
            ));
        }
        if !builder.is_empty() {
            builder.unchecked.push("real-time order".into());
        }
        Ok(())
    }
}

fn push_writes(
    writes: &[(u32, Value)],
    place: Place,
    process: u32,
    builder: &mut Builder,
) -> Result<(), String> {
    for &(var, value) in writes {
        builder.push(place, process, OpKind::Write, var, value)?;
    }
    Ok(())
}

/// What an operation does, by its `:f` and its `:value`.
fn micros<'a>(f: Option<&Form<'a>>, value: Option<&Form<'a>>) -> Result<Vec<Micro<'a>>, String> {
    let value = value.unwrap_or(&Form::Nil);
    // A register per key, or a single one.
    let register = |value: &Form<'a>| match value {
        Form::List(pair) if pair.len() == 2 => (pair[0].clone(), pair[1].clone()),
        _ => (Form::Name(b"register"), value.clone()),
    };
    match f {
        None | Some(Form::Nil | Form::Name(b"txn")) => match value {
            Form::Nil => Ok(Vec::new()),
            Form::List(micros) => micros.iter().map(micro).collect(),
            _ => Err("expected a vector of operations as the `:value` of a transaction".into()),
        },
        Some(Form::Name(b"read" | b"r")) => {
            let (key, value) = register(value);
            Ok(vec![Micro::Read(key, seen(&value)?)])
        }
        Some(Form::Name(b"write" | b"w")) => {
            let (key, value) = register(value);
            Ok(vec![Micro::Write(key, written(&value)?)])
        }
        Some(Form::Name(b"cas")) => {
            let expected = "expected two values as the `:value` of :cas";
            let Form::List(pair) = value else { return Err(expected.into()) };
            let (key, values) = match &pair[..] {
                [key, Form::List(values)] => (key.clone(), values),
                _ => (Form::Name(b"register"), pair),
            };
            let [old, new] = &values[..] else { return Err(expected.into()) };
            Ok(vec![Micro::Read(key.clone(), seen(old)?), Micro::Write(key, written(new)?)])
        }
        Some(_) => Err("expected an `:f` of :txn, :read, :write or :cas".into()),
    }
}

fn micro<'a>(form: &Form<'a>) -> Result<Micro<'a>, String> {
    let expected = "expected an operation such as [:r :x 1], [:w :x 1] or [:append :x 1]";
    let Form::List(parts) = form else { return Err(expected.into()) };
    let [Form::Name(kind), key, value] = &parts[..] else { return Err(expected.into()) };
    match *kind {
        b"r" | b"read" => Ok(Micro::Read(key.clone(), seen(value)?)),
        b"w" | b"write" => Ok(Micro::Write(key.clone(), written(value)?)),
        b"append" => Ok(Micro::Append(key.clone(), written(value)?)),
        other => Err(format!("{expected}, found :{}", String::from_utf8_lossy(other))),
    }
}

fn seen(form: &Form<'_>) -> Result<Seen, String> {
    match form {
        Form::Nil => Ok(Seen::Nil),
        Form::List(elements) => {
            elements.iter().map(written).collect::<Result<_, _>>().map(Seen::List)
        }
        value => written(value).map(Seen::Value),
    }
}

fn written(form: &Form<'_>) -> Result<Value, String> {
    match form {
        Form::Int(value) => Ok(*value),
        Form::Nil => Err("a write of nil".into()),
        _ => Err("expected a value that is a whole number of 64 bits".into()),
    }
}
