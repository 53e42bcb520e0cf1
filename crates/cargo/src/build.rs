//! Building a crate with instrumentation, by cargo.
//!
//! The flags that instrument are not stable, so the compiler is told to take them anyway. With a target that
//! is named, cargo gives flags only to what is built for it, and not to build scripts and macros.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use weakspot_args::words::{TARGETS, Words};
use weakspot_build::runtime;
use weakspot_campaign::Linked;

use crate::foreign;

/// Cargo, and what it says about itself and the crate.
pub struct Cargo<'a> {
    words: &'a Words,
    quiet: bool,
    /// The machine that programs are built for: this one.
    host: String,
    metadata: Value,
}

/// A program that was built.
#[derive(Debug)]
pub struct Built {
    /// The name of the target: a library, a test, a program.
    pub name: String,
    /// What kind of target it is.
    pub kind: TargetKind,
    /// Whether it was built to be a test.
    pub test: bool,
    /// The program.
    pub file: PathBuf,
    /// The root of its package.
    pub folder: PathBuf,
    /// The root of the workspace, from which the compiler names sources.
    pub root: PathBuf,
    /// The name of its package.
    pub package: String,
    /// The version of that.
    pub version: String,
    /// Whether `cargo run` could mean it.
    pub runs: bool,
    /// Code in it that is not Rust's.
    pub linked: Linked,
    /// Whether `cargo run` means it if nothing is said.
    pub default: bool,
}

/// Kinds of targets, as far as they matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A library.
    Library,
    /// Its code runs inside of the compiler, so that it is not instrumented.
    Macro,
    /// A program.
    Program,
    /// A test beside the sources.
    Test,
    /// An example.
    Example,
    /// A benchmark.
    Bench,
}

impl Built {
    /// What tests are called by: the package, and the target if that is not its library.
    pub fn id(&self) -> String {
        let (package, name) = (&self.package, &self.name);
        match self.kind {
            TargetKind::Library | TargetKind::Macro => package.clone(),
            TargetKind::Test => format!("{package}::{name}"),
            TargetKind::Program => format!("{package}::bin/{name}"),
            TargetKind::Example => format!("{package}::example/{name}"),
            TargetKind::Bench => format!("{package}::bench/{name}"),
        }
    }

    /// What cargo would put into the environment, and what keeps panics short.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut all = vec![
            ("CARGO_MANIFEST_DIR", self.folder.clone().into()),
            ("CARGO_MANIFEST_PATH", self.folder.join("Cargo.toml").into()),
            ("CARGO_PKG_NAME", self.package.clone().into()),
            ("CARGO_PKG_VERSION", self.version.clone().into()),
        ];
        all.extend(variables());
        all
    }

    /// The option of cargo that chooses the target.
    pub fn option(&self) -> Vec<String> {
        let option = match self.kind {
            TargetKind::Library | TargetKind::Macro => return vec!["--lib".to_owned()],
            TargetKind::Test => "--test",
            TargetKind::Program => "--bin",
            TargetKind::Example => "--example",
            TargetKind::Bench => "--bench",
        };
        vec![option.to_owned(), self.name.clone()]
    }
}

/// Between flags in the variable that cargo reads them from.
const BETWEEN: &str = "\x1f";

impl<'a> Cargo<'a> {
    /// Asks cargo about itself and the crate.
    pub fn find(words: &'a Words, quiet: bool) -> Result<Cargo<'a>> {
        let version = answer(cargo(words).arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.context("cargo does not say which machine this is")?.to_owned();
        if let Some(target) = words.value("--target")
            && target != host
        {
            bail!("programs for {target} cannot be run here: this is {host}");
        }
        let mut ask = cargo(words);
        ask.args(["metadata", "--no-deps", "--format-version", "1"]);
        if let Some(path) = words.value("--manifest-path") {
            ask.args(["--manifest-path", path]);
        }
        let metadata = serde_json::from_str(&answer(&mut ask)?)
            .context("cargo says something about the crate that is not understood")?;
        Ok(Cargo { words, quiet, host, metadata })
    }

    /// The folder of what is built.
    pub fn folder(&self) -> PathBuf {
        match self.words.value("--target-dir") {
            Some(folder) => PathBuf::from(folder),
            None => {
                let target = self.metadata["target_directory"].as_str().unwrap_or("target");
                Path::new(target).join("weakspot")
            }
        }
    }

    /// Builds what a command of cargo would build, and gives the programs.
    pub fn build(&self, command: &str, more: &[&str]) -> Result<Vec<Built>> {
        let mut build = cargo(self.words);
        build.arg(command).args(more).args(["--message-format", "json-render-diagnostics"]);
        build.args(&self.words.cargo);
        if self.words.value("--target").is_none() {
            build.args(["--target", &self.host]);
        }
        let target = self.folder();
        if self.words.value("--target-dir").is_none() {
            build.arg("--target-dir").arg(&target);
        }
        let tools = std::path::absolute(target.join("weakspot-tools"));
        foreign::compilers(&mut build, &self.host, &tools.context("there is no current folder")?)?;
        if self.quiet {
            build.arg("--quiet");
        }
        // Without any optimisation, each atomic operation is a call of a function of the standard
        // library, and it is there that all of them would happen.
        for profile in ["dev", "test"] {
            build.args(["--config", &format!("profile.{profile}.opt-level=1")]);
        }
        self.flags(&mut build)?;
        let output = build
            .env("RUSTC_BOOTSTRAP", "1")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("failed to start cargo")?;
        if !output.status.success() {
            bail!("cargo could not build the crate");
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let messages: Vec<Value> =
            said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let linked = foreign::linked(&messages);
        Ok(messages.iter().filter_map(|message| self.built(message, &linked)).collect())
    }

    /// Whether the crate or one that it depends on has assembly in its sources. If that cannot be found
    /// out, building says why.
    fn mentions_assembly(&self) -> bool {
        let mut ask = cargo(self.words);
        ask.args(["metadata", "--format-version", "1", "--filter-platform", &self.host]);
        if let Some(path) = self.words.value("--manifest-path") {
            ask.args(["--manifest-path", path]);
        }
        let metadata = answer(&mut ask).ok().and_then(|text| serde_json::from_str(&text).ok());
        metadata.is_some_and(|metadata| foreign::mentions_assembly(&metadata))
    }

    /// Adds the flags that instrument to those that the user has, wherever they are.
    fn flags(&self, build: &mut Command) -> Result<()> {
        let mut flags = flags()?;
        if self.mentions_assembly() {
            // What traps do not find of it is found there.
            flags.push("--emit=asm".to_owned());
        }
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let own = match (set("CARGO_ENCODED_RUSTFLAGS"), set("RUSTFLAGS")) {
            (Some(encoded), _) => Some(encoded),
            (None, Some(plain)) => {
                Some(plain.split_ascii_whitespace().collect::<Vec<_>>().join(BETWEEN))
            }
            (None, None) => None,
        };
        if let Some(own) = own {
            build.env("CARGO_ENCODED_RUSTFLAGS", [own, flags.join(BETWEEN)].join(BETWEEN));
            return Ok(());
        }
        // Flags of a target stand in for those of `build`, so ours have to be where the user's are.
        let configured = answer(
            cargo(self.words)
                .args(["-Zunstable-options", "config", "get", "--format", "json", "target"])
                .env("RUSTC_BOOTSTRAP", "1"),
        );
        let of_target = configured.is_ok_and(|text| text.contains("\"rustflags\""));
        let key = match of_target {
            true => format!("target.{}.rustflags", self.host),
            false => "build.rustflags".to_owned(),
        };
        build.args(["--config", &format!("{key}={}", Value::from(flags))]);
        Ok(())
    }

    /// The packages of these programs whose library has tests in its documentation, if these were
    /// asked for: none of them are explored.
    pub fn doctests(&self, built: &[Built]) -> Vec<String> {
        if self.words.has(&TARGETS) {
            return Vec::new();
        }
        let packages = self.metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
        let has = |package: &&Value| {
            let targets = package["targets"].as_array().map_or(&[][..], Vec::as_slice);
            let library = targets.iter().find(|target| target["doctest"] == true);
            let source = library.and_then(|target| target["src_path"].as_str());
            source.and_then(|file| Path::new(file).parent()).is_some_and(documents)
        };
        packages
            .iter()
            .filter(|package| built.iter().any(|b| package["name"] == b.package[..]))
            .filter(has)
            .filter_map(|package| package["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// The program that a message of cargo tells of.
    fn built(&self, message: &Value, linked: &Linked) -> Option<Built> {
        let file = message["executable"].as_str()?;
        let target = &message["target"];
        let name = target["name"].as_str()?.to_owned();
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        let packages = self.metadata["packages"].as_array()?;
        let package = packages.iter().find(|p| p["id"] == message["package_id"]);
        let text = |key: &str| package.and_then(|p| p[key].as_str()).unwrap_or("");
        let kind = |kind: &str| target["kind"].as_array().is_some_and(|k| k.contains(&kind.into()));
        let kinds = [
            ("proc-macro", TargetKind::Macro),
            ("bin", TargetKind::Program),
            ("test", TargetKind::Test),
            ("example", TargetKind::Example),
            ("bench", TargetKind::Bench),
        ];
        let of_target = kinds.into_iter().find(|(name, _)| kind(name));
        Some(Built {
            kind: of_target.map_or(TargetKind::Library, |(_, kind)| kind),
            test: message["profile"]["test"].as_bool().unwrap_or(false),
            runs: kind("bin") || kind("example"),
            default: text("default_run") == name,
            linked: linked.clone(),
            name,
            file: file.into(),
            root: self.metadata["workspace_root"].as_str().map_or(folder.clone(), PathBuf::from),
            folder,
            package: text("name").to_owned(),
            version: text("version").to_owned(),
        })
    }
}

/// The flags that instrument code and link it with the runtime library.
fn flags() -> Result<Vec<String>> {
    let runtime = runtime::unpack().map_err(|message| anyhow!(message))?;
    let library = runtime.join(runtime::NAME);
    let library = library.to_str().context("the folder of the runtime library is not UTF-8")?;
    Ok([
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        // The standard library is not instrumented.
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        // What is generic must not be taken from there.
        "-Zshare-generics=no",
        // Variables by their names.
        "-Cdebuginfo=2",
        "-Cstrip=none",
        &format!("-Clink-arg={library}"),
        // What is compared is announced. What is copied is anyway, but for copies within the standard library, most
        // of which are of its own memory.
        "-Clink-arg=-Wl,--wrap=memcmp,--wrap=bcmp,--wrap=strlen,--wrap=memchr,--wrap=memrchr",
    ]
    .map(str::to_owned)
    .to_vec())
}

/// Whether a source below a folder has code in its documentation.
fn documents(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => documents(&path),
        false => {
            let begins = |line: &str| ["/// ```", "//! ```"].contains(&line.trim());
            path.extension().is_some_and(|ending| ending == "rs")
                && std::fs::read_to_string(&path).is_ok_and(|text| text.lines().any(begins))
        }
    })
}

fn cargo(words: &Words) -> Command {
    match &words.toolchain {
        // Only that of rustup knows other toolchains.
        Some(toolchain) => {
            let mut cargo = Command::new("cargo");
            cargo.arg(toolchain);
            cargo
        }
        None => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))),
    }
}

/// What a command prints.
fn answer(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => anyhow!("there is no cargo: is Rust installed?"),
        _ => anyhow!("failed to start cargo: {error}"),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        bail!("{}", said.strip_prefix("error: ").unwrap_or(said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What every program of a crate finds in its environment.
pub fn variables() -> Vec<(&'static str, OsString)> {
    vec![
        ("RUST_BACKTRACE", "0".into()),
        ("RUST_LIB_BACKTRACE", "0".into()),
        // Otherwise the harness reads all about the terminal, in each execution.
        ("TERM", "".into()),
    ]
}
