//! Files that are written must not be files that are read.

use std::path::Path;

use anyhow::{Result, bail};

/// Refuses to write what `option` asks for over one of the inputs.
pub(crate) fn spare_inputs<P: AsRef<Path>>(
    option: &str,
    output: Option<&Path>,
    inputs: &[P],
) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    if inputs.iter().any(|input| is_same_file(input.as_ref(), output)) {
        bail!("{option} {} would overwrite the input", output.display());
    }
    Ok(())
}

/// Whether two paths, perhaps over links, lead to one file.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok().filter(|p| p.is_file());
    real(a).is_some_and(|a| real(b) == Some(a))
}
