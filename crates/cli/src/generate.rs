//! `weakspot gen`.

use std::io::Write;

use anyhow::{Context, Result};
use weakspot_lang::families::{Family, Syntax};

use crate::args::FamilyArgs;
use crate::exit::Exit;

/// Writes one member of a family, or the list of families.
pub(crate) fn family(args: &FamilyArgs) -> Result<Exit> {
    let Some(family) = args.name.as_deref().and_then(Family::of_key) else {
        std::io::stdout().lock().write_all(list().as_bytes())?;
        return Ok(Exit::Holds);
    };
    let asked = args.syntax.as_deref().and_then(Syntax::of_key);
    let ending = || args.output.as_deref().and_then(Syntax::of_path);
    let syntax = asked.or_else(ending).unwrap_or(family.syntaxes()[0]);
    let text = family.text(syntax, args.size)?;
    match &args.output {
        Some(path) if path.as_os_str() != "-" => std::fs::write(path, text)
            .with_context(|| format!("failed to write {}", path.display()))?,
        _ => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(Exit::Holds)
}

fn list() -> String {
    let row = |cells: [&str; 5]| {
        let [name, what, sizes, default, languages] = cells;
        format!("{name:11} {what:36} {sizes:>8} {default:>8}  {languages}\n")
    };
    let mut text = row(["name", "what it is", "sizes", "default", "languages"]);
    for family in Family::ALL {
        let sizes = family.range().map_or("-".to_owned(), |r| format!("{}-{}", r.start(), r.end()));
        let default = family.default_size().map_or("-".to_owned(), |n| n.to_string());
        let languages: Vec<&str> = family.syntaxes().iter().map(|s| s.key()).collect();
        let languages = languages.join(", ");
        text += &row([family.key(), family.name(), &sizes, &default, &languages]);
    }
    text
}
