//! Answers as a page to look at and to send around: one file that needs no network. It holds the same
//! objects that `--format json` writes, the sources that they are about, and a script that shows them.

use crate::json::Tool;
use crate::text::shell::typed;

/// The parts of the script, each of which uses those before it.
const SCRIPT: [&str; 8] = [
    include_str!("page/base.js"),
    include_str!("page/table.js"),
    include_str!("page/source.js"),
    include_str!("page/run.js"),
    include_str!("page/cycle.js"),
    include_str!("page/tables.js"),
    include_str!("page/exploration.js"),
    include_str!("page/page.js"),
];

/// What a page may do: nothing but what stands in it.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The page of some answers, which are JSON Lines, of the command that made them, and of sources: files
/// with their texts.
#[must_use]
pub fn page(tool: &Tool, command: &str, answers: &str, sources: &[(String, String)]) -> String {
    filled(|part| match part {
        "POLICY" => POLICY.to_owned(),
        "SCRIPT" => SCRIPT.concat(),
        // Nothing in a string can end the element that holds the data.
        "DATA" => answers.replace('<', "\\u003c"),
        "SOURCES" => {
            let line = |source| serde_json::to_string(source).unwrap_or_default() + "\n";
            sources.iter().map(|source| escaped(&line(source))).collect()
        }
        "AGAIN" => again(tool, command),
        _ => String::new(),
    })
}

/// The page on which questions are asked: with an editor, and in its menu examples and files by their names.
#[must_use]
pub fn page_to_ask(tool: &Tool, examples: &[&str], files: &[String]) -> String {
    filled(|part| match part {
        "POLICY" => format!("{POLICY}; connect-src 'self'"),
        "SCRIPT" => SCRIPT.concat() + include_str!("page/ask.js"),
        "ABOVE" => {
            let option = |(i, file): (usize, &str)| {
                format!("<option value=\"{i}\">{}</option>\n", escaped(file))
            };
            let named = examples.iter().copied().chain(files.iter().map(String::as_str));
            let options: String = named.enumerate().map(option).collect();
            include_str!("page/ask.html").replace("@FILES@", &options)
        }
        "AGAIN" => {
            // The examples are there without being named.
            let words = ["weakspot", "serve"].into_iter().chain(files.iter().map(String::as_str));
            again(tool, &typed(&words.collect::<Vec<_>>()))
        }
        _ => String::new(),
    })
}

/// A command with more characters, as a shell makes of `*.c`, is shown only to who asks for it.
const LONG: usize = 240;

/// Who wrote the page, and the command that does it again.
fn again(tool: &Tool, command: &str) -> String {
    let (tool, command) = (escaped(&by(tool)), escaped(command));
    match command.len() > LONG {
        true => format!(
            "<details class=\"soft\"><summary>{tool}. The command that does it again</summary>\
             <code>{command}</code></details>"
        ),
        false => format!("<p class=\"soft\">{tool}. Again by <code>{command}</code></p>"),
    }
}

fn by(tool: &Tool) -> String {
    match tool.commit {
        Some(commit) => format!("{} {} ({commit})", tool.name, tool.version),
        None => format!("{} {}", tool.name, tool.version),
    }
}

/// The page with its parts filled in.
fn filled(part: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = include_str!("page/page.html");
    while let Some((before, after)) = rest.split_once('@') {
        out += before;
        let Some((name, after)) = after.split_once('@') else { break };
        rest = after;
        match name {
            "STYLE" => out += include_str!("page/page.css"),
            _ => out += &part(name),
        }
    }
    out + rest
}

/// The files that answers, which are JSON Lines, are about: at most so many. Places in logs may have been
/// written by others, who could name any file; those of real programs come from their compiler.
#[must_use]
pub fn files_named(answers: &str, most: usize) -> Vec<String> {
    let mut files = Vec::new();
    for line in answers.lines() {
        let question = line.split("\"question\":\"").nth(1).unwrap_or_default();
        let is_real = ["run\"", "failures\"", "fence\""].iter().any(|q| question.starts_with(q));
        let within = if is_real { usize::MAX } else { 1 };
        for part in line.split("\"file\":\"").skip(1).take(within) {
            if let Some(file) = string_before_quote(part)
                && files.len() < most
                && !files.contains(&file)
            {
                files.push(file);
            }
        }
    }
    files
}

/// The string of JSON that ends in the first quote that is not escaped.
fn string_before_quote(text: &str) -> Option<String> {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })?;
    serde_json::from_str(&format!("\"{}\"", &text[..end])).ok()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        let tool = Tool { name: "weakspot", version: "1.0", commit: None };
        let data = "{\"file\":\"</script><script>alert(1)</script>.weak\"}\n";
        let sources = [("</pre><script>".to_owned(), "a\n<b>&".to_owned())];
        let page = page(&tool, "weakspot <b> & \"x\"", data, &sources);
        assert_eq!(page.matches("<script").count(), 2);
        assert!(page.contains("\\u003c/script>\\u003cscript>alert(1)"), "{page}");
        assert!(page.contains("weakspot &lt;b&gt; &amp; &quot;x&quot;"), "{page}");
        assert!(page.contains("&lt;/pre&gt;&lt;script&gt;"), "{page}");
        assert!(page.ends_with("</html>\n"), "{page}");
    }

    /// The files that are served are in the command, quoted for a shell; the examples are no files.
    #[test]
    fn served_again() {
        let tool = Tool { name: "weakspot", version: "1.0", commit: None };
        let page =
            page_to_ask(&tool, &["example: p"], &["a.weak".to_owned(), "b c.weak".to_owned()]);
        let again = "Again by <code>weakspot serve a.weak 'b c.weak'</code>";
        assert!(page.contains(again), "{page}");
        assert!(page.contains("<option value=\"0\">example: p</option>"), "{page}");
    }

    /// Parts of the script share their names, and a second function of one name would take the place of the first.
    #[test]
    fn names_are_different() {
        let script = SCRIPT.concat() + include_str!("page/ask.js");
        let mut names: Vec<&str> = script
            .lines()
            .filter_map(|line| {
                let words = ["async function ", "function ", "const ", "let "];
                let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
                rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
            })
            .collect();
        assert!(names.len() > 50, "{names:?}");
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }

    #[test]
    fn files_are_found() {
        let answers = r#"{"file":"a \"b\".c","question":"run","steps":[{"file":"x.c"},{"file":"x.c"}]}
{"file":"\\","question":"monitor","message":"\"file\":\"no.c\"","steps":[{"file":"/etc/passwd"}]}"#;
        assert_eq!(files_named(answers, 9), ["a \"b\".c", "x.c", "\\"]);
        assert_eq!(files_named(answers, 1).len(), 1);
    }
}
