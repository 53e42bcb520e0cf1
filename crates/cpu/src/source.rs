//! The parts of the C program that all tests share.

use std::fmt::Write;

/// What runs any test.
const HARNESS: &str = include_str!("harness.c");

const HEADERS: &str = "\
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
";

/// What a test consists of, as C.
pub(crate) struct Parts {
    /// How many threads it has.
    pub(crate) threads: usize,
    /// The bytes of a block of memory.
    pub(crate) bytes: usize,
    /// The most registers that a thread has.
    pub(crate) registers: usize,
    /// How many components a final state has.
    pub(crate) components: usize,
    /// Functions `thread0`, `thread1`, ...
    pub(crate) code: String,
    /// Statements that fill `block`, which is 0, and `slots`, the registers of each thread.
    pub(crate) begin: String,
    /// Statements that make the final `state` of these.
    pub(crate) finish: String,
}

impl Parts {
    /// All of the program.
    pub(crate) fn source(&self) -> String {
        let Parts { threads, bytes, components, .. } = self;
        // The registers of a thread have cache lines of their own.
        let slots = self.registers.max(1).next_multiple_of(8);
        let mut out = HEADERS.to_owned();
        let _ = writeln!(out, "#define THREADS {threads}\n#define BYTES {bytes}");
        let _ = writeln!(out, "#define SLOTS {slots}\n#define COMPONENTS {components}");
        out += &self.code;
        out += "static void begin(unsigned char *block, uint64_t (*slots)[SLOTS]) {\n";
        out += "  memset(block, 0, BYTES);\n  memset(slots, 0, THREADS * sizeof *slots);\n";
        out += &self.begin;
        out += "}\nstatic void finish(const unsigned char *block, uint64_t (*slots)[SLOTS], ";
        out += "int64_t *state) {\n  (void)block; (void)slots; (void)state;\n";
        out += &self.finish;
        out += "}\nstatic int (*const threads[])(unsigned char *, uint64_t *) = {";
        for thread in 0..*threads {
            let _ = write!(out, "thread{thread},");
        }
        out += "};\n";
        out + HARNESS
    }
}

/// A constant of 64 bits.
pub(crate) fn constant(value: i64) -> String {
    format!("(int64_t)UINT64_C({})", value as u64)
}
