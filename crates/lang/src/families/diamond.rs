//! Dekker's flags with a diamond of `n` branches over an address of the thread's own between the
//! store and the load, Fig. 8 of the paper. Only the first branch is ever taken.

use super::c::{self, Uses};

/// The threads: own flag, other flag, own variable of the diamond, and their addresses.
const THREADS: [Thread; 2] = [
    Thread { name: "t1", own: ("x", 100), other: ("y", 101), spare: ("a", 102) },
    Thread { name: "t2", own: ("y", 101), other: ("x", 100), spare: ("b", 103) },
];

struct Thread {
    name: &'static str,
    own: (&'static str, u32),
    other: (&'static str, u32),
    spare: (&'static str, u32),
}

const ABOUT: [&str; 4] = [
    "Dekker's flags: raise your own, then look at that of the other. In between, each thread adds one,",
    "modulo $N, to a variable that nobody else uses, with one branch for each old value.",
    "Can both threads find the flag of the other down? Not under SC; under TSO the load overtakes the",
    "store.",
];

pub(super) fn weak(n: usize) -> String {
    let mut text = comment("// ", n);
    text += &format!(
        "
const N = {n}
shared x in 0..1, y in 0..1
shared a in 0..N - 1, b in 0..N - 1
"
    );
    for Thread { name, own, other, spare } in &THREADS {
        text += &format!("\nthread {name} {{\n    var r, s\n");
        text += &format!("    {} = 1\n    r = {}\n    choose ", own.0, spare.0);
        let branch = |i: usize| {
            let next = (i + 1) % n;
            format!("{{\n        assume(r == {i})\n        {} = {next}\n    }}", spare.0)
        };
        text += &(0..n).map(branch).collect::<Vec<_>>().join(" or ");
        text += &format!("\n    s = {}\n    assume(s == 0)\n    goal:\n}}\n", other.0);
    }
    text + "\nnever at (t1.goal, t2.goal)\n"
}

pub(super) fn trencher(n: usize) -> String {
    let mut text = comment("# ", n) + "# x, y, a and b have the addresses 100 to 103.\n";
    for Thread { name, own, other, spare } in &THREADS {
        text += &format!("\nthread {name}\ninitial start\nfinal goal\n");
        text += &format!("transition start entry write 1 {}\n", own.1);
        text += &format!("transition entry branch read r {}\n", spare.1);
        for i in 0..n {
            let (next, address) = ((i + 1) % n, spare.1);
            text += &format!("transition branch was_{i} check == r {i}\n");
            text += &format!("transition was_{i} exit write {next} {address}\n");
        }
        text += &format!("transition exit test read s {}\n", other.1);
        text += "transition test goal check == s 0\nend\n";
    }
    text
}

pub(super) fn c(n: usize) -> String {
    let about = comment("", n) + "\ncbmc --mm tso FILE.c\n";
    let mut text = c::head(&about, &Uses { choose: false, endless: false });
    text += "static volatile int x, y, a, b;\nstatic volatile int goal[2];\n\n";
    for (i, Thread { name, own, other, spare }) in THREADS.iter().enumerate() {
        text += &format!("static void *{name}(void *unused)\n{{\n    (void)unused;\n");
        text += &format!("    {} = 1;\n    switch ({}) {{\n", own.0, spare.0);
        for i in 0..n {
            let next = (i + 1) % n;
            text += &format!("    case {i}:\n        {} = {next};\n        break;\n", spare.0);
        }
        text += "    default:\n        ASSUME(0);\n    }\n";
        text +=
            &format!("    ASSUME({} == 0);\n    goal[{i}] = 1;\n    return NULL;\n}}\n\n", other.0);
    }
    text + &c::main(&[("t1", 0), ("t2", 0)])
}

fn comment(mark: &str, n: usize) -> String {
    let lines = ABOUT.iter().map(|line| format!("{mark}{line}\n"));
    lines.collect::<String>().replace("$N", &n.to_string())
}
