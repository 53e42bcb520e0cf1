//! Answers as a page to look at and to send around: one file that needs no network. It holds the same
//! objects that `--format json` writes, and a script that shows them.

use crate::json::Tool;

/// The page of some answers, which are JSON Lines, and of the command that made them.
#[must_use]
pub fn page(tool: &Tool, command: &str, answers: &str) -> String {
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
            "SCRIPT" => out += include_str!("page/page.js"),
            // Nothing in a string can end the element that holds the data.
            "DATA" => out += &answers.replace('<', "\\u003c"),
            "TOOL" => out += &escaped(&by),
            _ => out += &escaped(command),
        }
    }
    out + rest
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
        let page = page(&tool, "weakspot <b> & \"x\"", data);
        assert_eq!(page.matches("<script").count(), 2);
        assert!(page.contains("\\u003c/script>\\u003cscript>alert(1)"), "{page}");
        assert!(page.contains("weakspot &lt;b&gt; &amp; &quot;x&quot;"), "{page}");
        assert!(page.ends_with("</html>\n"), "{page}");
    }
}
