//! Inline assembly, which no instrumentation sees, in the assembly that a compiler has written.
//!
//! Compilers put what a program writes in `asm` between `#APP` and `#NO_APP`. Fences and pauses
//! there get a call of the runtime library beside them; what else touches memory is told with its
//! place in the source, because its effect cannot be watched.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::{bits, operands};

/// Something in inline assembly that cannot be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The source file and line, if the compiler says so.
    pub place: Option<(String, u32)>,
    /// The instruction.
    pub instruction: String,
    /// What is wrong with it: continues "assembly, which ...".
    pub why: &'static str,
}

/// The text with calls of the runtime library, and what remains unseen.
#[must_use]
pub(crate) fn rewrite(text: &str) -> (String, Vec<Unseen>) {
    let mut out = String::with_capacity(text.len() + 256);
    let mut unseen = Vec::new();
    let mut inside = false;
    let mut places = Places { has_statements: text.contains(" is_stmt "), ..Places::default() };
    let intel = is_intel(text);
    let mut notation = Notation::default();
    let vectors = text.contains("%ymm") || text.contains("%zmm");
    let mut frame_pointer = false;
    for line in text.lines() {
        let mut line = Cow::Borrowed(line);
        let mut after = String::new();
        match line.trim() {
            "#APP" => {
                inside = true;
                notation = Notation { intel, ..Notation::default() };
            }
            "#NO_APP" => {
                inside = false;
                places.asm = None;
            }
            trimmed if inside && !places.in_asm(trimmed) => {
                let trimmed = &*notation.without_comments(trimmed);
                let effects = notation.effects(trimmed);
                for effect in &effects {
                    match effect {
                        Effect::Call(function) => after.push_str(&call(function)),
                        Effect::Access(..) => {}
                        Effect::Unseen(instruction, why) => {
                            let instruction = instruction.clone();
                            unseen.push(Unseen { place: places.now(), instruction, why });
                        }
                    }
                }
                if effects.iter().any(|effect| matches!(effect, Effect::Access(..))) {
                    (line, after) = (Cow::Owned(with_accesses(trimmed)), String::new());
                }
            }
            _ if inside => {}
            trimmed => {
                places.directive(trimmed);
                frame_pointer = operands::has_frame_pointer(trimmed, frame_pointer);
                match outside(trimmed, vectors, frame_pointer).filter(|_| !intel) {
                    Some(Effect::Call(function)) => after = call(function),
                    Some(Effect::Unseen(instruction, why)) => {
                        unseen.push(Unseen { place: places.now(), instruction, why });
                    }
                    _ => {}
                }
            }
        }
        out.push_str(&line);
        out.push('\n');
        out.push_str(&after);
    }
    (out, unseen)
}

/// What an instruction does that the compiler has made of a function such as `_mm_mfence`, for which it announces nothing. The
/// file has `vectors` of more than 16 bytes, or not.
fn outside(line: &str, vectors: bool, frame_pointer: bool) -> Option<Effect> {
    let line = line.split('#').next().unwrap_or("").trim();
    match line {
        // The upper halves of large registers would not be kept.
        "mfence" | "sfence" if vectors => {
            Some(Effect::Unseen(line.to_owned(), "is a fence beside registers of 32 bytes"))
        }
        "mfence" => Some(Effect::Call(FENCE)),
        "sfence" => Some(Effect::Call(STORE_FENCE)),
        _ if operands::is_unseen(line, frame_pointer) => {
            Some(Effect::Unseen(line.replace('\t', " "), UNSEEN))
        }
        _ => None,
    }
}

const UNSEEN: &str = "accesses memory unseen";

/// If the compiler was asked for the syntax of Intel: whether there is assembly of the program itself in it.
pub(crate) fn in_intel_syntax(text: &str) -> Option<bool> {
    is_intel(text).then(|| !rewrite(text).1.is_empty())
}

fn is_intel(text: &str) -> bool {
    let before = text.split("#APP").next().unwrap_or("");
    before.lines().any(|line| line.trim().starts_with(".intel_syntax"))
}

/// What reads the time differs from run to run, but touches no memory.
pub(crate) const TIME: &str = "reads the time, which differs from run to run";

/// What no trap in the compiled program finds, of the assembly that Rust's compiler has written: accesses
/// that are neither atomic updates nor fences, each with the function that it is in.
#[must_use]
pub fn untrapped(text: &str) -> Vec<(String, Unseen)> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut places = Places::default();
    let mut notation = Notation::default();
    let mut function = "";
    // LLVM writes a prefix on a line of its own.
    let mut prefix = "";
    for line in text.lines() {
        match line.trim() {
            "#APP" => {
                inside = true;
                notation = Notation::default();
            }
            "#NO_APP" => inside = false,
            "lock" if inside => prefix = "lock ",
            trimmed if inside => {
                let code = notation.without_comments(trimmed);
                for effect in notation.effects(&format!("{prefix}{code}")) {
                    let (instruction, why) = match effect {
                        Effect::Call(_) | Effect::Access(AccessKind::Update, ..) => continue,
                        Effect::Access(..) => (trimmed.to_owned(), "accesses memory unseen"),
                        Effect::Unseen(_, TIME) => continue,
                        Effect::Unseen(instruction, why) => (instruction, why),
                    };
                    let unseen = Unseen { place: places.now(), instruction, why };
                    found.push((function.to_owned(), unseen));
                }
                prefix = "";
            }
            trimmed => {
                if let Some(label) = line.strip_suffix(':').filter(|label| !label.starts_with(".L"))
                {
                    function = label;
                }
                places.directive(trimmed);
            }
        }
    }
    found
}

/// The statements of a line one by one, each access announced before it is made.
fn with_accesses(line: &str) -> String {
    let line = line.split('#').next().unwrap_or("");
    let mut out = String::new();
    for Statement { labels, prefix, text } in statements(line) {
        for label in labels {
            out += &format!("{label}:\n");
        }
        let effect = instruction(prefix, text);
        if let Some(Effect::Access(kind, len, operand)) = &effect {
            out += &announce(*kind, *len, operand);
        }
        let separator = if prefix.is_empty() { "" } else { "; " };
        out += &format!("\t{prefix}{separator}{text}\n");
        if let Some(Effect::Call(function)) = effect {
            out += &call(function);
        }
    }
    out.trim_end_matches('\n').to_owned()
}

/// Announces an access: its kind and size and its address are passed on the stack, and no register
/// and no flag changes.
pub(crate) fn announce(kind: AccessKind, len: u32, operand: &str) -> String {
    // What is relative to the stack pointer is further away by what was pushed.
    let operand = match operand.strip_prefix("(%rsp") {
        Some(rest) => format!("136(%rsp{rest}"),
        None if operand.contains("(%rsp") => format!("136+{operand}"),
        None => operand.to_owned(),
    };
    let what = kind as u32 * 256 + len;
    format!(
        "\tleaq -128(%rsp), %rsp\n\tpushq %rax\n\tleaq {operand}, %rax\n\tpushq %rax\n\tpushq \
         ${what}\n\tcall *{ACCESS}@GOTPCREL(%rip)\n\tleaq 16(%rsp), %rsp\n\tpopq %rax\n\tleaq \
         128(%rsp), %rsp\n"
    )
}

/// A call that changes no register and no flag: the function saves them all. The bytes below the
/// stack pointer may be in use. The address comes from the table of addresses, not by way of a stub
/// that binds lazily, which would change registers.
pub(crate) fn call(function: &str) -> String {
    format!("\tleaq -128(%rsp), %rsp\n\tcall *{function}@GOTPCREL(%rip)\n\tleaq 128(%rsp), %rsp\n")
}

/// The function of the runtime library for a full fence in assembly.
pub const FENCE: &str = "__weakspot_asm_fence";
/// For a fence between stores.
pub(crate) const STORE_FENCE: &str = "__weakspot_asm_store_fence";
/// For a pause in a loop that waits.
pub const PAUSE: &str = "__weakspot_asm_pause";

/// The function of the runtime library for an access in assembly.
pub const ACCESS: &str = "__weakspot_asm_access";

/// Kinds of accesses, as the runtime library knows them.
#[derive(Clone, Copy)]
pub(crate) enum AccessKind {
    Read = 0,
    Write = 1,
    Update = 2,
    /// Those of the program itself, in which there may be data races.
    PlainRead = 3,
    PlainWrite = 4,
}

enum Effect {
    Call(&'static str),
    /// So many bytes at an operand.
    Access(AccessKind, u32, String),
    Unseen(String, &'static str),
}

/// How one piece of inline assembly is to be read, from line to line.
#[derive(Default)]
struct Notation {
    /// Within `/* ... */`.
    in_comment: bool,
    /// Intel's.
    intel: bool,
    /// What follows is data, which is not executed.
    data: bool,
    /// The pieces that are repeated or a macro here, the outermost first.
    blocks: Vec<Block>,
    /// The macros that do nothing.
    idle_macros: Vec<String>,
}

/// What is repeated, or a macro: how often it is executed and with which operands is not known.
struct Block {
    /// Its first line.
    text: String,
    /// It was reported that it is not looked at.
    reported: bool,
}

impl Block {
    /// What it is called, if it is a macro.
    fn name(&self) -> Option<&str> {
        self.text.strip_prefix(".macro").map(first_word)
    }
}

impl Notation {
    fn without_comments<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        if !self.in_comment && !line.contains("/*") {
            return Cow::Borrowed(line);
        }
        let mut out = String::new();
        let mut rest = line;
        loop {
            let end = if self.in_comment { "*/" } else { "/*" };
            let (part, after) = match rest.split_once(end) {
                Some((part, after)) => (part, Some(after)),
                None => (rest, None),
            };
            if !self.in_comment {
                out += part;
                out.push(' ');
            }
            let Some(after) = after else { return Cow::Owned(out.trim().to_owned()) };
            self.in_comment = !self.in_comment;
            rest = after;
        }
    }

    /// What a line does.
    fn effects(&mut self, line: &str) -> Vec<Effect> {
        let line = line.split('#').next().unwrap_or("");
        let code = |s: &Statement<'_>| !s.text.is_empty();
        statements(line).iter().filter(|s| code(s)).flat_map(|s| self.effects_of(s)).collect()
    }

    /// What a statement does; and that the block that it is in is not looked at, unless nothing in there does anything.
    fn effects_of(&mut self, statement: &Statement<'_>) -> Vec<Effect> {
        let effect = self.effect(statement);
        let matters = effect.is_some() || statement.text.contains('\\');
        let block = self.blocks.iter_mut().find(|block| matters && !block.reported);
        let reported = block.map(|block| {
            block.reported = true;
            Effect::Unseen(block.text.clone(), NOT_LOOKED_AT)
        });
        reported.into_iter().chain(effect).collect()
    }

    fn effect(&mut self, statement: &Statement<'_>) -> Option<Effect> {
        let Statement { prefix, text, .. } = statement;
        if text.starts_with('.') {
            return self.directive(text);
        }
        if self.idle_macros.iter().any(|name| name == first_word(text)) {
            return None;
        }
        if self.intel {
            return Some(Effect::Unseen((*text).to_owned(), "is in the syntax of Intel"));
        }
        instruction(prefix, text)
    }

    fn directive(&mut self, text: &str) -> Option<Effect> {
        let (word, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            ".intel_syntax" => self.intel = true,
            ".att_syntax" => self.intel = false,
            ".section" | ".pushsection" => self.data = !operands.trim().starts_with(".text"),
            ".data" | ".bss" => self.data = true,
            ".text" | ".popsection" | ".previous" => self.data = false,
            ".macro" if replaces_instruction(operands) => {
                return Some(Effect::Unseen(text.to_owned(), NOT_LOOKED_AT));
            }
            ".rept" | ".irp" | ".irpc" | ".macro" => {
                self.blocks.push(Block { text: text.to_owned(), reported: false });
            }
            ".endr" | ".endm" => {
                let ended = self.blocks.pop().filter(|block| !block.reported);
                self.idle_macros.extend(ended.iter().filter_map(Block::name).map(str::to_owned));
            }
            // The last two change how macros are read.
            ".include" | ".incbin" | ".altmacro" | ".mri" => {
                return Some(Effect::Unseen(text.to_owned(), NOT_LOOKED_AT));
            }
            ".byte" if operands.split(',').all(is_no_operation) => {}
            ".fill" | ".skip" | ".space" if self.data || !fills_with_code(word, operands) => {}
            ".fill" | ".skip" | ".space" | ".byte" | ".2byte" | ".4byte" | ".8byte" | ".short"
            | ".word" | ".hword" | ".value" | ".int" | ".long" | ".quad" | ".octa" | ".ascii"
            | ".asciz" | ".string"
                if !self.data =>
            {
                return Some(Effect::Unseen(text.to_owned(), "is code as numbers"));
            }
            _ => {}
        }
        None
    }
}

const NOT_LOOKED_AT: &str = "is not looked at";

/// Whether a macro has the name of an instruction that does something by itself.
fn replaces_instruction(macro_and_operands: &str) -> bool {
    instruction("", first_word(macro_and_operands)).is_some()
}

fn first_word(text: &str) -> &str {
    text.trim().split([' ', '\t', ',']).next().unwrap_or("")
}

/// Whether a byte of code is `nop`.
fn is_no_operation(byte: &str) -> bool {
    matches!(byte.trim(), "0x90" | "144")
}

/// Whether a directive puts more into the code than `nop`, what stops the program, and zeros, which are jumped over.
fn fills_with_code(word: &str, operands: &str) -> bool {
    let value = operands.split(',').nth(if word == ".fill" { 2 } else { 1 });
    let value = value.map_or("0", str::trim);
    !is_no_operation(value) && !matches!(value, "" | "0" | "0x0" | "0x00" | "0xcc" | "204")
}

/// A statement of assembly.
#[derive(Default)]
struct Statement<'a> {
    labels: Vec<&'a str>,
    /// `lock`, or one of those that repeat.
    prefix: &'a str,
    text: &'a str,
}

fn statements(line: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let mut now = Statement::default();
    for statement in line.split([';', '\n']) {
        let mut rest = statement.trim();
        while let Some((label, after)) = rest.split_once(':')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || "._$".contains(c))
        {
            now.labels.push(label);
            rest = after.trim();
        }
        let (word, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let prefixes = ["lock", "rep", "repz", "repe", "repnz", "repne"];
        if let Some(prefix) = prefixes.iter().find(|prefix| prefix.eq_ignore_ascii_case(word)) {
            now.prefix = prefix;
            rest = operands.trim();
        }
        if !rest.is_empty() {
            now.text = rest;
            statements.push(std::mem::take(&mut now));
        }
    }
    if !now.labels.is_empty() {
        statements.push(now);
    }
    statements
}

/// Instructions that access memory by registers that they do not name.
const BY_REGISTERS: [&str; 7] = ["movs", "stos", "lods", "scas", "cmps", "ins", "outs"];

fn instruction(prefix: &str, text: &str) -> Option<Effect> {
    let (word, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (word, operands) = (&*word.to_ascii_lowercase(), &*plain(operands));
    let shown = || format!("{prefix} {text}").trim().to_string();
    let in_memory = bits::split(operands).into_iter().any(is_in_memory);
    let unnamed = operands.is_empty()
        && BY_REGISTERS.contains(&word.trim_end_matches(['b', 'w', 'l', 'q', 'd']));
    match word {
        "mfence" => Some(Effect::Call(FENCE)),
        "sfence" => Some(Effect::Call(STORE_FENCE)),
        "pause" => Some(Effect::Call(PAUSE)),
        "nop" if prefix.starts_with("rep") => Some(Effect::Call(PAUSE)),
        // These wait until all that came before is done.
        "cpuid" | "serialize" => Some(Effect::Call(FENCE)),
        "lfence" => None,
        _ if word.starts_with("nop") => None,
        "rdtsc" | "rdtscp" => Some(Effect::Unseen(shown(), TIME)),
        "syscall" | "int" => Some(Effect::Unseen(shown(), "calls the kernel behind our back")),
        "call" | "callq" | "jmp" | "jmpq" if !is_near(operands) => {
            Some(Effect::Unseen(shown(), "goes elsewhere"))
        }
        // Their operands are labels.
        "call" | "callq" => None,
        _ if word.starts_with(['j']) || word.starts_with("loop") => None,
        // `lock orl $0, (%rsp)` and its like: an update of nothing, used as a fence.
        "or" | "orl" | "orq" | "orb" | "add" | "addl" | "addq" | "addb"
            if prefix == "lock"
                && operands.starts_with("$0")
                && (operands.contains("%rsp") || operands.contains("%esp")) =>
        {
            Some(Effect::Call(FENCE))
        }
        _ if prefix == "lock" || word.starts_with("xchg") && in_memory => {
            let seen = access(word, operands, AccessKind::Update);
            seen.or_else(|| Some(Effect::Unseen(shown(), "updates memory unseen")))
        }
        "mov" | "movb" | "movw" | "movl" | "movq" if in_memory && prefix.is_empty() => {
            let kind = if operands.ends_with(')') { AccessKind::Write } else { AccessKind::Read };
            let seen = access(word, operands, kind);
            seen.or_else(|| Some(Effect::Unseen(shown(), UNSEEN)))
        }
        _ if prefix.starts_with("rep") => Some(Effect::Unseen(shown(), UNSEEN)),
        _ if unnamed || word.starts_with("xlat") || word.contains("maskmov") => {
            Some(Effect::Unseen(shown(), UNSEEN))
        }
        _ if in_memory && !word.starts_with("lea") && !word.starts_with("prefetch") => {
            Some(Effect::Unseen(shown(), UNSEEN))
        }
        _ => None,
    }
}

/// Operands without blanks, and with registers in lower case.
fn plain(operands: &str) -> String {
    let mut register = false;
    let letter = |c: char| {
        register = c == '%' || register && c.is_ascii_alphanumeric();
        if register { c.to_ascii_lowercase() } else { c }
    };
    operands.chars().filter(|c| !c.is_whitespace()).map(letter).collect()
}

/// Whether an operand is neither a number nor a register, nor a place in the record of the thread.
fn is_in_memory(operand: &str) -> bool {
    match operand.as_bytes().first() {
        // At a number there is the record of the thread, which is its own.
        Some(b'%') => operand.contains(':') && !operand.strip_prefix("%fs:").is_some_and(is_number),
        Some(b'$' | b'{') | None => false,
        _ => true,
    }
}

fn is_number(text: &str) -> bool {
    match text.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|c| c.is_ascii_hexdigit()),
        None => !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()),
    }
}

/// Whether a label is one in the same piece of assembly: `1f`, `2b`.
fn is_near(label: &str) -> bool {
    let number = label.strip_suffix(['f', 'b']);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()))
}

/// The access to the one operand that is in memory, if its size and address are plain to see.
fn access(word: &str, operands: &str, kind: AccessKind) -> Option<Effect> {
    let operands = bits::split(operands);
    let mut memory = operands.iter().filter(|operand| is_in_memory(operand));
    // Addresses relative to a segment are none that could be computed; names alone need not be reachable by `lea`.
    let operand = memory.next().filter(|o| o.contains('(') && !o.contains([':', '*']))?;
    if memory.next().is_some() {
        return None;
    }
    let register = operands.iter().find_map(|operand| operand.strip_prefix('%'));
    let len = match word {
        "cmpxchg16b" => 16,
        "cmpxchg8b" => 8,
        _ => match register {
            Some(register) => bits::register_size(register)?,
            None => bits::size(word, &[])?,
        },
    };
    Some(Effect::Access(kind, len, (*operand).to_owned()))
}

/// Where in the source the text is from.
#[derive(Default)]
struct Places {
    /// clang: the numbers of files.
    files: HashMap<String, String>,
    /// From the last `.loc`.
    loc: Option<(String, u32)>,
    /// gcc: from the line marker inside of the assembly.
    asm: Option<(String, u32)>,
    /// The last statement of this function that is in none of the compiler's own headers: what comes of functions
    /// there, such as `_mm_stream_si32`, is where it calls them.
    statement: Option<(String, u32)>,
    /// What follows is not where a statement begins, but only something that was moved there.
    moved: bool,
    /// The compiler says where statements begin. Otherwise a call has no place if its function is put there.
    has_statements: bool,
}

/// Whether some of what is unseen is in a header that comes with the compiler, as far as the text says.
pub(crate) fn has_unseen_in_headers(text: &str) -> bool {
    let in_header = |(file, _): (String, u32)| is_of_compiler(&file);
    rewrite(text).1.into_iter().filter_map(|unseen| unseen.place).any(in_header)
}

/// Whether a file is a header that comes with the compiler.
fn is_of_compiler(file: &str) -> bool {
    file.contains("/include/") && ["/gcc/", "/clang/"].iter().any(|part| file.contains(part))
}

impl Places {
    /// gcc's marker `# 12 "file.c" 1`; whether the line is one, or a comment.
    fn in_asm(&mut self, line: &str) -> bool {
        let Some(marker) = line.strip_prefix('#') else { return false };
        let mut words = marker.splitn(2, '"');
        let number = words.next().and_then(|n| n.trim().parse().ok());
        let file = words.next().and_then(|rest| rest.rsplit_once('"')).map(|(file, _)| file);
        if let (Some(number), Some(file)) = (number, file)
            && number > 0
            && !file.is_empty()
        {
            self.asm = Some((file.to_string(), number));
        }
        true
    }

    fn directive(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix(".file") {
            let mut quoted = rest.split('"');
            let number = quoted.next().unwrap_or("").trim().to_string();
            let names: Vec<&str> = quoted.step_by(2).filter(|name| !name.is_empty()).collect();
            let path = match names[..] {
                [name] => name.to_string(),
                [_, name, ..] if name.starts_with('/') => name.to_string(),
                [folder, name, ..] => format!("{folder}/{name}"),
                [] => return,
            };
            self.files.insert(number, path);
        } else if let Some(rest) = line.strip_prefix(".loc") {
            let mut words = rest.split_whitespace();
            let file = words.next().and_then(|number| self.files.get(number)).cloned();
            let line = words.next().and_then(|line| line.parse().ok());
            self.loc = file.zip(line);
            if let Some(value) = words.skip_while(|word| *word != "is_stmt").nth(1) {
                self.moved = value == "0";
            }
            let own = self.loc.as_ref().is_some_and(|(file, _)| !is_of_compiler(file));
            if own && self.has_statements && !self.moved {
                self.statement.clone_from(&self.loc);
            }
        } else if line.starts_with(".type") && line.ends_with("@function") {
            self.statement = None;
        }
    }

    fn now(&self) -> Option<(String, u32)> {
        let place = self.asm.as_ref().or(self.loc.as_ref())?;
        let of_user = self.statement.as_ref().filter(|_| is_of_compiler(&place.0));
        Some(of_user.unwrap_or(place).clone())
    }
}

#[cfg(test)]
mod tests;
