//! JSON Lines: one event per line, or one trace per line with its events in an array. A trace
//! that is spread over several lines is read as well.

mod event;
mod read;
mod scan;
mod write;

pub(crate) use read::Json;
pub(crate) use write::Writer;

/// The characters of a string with quotes, as bytes that need not be UTF-8 text.
pub(crate) fn unquoted(raw: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let inner = &raw[1..raw.len() - 1];
    if !inner.contains(&b'\\') {
        return std::borrow::Cow::Borrowed(inner);
    }
    let text: String = serde_json::from_slice(raw).unwrap_or_default();
    std::borrow::Cow::Owned(text.into_bytes())
}
