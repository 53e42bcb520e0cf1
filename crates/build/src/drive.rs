//! Calls compilers.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

use crate::assembly::{self, Unseen};
use crate::beside::Beside;
use crate::compiler::{self, Compile, Family, Plan};
use crate::linked::{self, COMPILED, Traced};
use crate::{bits, endless, temporaries, unannounced, unused, wrapped};

/// Which language the compiler is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

/// The note in an object about assembly that cannot be watched: what follows says what.
pub const UNSEEN: &str = "weakspot unseen: ";

/// The variable by which a compiler knows that it is called by the build scripts of a crate.
pub const FOR_BUILD_SCRIPTS: &str = "WEAKSPOT_BUILD_SCRIPTS";

/// What the user should know while something is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Inline assembly that cannot be watched.
    Unseen(Unseen),
    /// Something else.
    Note(String),
}

/// Does what a call of a compiler with these arguments would do, so that the result can be
/// controlled; the exit code.
pub fn compile(
    language: Language,
    args: &[String],
    runtime: &Path,
    remark: &mut dyn FnMut(Remark),
) -> Result<i32, String> {
    let compiler = find(language)?;
    let args = expand(args)?;
    let temporary = Temporary::new().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
    match compiler::plan(&args, compiler.family, &temporary.0, runtime)? {
        Plan::Pass => call(&compiler.command, &args),
        Plan::Build { compile, link, remarks } => {
            remarks.into_iter().for_each(|note| remark(Remark::Note(note)));
            for step in &compile {
                let code = one(&compiler, step, remark)?;
                if code != 0 {
                    return Ok(code);
                }
            }
            let Some(mut args) = link else { return Ok(0) };
            let beside = Beside::of(&mut args, Some("a.out"));
            let (mut code, foreign) = link_traced(&compiler.command, &args)?;
            if code == 0 && !foreign.is_empty() {
                for file in &foreign {
                    remark(Remark::Note(format!(
                        "{file} was not compiled by `weakspot cc`: what it does is not seen"
                    )));
                }
                code = link_with_notes(&compiler.command, &args, &foreign, &temporary.0)?;
            }
            match beside {
                Some(beside) if code == 0 => beside.finish().map(|()| 0),
                _ => Ok(code),
            }
        }
    }
}

/// Links; the exit code, and which objects with code are not ours.
fn link_traced(compiler: &OsString, args: &[String]) -> Result<(i32, Vec<String>), String> {
    let output = Command::new(compiler)
        .args(args)
        .arg(linked::TRACE)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start {}: {e}", compiler.display()))?;
    let assembly = |arg: &&String| {
        let kind = Path::new(arg).extension().and_then(|ending| ending.to_str());
        matches!(kind, Some("s" | "S" | "sx"))
    };
    let sources: Vec<&str> = args.iter().filter(assembly).map(String::as_str).collect();
    let Traced { foreign, rest } =
        linked::traced(&String::from_utf8_lossy(&output.stdout), &sources);
    let mut out = io::stdout().lock();
    for line in rest {
        // Who does not read it does not need it.
        let _ = writeln!(out, "{line}");
    }
    Ok((output.status.code().unwrap_or(1), foreign))
}

/// Links again, with a note about what is not ours: who runs the program has to know.
fn link_with_notes(
    compiler: &OsString,
    args: &[String],
    foreign: &[String],
    folder: &Path,
) -> Result<i32, String> {
    let (text, object) = (folder.join("notes.s"), folder.join("notes.o"));
    let mut notes: String = foreign.iter().map(|file| ident(&format!("{UNSEEN}{file}"))).collect();
    notes += "\t.section\t.note.GNU-stack,\"\",@progbits\n";
    fs::write(&text, notes).map_err(|e| format!("cannot write {}: {e}", text.display()))?;
    let words = [text.as_path(), Path::new("-o"), &object].map(|word| word.display().to_string());
    let code = call(compiler, &[&["-c".to_string()][..], &words].concat())?;
    if code != 0 {
        return Ok(code);
    }
    let output = Command::new(compiler)
        .args(args)
        .args(["-x", "none"])
        .arg(&object)
        .output()
        .map_err(|e| format!("cannot start {}: {e}", compiler.display()))?;
    // What it has to say was said the first time.
    if !output.status.success() {
        let _ = io::stderr().write_all(&output.stderr);
    }
    Ok(output.status.code().unwrap_or(1))
}

fn one(compiler: &Compiler, step: &Compile, remark: &mut dyn FnMut(Remark)) -> Result<i32, String> {
    let Compiler { command: compiler, family } = compiler;
    let family = *family;
    let code = call(compiler, &step.to_assembly)?;
    if code != 0 {
        return Ok(code);
    }
    let failed = |what: &str, e: io::Error| format!("{what} {}: {e}", step.assembly.display());
    // Strings in assembly need not be UTF-8; what we look at is ASCII.
    let mut bytes = fs::read(&step.assembly).map_err(|e| failed("cannot read", e))?;
    let text = str::from_utf8(&bytes).ok();
    let intel = text.and_then(assembly::in_intel_syntax);
    let other = match text {
        // Nothing of the program depends on it.
        _ if intel == Some(false) => vec!["-masm=att".to_string()],
        // Then a note can name the line of the program. What the compiler warns of was said the first time.
        Some(text) if family == Family::Gcc && assembly::has_unseen_in_headers(text) => {
            ["-gstatement-frontiers", "-w"].map(str::to_string).to_vec()
        }
        _ => Vec::new(),
    };
    if !other.is_empty() {
        let code = call(compiler, &[&step.to_assembly[..], &other].concat())?;
        if code != 0 {
            return Ok(code);
        }
        bytes = fs::read(&step.assembly).map_err(|e| failed("cannot read", e))?;
    }
    if let Ok(text) = str::from_utf8(&bytes) {
        let (mut text, unseen) = assembly::rewrite(text);
        if intel != Some(true) {
            if family == Family::Gcc {
                text = bits::announce(&text);
                text = unannounced::announce(&text);
                text = temporaries::clear(&text);
            }
            text = endless::mark(&text);
            text = unused::mark(&text);
        }
        // The linker of a crate is not told which calls are to be announced.
        if env::var_os(FOR_BUILD_SCRIPTS).is_some() {
            text = wrapped::rename(&text);
        }
        text += &notes(&unseen);
        unseen.into_iter().for_each(|unseen| remark(Remark::Unseen(unseen)));
        fs::write(&step.assembly, text).map_err(|e| failed("cannot write", e))?;
    } else {
        remark(Remark::Note(format!(
            "{}: inline assembly was not looked at, because the compiler's output is not UTF-8",
            step.source
        )));
    }
    let Some(mut args) = step.to_object.clone() else { return Ok(0) };
    let beside = Beside::of(&mut args, None);
    let code = call(compiler, &args)?;
    match beside {
        Some(beside) if code == 0 => beside.finish().map(|()| 0),
        _ => Ok(code),
    }
}

/// Notes in the object about who compiled it, and what of it cannot be watched.
fn notes(unseen: &[Unseen]) -> String {
    let mut text = ident(COMPILED);
    for Unseen { place, instruction, why } in unseen.iter().filter(|u| u.why != assembly::TIME) {
        let place = place.as_ref().map(|(file, line)| format!("{file}:{line}: "));
        let what = format!("{}assembly `{instruction}`, which {why},", place.unwrap_or_default());
        text += &ident(&format!("{UNSEEN}{what}"));
    }
    text
}

/// A note for an assembler.
fn ident(text: &str) -> String {
    let plain = |c: char| if c.is_control() || matches!(c, '"' | '\\') { ' ' } else { c };
    format!("\t.ident\t\"{}\"\n", text.chars().map(plain).collect::<String>())
}

fn call(compiler: &OsString, args: &[String]) -> Result<i32, String> {
    let status = Command::new(compiler)
        .args(args)
        .status()
        .map_err(|e| format!("cannot start {}: {e}", compiler.display()))?;
    Ok(status.code().unwrap_or(1))
}

struct Compiler {
    command: OsString,
    family: Family,
}

/// The compiler that the user names in `WEAKSPOT_CC` or `WEAKSPOT_CXX`, or one that is there.
fn find(language: Language) -> Result<Compiler, String> {
    let (variable, usual) = match language {
        Language::C => ("WEAKSPOT_CC", ["gcc", "clang", "cc"]),
        Language::Cxx => ("WEAKSPOT_CXX", ["g++", "clang++", "c++"]),
    };
    let version = |command: &OsString| {
        let output = Command::new(command).arg("--version").stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if let Some(command) = env::var_os(variable) {
        let text = version(&command)
            .ok_or_else(|| format!("cannot start {} from {variable}", command.display()))?;
        return Ok(Compiler { family: compiler::family(&text), command });
    }
    usual
        .into_iter()
        .map(OsString::from)
        .find_map(|command| {
            version(&command).map(|text| Compiler { family: compiler::family(&text), command })
        })
        .ok_or_else(|| {
            format!("no compiler found: {} are not there; set {variable}", usual.join(", "))
        })
}

/// Arguments with those of files (`@file`) in place of the files.
fn expand(args: &[String]) -> Result<Vec<String>, String> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        match arg.strip_prefix('@') {
            Some(file) if Path::new(file).is_file() => {
                let text =
                    fs::read_to_string(file).map_err(|e| format!("cannot read {file}: {e}"))?;
                out.extend(expand(&words(&text))?);
            }
            _ => out.push(arg.clone()),
        }
    }
    Ok(out)
}

/// The words of a file with arguments: quotes and backslashes as in a shell.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (c, quote) {
            ('\\', Some('"') | None) => word.get_or_insert_default().extend(letters.next()),
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A folder that goes away with its owner.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> io::Result<Temporary> {
        for n in 0_u32.. {
            let path = env::temp_dir().join(format!("weakspot-{}-{n}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Temporary(path)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < 1000 => {}
                Err(e) => return Err(e),
            }
        }
        unreachable!("an error ends the loop")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is left in a temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_of_a_file_with_arguments() {
        assert_eq!(
            words("-O2 \"a b.c\"\n-D'X=\"1\"' c\\ d.o ''"),
            ["-O2", "a b.c", "-DX=\"1\"", "c d.o", ""]
        );
    }
}
