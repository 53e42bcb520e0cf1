//! RISC-V.

use super::*;

fn one(init: &str, code: &[&str], rest: &str) -> String {
    let rows: Vec<String> = code.iter().map(|line| format!(" {line} ;\n")).collect();
    format!("RISCV T\n{{ {init} }}\n P0 ;\n{}{rest}\n", rows.concat())
}

/// The code ends with these values, in every run.
fn ends(init: &str, code: &[&str], condition: &str) {
    let text = one(init, code, &format!("forall ({condition})"));
    assert_eq!(observations(&text), "Always Always Always", "{text}");
}

#[test]
fn instructions() {
    ends(
        "uint64_t 0:x1; uint64_t 0:x3=0xfffffffe",
        &["ori x1,x0,1", "subw x1,x0,x1", "addiw x3,x3,1"],
        "0:x1=-1 /\\ 0:x3=-1",
    );
    ends(
        "int64_t 0:a0; int64_t 0:a1=1",
        &["slli a1,a1,32", "addi a1,a1,-1", "sext.w a0,a1"],
        "0:a0=-1",
    );
    ends(
        "uint64_t x=0xffffffffff; 0:x2=x; uint64_t 0:x3; uint64_t 0:x5",
        &["lw x5,0(x2)", "lwu x3,0(x2)"],
        "0:x5=-1 /\\ 0:x3=0xffffffff",
    );
    ends("int x=0xffff; 0:x2=x", &["lb x5,0(x2)", "lbu x3,0(x2)"], "0:x5=-1 /\\ 0:x3=0xff");
    ends("uint64_t z; 0:x5=z; 0:x2=-1", &["sw x2,0(x5)"], "[z]=4294967295");
    ends(
        "int x=5; 0:x2=x",
        &["li x3,-7", "amomin.w x4,x3,(x2)", "amomaxu.w x5,x0,0(x2)"],
        "0:x4=5 /\\ 0:x5=-7 /\\ x=-7",
    );
    ends(
        "",
        &[
            "li x5,3",
            "lui x6,1",
            "sltu x7,x0,x5",
            "not x8,x5",
            "neg x9,x5",
            "seqz x10,x0",
            "srai x9,x9,1",
        ],
        "0:x6=4096 /\\ 0:x7=1 /\\ 0:x8=-4 /\\ 0:x9=-2 /\\ 0:x10=1",
    );
    ends("", &["li x5,3", "L: addi x6,x6,2", "addi x5,x5,-1", "bnez x5,L"], "0:x6=6");
    ends(
        "",
        &["li x5,-1", "li x6,1", "bltu x5,x6,L", "li x7,1", "L: blt x5,x6,M", "li x8,1", "M:"],
        "0:x7=1 /\\ 0:x8=0",
    );
}

/// Store buffering with something between the store and the load.
fn sb(fence: &str) -> String {
    let text = format!(
        "RISCV SB\n{{ 0:x5=x; 0:x6=y; 1:x5=y; 1:x6=x; }}\n P0 | P1 ;\n li x7,1 | li x7,1 ;\n sw x7,0(x5) | sw x7,0(x5) ;\n {fence} | {fence} ;\n lw x8,0(x6) | lw x8,0(x6) ;\nexists (0:x8=0 /\\ 1:x8=0)\n"
    );
    observations(&text)
}

#[test]
fn fences() {
    for weak in ["", "fence r,rw", "fence rw,w", "fence w,w", "fence.tso", "fence.i", "fence r,r"] {
        assert_eq!(sb(weak), "Never Sometimes Sometimes", "{weak}");
    }
    for strong in ["fence", "fence rw,rw", "fence w,r", "fence iorw,iorw"] {
        assert_eq!(sb(strong), "Never Never Never", "{strong}");
    }
    let mp = |fence: &str| {
        observations(&format!(
            "RISCV MP\n{{ 0:x5=x; 0:x6=y; 1:x5=y; 1:x6=x; }}\n P0 | P1 ;\n li x7,1 | lw x7,0(x5) ;\n sw x7,0(x5) | lw x8,0(x6) ;\n {fence} | ;\n sw x7,0(x6) | ;\nexists (1:x7=1 /\\ 1:x8=0)\n"
        ))
    };
    assert_eq!(mp(""), "Never Never Sometimes");
    assert_eq!(mp("fence w,w"), "Never Never Never");
    assert_eq!(mp("fence r,r"), "Never Never Sometimes");
}

#[test]
fn reservations() {
    // Two increments by `lr` and `sc`: where both succeed, none is lost; each may fail.
    let text = "RISCV INC\n{ 0:x5=x; 1:x5=x; }\n P0 | P1 ;\n lr.w x6,(x5) | lr.w x6,(x5) ;\n addi x6,x6,1 | addi x6,x6,1 ;\n sc.w x7,x6,(x5) | sc.w x7,x6,(x5) ;\nexists (0:x7=0 /\\ 1:x7=0 /\\ not (x=2))\n";
    assert_eq!(observations(text), "Never Never Never");
    let both = text.replace("not (x=2)", "x=2");
    assert_eq!(observations(&both), "Sometimes Sometimes Sometimes");
    let fails = text.replace("0:x7=0 /\\ 1:x7=0 /\\ not (x=2)", "0:x7=1 /\\ 1:x7=1 /\\ x=0");
    assert_eq!(observations(&fails), "Sometimes Sometimes Sometimes");
    // Retried until it succeeds.
    let looped = "RISCV INC\n{ 0:x5=x; 1:x5=x; }\n P0 | P1 ;\n L: lr.w x6,(x5) | L: lr.w x6,(x5) ;\n addi x6,x6,1 | addi x6,x6,1 ;\n sc.w x7,x6,(x5) | sc.w x7,x6,(x5) ;\n bnez x7,L | bnez x7,L ;\nforall (x=2)\n";
    assert_eq!(observations(looped), "Always Always Always");
    // The register with the address may be another one's later, and the address may be computed.
    let reused = "RISCV R\n{ 0:x5=x; 0:x10=y; }\n P0 ;\n li x6,1 ;\n lr.w x7,(x5) ;\n sc.w x8,x6,(x5) ;\n lw x5,0(x10) ;\nexists (x=1 /\\ 0:x8=0)\n";
    assert_eq!(observations(reused), "Sometimes Sometimes Sometimes");
    let computed = "RISCV R\n{ 0:x5=x; 0:x10=y; }\n P0 ;\n lw x6,0(x10) ;\n xor x7,x6,x6 ;\n add x8,x5,x7 ;\n li x6,1 ;\n lr.w x7,(x8) ;\n sc.w x9,x6,(x8) ;\n sw x9,0(x10) ;\nexists (x=1 /\\ y=0)\n";
    assert_eq!(observations(computed), "Sometimes Sometimes Sometimes");
    // An address that is read from memory is the same as one that is known.
    let pointed = "RISCV R\n{ int x; int *y = &x; 0:x5=x; 0:x10=y; }\n P0 ;\n ld x8,0(x10) ;\n li x6,1 ;\n lr.w x7,(x8) ;\n sc.w x9,x6,(x5) ;\nexists (x=1)\n";
    assert_eq!(observations(pointed), "Sometimes Sometimes Sometimes");
    // Of another address it fails.
    let other = computed.replace("sc.w x9,x6,(x8)", "sc.w x9,x6,(x10)");
    assert_eq!(observations(&other.replace("x=1 /\\ y=0", "0:x9=0")), "Never Never Never");
    // A reservation that releases comes after the stores before it.
    assert_eq!(sb("lr.w.aq.rl x9,(x5)"), "Never Never Never");
    assert_eq!(sb("lr.w.aq x9,(x5)"), "Never Sometimes Sometimes");
    // Without a reservation it fails.
    ends("0:x5=x", &["sc.w x7,x5,(x5)"], "0:x7=1 /\\ x=0");
}

#[test]
fn refusals() {
    let code = |line: &str| refused(&one("0:x5=x", &[line], ""));
    assert_eq!(code("lw x1"), "4:2 `lw x1` `lw` takes 2 operands, but 1 was given");
    assert_eq!(code("lw x1,x2"), "4:8 `x2` unexpected `x2`");
    assert_eq!(code("lw x32,0(x5)"), "4:5 `x32` unknown register `x32` (did you mean `x2`?)");
    assert_eq!(code("flw f0,0(x5)"), "4:2 `flw` `flw` is not supported");
    assert_eq!(code("cbo.zero (x5)"), "4:2 `cbo.zero` `cbo.zero` is not supported");
    assert_eq!(code("bnez x5,L"), "4:10 `L` undefined label `L`");
    assert_eq!(
        code("lw x1,0(x6)"),
        "4:8 `0(x6)` there is no location at this address (a register is set to an address in the initial state: `0:x5=x`)"
    );
    let inside = one("0:x5=x", &["lr.w x6,(x5)", "lw x7,0(x5)", "sc.w x8,x6,(x5)"], "");
    assert_eq!(refused(&inside), "5:2 `lw x7,0(x5)` `lw` between `lr` and `sc` is not supported");
}
