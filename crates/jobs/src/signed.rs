//! Standard output says once which program wrote it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use weakspot_report::Tool;

use weakspot_args::OutputFormat;

/// What says in the first object of an output who wrote it.
pub const TOOL: Tool =
    Tool { name: "weakspot", version: env!("CARGO_PKG_VERSION"), commit: weakspot_args::COMMIT };

/// What goes to standard output next. The first object of JSON says what wrote it.
pub fn signed(format: OutputFormat, text: &str) -> Cow<'_, str> {
    static SIGNED: AtomicBool = AtomicBool::new(false);
    let is_first =
        format == OutputFormat::Json && !text.is_empty() && !SIGNED.swap(true, Ordering::Relaxed);
    if is_first { TOOL.sign(text).into() } else { text.into() }
}
