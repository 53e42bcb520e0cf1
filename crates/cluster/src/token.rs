//! What the processes of a search know each other by.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

/// What all processes of a search know, and nobody else.
#[derive(Clone)]
pub struct Token(
    #[cfg_attr(not(feature = "timely"), expect(dead_code, reason = "nobody is asked"))]
    pub(crate)  Vec<u8>,
);

/// A token that others may read is none.
const OTHERS: u32 = 0o077;
/// Bytes that a token has at least and at most.
const SHORT: usize = 16;
const LONG: u64 = 4096;

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The token in a file that only its owner may read.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(path: &Path) -> Result<Token, String> {
        use std::os::unix::fs::MetadataExt;
        let failed = |e: io::Error| format!("failed to read the token {}: {e}", path.display());
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.mode() & OTHERS != 0 {
            return Err(format!(
                "others may read the token {}: expected a file that only its owner may read, as \
                 after chmod 600",
                path.display()
            ));
        }
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(LONG).read_to_end(&mut bytes).map_err(failed)?;
        let bytes = bytes.trim_ascii().to_vec();
        if bytes.len() < SHORT {
            return Err(format!(
                "the token {} is too short: expected at least {SHORT} bytes",
                path.display()
            ));
        }
        Ok(Token(bytes))
    }

    /// Writes a new token to a file that only its owner may read.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn make(path: &Path) -> io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let bytes = fresh()?;
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "{text}")
    }
}

/// Bytes that nobody can foresee.
pub(crate) fn fresh() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        Token::make(&path).expect("made");
        assert_eq!(Token::read(&path).expect("a token").0.len(), 64);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("changed");
        assert!(Token::read(&path).expect_err("refused").contains("others may read"));
    }
}
