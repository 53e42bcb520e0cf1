//! Operations as Jepsen writes them, in EDN: maps such as `{:type :ok, :process 0, :f :txn, :value [...]}`, one
//! after the other or in a vector or list.

use super::form::{Form, blank, form};
use crate::history::scan::{Cursor, Scan, fault};

/// Where in a file of operations a reader is.
#[derive(Default)]
pub(in crate::history) struct Operations {
    /// The bracket that ends the vector or list in which the maps are.
    bracket: Option<u8>,
}

/// What comes next.
pub(in crate::history) enum Next<'a> {
    /// Nothing.
    End,
    /// A bracket, or an operation of the nemesis or its like, which are no clients.
    Nothing,
    /// An operation.
    Operation(Operation<'a>),
}

/// What a map says.
pub(in crate::history) struct Operation<'a> {
    /// Where it begins.
    pub(in crate::history) at: usize,
    /// The number of the process.
    pub(in crate::history) process: String,
    /// `:invoke`, `:ok`, `:fail` or `:info`.
    pub(in crate::history) kind: &'a [u8],
    pub(in crate::history) f: Option<Form<'a>>,
    pub(in crate::history) value: Option<Form<'a>>,
}

impl Operations {
    /// Reads the next bracket or map.
    pub(in crate::history) fn next<'a>(&mut self, cursor: &mut Cursor<'a>) -> Scan<Next<'a>> {
        match blank(cursor)? {
            None if self.bracket.is_some() => {
                return cursor.unexpected("the end of the vector or list of operations");
            }
            None => return Ok(Next::End),
            Some(next) if self.bracket == Some(next) => {
                cursor.at += 1;
                self.bracket = None;
            }
            Some(open @ (b'[' | b'(')) if self.bracket.is_none() => {
                cursor.at += 1;
                self.bracket = Some(if open == b'[' { b']' } else { b')' });
            }
            Some(_) => {
                let at = cursor.at;
                match form(cursor)? {
                    Form::Map(members) => {
                        let operation = operation(members, at)?;
                        return Ok(operation.map_or(Next::Nothing, Next::Operation));
                    }
                    _ => return fault(at, "expected an operation, a map such as {:type :ok …}"),
                }
            }
        }
        Ok(Next::Nothing)
    }
}

fn operation<'a>(mut members: Vec<(Form<'a>, Form<'a>)>, at: usize) -> Scan<Option<Operation<'a>>> {
    let mut take = |name: &[u8]| {
        let is = |(key, _): &(Form<'_>, Form<'_>)| matches!(key, Form::Name(n) if *n == name);
        members.iter().position(is).map(|found| members.remove(found).1)
    };
    let process = match take(b"process") {
        Some(Form::Int(process)) if process >= 0 => process.to_string(),
        Some(Form::Name(_)) => return Ok(None),
        _ => return fault(at, "an operation without `:process`, a number or a keyword"),
    };
    let Some(Form::Name(kind)) = take(b"type") else {
        return fault(at, "an operation without `:type`");
    };
    let (f, value) = (take(b"f"), take(b"value"));
    Ok(Some(Operation { at, process, kind, f, value }))
}
