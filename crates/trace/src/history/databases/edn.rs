//! Histories of registers as Jepsen writes them in EDN: maps such as
//! `{:type :ok, :process 0, :f :txn, :value [[:w :x 1] [:r :y nil]]}`, one after the other or in a
//! vector, and `:f :read`, `:write` or `:cas` of a single register or of a register per key.
//!
//! What is `:ok` has happened, what is `:fail` has not. Of the rest nobody knows: a write of it is
//! taken to have happened if its value was read, as the last operation of its process, and is left
//! out if not, which no read can tell. The order of the maps says when operations began and ended.

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;
use weakspot_core::{OpKind, SaidFrom, Times};

use super::form::Form;
use super::jepsen::{Next, Operation, Operations};
use super::txns::Txns;
use crate::history::build::Builder;
use crate::history::decoder::{Decoded, Decoder};
use crate::history::scan::{Cursor, Place, Scan, fault};

/// Reads map by map.
#[derive(Default)]
pub(crate) struct Edn {
    operations: Operations,
    /// What each process has begun to write.
    begun: FxHashMap<u32, Unknown>,
    /// Writes of which nobody knows whether they happened.
    unknown: Vec<Unknown>,
    /// How many operations each process has done.
    done: FxHashMap<u32, u32>,
    /// How many maps of clients there were: the clock.
    now: i64,
    txns: Txns,
}

/// Writes of one operation that may have happened.
struct Unknown {
    place: Place,
    thread: u32,
    writes: Vec<(u32, i64)>,
    /// How many operations the process had done.
    done: u32,
    /// When it began, if that is known.
    start: i64,
}

/// A read or write.
struct Micro<'a> {
    kind: OpKind,
    key: Form<'a>,
    /// `None` is `nil`.
    value: Option<i64>,
}

impl Decoder for Edn {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        builder.writes_first = true;
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

impl Edn {
    fn operation(
        &mut self,
        operation: &Operation<'_>,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<()> {
        let Operation { at, process, kind, f, value } = operation;
        let at = *at;
        self.now += 1;
        let micros = micros(f.as_ref(), value.as_ref()).or_else(|m| fault(at, m))?;
        let place = cursor.place(at);
        let thread = builder.numbered_thread(process.as_bytes()).or_else(|m| fault(at, m))?;
        match *kind {
            b"invoke" => {
                let writes = writes(&micros, builder).or_else(|m| fault(at, m))?;
                let done = self.done.get(&thread).copied().unwrap_or(0);
                let begun = Unknown { place, thread, writes, done, start: self.now };
                self.unknown.extend(self.begun.insert(thread, begun));
            }
            b"ok" => {
                let begun = self.begun.remove(&thread).map_or(i64::MIN, |begun| begun.start);
                let start = builder.len();
                for micro in &micros {
                    push(micro, place, thread, builder).or_else(|m| fault(at, m))?;
                }
                self.txns.end(start, true, builder);
                builder.say_times_since(start, Times { start: begun, end: self.now });
                *self.done.entry(thread).or_default() += (builder.len() - start) as u32;
            }
            b"fail" => {
                self.begun.remove(&thread);
                for (var, value) in writes(&micros, builder).or_else(|m| fault(at, m))? {
                    builder.drop_write(var, value);
                }
                self.txns.dropped += 1;
            }
            b"info" => {
                let writes = writes(&micros, builder).or_else(|m| fault(at, m))?;
                let done = self.done.get(&thread).copied().unwrap_or(0);
                let said = Unknown { place, thread, writes, done, start: i64::MIN };
                self.unknown.push(self.begun.remove(&thread).unwrap_or(said));
            }
            _ => return fault(at, "expected a `:type` of :invoke, :ok, :fail or :info"),
        }
        Ok(())
    }

    /// Decides which unknown writes have happened.
    fn end(mut self, builder: &mut Builder) -> Result<(), String> {
        let mut begun: Vec<Unknown> = self.begun.into_values().collect();
        begun.sort_by_key(|u| u.thread);
        self.unknown.extend(begun);
        let writes = self.unknown.iter().flat_map(|u| &u.writes).copied();
        let possible: FxHashSet<(u32, i64)> = writes.collect();
        let mut seen: FxHashSet<(u32, i64)> =
            builder.reads().filter(|read| possible.contains(read)).collect();
        for written in builder.written() {
            seen.remove(&written);
        }
        let (mut kept, mut lost) = (0, 0);
        for Unknown { place, thread, writes, done, start } in self.unknown {
            let total = writes.len();
            let writes: Vec<_> = writes.into_iter().filter(|w| seen.remove(w)).collect();
            kept += writes.len();
            lost += total - writes.len();
            if writes.is_empty() {
                continue;
            }
            let goes_on = self.done.get(&thread).copied().unwrap_or(0) > done;
            let thread = if goes_on { builder.extra_thread()? } else { thread };
            let first = builder.len();
            for (var, value) in writes {
                builder.push(place, thread, OpKind::Write, var, value)?;
            }
            builder.say_times_since(first, Times { start, end: i64::MAX });
        }
        if kept + lost > 0 {
            let verbs = |n: usize| if n == 1 { ("was", "is") } else { ("were", "are") };
            let ((were, are), (lost_were, lost_are)) = (verbs(kept), verbs(lost));
            builder.notes.push(format!(
                "of the writes of which it is not known whether they happened, {kept} {were} read \
                 and {are} counted as done, and {lost} {lost_were} not and {lost_are} left out"
            ));
        }
        self.txns.note(builder);
        Ok(())
    }
}

fn push(micro: &Micro<'_>, place: Place, thread: u32, builder: &mut Builder) -> Result<(), String> {
    let var = builder.var(&micro.key.name()?)?;
    builder.push(place, thread, micro.kind, var, micro.value.unwrap_or(0))?;
    if micro.kind == OpKind::Read && micro.value.is_none() {
        builder.say_from(place, SaidFrom::Initial);
    }
    Ok(())
}

fn writes(micros: &[Micro<'_>], builder: &mut Builder) -> Result<Vec<(u32, i64)>, String> {
    let mut writes = Vec::new();
    for micro in micros.iter().filter(|m| m.kind == OpKind::Write) {
        let var = builder.var(&micro.key.name()?)?;
        writes.extend(micro.value.map(|value| (var, value)));
    }
    Ok(writes)
}

/// What an operation does, by its `:f` and its `:value`.
fn micros<'a>(f: Option<&Form<'a>>, value: Option<&Form<'a>>) -> Result<Vec<Micro<'a>>, String> {
    let value = value.unwrap_or(&Form::Nil);
    match f {
        None | Some(Form::Nil | Form::Name(b"txn")) => match value {
            Form::Nil => Ok(Vec::new()),
            Form::List(micros) => micros.iter().map(micro).collect(),
            _ => {
                Err("expected a vector of reads and writes as the `:value` of a transaction".into())
            }
        },
        Some(Form::Name(b"read" | b"r")) => {
            let (key, value) = register(value);
            Ok(vec![Micro { kind: OpKind::Read, key, value: number(&value)? }])
        }
        Some(Form::Name(b"write" | b"w")) => {
            let (key, value) = register(value);
            let value = Some(number(&value)?.ok_or("a write of nil")?);
            Ok(vec![Micro { kind: OpKind::Write, key, value }])
        }
        Some(Form::Name(b"cas")) => {
            let (key, values) = match value {
                Form::List(pair) => match &pair[..] {
                    [key, Form::List(values)] => (key.clone(), values),
                    _ => (Form::Name(b"register"), pair),
                },
                _ => return Err("expected two values as the `:value` of :cas".into()),
            };
            let [old, new] = &values[..] else {
                return Err("expected two values as the `:value` of :cas".into());
            };
            let new = Some(number(new)?.ok_or("a write of nil")?);
            let old = Micro { kind: OpKind::Read, key: key.clone(), value: number(old)? };
            Ok(vec![old, Micro { kind: OpKind::Write, key, value: new }])
        }
        Some(_) => Err("expected an `:f` of :txn, :read, :write or :cas".into()),
    }
}

/// The key and the value, if it is one register per key.
fn register<'a>(value: &Form<'a>) -> (Form<'a>, Form<'a>) {
    match value {
        Form::List(pair) if pair.len() == 2 => (pair[0].clone(), pair[1].clone()),
        _ => (Form::Name(b"register"), value.clone()),
    }
}

fn micro<'a>(form: &Form<'a>) -> Result<Micro<'a>, String> {
    let expected = "expected a read or write of a register, such as [:r :x 1] or [:w :x 1]";
    let Form::List(parts) = form else { return Err(expected.into()) };
    let [Form::Name(kind), key, value] = &parts[..] else { return Err(expected.into()) };
    let kind = match *kind {
        b"r" | b"read" => OpKind::Read,
        b"w" | b"write" => OpKind::Write,
        other => {
            return Err(format!("{expected}, found :{}", String::from_utf8_lossy(other)));
        }
    };
    let value = number(value)?;
    if kind == OpKind::Write && value.is_none() {
        return Err("a write of nil".into());
    }
    Ok(Micro { kind, key: key.clone(), value })
}

fn number(form: &Form<'_>) -> Result<Option<i64>, String> {
    match form {
        Form::Nil => Ok(None),
        Form::Int(value) => Ok(Some(*value)),
        _ => Err("expected a value that is a whole number of 64 bits, or nil".into()),
    }
}
