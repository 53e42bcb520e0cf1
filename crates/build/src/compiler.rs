//! What a call of a C or C++ compiler becomes.
//!
//! A source file is compiled to assembly with the instrumentation of ThreadSanitizer, which calls a
//! function before each access to memory; inline assembly is looked at ([`crate::assembly`]), and the
//! rest is left to the compiler. Programs are linked with our runtime library in place of
//! ThreadSanitizer's.

use std::path::{Path, PathBuf};

/// gcc or clang: they want different flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// gcc, g++.
    Gcc,
    /// clang, clang++.
    Clang,
}

/// What is to be done for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is compiled or linked: the compiler gets the arguments as they are.
    Pass,
    /// Files are compiled, then perhaps linked.
    Build {
        /// One per source file.
        compile: Vec<Compile>,
        /// The arguments of the compiler that links, if it does.
        link: Option<Vec<String>>,
        /// What the user should know.
        remarks: Vec<String>,
    },
}

/// How a source file is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compile {
    /// The source file.
    pub source: String,
    /// The arguments that turn it into assembly, which is written to [`assembly`](Self::assembly).
    pub to_assembly: Vec<String>,
    /// Where the assembly goes.
    pub assembly: PathBuf,
    /// The arguments that turn that into an object; none if assembly is all that was asked for.
    pub to_object: Option<Vec<String>>,
}

/// Options whose value is the next argument.
const WITH_VALUE: [&str; 33] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-T",
    "-u",
    "-e",
    "-z",
    "-A",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-target",
    "--param",
    "--sysroot",
    "-aux-info",
    "-wrapper",
];

/// Options that only matter when linking.
fn is_for_linking(option: &str) -> bool {
    ["-l", "-L", "-Wl,", "-Xlinker", "-shared", "-static", "-rdynamic", "-pie", "-no-pie", "-T"]
        .iter()
        .any(|start| option.starts_with(start))
        || matches!(option, "-u" | "-z" | "-e" | "-s" | "-nostdlib" | "-nodefaultlibs")
}

/// Options with which nothing is built, or not by the usual steps.
fn passes(option: &str) -> bool {
    matches!(option, "-E" | "-M" | "-MM" | "-fsyntax-only" | "--version" | "--help" | "-###" | "-P")
        || option.starts_with("-print-")
        || option.starts_with("--print-")
        || option.starts_with("-dump")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    /// C or C++.
    Source,
    /// Assembly written by hand.
    Assembly,
    /// Objects, libraries, and what we do not know: for the linker.
    Other,
}

fn kind(name: &str, language: Option<&str>) -> FileKind {
    match language {
        Some("c" | "c++" | "cpp-output" | "c++-cpp-output") => return FileKind::Source,
        Some("assembler" | "assembler-with-cpp") => return FileKind::Assembly,
        Some(_) => return FileKind::Other,
        None => {}
    }
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("c" | "i" | "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "ii") => {
            FileKind::Source
        }
        Some("s" | "S" | "sx") => FileKind::Assembly,
        _ => FileKind::Other,
    }
}

/// An input, with the language that `-x` gave it.
struct Input {
    name: String,
    language: Option<String>,
    kind: FileKind,
}

/// Arguments, sorted.
#[derive(Default)]
struct Call {
    /// Options for compiling, with their values, in order.
    options: Vec<String>,
    /// For the linker: options and inputs, in order; sources stand there by their number.
    link: Vec<Link>,
    inputs: Vec<Input>,
    output: Option<String>,
    only_object: bool,
    only_assembly: bool,
    dependencies: bool,
    dependency_file: bool,
    dependency_target: bool,
    passes: bool,
}

enum Link {
    Argument(String),
    Input(usize),
}

fn sort(args: &[String]) -> Call {
    let mut call = Call::default();
    let mut language: Option<String> = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if !arg.starts_with('-') || arg == "-" {
            let kind = kind(arg, language.as_deref());
            call.link.push(Link::Input(call.inputs.len()));
            call.inputs.push(Input { name: arg.clone(), language: language.clone(), kind });
            // Without a language nobody knows what comes from there.
            call.passes |= arg == "-" && language.is_none();
            continue;
        }
        let value = WITH_VALUE.contains(&arg.as_str()).then(|| rest.next().cloned()).flatten();
        match arg.as_str() {
            "-c" => call.only_object = true,
            "-S" => call.only_assembly = true,
            "-o" => call.output = value,
            "-x" => language = value.filter(|l| l != "none"),
            "-MD" | "-MMD" => {
                call.dependencies = true;
                call.options.push(arg.clone());
            }
            option if passes(option) => call.passes = true,
            option => {
                if let Some(attached) = option.strip_prefix("-o")
                    && !attached.is_empty()
                    && !option.starts_with("-object")
                {
                    call.output = Some(attached.to_string());
                    continue;
                }
                call.dependency_file |= option.starts_with("-MF");
                call.dependency_target |= option.starts_with("-MT") || option.starts_with("-MQ");
                let both = [Some(arg.clone()), value];
                if is_for_linking(option) {
                    call.link.extend(both.into_iter().flatten().map(Link::Argument));
                } else {
                    call.options.extend(both.into_iter().flatten());
                }
            }
        }
    }
    call
}

/// What the arguments of a call become. Intermediate files go to the folder `temporary`; `runtime`
/// is the folder with our library.
pub fn plan(
    args: &[String],
    family: Family,
    temporary: &Path,
    runtime: &Path,
) -> Result<Plan, String> {
    let call = sort(args);
    if call.passes || call.inputs.is_empty() {
        return Ok(Plan::Pass);
    }
    for option in args {
        match option.as_str() {
            "-m32" | "-mx32" => {
                return Err(format!("{option}: only 64-bit programs can be controlled"));
            }
            "-static" | "-static-pie" => {
                return Err(format!(
                    "{option}: a static program cannot be controlled, because the C library in it \
                     cannot be replaced"
                ));
            }
            _ => {}
        }
    }
    let mut remarks = Vec::new();
    let sources = call.inputs.iter().filter(|input| input.kind == FileKind::Source).count();
    let mut compile = Vec::new();
    let mut objects: Vec<Option<String>> = Vec::new();
    for (i, input) in call.inputs.iter().enumerate() {
        if input.kind == FileKind::Assembly {
            remarks.push(format!("{}: what this assembly does is not seen", input.name));
        }
        if input.kind != FileKind::Source {
            objects.push(None);
            continue;
        }
        let temporary_object = temporary.join(format!("{i}.o")).display().to_string();
        let object = match (&call.output, call.only_object) {
            (Some(output), true) if sources == 1 => output.clone(),
            (_, true) => beside(&input.name, "o"),
            (_, false) => temporary_object,
        };
        let assembly = match (&call.output, call.only_assembly) {
            (Some(output), true) => output.into(),
            (None, true) => beside(&input.name, "s").into(),
            (_, false) => temporary.join(format!("{i}.s")),
        };
        let mut to_assembly = without_sanitizers(&call.options, &mut remarks);
        to_assembly.extend(instrumentation(family).iter().map(|flag| flag.to_string()));
        to_assembly.extend(["-isystem".to_string(), runtime.display().to_string()]);
        if call.dependencies {
            // By default these are named after the output, which would be the assembly.
            let named = call.output.clone().unwrap_or_else(|| beside(&input.name, "o"));
            if !call.dependency_file {
                to_assembly.extend(["-MF".to_string(), with_ending(&named, "d")]);
            }
            if !call.dependency_target {
                to_assembly.extend(["-MT".to_string(), named]);
            }
        }
        if let Some(language) = &input.language {
            to_assembly.extend(["-x".to_string(), language.clone()]);
        }
        let written = assembly.display().to_string();
        to_assembly.extend(["-S", &input.name, "-o", &written].map(str::to_string));
        // clang warns of its own directives for debuggers.
        let silent: &[&str] = if family == Family::Clang { &["-w"] } else { &[] };
        let to_object = (!call.only_assembly).then(|| {
            let rest = ["-c", written.as_str(), "-o", object.as_str()];
            silent.iter().copied().chain(rest).map(str::to_owned).collect()
        });
        compile.push(Compile { source: input.name.clone(), to_assembly, assembly, to_object });
        objects.push(Some(object));
    }
    // What is only assembled goes through the compiler as it is.
    if call.only_object || call.only_assembly {
        return Ok(if compile.is_empty() {
            Plan::Pass
        } else {
            Plan::Build { compile, link: None, remarks }
        });
    }
    let mut link: Vec<String> = Vec::new();
    link.extend(without_sanitizers(&call.options, &mut Vec::new()));
    link.extend(call.output.iter().flat_map(|output| ["-o".to_string(), output.clone()]));
    // Before all else, so that our functions are found before those of the C library.
    link.push(format!("-L{}", runtime.display()));
    link.push("-Wl,--no-as-needed".into());
    link.push("-lweakspot_rt".into());
    link.push(format!("-Wl,-rpath,{}", runtime.display()));
    link.push(WRAPS.into());
    let mut language: Option<&str> = None;
    for item in &call.link {
        match item {
            Link::Argument(argument) => link.push(argument.clone()),
            Link::Input(i) => {
                let input = &call.inputs[*i];
                let (name, wanted) = match &objects[*i] {
                    Some(object) => (object, None),
                    None => (&input.name, input.language.as_deref()),
                };
                if wanted != language {
                    link.extend(["-x".to_string(), wanted.unwrap_or("none").to_string()]);
                    language = wanted;
                }
                link.push(name.clone());
            }
        }
    }
    remarks.dedup();
    Ok(Plan::Build { compile, link: Some(link), remarks })
}

/// Functions of libc whose accesses are announced.
pub(crate) const WRAPS: &str = "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=memcmp,--wrap=bcopy,\
                     --wrap=bzero,--wrap=strcpy,--wrap=stpcpy,--wrap=strncpy,--wrap=strcat,\
                     --wrap=strncat,--wrap=strlen,--wrap=strcmp,--wrap=strncmp,--wrap=strdup,\
                     --wrap=strndup,--wrap=strchr,--wrap=strrchr,--wrap=strstr,--wrap=memchr,\
                     --wrap=atoi,--wrap=strtol,--wrap=strtoul,--wrap=printf,--wrap=fprintf,\
                     --wrap=dprintf,--wrap=sprintf,--wrap=snprintf,--wrap=sscanf,--wrap=vprintf,\
                     --wrap=vfprintf,--wrap=vdprintf,--wrap=vsprintf,--wrap=vsnprintf,\
                     --wrap=vsscanf,--wrap=__isoc99_sscanf,--wrap=__isoc23_sscanf,\
                     --wrap=__isoc99_vsscanf,--wrap=__isoc23_vsscanf,--wrap=__isoc23_strtol,\
                     --wrap=__isoc23_strtoul,--wrap=puts,--wrap=fputs,--wrap=fgets,--wrap=fread,\
                     --wrap=fwrite,--wrap=strtok,--wrap=strtok_r,--wrap=qsort,\
                     --wrap=atol,--wrap=atoll,--wrap=strtoll,--wrap=strtoull,\
                     --wrap=__isoc23_strtoll,--wrap=__isoc23_strtoull,--wrap=atof,--wrap=strtod,\
                     --wrap=mempcpy,--wrap=memrchr,--wrap=strnlen,--wrap=strcasecmp,\
                     --wrap=strncasecmp,--wrap=strspn,--wrap=strcspn,--wrap=strpbrk,\
                     --wrap=localtime_r,--wrap=gmtime_r,\
                     --wrap=strtoimax,--wrap=strtoumax,--wrap=__isoc23_strtoimax,\
                     --wrap=__isoc23_strtoumax,--wrap=strtof,--wrap=frexp,--wrap=frexpf,\
                     --wrap=modf,--wrap=modff,--wrap=sincos,--wrap=sincosf,--wrap=remquo,\
                     --wrap=lgamma_r,--wrap=mktime,--wrap=timegm,--wrap=stat,--wrap=lstat,\
                     --wrap=fstat,--wrap=fstatat,--wrap=stat64,--wrap=lstat64,--wrap=fstat64,\
                     --wrap=fstatat64,--wrap=sigemptyset,--wrap=sigfillset,--wrap=sigaddset,\
                     --wrap=sigdelset,--wrap=sigismember,--wrap=asprintf,--wrap=vasprintf,\
                     --wrap=fputs_unlocked,--wrap=fgets_unlocked,--wrap=fread_unlocked,\
                     --wrap=fwrite_unlocked";

/// No function is exempt: an attribute that asks for it becomes one that means nothing here.
const EXEMPTIONS: [&str; 4] = [
    "-Dno_sanitize(...)=unused",
    "-D__no_sanitize__(...)=unused",
    "-Dno_sanitize_thread=unused",
    "-D__no_sanitize_thread__=unused",
];

/// The flags with which each access calls a function of ours, and nothing is optimised past it.
fn instrumentation(family: Family) -> &'static [&'static str] {
    match family {
        // Without builtins, because memset and its like would be expanded without a call.
        Family::Gcc => &[
            "-fsanitize=thread",
            "-g",
            "-fno-lto",
            "-fno-builtin",
            // A function says at its end that it is over, from its own frame.
            "-fno-optimize-sibling-calls",
            "--param",
            "tsan-distinguish-volatile=1",
            // Fences are seen, whatever ThreadSanitizer makes of them.
            "-Wno-tsan",
            "-U__SANITIZE_THREAD__",
            EXEMPTIONS[0],
            EXEMPTIONS[1],
            EXEMPTIONS[2],
            EXEMPTIONS[3],
        ],
        // Without the second flag the load of `x++` would not be told.
        Family::Clang => &[
            "-fsanitize=thread",
            "-g",
            "-fno-lto",
            "-fno-builtin",
            // A function says at its end that it is over, from its own frame.
            "-fno-optimize-sibling-calls",
            "-mllvm",
            "-tsan-instrument-read-before-write",
            "-mllvm",
            "-tsan-distinguish-volatile",
            EXEMPTIONS[0],
            EXEMPTIONS[1],
            EXEMPTIONS[2],
            EXEMPTIONS[3],
        ],
    }
}

/// Options without those that ask for another instrumentation.
fn without_sanitizers(options: &[String], remarks: &mut Vec<String>) -> Vec<String> {
    let (dropped, kept): (Vec<&String>, Vec<&String>) = options
        .iter()
        .partition(|o| o.starts_with("-fsanitize") || o.starts_with("-flto") || *o == "-pg");
    remarks.extend(dropped.iter().map(|option| format!("{option} is left out")));
    kept.into_iter().cloned().collect()
}

/// The file name that a compiler gives what it makes of a source: in the current folder.
fn beside(source: &str, ending: &str) -> String {
    let name = Path::new(source).file_name().and_then(|name| name.to_str()).unwrap_or(source);
    with_ending(name, ending)
}

fn with_ending(name: &str, ending: &str) -> String {
    Path::new(name).with_extension(ending).display().to_string()
}

/// The family of a compiler, by what it says with `--version`.
#[must_use]
pub fn family(version: &str) -> Family {
    if version.contains("clang") { Family::Clang } else { Family::Gcc }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(args: &str, expected: &Expect) {
        let args: Vec<String> = args.split_whitespace().map(str::to_string).collect();
        let plan = plan(&args, Family::Gcc, Path::new("/t"), Path::new("/rt"));
        let flags = instrumentation(Family::Gcc).join(" ");
        let shown = match plan {
            Ok(Plan::Pass) => "as it is\n".to_string(),
            Err(message) => format!("error: {message}\n"),
            Ok(Plan::Build { compile, link, remarks }) => {
                let mut lines: Vec<String> = remarks;
                for step in compile {
                    let all = format!("{flags} -isystem /rt");
                    lines.push(step.to_assembly.join(" ").replace(&all, "INSTRUMENT"));
                    lines.extend(step.to_object.map(|args| args.join(" ")));
                }
                lines.extend(link.map(|args| {
                    let ours =
                        format!("-L/rt -Wl,--no-as-needed -lweakspot_rt -Wl,-rpath,/rt {WRAPS}");
                    args.join(" ").replace(&ours, "OURS")
                }));
                lines.join("\n") + "\n"
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn one_call_for_all() {
        check(
            "-O2 a.c b.c -o prog -lm -pthread",
            &expect![[r#"
                -O2 -pthread INSTRUMENT -S a.c -o /t/0.s
                -c /t/0.s -o /t/0.o
                -O2 -pthread INSTRUMENT -S b.c -o /t/1.s
                -c /t/1.s -o /t/1.o
                -O2 -pthread -o prog OURS /t/0.o /t/1.o -lm
            "#]],
        );
    }

    #[test]
    fn as_make_calls_it() {
        check(
            "-Iinc -I inc2 -DX=1 -MMD -c -o obj/a.o src/a.c",
            &expect![[r#"
                -Iinc -I inc2 -DX=1 -MMD INSTRUMENT -MF obj/a.d -MT obj/a.o -S src/a.c -o /t/0.s
                -c /t/0.s -o obj/a.o
            "#]],
        );
        check(
            "-c src/a.c",
            &expect![[r#"
                INSTRUMENT -S src/a.c -o /t/0.s
                -c /t/0.s -o a.o
            "#]],
        );
        check(
            "obj/a.o libb.a -oprog -Wl,-s",
            &expect![[r#"
            -o prog OURS obj/a.o libb.a -Wl,-s
        "#]],
        );
        check(
            "-shared -fPIC a.o -o liba.so",
            &expect![[r#"
            -fPIC -o liba.so OURS -shared a.o
        "#]],
        );
    }

    #[test]
    fn what_builds_nothing_is_passed_on() {
        for args in ["--version", "-E a.c", "-M a.c", "-dumpversion", "-c a.s", "-v"] {
            check(args, &expect!["as it is\n"]);
        }
    }

    #[test]
    fn languages_and_assembly() {
        check(
            "-x c a.txt -x none b.o s.S",
            &expect![[r#"
                s.S: what this assembly does is not seen
                INSTRUMENT -x c -S a.txt -o /t/0.s
                -c /t/0.s -o /t/0.o
                OURS /t/0.o b.o s.S
            "#]],
        );
        check(
            "-S a.c",
            &expect![[r#"
            INSTRUMENT -S a.c -o a.s
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_controlled_is_refused() {
        check(
            "-m32 a.c",
            &expect![[r#"
            error: -m32: only 64-bit programs can be controlled
        "#]],
        );
        check(
            "-static a.c",
            &expect![[r#"
            error: -static: a static program cannot be controlled, because the C library in it cannot be replaced
        "#]],
        );
        check(
            "-fsanitize=address -c a.c",
            &expect![[r#"
            -fsanitize=address is left out
            INSTRUMENT -S a.c -o /t/0.s
            -c /t/0.s -o a.o
        "#]],
        );
    }
}
