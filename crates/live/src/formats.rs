//! What the formats of `printf` and `scanf` say about their arguments: which of them are addresses of memory
//! that is read or written.

/// An argument that a conversion of a format takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An integer, or a pointer that is only printed.
    Integer,
    /// An integer that says how many bytes of the string that follows are read at most.
    Precision,
    /// A floating-point number.
    Float,
    /// A `long double`.
    LongFloat,
    /// A string that is read, so many bytes at most.
    Text(Option<usize>),
    /// A string of wide characters.
    WideText,
    /// Where so many bytes are written.
    Out(usize),
    /// Where a string is written that was read.
    OutText,
    /// Where the number of bytes so far is written, in so many bytes.
    Count(usize),
}

/// The parts of a conversion, behind `%`.
struct Conversion<'a> {
    /// Flags, or `*` of `scanf`.
    suppressed: bool,
    width: Option<usize>,
    /// Arguments before the value: `*` as width and precision.
    width_argument: bool,
    precision: Option<usize>,
    precision_argument: bool,
    length: &'a [u8],
    kind: u8,
}

/// What a format of `printf` takes, in order. `None` if arguments are numbered, which nobody looks at.
pub fn printed(format: &[u8]) -> Option<Vec<Argument>> {
    let mut arguments = Vec::new();
    conversions(format, false, &mut |c| {
        if c.width_argument {
            arguments.push(Argument::Integer);
        }
        if c.precision_argument {
            arguments.push(if c.kind == b's' { Argument::Precision } else { Argument::Integer });
        }
        let wide = c.length == b"l" || c.length == b"L";
        arguments.push(match c.kind {
            b'%' | b'm' => return,
            b's' if wide => Argument::WideText,
            b'S' => Argument::WideText,
            b's' => Argument::Text(c.precision),
            b'n' => Argument::Count(size(c.length)),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' if c.length == b"L" => {
                Argument::LongFloat
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => Argument::Float,
            _ => Argument::Integer,
        });
    })?;
    Some(arguments)
}

/// Where a format of `scanf` writes to, in order.
pub fn scanned(format: &[u8]) -> Option<Vec<Argument>> {
    let mut arguments = Vec::new();
    conversions(format, true, &mut |c| {
        if c.suppressed || c.kind == b'%' {
            return;
        }
        arguments.push(match c.kind {
            b's' | b'[' => Argument::OutText,
            b'c' => Argument::Out(c.width.unwrap_or(1)),
            b'n' => Argument::Count(size(c.length)),
            b'p' => Argument::Out(8),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                Argument::Out(match c.length {
                    b"l" => 8,
                    b"L" => 16,
                    _ => 4,
                })
            }
            _ => Argument::Out(size(c.length)),
        });
    })?;
    Some(arguments)
}

/// The size of an integer.
fn size(length: &[u8]) -> usize {
    match length {
        b"hh" => 1,
        b"h" => 2,
        b"" => 4,
        _ => 8,
    }
}

fn conversions(format: &[u8], scan: bool, tell: &mut dyn FnMut(Conversion<'_>)) -> Option<()> {
    let mut at = 0;
    let digits = |at: &mut usize| {
        let from = *at;
        let mut n = 0_usize;
        while let Some(digit) = format.get(*at).filter(|b| b.is_ascii_digit()) {
            n = n.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
            *at += 1;
        }
        (*at > from).then_some(n)
    };
    while let Some(found) = format.get(at..)?.iter().position(|&b| b == b'%') {
        at += found + 1;
        while !scan && format.get(at).is_some_and(|b| b"-+ #0'I".contains(b)) {
            at += 1;
        }
        let star = |at: &mut usize| {
            let is = format.get(*at) == Some(&b'*');
            *at += usize::from(is);
            is
        };
        let starred = star(&mut at);
        let width = digits(&mut at);
        if format.get(at) == Some(&b'$') {
            return None;
        }
        let (mut precision, mut precision_argument) = (None, false);
        if !scan && format.get(at) == Some(&b'.') {
            at += 1;
            precision_argument = star(&mut at);
            precision = digits(&mut at).or((!precision_argument).then_some(0));
        }
        let from = at;
        // In `scanf`, `m` asks for memory.
        let lengths: &[u8] = if scan { b"hlLjztqm" } else { b"hlLjztq" };
        while format.get(at).is_some_and(|b| lengths.contains(b)) {
            at += 1;
        }
        let length = &format[from..at];
        let Some(&kind) = format.get(at) else { break };
        at += 1;
        if scan && kind == b'[' {
            // A `]` at the beginning, or behind `^`, belongs to the set.
            at += usize::from(format.get(at) == Some(&b'^'));
            at += usize::from(format.get(at) == Some(&b']'));
            while format.get(at).is_some_and(|&b| b != b']') {
                at += 1;
            }
            at = (at + 1).min(format.len());
        }
        if length.contains(&b'm') {
            return None;
        }
        tell(Conversion {
            suppressed: scan && starred,
            width,
            width_argument: !scan && starred,
            precision,
            precision_argument,
            length,
            kind,
        });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Argument::{Count, Float, Integer, LongFloat, Out, OutText, Precision, Text, WideText};

    #[test]
    fn what_is_printed() {
        for (format, expected) in [
            ("", &[][..]),
            ("100%% of %d", &[Integer]),
            ("%s: %5.3s|%-*.*s", &[Text(None), Text(Some(3)), Integer, Precision, Text(None)]),
            ("%.s %lld %zu %c", &[Text(Some(0)), Integer, Integer, Integer]),
            ("%f %Lg %ls %n %hhn", &[Float, LongFloat, WideText, Count(4), Count(1)]),
            ("%m %+08.3e %p %", &[Float, Integer]),
        ] {
            assert_eq!(printed(format.as_bytes()).as_deref(), Some(expected), "{format}");
        }
        assert_eq!(printed(b"%1$s"), None);
    }

    #[test]
    fn what_is_scanned() {
        for (format, expected) in [
            ("%d %hd %ld", &[Out(4), Out(2), Out(8)][..]),
            ("%s %*s %[^]a] %3c%n", &[OutText, OutText, Out(3), Count(4)]),
            ("%f %lf %Lf %p", &[Out(4), Out(8), Out(16), Out(8)]),
            ("%[]]x", &[OutText]),
        ] {
            assert_eq!(scanned(format.as_bytes()).as_deref(), Some(expected), "{format}");
        }
        for format in ["%ms", "%2$d"] {
            assert_eq!(scanned(format.as_bytes()), None, "{format}");
        }
    }
}
