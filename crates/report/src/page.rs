//! Answers as a page to look at and to send around: one file that needs no network. It holds the same
//! objects that `--format json` writes, the sources that they are about, and a script that shows them.

use crate::json::Tool;

/// The parts of the script, each of which uses those before it.
const SCRIPT: [&str; 7] = [
    include_str!("page/base.js"),
    include_str!("page/table.js"),
    include_str!("page/source.js"),
    include_str!("page/run.js"),
    include_str!("page/cycle.js"),
    include_str!("page/tables.js"),
    include_str!("page/page.js"),
];

/// The page of some answers, which are JSON Lines, of the command that made them, and of sources: files
/// with their texts.
#[must_use]
pub fn page(tool: &Tool, command: &str, answers: &str, sources: &[(String, String)]) -> String {
    let by = match tool.commit {
        Some(commit) => format!("{} {} ({commit})", tool.name, tool.version),
        None => format!("{} {}", tool.name, tool.version),
    };
    let mut out = String::new();
    let mut rest = include_str!("page/page.html");
    while let Some((before, after)) = rest.split_once('@') {
        out += before;
        let Some((name, after)) = after.split_once('@') else { break };
        rest = after;
        match name {
            "STYLE" => out += include_str!("page/page.css"),
            "SCRIPT" => out.extend(SCRIPT),
            // Nothing in a string can end the element that holds the data.
            "DATA" => out += &answers.replace('<', "\\u003c"),
            "SOURCES" => {
                for source in sources {
                    out += &escaped(&serde_json::to_string(source).unwrap_or_default());
                    out.push('\n');
                }
            }
            "TOOL" => out += &escaped(&by),
            _ => out += &escaped(command),
        }
    }
    out + rest
}

/// The files that answers, which are JSON Lines, say something about: at most so many.
#[must_use]
pub fn files_named(answers: &str, most: usize) -> Vec<String> {
    let mut files = Vec::new();
    for part in answers.split("\"file\":\"").skip(1) {
        // Up to the first quote that is not escaped.
        let mut is_escaped = false;
        let end = part.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let literal = format!("\"{}\"", end.map_or(part, |end| &part[..end]));
        if let Ok(file) = serde_json::from_str::<String>(&literal)
            && files.len() < most
            && !files.contains(&file)
        {
            files.push(file);
        }
    }
    files
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

    #[test]
    fn files_are_found() {
        let answers = r#"{"file":"a \"b\".c","run":{"steps":[{"file":"x.c"},{"file":"x.c"}]}}
{"file":"\\","message":"\"file\":\"no.c\""}"#;
        assert_eq!(files_named(answers, 9), ["a \"b\".c", "x.c", "\\"]);
        assert_eq!(files_named(answers, 1).len(), 1);
    }
}
