//! Words as they are typed into a shell.

/// A command line of these words.
#[must_use]
pub fn typed<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// A word as it is typed into a shell.
fn quoted(word: &str) -> String {
    // Terminals show control characters in some way of their own, or obey them.
    if word.contains(char::is_control) {
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    // No word of a command line has a zero byte, which is all that cannot be quoted.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned())
}

/// A character as it stands between `$'` and `'`.
fn escaped(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        letter if letter.is_control() => {
            letter.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        letter => letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, expected) in
            [("./sb", "./sb"), ("./a b", "'./a b'"), ("a;rm", "'a;rm'"), ("it's", "\"it's\"")]
        {
            assert_eq!(quoted(word), expected);
            let back = shlex::split(&quoted(word));
            assert_eq!(back, Some(vec![word.to_owned()]));
        }
        assert_eq!(quoted("./a\nit's\\ \u{1b}[1mé\u{85}"), r"$'./a\nit\'s\\ \033[1mé\302\205'");
    }
}
