//! What a source hands out.

use weakspot_core::{History, OpKind, OpNames, Value};

/// A history, and the order in which its operations took effect if the source knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The operations, with what each read.
    pub ops: History,
    /// Names and values. A write writes its own number plus one, so that no value is written twice.
    pub names: OpNames,
    /// Every operation once, when it took effect: reads when they got their value, writes when all
    /// could see them. `None` if nobody knows, as for histories of real hardware.
    pub order: Option<Vec<u32>>,
}

impl Recorded {
    /// Puts names and values to a history.
    #[must_use]
    pub fn new(ops: History, order: Option<Vec<u32>>) -> Recorded {
        let values = (0..ops.len() as u32)
            .map(|op| match ops.kind(op) {
                OpKind::Fence => 0,
                OpKind::Read => ops.from(op).map_or(0, |from| Value::from(from) + 1),
                OpKind::Write | OpKind::Update => Value::from(op) + 1,
            })
            .collect();
        let names = OpNames {
            threads: (0..ops.threads()).map(|t| format!("t{t}")).collect(),
            vars: (0..ops.vars()).map(|v| format!("x{v}")).collect(),
            initial: vec![0; ops.vars()],
            values,
        };
        Recorded { ops, names, order }
    }
}
