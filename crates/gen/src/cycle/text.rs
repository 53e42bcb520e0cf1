//! Tests as text.

use super::edge::{Dir, Edge, FenceKind};
use super::events::{Cycle, LOCATIONS};

/// What a test is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleSyntax {
    /// X86_64, as a litmus test.
    X86,
    /// C, as a litmus test.
    C,
    /// Our own language.
    Weak,
}

const REGISTERS: [(&str, &str); 6] = [
    ("eax", "rax"),
    ("ebx", "rbx"),
    ("ecx", "rcx"),
    ("edx", "rdx"),
    ("esi", "rsi"),
    ("edi", "rdi"),
];

/// What a thread does.
enum Step {
    /// Writes a value to a location.
    Write(usize, i64),
    /// Reads a location into the register with this number.
    Read(usize, usize),
    Fence(FenceKind),
}

impl CycleSyntax {
    /// All of them.
    pub const ALL: [CycleSyntax; 3] = [CycleSyntax::X86, CycleSyntax::C, CycleSyntax::Weak];

    /// Its name on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            CycleSyntax::X86 => "x86",
            CycleSyntax::C => "c",
            CycleSyntax::Weak => "weak",
        }
    }

    /// How files end.
    #[must_use]
    pub fn ending(self) -> &'static str {
        if self == CycleSyntax::Weak { "weak" } else { "litmus" }
    }
}

/// The steps of a thread, and what its registers hold in the end.
type OfThread = (Vec<Step>, Vec<(usize, i64)>);

impl Cycle {
    /// The test as text, with a comment.
    #[must_use]
    pub fn text(&self, syntax: CycleSyntax, comment: &str) -> String {
        match syntax {
            CycleSyntax::X86 => self.x86(comment),
            CycleSyntax::C => self.c(comment),
            CycleSyntax::Weak => self.weak(comment),
        }
    }

    /// The steps of each thread, and what its reads have to read: register and value.
    fn steps(&self) -> Vec<OfThread> {
        let mut threads: Vec<OfThread> = Vec::new();
        let mut reads = 0;
        for (event, edge) in self.events().iter().zip(self.edges()) {
            if threads.len() == event.thread {
                threads.push((Vec::new(), Vec::new()));
                reads = 0;
            }
            let (steps, wanted) = &mut threads[event.thread];
            match event.dir {
                Dir::W => steps.push(Step::Write(event.location, event.value.unwrap_or(1))),
                Dir::R => {
                    steps.push(Step::Read(event.location, reads));
                    wanted.extend(event.value.map(|v| (reads, v)));
                    reads += 1;
                }
            }
            if let Edge::Po { fence: Some(fence), .. } = edge {
                steps.push(Step::Fence(*fence));
            }
        }
        threads
    }

    /// The condition, with a register and a location written as `reg` and `equation` say.
    fn condition(
        &self,
        reg: impl Fn(usize, usize, i64) -> String,
        location: impl Fn(&str, i64) -> String,
        and: &str,
    ) -> String {
        let mut parts = Vec::new();
        for (thread, (_, wanted)) in self.steps().iter().enumerate() {
            parts.extend(wanted.iter().map(|&(r, v)| reg(thread, r, v)));
        }
        parts.extend(self.finals().iter().map(|&(l, v)| location(LOCATIONS[l], v)));
        parts.join(and)
    }

    fn x86(&self, comment: &str) -> String {
        let columns: Vec<Vec<String>> = self
            .steps()
            .iter()
            .enumerate()
            .map(|(i, (steps, _))| {
                let head = format!("P{i}");
                std::iter::once(head).chain(steps.iter().map(x86_step)).collect()
            })
            .collect();
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut table = String::new();
        for row in 0..rows {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| {
                    let width = column.iter().map(String::len).max().unwrap_or(0);
                    let cell = column.get(row).map_or("", String::as_str);
                    format!(" {cell:width$} ")
                })
                .collect();
            table += &format!("{};\n", cells.join("|"));
        }
        let condition = self.condition(
            |t, r, v| format!("{t}:{}={v}", x86_register(r).1),
            |l, v| format!("[{l}]={v}"),
            " /\\ ",
        );
        format!(
            "X86_64 {}\n\"{}\"\n(* {comment} *)\n{{}}\n{table}exists ({condition})\n",
            self.name(),
            self.words()
        )
    }

    fn c(&self, comment: &str) -> String {
        let mut out = format!("C {}\n\"{}\"\n(* {comment} *)\n{{}}\n", self.name(), self.words());
        for (i, (steps, _)) in self.steps().iter().enumerate() {
            let mut used: Vec<usize> = steps.iter().filter_map(Step::location).collect();
            used.sort_unstable();
            used.dedup();
            let params: Vec<String> =
                used.iter().map(|l| format!("int *{}", LOCATIONS[*l])).collect();
            out += &format!("\nP{i}({})\n{{\n", params.join(", "));
            for step in steps {
                out += &match step {
                    Step::Write(l, v) => format!("\tWRITE_ONCE(*{}, {v});\n", LOCATIONS[*l]),
                    Step::Read(l, r) => format!("\tint r{r} = READ_ONCE(*{});\n", LOCATIONS[*l]),
                    Step::Fence(FenceKind::Full) => "\tsmp_mb();\n".to_owned(),
                    Step::Fence(FenceKind::StoreStore) => "\tsmp_wmb();\n".to_owned(),
                };
            }
            out += "}\n";
        }
        let condition =
            self.condition(|t, r, v| format!("{t}:r{r}={v}"), |l, v| format!("[{l}]={v}"), " /\\ ");
        out + &format!("\nexists ({condition})\n")
    }

    fn weak(&self, comment: &str) -> String {
        let locations = self.events().iter().map(|e| e.location).max().unwrap_or(0);
        let mut out = format!(
            "// {}: {}\n// {comment}\nshared {}\n",
            self.name(),
            self.words(),
            LOCATIONS[..=locations].join(", ")
        );
        for (i, (steps, _)) in self.steps().iter().enumerate() {
            out += &format!("thread P{i} {{\n");
            for step in steps {
                out += &match step {
                    Step::Write(l, v) => format!("    {} = {v}\n", LOCATIONS[*l]),
                    Step::Read(l, r) => format!("    var r{r} = {}\n", LOCATIONS[*l]),
                    Step::Fence(FenceKind::Full) => "    fence\n".to_owned(),
                    Step::Fence(FenceKind::StoreStore) => "    fence.ss\n".to_owned(),
                };
            }
            out += "}\n";
        }
        let condition = self.condition(
            |t, r, v| format!("P{t}.r{r} == {v}"),
            |l, v| format!("{l} == {v}"),
            " && ",
        );
        out + &format!("exists ({condition})\n")
    }
}

impl Step {
    fn location(&self) -> Option<usize> {
        match self {
            Step::Write(l, _) | Step::Read(l, _) => Some(*l),
            Step::Fence(_) => None,
        }
    }
}

fn x86_register(number: usize) -> (String, String) {
    match REGISTERS.get(number) {
        Some((low, whole)) => ((*low).to_owned(), (*whole).to_owned()),
        None => (format!("r{}d", number + 2), format!("r{}", number + 2)),
    }
}

fn x86_step(step: &Step) -> String {
    match step {
        Step::Write(l, v) => format!("movl ${v},({})", LOCATIONS[*l]),
        Step::Read(l, r) => format!("movl ({}),%{}", LOCATIONS[*l], x86_register(*r).0),
        Step::Fence(FenceKind::Full) => "mfence".to_owned(),
        Step::Fence(FenceKind::StoreStore) => "sfence".to_owned(),
    }
}
