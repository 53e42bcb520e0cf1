//! What every parser has to do with every text.

use std::fmt::Debug;

use weakspot_lang::{Diagnostic, Parsed};

/// Reads `bytes`, if they are text, in the language of these three functions. None of them may
/// panic, a printed tree has to be read as the same tree, and what is said about the text has to
/// have a place in it.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check<T: Debug + PartialEq>(
    bytes: &[u8],
    parse: impl Fn(&str) -> Result<T, Diagnostic>,
    print: impl Fn(&T) -> String,
    compile: impl Fn(&T) -> Result<Parsed, Diagnostic>,
) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let said = match parse(text) {
        Err(refused) => vec![refused],
        Ok(tree) => {
            let printed = print(&tree);
            match parse(&printed) {
                Ok(again) => assert_eq!(again, tree, "{text}\nis printed as\n{printed}"),
                Err(d) => panic!("{text}\nis printed as\n{printed}\nwhich is refused: {d:?}"),
            }
            match compile(&tree) {
                Err(refused) => vec![refused],
                Ok(parsed) => parsed.warnings,
            }
        }
    };
    for d in said {
        let place = text.get(d.span.start as usize..d.span.end as usize);
        assert!(place.is_some() && !d.message.is_empty(), "{d:?}\nin\n{text}");
    }
}
