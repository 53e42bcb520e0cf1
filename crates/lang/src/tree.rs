//! What all languages have in common: positions and names, and where a text begins and ends.

use weakspot_core::Span;

/// Where something stands in the source. All positions are equal, so that trees compare by what
/// they say and a printed tree equals the tree that it was parsed from.
#[derive(Clone, Copy, Debug, Default)]
pub struct At(pub Span);

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}

impl Eq for At {}

/// A name as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The characters.
    pub text: String,
    /// Where they stand.
    pub at: At,
}

/// Where the text begins: after the byte order mark that some editors put in front.
pub(crate) fn first_byte(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// Where the end of a text is reported: behind its last line that says something, so that the
/// mark is visible.
pub(crate) fn end_of_text(text: &str) -> Span {
    let end = text.trim_end().len();
    Span::new(end, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, parse};

    #[test]
    fn a_byte_order_mark_is_accepted_everywhere() {
        for (format, text) in [
            (Format::Litmus, "X86 T\n{}\nP0;\nNOP;\n"),
            (Format::Weak, "thread t { skip }\n"),
            (Format::Trencher, "thread t\ninitial q\nend\n"),
            (Format::Memorax, "forbidden * process text nop\n"),
        ] {
            let marked = parse(format, &format!("\u{feff}{text}"));
            let plain = parse(format, text);
            let shape = |p: Result<crate::Parsed, crate::Diagnostic>| {
                p.map(|p| (p.names.threads, p.program.threads.len())).map_err(|d| d.message)
            };
            let (marked, plain) = (shape(marked), shape(plain));
            assert!(plain.is_ok(), "{format:?}: {plain:?}");
            assert_eq!(marked, plain, "{format:?}");
        }
    }

    #[test]
    fn the_end_is_on_a_line_that_exists() {
        assert_eq!(end_of_text("a\nbc \n\n"), Span::new(4, 4));
        assert_eq!(end_of_text(" \n"), Span::new(0, 0));
    }
}
