//! A test in C as C: each access is one instruction, as the models take it, which the compiler
//! leaves where it is. All else is computed as the core program says.
//!
//! Every location has 8 bytes: what it holds is a number as its type has it. Addresses are those of
//! the core program, and are looked up when they are used.

use std::fmt::Write;

use weakspot_core::{
    BinOp, Diagnostic, Edge, Expr, Fence, Instr, Observable, Program, Thread, UnOp, View,
};

use crate::source::{Parts, constant};

/// Locations are so many bytes apart: a line of the cache.
const LINE: usize = 64;

const ACCESSES: &str = r#"
#define CELL(offset) (*(volatile int64_t *)(block + (offset)))
static inline int64_t load(volatile int64_t *cell) {
  int64_t value;
  __asm__ volatile("movq %1,%0" : "=r"(value) : "m"(*cell) : "memory");
  return value;
}
static inline void store(volatile int64_t *cell, int64_t value) {
  __asm__ volatile("movq %1,%0" : "=m"(*cell) : "r"(value) : "memory");
}
static inline int64_t exchange(volatile int64_t *cell, int64_t value) {
  __asm__ volatile("xchgq %0,%1" : "+r"(value), "+m"(*cell) : : "memory");
  return value;
}
/* Whether the cell held `old`; else that is what it holds. */
static inline int replace(volatile int64_t *cell, int64_t *old, int64_t value) {
  unsigned char equal;
  __asm__ volatile("lock cmpxchgq %3,%1\n\tsete %2"
    : "+a"(*old), "+m"(*cell), "=q"(equal) : "r"(value) : "memory", "cc");
  return equal;
}
static inline int64_t divide(int64_t a, int64_t b) { return b == -1 ? (int64_t)-(uint64_t)a : a / b; }
static inline int64_t modulo(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
"#;

/// The C program of a test.
pub(crate) fn source(program: &Program) -> Result<String, Diagnostic> {
    let mut code = ACCESSES.to_owned();
    code += &lookup(program);
    for (index, thread) in program.threads.iter().enumerate() {
        let _ =
            writeln!(code, "static int thread{index}(unsigned char *block, uint64_t *slots) {{");
        function(&mut code, program, thread)?;
        code += "}\n";
    }
    let mut begin = String::new();
    for (i, loc) in program.locs.iter().enumerate() {
        if let Some(&init) = loc.init.first().filter(|v| **v != 0) {
            let _ = writeln!(begin, "  CELL({}) = {};", i * LINE, constant(init));
        }
    }
    let mut finish = String::new();
    for (i, observed) in program.observed.iter().enumerate() {
        let value = match observed.what {
            Observable::Reg(thread, reg) => {
                format!("(int64_t)slots[{}][{}]", thread.index(), reg.index())
            }
            Observable::Loc(loc) => {
                format!("*(const int64_t *)(block + {})", loc.index() * LINE)
            }
        };
        let _ = writeln!(finish, "  state[{i}] = {};", view(&value, observed.view));
    }
    let registers = program.threads.iter().map(|t| t.regs.len()).max().unwrap_or(0);
    Ok(Parts {
        threads: program.threads.len(),
        bytes: (program.locs.len() * LINE).max(LINE),
        registers,
        components: program.observed.len(),
        code,
        begin,
        finish,
    }
    .source())
}

/// How a value is shown.
pub(crate) fn view(value: &str, view: View) -> String {
    match view {
        View::Full => format!("(int64_t)({value})"),
        View::Signed(bits) => extended(value, bits, true),
        View::Unsigned(bits) => extended(value, bits, false),
    }
}

/// The low bits of a value.
fn extended(value: &str, bits: u8, signed: bool) -> String {
    let shift = 64 - bits.clamp(1, 64);
    let kind = if signed { "int64_t" } else { "uint64_t" };
    format!("(int64_t)(({kind})((uint64_t)({value}) << {shift}) >> {shift})")
}

/// Where in a block a location is, by its address in the program.
fn lookup(program: &Program) -> String {
    let mut out = String::from(
        "static inline volatile int64_t *cell(unsigned char *block, int64_t address) {\n  \
         switch (address) {\n",
    );
    for (i, loc) in program.locs.iter().enumerate() {
        let _ = writeln!(out, "  case {}: return &CELL({});", loc.addr, i * LINE);
    }
    out + "  default: abort();\n  }\n}\n"
}

fn function(out: &mut String, program: &Program, thread: &Thread) -> Result<(), Diagnostic> {
    for (i, value) in thread.regs.iter().enumerate() {
        let _ = writeln!(out, "  int64_t r{i} = {};", constant(*value));
    }
    let _ = writeln!(out, "  goto P{};", thread.entry.index());
    for (p, point) in thread.points.iter().enumerate() {
        let _ = writeln!(out, "P{p}: __attribute__((unused));");
        match point.edges.as_slice() {
            [] => out.push_str("  goto end;\n"),
            [edge] => step(out, program, edge)?,
            edges => {
                for edge in edges {
                    if !matches!(edge.instr, Instr::Assume(_)) {
                        return Err(refused(edge, "it is one of several things that may be done"));
                    }
                    step(out, program, edge)?;
                }
            }
        }
        // Nothing can be done here.
        out.push_str("  return 0;\n");
    }
    out.push_str("end:\n");
    for i in 0..thread.regs.len() {
        let _ = writeln!(out, "  slots[{i}] = (uint64_t)r{i};");
    }
    out.push_str("  (void)block; (void)slots;\n  return 1;\n");
    Ok(())
}

fn refused(edge: &Edge, why: &str) -> Diagnostic {
    Diagnostic::new(edge.span, "this cannot be run on this CPU", why)
}

fn step(out: &mut String, program: &Program, edge: &Edge) -> Result<(), Diagnostic> {
    let to = edge.to.index();
    let at = |addr: &Expr| match addr {
        Expr::Const(a) => match program.locs.iter().position(|loc| loc.addr == *a) {
            Some(i) => Ok(format!("&CELL({})", i * LINE)),
            None => Err(refused(edge, "it takes a part of a location, or several")),
        },
        computed => Ok(format!("cell(block, {})", expr(computed))),
    };
    let done = match &edge.instr {
        Instr::Nop => String::new(),
        Instr::Assign { reg, value } => format!("r{} = {};", reg.index(), expr(value)),
        Instr::Assume(cond) => {
            let _ = writeln!(out, "  if ({}) goto P{to};", expr(cond));
            return Ok(());
        }
        Instr::Load { reg, addr } => format!("r{} = load({});", reg.index(), at(addr)?),
        Instr::Store { addr, value } => format!("store({}, {});", at(addr)?, expr(value)),
        Instr::Update { reg, addr, value } => {
            let (r, at) = (reg.index(), at(addr)?);
            let mut depends = false;
            value.for_each_reg(&mut |used| depends |= used == *reg);
            if depends {
                format!(
                    "{{ volatile int64_t *to = {at}; int64_t old = load(to);\n    do r{r} = old; \
                     while (!replace(to, &old, {})); }}",
                    expr(value)
                )
            } else {
                format!("r{r} = exchange({at}, {});", expr(value))
            }
        }
        Instr::Fence(Fence::Full) => "__asm__ volatile(\"mfence\" : : : \"memory\");".to_owned(),
        // Stores of an x86 stay in order; the compiler keeps it, too.
        Instr::Fence(Fence::StoreStore) => "__asm__ volatile(\"\" : : : \"memory\");".to_owned(),
        Instr::Choose { .. } | Instr::Assert(_) | Instr::Lock | Instr::Unlock => {
            return Err(refused(edge, "expected accesses, fences and what is computed"));
        }
    };
    let _ = writeln!(out, "  {done} goto P{to};");
    Ok(())
}

fn expr(e: &Expr) -> String {
    match e {
        Expr::Const(v) => constant(*v),
        Expr::Reg(r) => format!("r{}", r.index()),
        Expr::Unary(op, e) => {
            let e = expr(e);
            match op {
                UnOp::Neg => format!("(int64_t)(-(uint64_t){e})"),
                UnOp::Not => format!("(int64_t)({e} == 0)"),
                UnOp::BitNot => format!("(~{e})"),
                UnOp::ZeroExtend(bits) => extended(&e, *bits, false),
                UnOp::SignExtend(bits) => extended(&e, *bits, true),
            }
        }
        Expr::Binary(op, l, r) => binary(*op, &expr(l), &expr(r)),
        Expr::Select(parts) => {
            let (c, t, e) = &**parts;
            format!("({} ? {} : {})", expr(c), expr(t), expr(e))
        }
    }
}

fn binary(op: BinOp, l: &str, r: &str) -> String {
    let wraps = |op: &str| format!("(int64_t)((uint64_t){l} {op} (uint64_t){r})");
    let compares = |op: &str| format!("(int64_t)({l} {op} {r})");
    match op {
        BinOp::Add => wraps("+"),
        BinOp::Sub => wraps("-"),
        BinOp::Mul => wraps("*"),
        BinOp::Div => format!("divide({l}, {r})"),
        BinOp::Rem => format!("modulo({l}, {r})"),
        BinOp::BitAnd => wraps("&"),
        BinOp::BitOr => wraps("|"),
        BinOp::BitXor => wraps("^"),
        BinOp::Shl => format!("(int64_t)((uint64_t){l} << ({r} & 63))"),
        BinOp::Shr => format!("(int64_t)((uint64_t){l} >> ({r} & 63))"),
        BinOp::Sar => format!("({l} >> ({r} & 63))"),
        BinOp::Eq => compares("=="),
        BinOp::Ne => compares("!="),
        BinOp::Lt => compares("<"),
        BinOp::Le => compares("<="),
        BinOp::Gt => compares(">"),
        BinOp::Ge => compares(">="),
        BinOp::And => compares("&&"),
        BinOp::Or => compares("||"),
    }
}
