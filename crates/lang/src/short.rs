//! Messages that fit on a screen, whatever the text is that they quote.

use weakspot_core::Diagnostic;

/// Messages with more characters are cut.
const MOST: usize = 1_000;

/// The diagnostic with each of its texts cut in the middle, where a name of any length may stand.
pub(crate) fn short(mut diagnostic: Diagnostic) -> Diagnostic {
    let Diagnostic { message, expected, help, .. } = &mut diagnostic;
    for text in [message, expected].into_iter().chain(help) {
        let characters = text.chars().count();
        if characters > MOST {
            let head: String = text.chars().take(MOST / 2).collect();
            let tail: String = text.chars().skip(characters - MOST / 4).collect();
            *text = format!("{head}...{tail}");
        }
    }
    diagnostic
}

#[cfg(test)]
mod tests {
    use crate::{Format, parse, reprint};

    #[test]
    fn long_names_do_not_make_long_messages() {
        let name = "é".repeat(5) + &"y".repeat(100_000);
        let texts = [
            (Format::Weak, format!("shared x\nthread p {{ {name} = 1 }}")),
            (Format::Weak, format!("shared x\nthread p {{ {} = 1 }}", "y".repeat(100_000))),
            (Format::Litmus, format!("X86 A\n{{}}\n P0 ;\n {name} ;\nexists (x=1)")),
            (Format::Trencher, format!("thread a initial q0 transition q0 q1 {name} end")),
            (Format::Memorax, format!("forbidden {name}")),
            (Format::C, format!("int main(void) {{ {} = 1; }}", "y".repeat(100_000))),
        ];
        for (format, text) in texts {
            for error in [parse(format, &text).err(), reprint(format, &text).err()].iter().flatten()
            {
                let help = error.help.as_deref().unwrap_or_default();
                for text in [&error.message[..], &error.expected, help] {
                    assert!(text.chars().count() <= 1_000, "{format:?}: {} long", text.len());
                }
            }
            assert!(parse(format, &text).is_err(), "{format:?}");
        }
    }

    #[test]
    fn the_ends_stay() {
        let text = format!("shared x\nthread p {{ {} = 1 }}", "y".repeat(100_000));
        let error = parse(Format::Weak, &text).expect_err("an unknown name");
        assert!(error.message.starts_with("unknown name `yyy"), "{}", error.message);
        assert!(error.message.contains("y...y") && error.message.ends_with("y`"));
    }
}
