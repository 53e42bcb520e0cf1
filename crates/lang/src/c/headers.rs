//! Macros of the headers of the system that stand for numbers and texts.

/// What a header defines.
pub(super) fn macros(header: &str) -> Option<String> {
    match header {
        "limits.h" => Some(limits()),
        "stdint.h" | "stdatomic.h" => Some(widths()),
        "inttypes.h" => Some(widths() + &formats()),
        _ => None,
    }
}

/// The least and greatest numbers of a type of so many bits, as a compiler for x86-64 writes them.
fn range(bits: u32, signed: bool) -> (String, String) {
    let suffix = match (bits, signed) {
        (64, true) => "L",
        (64, false) => "UL",
        (32, false) => "U",
        _ => "",
    };
    if !signed {
        return ("0".to_owned(), format!("{}{suffix}", u64::MAX >> (64 - bits)));
    }
    let most = i64::MAX >> (64 - bits);
    (format!("(-{most}{suffix} - 1)"), format!("{most}{suffix}"))
}

/// `NAME_MIN` and `NAME_MAX`, and `UNAME_MAX`.
fn ranges(signed: &str, unsigned: &str, bits: u32) -> String {
    let (least, most) = range(bits, true);
    let (_, unsigned_most) = range(bits, false);
    format!(
        "#define {signed}_MIN {least}\n#define {signed}_MAX {most}\n#define {unsigned}_MAX {unsigned_most}\n"
    )
}

fn limits() -> String {
    let mut all = "#define CHAR_BIT 8\n#define CHAR_MIN (-128)\n#define CHAR_MAX 127\n".to_owned();
    let names = [("SCHAR", "UCHAR", 8), ("SHRT", "USHRT", 16), ("INT", "UINT", 32)];
    let longer = [("LONG", "ULONG", 64), ("LLONG", "ULLONG", 64)];
    for (signed, unsigned, bits) in names.into_iter().chain(longer) {
        all += &ranges(signed, unsigned, bits);
    }
    all
}

/// The macros of `stdint.h`.
fn widths() -> String {
    let mut all = String::new();
    for bits in [8, 16, 32, 64] {
        // The fast ones are what glibc takes.
        let fast = if bits == 8 { 8 } else { 64 };
        for (kind, width) in [("", bits), ("_LEAST", bits), ("_FAST", fast)] {
            all += &ranges(&format!("INT{kind}{bits}"), &format!("UINT{kind}{bits}"), width);
        }
        let (signed, unsigned) = match bits {
            64 => (" ## L", " ## UL"),
            32 => ("", " ## U"),
            _ => ("", ""),
        };
        all += &format!("#define INT{bits}_C(c) c{signed}\n#define UINT{bits}_C(c) c{unsigned}\n");
    }
    all += "#define INTMAX_C(c) c ## L\n#define UINTMAX_C(c) c ## UL\n";
    for name in ["INTMAX", "INTPTR"] {
        all += &ranges(name, &format!("U{name}"), 64);
    }
    all += &ranges("PTRDIFF", "SIZE", 64);
    let (least, most) = range(32, true);
    for name in ["SIG_ATOMIC", "WCHAR"] {
        all += &format!("#define {name}_MIN {least}\n#define {name}_MAX {most}\n");
    }
    all + &format!("#define WINT_MIN 0U\n#define WINT_MAX {}\n", range(32, false).1)
}

/// The macros of `inttypes.h`, which stand in what is printed.
fn formats() -> String {
    let mut all = String::new();
    for letter in ["d", "i", "o", "u", "x", "X"] {
        for (width, long) in
            [("8", ""), ("16", ""), ("32", ""), ("64", "l"), ("PTR", "l"), ("MAX", "l")]
        {
            for kind in ["", "LEAST", "FAST"] {
                all += &format!("#define PRI{letter}{kind}{width} \"{long}{letter}\"\n");
            }
        }
    }
    all
}
