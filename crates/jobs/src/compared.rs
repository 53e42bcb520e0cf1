//! How two logs of litmus tests differ, as a table.

use weakspot_args::OutputFormat;
use weakspot_input::LogDifference;
use weakspot_report::{Rows, row_object};

/// A row for each difference of two logs, which are called so.
pub fn table(
    format: OutputFormat,
    differences: &[(String, LogDifference)],
    logs: [&str; 2],
) -> String {
    const COLUMNS: [&str; 4] = ["test", "difference", "only_in", "state"];
    let mut rows = Rows::with_columns(format, &COLUMNS);
    let mut out = String::new();
    for (test, difference) in differences {
        for (what, only_in, state) in difference.rows() {
            let cells = [test.as_str(), what, only_in.map_or("", |log| logs[log]), &state];
            let cells: Vec<(&str, &str)> = COLUMNS.into_iter().zip(cells).collect();
            out += &rows.written(&row_object(&cells));
        }
    }
    out + rows.end()
}
