//! A test for x86 as C: its instructions in assembly, around them what puts values into registers and
//! takes them out again.

use std::fmt::Write;

use weakspot_core::{Observable, Program, Value};
use weakspot_lang::litmus::{Assembly, AssemblyThread, Placed};

use crate::source::Parts;

/// Registers that a function must leave as they were.
const KEPT: [&str; 6] = ["%rbx", "%rbp", "%r12", "%r13", "%r14", "%r15"];

/// The C program of a test.
pub(crate) fn source(assembly: &Assembly, program: &Program) -> String {
    let Assembly { threads, memory, bytes } = assembly;
    let mut code = String::new();
    for (index, thread) in threads.iter().enumerate() {
        function(&mut code, index, thread);
    }
    code += &translation(memory, *bytes);
    let mut begin = String::new();
    for Placed { offset, width, init, .. } in memory.iter().filter(|placed| placed.init != 0) {
        let value = value_of(*init, memory);
        let _ = writeln!(
            begin,
            "  {{ uint64_t value = {value}; memcpy(block + {offset}, &value, {width}); }}"
        );
    }
    for (index, thread) in threads.iter().enumerate() {
        for (slot, (_, init)) in thread.regs.iter().enumerate().filter(|(_, (_, v))| *v != 0) {
            let _ = writeln!(begin, "  slots[{index}][{slot}] = {};", value_of(*init, memory));
        }
    }
    let mut finish = String::new();
    for (i, observed) in program.observed.iter().enumerate() {
        let value = match observed.what {
            Observable::Reg(thread, reg) => {
                // In X86, whose registers have 32 bits, what is above them is no part of the value;
                // the view cuts it off.
                let (thread, reg) = (thread.index(), reg.index());
                format!("  uint64_t value = slots[{thread}][{reg}];\n")
            }
            Observable::Loc(loc) => match memory.iter().find(|placed| placed.loc == loc) {
                Some(Placed { offset, width, .. }) => {
                    format!("  uint64_t value = 0; memcpy(&value, block + {offset}, {width});\n")
                }
                None => "  uint64_t value = 0;\n".to_owned(),
            },
        };
        let view = crate::functions::view("as_in_test(value, block)", observed.view);
        let _ = writeln!(finish, "  {{\n{value}  state[{i}] = {view}; }}");
    }
    let registers = threads.iter().map(|t| t.regs.len()).max().unwrap_or(0);
    Parts {
        threads: threads.len(),
        bytes: *bytes,
        registers,
        components: program.observed.len(),
        code,
        begin,
        finish,
    }
    .source()
}

/// A function that loads the registers of a thread, does its instructions and stores the registers.
fn function(out: &mut String, index: usize, thread: &AssemblyThread) {
    let AssemblyThread { lines, base, scratch, regs } = thread;
    let mut all = vec![".text".to_owned(), format!("thread{index}:")];
    all.extend(KEPT.iter().map(|reg| format!("pushq {reg}")));
    all.push("pushq %rsi".to_owned());
    // The flags start at 0, as the test expects them.
    all.extend(["pushq $0x202", "popfq"].map(str::to_owned));
    // One of the two may be the one that is read.
    all.extend(["pushq %rsi".to_owned(), format!("movq %rdi,{base}"), format!("popq {scratch}")]);
    for (slot, (reg, _)) in regs.iter().enumerate() {
        all.push(format!("movq {}({scratch}),{reg}", 8 * slot));
    }
    all.extend(lines.iter().cloned());
    all.push(format!("popq {scratch}"));
    for (slot, (reg, _)) in regs.iter().enumerate() {
        all.push(format!("movq {reg},{}({scratch})", 8 * slot));
    }
    all.extend(KEPT.iter().rev().map(|reg| format!("popq {reg}")));
    all.extend(["movl $1,%eax", "ret"].map(str::to_owned));
    let _ = writeln!(out, "int thread{index}(unsigned char *block, uint64_t *slots);\n__asm__(");
    for line in all {
        let _ = writeln!(out, "  \"{line}\\n\"");
    }
    out.push_str(");\n");
}

/// A first value: a number, or the address of a location.
fn value_of(value: Value, memory: &[Placed]) -> String {
    let inside = |p: &&Placed| (p.addr..p.addr + Value::from(p.width)).contains(&value);
    match memory.iter().find(inside) {
        Some(p) => format!("(uint64_t)(uintptr_t)block + {}", p.offset as i64 + (value - p.addr)),
        None => format!("UINT64_C({})", value as u64),
    }
}

/// A function that makes addresses in the block of an instance those that the program has.
fn translation(memory: &[Placed], bytes: usize) -> String {
    let mut out = String::from(
        "static uint64_t as_in_test(uint64_t value, const unsigned char *block) {\n  \
         uint64_t offset = value - (uint64_t)(uintptr_t)block;\n",
    );
    let _ = writeln!(out, "  if (offset >= {bytes}) return value;");
    for Placed { addr, offset, .. } in memory.iter().rev() {
        let _ = writeln!(out, "  if (offset >= {offset}) return offset - {offset} + {addr};");
    }
    out + "  return value;\n}\n"
}
