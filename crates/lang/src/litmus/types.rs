//! The names of the types that initial states may mention.

use super::ast::CType;

/// Words that may make up a type besides the names of [`TYPES`].
pub(super) const QUALIFIERS: [&str; 5] = ["_Atomic", "volatile", "const", "unsigned", "signed"];

/// Names of types, with their bytes and whether they are signed.
pub(super) const TYPES: [(&str, u8, bool); 35] = [
    ("int", 4, true),
    ("int32_t", 4, true),
    ("uint32_t", 4, false),
    ("long", 8, true),
    ("int64_t", 8, true),
    ("uint64_t", 8, false),
    ("intptr_t", 8, true),
    ("uintptr_t", 8, false),
    ("size_t", 8, false),
    ("ssize_t", 8, true),
    ("char", 1, true),
    ("int8_t", 1, true),
    ("uint8_t", 1, false),
    ("short", 2, true),
    ("int16_t", 2, true),
    ("uint16_t", 2, false),
    ("bool", 1, false),
    ("_Bool", 1, false),
    ("atomic_int", 4, true),
    ("atomic_uint", 4, false),
    ("atomic_long", 8, true),
    ("atomic_ulong", 8, false),
    ("atomic_llong", 8, true),
    ("atomic_bool", 1, false),
    ("atomic_flag", 4, true),
    ("atomic_t", 4, true),
    ("atomic64_t", 8, true),
    ("atomic_long_t", 8, true),
    ("spinlock_t", 4, true),
    ("mutex_t", 4, true),
    ("u8", 1, false),
    ("u16", 2, false),
    ("u32", 4, false),
    ("u64", 8, false),
    ("void", 8, false),
];

/// The bytes of a type on an architecture with `word` bytes, and whether it is signed. An empty
/// name is the `int` that a lone `*` points to.
pub(super) fn type_of(ctype: &CType, word: u8) -> (u8, bool) {
    if ctype.pointer { (word, false) } else { named(&ctype.name, word) }
}

/// The same for the words of a type that is no pointer.
pub(super) fn named(name: &str, word: u8) -> (u8, bool) {
    let mut found = (4, true);
    let words: Vec<&str> = name.split(' ').collect();
    for w in &words {
        if let Some((_, bytes, signed)) = TYPES.iter().find(|(n, _, _)| n == w) {
            // `long int` and `short int` take their width from the other word.
            if *w != "int" || words.len() == 1 {
                found = (*bytes, *signed);
            }
        }
    }
    if words.contains(&"unsigned") {
        found.1 = false;
    }
    // On 32 bits, `long` and the integers that hold pointers are as wide as a word.
    let is_word = words.iter().filter(|w| **w == "long").count() == 1
        || words.iter().any(|w| ["intptr_t", "uintptr_t", "size_t", "ssize_t"].contains(w));
    if is_word {
        found.0 = word;
    }
    found
}

/// Whether a name is that of a type, or part of one. The short names are left to locations.
pub(super) fn is_type(name: &str) -> bool {
    let short = matches!(name, "u8" | "u16" | "u32" | "u64");
    !short && (QUALIFIERS.contains(&name) || TYPES.iter().any(|(n, _, _)| *n == name))
}

/// `1 byte`, `2 bytes`.
pub(super) fn bytes_of(n: u8) -> String {
    format!("{n} byte{}", if n == 1 { "" } else { "s" })
}
