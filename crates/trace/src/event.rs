//! What all formats have in common about events: their words, and which of them make sense.

use weakspot_core::{LogEvent, LogKind, LogTables, LogValue};

/// What stands behind the word of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// Nothing.
    None,
    /// A location.
    Loc,
    /// Another thread.
    Thread,
}

/// The kind of event that a word stands for; the short words are those of histories.
pub(crate) fn kind_of(word: &str) -> Result<LogKind, String> {
    let short = match word {
        "r" => Some(LogKind::Read),
        "w" => Some(LogKind::Write),
        "u" => Some(LogKind::Update),
        "f" => Some(LogKind::Fence),
        _ => None,
    };
    let long = || LogKind::ALL.into_iter().find(|&k| k.word() == word);
    short.or_else(long).ok_or_else(|| {
        format!(
            "unknown event `{word}`: expected rd, wr, upd, acq, rel, fence, ssfence, spawn, join, \
             begin, end or com"
        )
    })
}

/// What events of this kind are about.
pub(crate) fn operand(kind: LogKind) -> Operand {
    match kind {
        LogKind::Fence | LogKind::StoreFence | LogKind::Begin | LogKind::End => Operand::None,
        LogKind::Spawn | LogKind::Join => Operand::Thread,
        _ => Operand::Loc,
    }
}

/// Whether the value can be told that events of this kind read or write. Of locks it is not.
pub(crate) fn has_value(kind: LogKind) -> bool {
    matches!(kind, LogKind::Read | LogKind::Write | LogKind::Update)
}

/// How many numbers [`LogEvent::loc`] may have in an event of this kind.
pub(crate) fn loc_limit(kind: LogKind, tables: &LogTables) -> u32 {
    match operand(kind) {
        Operand::None => 1,
        Operand::Loc => tables.locs.len() as u32,
        Operand::Thread => tables.threads.len() as u32,
    }
}

/// What is wrong with an event, if anything.
pub(crate) fn check(
    event: &LogEvent,
    value: Option<LogValue>,
    tables: &LogTables,
) -> Result<(), String> {
    let LogEvent { thread, kind, valued, loc, site, .. } = *event;
    if usize::from(thread) >= tables.threads.len() {
        return Err(format!("thread {thread}, of {}", tables.threads.len()));
    }
    if loc >= loc_limit(kind, tables) {
        return Err(match operand(kind) {
            Operand::None => format!("`{}` has no location, and this one has {loc}", kind.word()),
            Operand::Loc => format!("location {loc}, of {}", tables.locs.len()),
            Operand::Thread => format!("thread {loc}, of {}", tables.threads.len()),
        });
    }
    if site as usize > tables.sites.len() {
        return Err(format!("source position {}, of {}", site - 1, tables.sites.len()));
    }
    if valued != value.is_some() {
        return Err("an event whose value is missing".into());
    }
    if valued && !has_value(kind) {
        return Err(format!("`{}` with a value", kind.word()));
    }
    if value.is_some_and(|v| v.old.is_some()) && kind != LogKind::Update {
        return Err(format!("`{}` with an old value", kind.word()));
    }
    Ok(())
}
