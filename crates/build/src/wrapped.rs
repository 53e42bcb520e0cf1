//! Calls of libc's functions whose accesses are announced, in the assembly that a compiler has written for a linker that does
//! not know of them: that of a crate, whose Rust code has calls of the same functions that are not to be announced.

use crate::compiler::WRAPS;

/// The text with `__wrap_NAME` in the place of the functions that it calls and does not define.
#[must_use]
pub(crate) fn rename(text: &str) -> String {
    let mut out = text.to_owned();
    let named = WRAPS.split(',').filter_map(|option| option.trim().strip_prefix("--wrap="));
    for name in named.filter(|name| is_called(text, name)) {
        out += &format!("\t.set\t{name}, __wrap_{name}\n");
    }
    out
}

fn is_called(text: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
    let mut mentioned = false;
    for (at, _) in text.match_indices(name) {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        if before.ends_with(in_name) || after.starts_with(in_name) {
            continue;
        }
        if after.starts_with(':') && (before.is_empty() || before.ends_with('\n')) {
            return false;
        }
        // Names in strings, such as those of debug information, are no calls.
        mentioned |= !before.ends_with('"');
    }
    mentioned
}

#[cfg(test)]
mod tests {
    use super::rename;

    #[test]
    fn what_is_called_by_another_name() {
        for (text, renamed) in [
            ("\tcall\tmemcpy@PLT\n", "\t.set\tmemcpy, __wrap_memcpy\n"),
            ("\tmovq\tstrlen@GOTPCREL(%rip), %rax\n", "\t.set\tstrlen, __wrap_strlen\n"),
            ("\tcall\tmy_memcpy\n\tcall\tmemcpy2\n", ""),
            ("\t.string\t\"memcpy\"\n", ""),
            // One of its own.
            ("\tcall\tmemset\nmemset:\n\tret\n", ""),
        ] {
            assert_eq!(rename(text), format!("{text}{renamed}"));
        }
    }
}
