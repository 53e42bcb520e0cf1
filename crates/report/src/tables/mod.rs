//! Tables: rows of measurements, the summary of many answers, final states. A file for each format says how a
//! row is written in it.

pub(crate) mod csv;
pub(crate) mod markdown;
pub(crate) mod tabular;

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use crate::answer::ModelName;
use crate::format::Format;
use crate::json::Object;
use crate::writer::Writer;

/// The rows of a table while it is written, each of which comes as a JSON object.
#[derive(Clone, Debug)]
pub struct Rows {
    format: Format,
    /// The names of the columns, once they are known.
    columns: Vec<String>,
    /// Whether all rows have them, also those that lack a key.
    fixed: bool,
    begun: bool,
}

impl Rows {
    /// The columns are the keys of the rows.
    #[must_use]
    pub fn new(format: Format) -> Rows {
        Rows { format, columns: Vec::new(), fixed: false, begun: false }
    }

    /// The columns are known; keys that a row does not have are empty cells.
    #[must_use]
    pub fn with_columns(format: Format, columns: &[&str]) -> Rows {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Rows { format, columns, fixed: true, begun: false }
    }

    /// A row as it is written: as JSON it is the object itself, else a line of cells. The
    /// names of the columns come before the first row, and again where a table with others begins.
    pub fn written(&mut self, object: &str) -> String {
        let Writer::Table(table) = self.format.writer() else { return format!("{object}\n") };
        let cells = cells(object);
        let keys: Vec<String> = cells.iter().map(|(key, _)| key.clone()).collect();
        let mut out = String::new();
        if !self.fixed && self.columns != keys || !self.begun {
            if self.begun {
                out += self.end();
                out.push('\n');
            }
            if !self.fixed {
                self.columns = keys;
            }
            self.begun = true;
            let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
            out += &(table.head)(&columns);
        }
        let cell = |column: &String| {
            let known = cells.iter().find(|(key, _)| key == column);
            known.map_or("", |(_, cell)| cell.as_str())
        };
        let cells: Vec<&str> = self.columns.iter().map(cell).collect();
        out + &(table.line)(&cells)
    }

    /// What ends the table, if it has begun.
    #[must_use]
    pub fn end(&self) -> &'static str {
        match self.format.writer() {
            Writer::Table(table) if self.begun => table.end,
            _ => "",
        }
    }

    /// Whether a row was written.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun
    }
}

/// A row of texts as the object that it comes as.
#[must_use]
pub fn row_object(cells: &[(&str, &str)]) -> String {
    let mut row = Object::new();
    for (key, cell) in cells {
        row.string(key, cell);
    }
    row.end()
}

/// How many answers came to what, a line for each of these models. Each answer is the key of its model, or none for
/// an error that concerns them all, and `holds`, `violated`, `unknown` or `error`.
pub(crate) fn summary<'a, M: ModelName>(
    format: Format,
    models: &[M],
    answers: &[(Option<&'a str>, &'a str)],
) -> String {
    const ENDS: [&str; 4] = ["holds", "violated", "unknown", "error"];
    let mut rows = Rows::new(format);
    let mut out = String::new();
    for model in models.iter().map(|model| model.key()) {
        let count = |end: &str| {
            let here = |of: Option<&str>| of.is_none_or(|of| of == model);
            answers.iter().filter(|(of, came)| here(*of) && *came == end).count().to_string()
        };
        let mut row = Object::new();
        row.string("model", model);
        for end in ENDS {
            row.raw(end, count(end));
        }
        out += &rows.written(&row.end());
    }
    out + rows.end()
}

/// The keys and values of an object, in their order. What is inside of objects has the keys that
/// lead to it: `limit.kind`.
fn cells(object: &str) -> Vec<(String, String)> {
    struct Keys;
    impl<'de> Visitor<'de> for Keys {
        type Value = Vec<(String, Json)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    let mut parser = serde_json::Deserializer::from_str(object);
    let pairs = (&mut parser).deserialize_map(Keys).unwrap_or_default();
    let mut cells = Vec::new();
    for (key, value) in pairs {
        push_cells(&mut cells, key, &value);
    }
    cells
}

fn push_cells(cells: &mut Vec<(String, String)>, key: String, value: &Json) {
    let text = match value {
        Json::Object(inner) => {
            for (name, value) in inner {
                push_cells(cells, format!("{key}.{name}"), value);
            }
            return;
        }
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        value => value.to_string(),
    };
    cells.push((key, text));
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn rows() {
        let mut rows = Rows::new(Format::Csv);
        assert_eq!(
            rows.written(r#"{"b":1,"a":"x, \"y\"","c":null}"#),
            "b,a,c\n1,\"x, \"\"y\"\"\",\n"
        );
        assert_eq!(rows.written(r#"{"b":2.5,"a":true,"c":[1,2]}"#), "2.5,true,\"[1,2]\"\n");
        assert_eq!(rows.written(r#"{"z":{"y":1,"x":"w"}}"#), "\nz.x,z.y\nw,1\n");
        let mut rows = Rows::with_columns(Format::Csv, &["name", "size"]);
        assert_eq!(rows.written(r#"{"name":"a"}"#), "name,size\na,\n");
        assert_eq!(rows.written(r#"{"name":"b","size":3,"other":1}"#), "b,3\n");
        let mut rows = Rows::new(Format::Markdown);
        assert_eq!(rows.written(r#"{"a":"x|y","b":1}"#), "| a | b |\n|---|---|\n| x\\|y | 1 |\n");
        assert_eq!(rows.written(r#"{"a":"z","b":null}"#), "| z |  |\n");
        let mut rows = Rows::new(Format::Json);
        assert_eq!(rows.written(r#"{"b":1}"#), "{\"b\":1}\n");
        assert_eq!(rows.end(), "");
    }

    #[test]
    fn special_characters() {
        let row = r#"{"what":"a_b *c* _d_ | `x` <y> \\ [1] 5% $2 #3 {4} ~^ -- \"q\"\nz & w"}"#;
        let mut rows = Rows::new(Format::Csv);
        assert_eq!(
            rows.written(row),
            "what\n\"a_b *c* _d_ | `x` <y> \\ [1] 5% $2 #3 {4} ~^ -- \"\"q\"\"\nz & w\"\n"
        );
        let mut rows = Rows::new(Format::Markdown);
        assert_eq!(
            rows.written(row).lines().last(),
            Some(
                "| a_b \\*c\\* \\_d\\_ \\| \\`x\\` \\<y> \\\\ \\[1\\] 5% \\$2 #3 {4} \\~^ -- \"q\" z \\& w |"
            )
        );
        let mut rows = Rows::new(Format::Tabular);
        expect![[r"
            \begin{tabular}{l}
            \hline
            what \\
            \hline
            a\_b *c* \_d\_ \textbar{} `x` \textless{}y\textgreater{} \textbackslash{} [1] 5\% \$2 \#3 \{4\} \textasciitilde{}\textasciicircum{} -{}- \char34{}q\char34{} z \& w \\
            \hline
            \end{tabular}
        "]]
        .assert_eq(&(rows.written(row) + rows.end()));
    }

    /// Tables with other columns follow, each of which ends.
    #[test]
    fn several_tables() {
        let mut rows = Rows::new(Format::Tabular);
        let out = rows.written(r#"{"a":1,"b":"[x]"}"#) + &rows.written(r#"{"c":"[x]"}"#);
        expect![[r"
            \begin{tabular}{ll}
            \hline
            a & b \\
            \hline
            1 & {[}x] \\
            \hline
            \end{tabular}

            \begin{tabular}{l}
            \hline
            c \\
            \hline
            {[}x] \\
            \hline
            \end{tabular}
        "]]
        .assert_eq(&(out + rows.end()));
    }

    #[test]
    fn summaries() {
        use weakspot_core::{Drain, Model};
        let bad = summary(Format::Csv, &[Model::Tso], &[(None, "error"), (None, "error")]);
        assert_eq!(bad, "model,holds,violated,unknown,error\ntso,0,0,0,2\n");
        let tso = Some("tso");
        let answers =
            [(tso, "holds"), (tso, "violated"), (None, "error"), (Some("pso"), "unknown")];
        assert_eq!(
            summary(Format::Csv, &[Model::Tso, Model::Pso(Drain::All)], &answers),
            "model,holds,violated,unknown,error\ntso,1,1,0,1\npso,0,0,1,1\n"
        );
    }
}
