//! SARIF 2.1.0: findings for editors and services that show them.

use serde_json::{Value, json};

use super::{Finding, Level, Place, findings};
use crate::json::Tool;
use crate::writer::{Description, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "sarif",
    about: "SARIF 2.1: findings for editors and services that show them",
    writer: Writer::Whole(sarif),
};

/// The findings in some objects as a SARIF log.
pub(super) fn sarif(tool: &Tool, objects: &str) -> String {
    let findings = findings(objects);
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rule = |id: &&str| json!({"id": id, "shortDescription": {"text": about(id)}});
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": tool.name,
                "version": tool.version,
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    });
    format!("{log:#}\n")
}

fn result(finding: &Finding) -> Value {
    let (kind, level) = match finding.level {
        Level::Error => ("fail", "error"),
        Level::Note => ("fail", "note"),
        Level::Open => ("open", "none"),
    };
    let mut result = json!({
        "ruleId": finding.rule,
        "kind": kind,
        "level": level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location(&finding.place)}],
    });
    let related = finding.related.iter().map(
        |(place, text)| json!({"physicalLocation": location(place), "message": {"text": text}}),
    );
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    let changes = finding
        .diff
        .as_deref()
        .map(|diff| changes(diff, finding.folder.as_deref()))
        .unwrap_or_default();
    if !changes.is_empty() {
        let description = json!({"text": "fences and stronger orders that fix it"});
        result["fixes"] = json!([{"description": description, "artifactChanges": changes}]);
    }
    result
}

fn location(place: &Place) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri(&place.file)}});
    if let Some(line) = place.line {
        location["region"] = json!({"startLine": line});
        if let Some(column) = place.column {
            location["region"]["startColumn"] = column.into();
        }
    }
    location
}

/// A path as the part of an address.
fn uri(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~+".contains(&b);
    let byte = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    let path: String = path.bytes().map(byte).collect();
    if path.starts_with('/') { format!("file://{path}") } else { path }
}

/// The changes of a unified diff of files below a folder, hunk by hunk.
fn changes(diff: &str, folder: Option<&str>) -> Vec<Value> {
    let mut changes: Vec<Value> = Vec::new();
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(file) = line.strip_prefix("+++ ") {
            let file = file.split('\t').next().unwrap_or(file);
            let file = folder.map_or(file.to_owned(), |folder| format!("{folder}/{file}"));
            changes.push(json!({"artifactLocation": {"uri": uri(&file)}, "replacements": []}));
        }
        let Some(old) = line.strip_prefix("@@ -").and_then(|rest| rest.split(' ').next()) else {
            continue;
        };
        let (start, count) = old.split_once(',').unwrap_or((old, "1"));
        let (Ok(start), Ok(count)) = (start.parse::<u64>(), count.parse::<u64>()) else { continue };
        let (mut text, mut left) = (String::new(), count);
        while let Some(line) = lines.peek().filter(|line| left > 0 || line.starts_with('+')) {
            let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            left -= u64::from(mark != "+" && left > 0);
            if mark != "-" {
                text += rest;
                text.push('\n');
            }
            lines.next();
        }
        let region =
            json!({"startLine": start, "startColumn": 1, "endLine": start + count, "endColumn": 1});
        if let Some(last) = changes.last_mut().and_then(|c| c["replacements"].as_array_mut()) {
            last.push(json!({"deletedRegion": region, "insertedContent": {"text": text}}));
        }
    }
    changes
}

/// What a rule is about.
fn about(rule: &str) -> &'static str {
    match rule {
        "not-sc" => {
            "Two accesses take effect in an order that sequential consistency does not have"
        }
        "fence" => "A fence or a stronger order is needed",
        "input" => "An input that cannot be read",
        "reach" => "A state that is forbidden can be reached",
        "litmus" => "The condition of a litmus test does not hold",
        "history" => "A recorded history does not satisfy a model",
        "serial" => "Transactions are not serializable",
        "robust" | "run" | "monitor" => "Something happens that sequential consistency does not do",
        _ => "An execution fails",
    }
}
