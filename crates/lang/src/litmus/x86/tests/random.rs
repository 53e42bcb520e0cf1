//! Random straight-line code against an interpreter of its own, which knows nothing of widths
//! that vanish, constants that are folded or flags that nobody reads.

use weakspot_core::testing::Rng;

use super::*;

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len())]
}

/// The state of the interpreter: three registers, two locations of eight bytes, the flags.
#[derive(Clone, Default)]
struct Cpu {
    regs: [u64; 4],
    mem: [u64; 2],
    cf: bool,
    zf: bool,
    sf: bool,
    of: bool,
}

#[derive(Clone, Copy)]
enum Place {
    Reg(usize),
    Mem(usize),
    Imm(u64),
}

const NAMES: [[&str; 4]; 4] = [
    ["al", "ax", "eax", "rax"],
    ["bl", "bx", "ebx", "rbx"],
    ["cl", "cx", "ecx", "rcx"],
    ["dl", "dx", "edx", "rdx"],
];

fn mask(bytes: u32) -> u64 {
    u64::MAX >> (64 - bytes * 8)
}

impl Cpu {
    fn get(&self, p: Place, bytes: u32) -> u64 {
        mask(bytes)
            & match p {
                Place::Reg(r) => self.regs[r],
                Place::Mem(m) => self.mem[m],
                Place::Imm(v) => v,
            }
    }

    fn set(&mut self, p: Place, bytes: u32, value: u64) {
        let value = value & mask(bytes);
        match p {
            Place::Reg(r) if bytes < 4 => self.regs[r] = (self.regs[r] & !mask(bytes)) | value,
            Place::Reg(r) => self.regs[r] = value,
            Place::Mem(m) => self.mem[m] = (self.mem[m] & !mask(bytes)) | value,
            Place::Imm(_) => {}
        }
    }

    fn result(&mut self, r: u64, bytes: u32) {
        self.zf = r & mask(bytes) == 0;
        self.sf = r >> (bytes * 8 - 1) & 1 == 1;
    }

    fn add(&mut self, a: u64, b: u64, carry: bool, bytes: u32) -> u64 {
        let wide = u128::from(a) + u128::from(b) + u128::from(carry);
        let r = wide as u64 & mask(bytes);
        self.result(r, bytes);
        self.cf = wide > u128::from(mask(bytes));
        self.of = ((a ^ r) & (b ^ r)) >> (bytes * 8 - 1) & 1 == 1;
        r
    }

    fn sub(&mut self, a: u64, b: u64, borrow: bool, bytes: u32) -> u64 {
        let r = a.wrapping_sub(b).wrapping_sub(u64::from(borrow)) & mask(bytes);
        self.result(r, bytes);
        self.cf = u128::from(a) < u128::from(b) + u128::from(borrow);
        self.of = ((a ^ b) & (a ^ r)) >> (bytes * 8 - 1) & 1 == 1;
        r
    }

    fn logic(&mut self, r: u64, bytes: u32) -> u64 {
        self.result(r, bytes);
        self.cf = false;
        self.of = false;
        r
    }

    /// Executes an instruction of two operands.
    fn two(&mut self, op: &str, src: Place, dst: Place, n: u32) {
        let (a, b) = (self.get(dst, n), self.get(src, n));
        let carry = self.cf;
        match op {
            "mov" => self.set(dst, n, b),
            "add" => {
                let r = self.add(a, b, false, n);
                self.set(dst, n, r);
            }
            "adc" => {
                let r = self.add(a, b, carry, n);
                self.set(dst, n, r);
            }
            "sub" => {
                let r = self.sub(a, b, false, n);
                self.set(dst, n, r);
            }
            "sbb" => {
                let r = self.sub(a, b, carry, n);
                self.set(dst, n, r);
            }
            "cmp" => {
                self.sub(a, b, false, n);
            }
            "test" => {
                self.logic(a & b, n);
            }
            "and" | "or" | "xor" => {
                let r = match op {
                    "and" => a & b,
                    "or" => a | b,
                    _ => a ^ b,
                };
                let r = self.logic(r, n);
                self.set(dst, n, r);
            }
            "xchg" => {
                self.set(dst, n, b);
                self.set(src, n, a);
            }
            "xadd" => {
                let r = self.add(a, b, false, n);
                self.set(src, n, a);
                self.set(dst, n, r);
            }
            _ => {
                let acc = self.get(Place::Reg(0), n);
                self.sub(acc, a, false, n);
                if acc == a {
                    self.set(dst, n, b);
                } else {
                    self.set(Place::Reg(0), n, a);
                }
            }
        }
    }

    fn one(&mut self, op: &str, dst: Place, n: u32) {
        let a = self.get(dst, n);
        let carry = self.cf;
        let r = match op {
            "inc" => self.add(a, 1, false, n),
            "dec" => self.sub(a, 1, false, n),
            "neg" => self.sub(0, a, false, n),
            _ => !a,
        };
        if op == "inc" || op == "dec" {
            self.cf = carry;
        }
        self.set(dst, n, r);
    }

    fn holds(&self, cond: &str) -> bool {
        match cond {
            "e" => self.zf,
            "ne" => !self.zf,
            "l" => self.sf != self.of,
            "ge" => self.sf == self.of,
            "le" => self.zf || self.sf != self.of,
            "b" => self.cf,
            "a" => !self.cf && !self.zf,
            "s" => self.sf,
            _ => self.of,
        }
    }
}

#[test]
fn against_an_interpreter() {
    for seed in 1..=3000 {
        let mut rng = Rng::new(seed);
        let edge = [
            0,
            1,
            2,
            0x7f,
            0x80,
            0xff,
            0x7fff_ffff,
            0x8000_0000,
            u64::MAX,
            1 << 63,
            0x1234_5678_9abc_def0,
        ];
        let mut cpu = Cpu::default();
        let mut init = String::new();
        for (r, name) in ["rax", "rbx", "rcx", "rdx"].iter().enumerate() {
            cpu.regs[r] = pick(&mut rng, &edge);
            init += &format!("0:{name}={};", cpu.regs[r]);
        }
        for (m, name) in ["x", "y"].iter().enumerate() {
            cpu.mem[m] = pick(&mut rng, &edge);
            init += &format!("uint64_t {name}={};", cpu.mem[m]);
        }
        let mut code = Vec::new();
        for _ in 0..1 + rng.below(7) {
            code.push(instruction(&mut rng, &mut cpu, &edge));
        }
        if rng.below(2) == 0 {
            let at = rng.below(code.len());
            code[at] = format!("L: {}", code[at]);
        }
        let lines: Vec<&str> = code.iter().map(String::as_str).collect();
        let seen = "locations [0:rax;0:rbx;0:rcx;0:rdx;x;y;]";
        let text = one_thread("X86_64", &init, &lines, seen);
        let parsed = LITMUS.accept(&text);
        let found = run(&parsed.program, Model::Tso);
        let [a, b, c, d] = cpu.regs.map(|r| r as i64);
        let expected = vec![a, b, c, d, cpu.mem[0] as i64, cpu.mem[1] as i64];
        assert_eq!(
            found.outcomes.into_iter().collect::<Vec<_>>(),
            [expected],
            "seed {seed}\n{text}"
        );
    }
}

/// Makes up an instruction, executes it on `cpu` and returns its text.
fn instruction(rng: &mut Rng, cpu: &mut Cpu, edge: &[u64]) -> String {
    let size = rng.below(4);
    let (bytes, suffix) = (1 << size, ["b", "w", "l", "q"][size]);
    let place = |rng: &mut Rng| match rng.below(3) {
        0 => Place::Mem(rng.below(2)),
        _ => Place::Reg(rng.below(4)),
    };
    let show = |p: Place| match p {
        Place::Reg(r) => format!("%{}", NAMES[r][size]),
        Place::Mem(m) => format!("({})", ["x", "y"][m]),
        Place::Imm(v) => format!("${}", v & mask(bytes)),
    };
    let dst = place(rng);
    let in_memory = matches!(dst, Place::Mem(_));
    match rng.below(6) {
        0 => {
            let op = pick(rng, &["inc", "dec", "neg", "not"]);
            cpu.one(op, dst, bytes);
            let lock = if in_memory && rng.below(2) == 0 { "lock " } else { "" };
            format!("{lock}{op}{suffix} {}", show(dst))
        }
        1 => {
            let op = pick(rng, &["xchg", "xadd", "cmpxchg"]);
            let reg = Place::Reg(rng.below(4));
            cpu.two(op, reg, dst, bytes);
            let lock = if in_memory && rng.below(2) == 0 { "lock " } else { "" };
            match dst {
                Place::Mem(_) => format!("{lock}{op}{suffix} {},{}", show(dst), show(reg)),
                _ => format!("{op}{suffix} {},{}", show(reg), show(dst)),
            }
        }
        2 => {
            let cond = pick(rng, &["e", "ne", "l", "ge", "le", "b", "a", "s", "o"]);
            let r = rng.below(4);
            cpu.set(Place::Reg(r), 1, u64::from(cpu.holds(cond)));
            format!("set{cond} %{}", NAMES[r][0])
        }
        3 => {
            let cond = pick(rng, &["e", "ne", "l", "ge", "le", "b", "a", "s", "o"]);
            let (size, r) = (2 + rng.below(2), rng.below(4));
            let (bytes, value) = (1 << size, if cpu.holds(cond) { dst } else { Place::Reg(r) });
            let value = cpu.get(value, bytes);
            cpu.set(Place::Reg(r), bytes, value);
            let from = match dst {
                Place::Reg(s) => format!("%{}", NAMES[s][size]),
                other => show(other),
            };
            format!("cmov{cond} {from},%{}", NAMES[r][size])
        }
        _ => {
            let op =
                pick(rng, &["mov", "add", "adc", "sub", "sbb", "and", "or", "xor", "cmp", "test"]);
            let mut src = if rng.below(3) == 0 { Place::Imm(pick(rng, edge)) } else { place(rng) };
            if in_memory && matches!(src, Place::Mem(_)) {
                src = Place::Reg(rng.below(4));
            }
            cpu.two(op, src, dst, bytes);
            let lock = in_memory && !["mov", "cmp", "test"].contains(&op) && rng.below(2) == 0;
            format!("{}{op}{suffix} {},{}", if lock { "lock " } else { "" }, show(src), show(dst))
        }
    }
}
