//! Annotations as GitHub reads them from the output of a step.

use std::fmt::Write as _;

use super::{Level, Place, findings};
use crate::writer::{Description, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "github",
    about: "Annotations on the lines of a pull request, for GitHub Actions",
    writer: Writer::Each(github),
};

/// A line for each finding in some objects.
pub(super) fn github(objects: &str) -> String {
    let mut out = String::new();
    for finding in findings(objects) {
        let command = match finding.level {
            Level::Error => "error",
            Level::Note => "notice",
            Level::Open => "warning",
        };
        let Place { file, line, column } = &finding.place;
        let mut at = format!("file={}", property(file));
        line.iter().for_each(|line| at += &format!(",line={line}"));
        column.iter().for_each(|column| at += &format!(",col={column}"));
        let title = property(&format!("weakspot: {}", finding.rule));
        let mut message = finding.message.clone();
        // An annotation has one place. What is said about a history has the others in it.
        let in_words = |place: &Place| {
            let line = place.line.unwrap_or(0);
            [")", ","].iter().any(|end| finding.message.contains(&format!("line {line}{end}")))
        };
        for (place, text) in finding.related.iter().filter(|(place, _)| !in_words(place)) {
            let line = place.line.map_or(String::new(), |line| format!(":{line}"));
            let at = format!("{}{line}", place.file);
            message += &format!("\n{text}");
            // So has what is said about a late store, perhaps from a folder below.
            let mut said = text.split(" at ").skip(1).filter_map(|rest| rest.split(' ').next());
            if !said.any(|place| at.ends_with(place)) {
                message += &format!(" at {at}");
            }
        }
        let _ = writeln!(out, "::{command} {at},title={title}::{}", data(&message));
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
