//! What is accepted: the many ways in which people write the same test, and warnings.

use super::*;

/// The texts must all mean what the first one means.
fn same(texts: &[&str]) {
    let first = LITMUS.accept(texts[0]);
    for text in &texts[1..] {
        let other = LITMUS.accept(text);
        assert_eq!(other.names.observed, first.names.observed, "{text}");
        assert_eq!(other.names.condition, first.names.condition, "{text}");
        for model in MODELS {
            let (a, b) = (run(&first.program, model), run(&other.program, model));
            assert_eq!(states(&first, &a), states(&other, &b), "{model:?} {text}");
            assert_eq!(judge(&first.program, &a), judge(&other.program, &b), "{text}");
        }
    }
}

/// Each line of code must be accepted in X86_64, where `rax` points to `x`.
fn lines(code: &[&str]) {
    for line in code {
        LITMUS.accept(&one_thread("X86_64", "x=0; y=0; 0:rax=x", &[line], ""));
    }
}

/// The warnings of a test.
fn warnings(text: &str, expected: &[&str]) {
    let parsed = LITMUS.accept(text);
    let found: Vec<String> = parsed
        .warnings
        .iter()
        .map(|w| {
            let (line, column) = w.span.line_column(text);
            format!("{line}:{column} {}", w.message)
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn shapes_of_files() {
    let plain = "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
    same(&[
        plain,
        &plain.replace('\n', "\r\n"),
        &plain.replace("{ x=0; y=0; }", "{}"),
        &plain.replace("{ x=0; y=0; }", "{\n}\n"),
        &plain.replace("{ x=0; y=0; }", "{ x=0; y=0 }"),
        &plain.replace("{ x=0; y=0; }", "{ x; y; }"),
        &plain.replace("{ x=0; y=0; }", "{ int x; int y=0; };"),
        &plain.replace("{ x=0; y=0; }", "{ [x]=0; *y; ; }"),
        &plain.replace("{ x=0; y=0; }", "{ 0:EAX=0; P1:EAX = 0; 1:ebx=0; }"),
        &plain.replace("{ x=0; y=0; }", "{ _Atomic int x = ATOMIC_INIT(0); volatile unsigned long long y; }"),
        &plain.replace("{ x=0; y=0; }", "{ const volatile int x; int x=0; long unsigned int long y; const int z; short int u8; }"),
        &plain.replace("X86 SB", "X86 SB (Label)"),
        &plain.replace("X86 SB", "X86 SB \"Fre PodWR Fre PodWR\""),
        &plain.replace("X86 SB", "X86 SB\n\"Fre PodWR\nFre PodWR\"\nCycle=Fre PodWR Fre PodWR\nRelax=\nSafe=Fre { PodWR\nPrefetch=0:x=F,0:y=T\n  Orig = Fre | ; }"),
        &plain.replace("X86 SB", "\u{feff}\n(* before *)\nX86 SB (* after *)\n(* (* nested *) é *)\nfree text, even § this\n"),
        &plain.replace("X86 SB\n{", "X86 SB {"),
        &plain.replace("exists", "(* c *) exists (* { *)\n\n"),
        &plain.replace("exists", "locations [0:EAX; 1:EAX;]\nexists"),
        &plain.replace("exists", "locations [0:EAX]exists"),
        &plain.replace("(0:EAX=0 /\\ 1:EAX=0)", "0:EAX=0/\\1:EAX=0"),
        &plain.replace("(0:EAX=0 /\\ 1:EAX=0)", "((0:EAX=0)/\\(P1:EAX = 0x0))"),
        &plain.replace("exists", "final"),
        &plain.replace("$1 ;", "$1 ; # (a)Wx1 | (b) ; exists\n#whole line\n"),
        &plain.replace(" | ", "|").replace(" ;", ";"),
        &plain.replace(" P0 | P1 ;", "P0|P1;\n;").replace("exists", " | ;\n|;\nexists"),
        &plain.replace("MOV", "mov").replace("EAX", "eax"),
        &plain.replace("MOV", "Mov").replace("$1", "1"),
        &plain.replace("[x],$1", "dword ptr [x], 0x1"),
        &plain.replace("MOV [x],$1 ", "L0: L1:MOV [x],$1 "),
        &plain.replace(" MOV [x],$1 |", "L0: | ;\nMOV [x],$1 |"),
        &plain.replace("MOV", "movl").replace("EAX,[y]", "(y),%eax").replace("[x],$1", "$1,(x)").replace("[y],$1", "$1,(y)").replace("EAX,[x]", "x,%eax"),
        &plain.replace("MOV EAX,[y] |", "movl (y),%eax |"),
        &plain.replace("1:EAX=0)", "1:EAX=0)\n<< whatever (* follows \0"),
    ]);
}

#[test]
fn bare_names() {
    let text =
        "X86_64 T\n{}\nP0|P1;\nmovl $1,flag|movl flag,%eax;\nincl count|nop;\nexists 1:rax=1";
    assert_eq!(LITMUS.accept(text).names.locs, ["flag", "count"]);
}

#[test]
fn names_of_tests() {
    for name in ["SB", "2+2W+mfence-rmws", "MP+po+fri-po.litmus", "a[b].c", "X86", "3.SB", "n/m_1"]
    {
        let parsed = LITMUS.accept(&format!("X86 {name}\n{{}}\nP0;\nNOP;\n"));
        assert_eq!(parsed.names.program, name);
    }
    LITMUS.accept("X86 SB ( *)\n{}\nP0;\nNOP;\n");
    LITMUS.accept("X86 SB\n{ uint8_t x; }\nP0;\nNOP;\nlocations [x int; y int*; y int;]");
}

#[test]
fn sixty_four_bits() {
    let plain = "X86_64 SB\n{ uint64_t y; uint64_t x; uint64_t 1:rax; uint64_t 0:rax; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n";
    same(&[
        plain,
        &plain.replace("movq", "MOVQ").replace("rax", "RAX"),
        &plain.replace("movq", "mov"),
        &plain.replace("movq", "movl").replace("%rax", "%eax").replace("uint64_t", "int"),
        &plain
            .replace("movq", "movl")
            .replace("%rax", "%eax")
            .replace("uint64_t y; uint64_t x; uint64_t 1:rax; uint64_t 0:rax;", ""),
        &plain
            .replace("movq $1,(x)", "mov qword ptr [x], 1")
            .replace("movq (y),%rax", "mov rax, [y]"),
        &plain.replace("movq $1,(x)", "movq $1,[x]").replace("movq (y),%rax", "movq [y],%rax"),
        &plain.replace("movq $1,(x)", "movq $1,x(%rip)").replace("movq (y),%rax", "movq y,%rax"),
        &plain.replace("uint64_t 0:rax;", "0:rbx=x;").replace("movq $1,(x)", "movq $1,(%rbx)"),
        &plain.replace("uint64_t 0:rax;", "0:rbx=x;").replace("movq $1,(x)", "movq $1,0(%rbx)"),
        &plain
            .replace("uint64_t 0:rax;", "uint64_t *0:rbx=&x;")
            .replace("movq $1,(x)", "mov [rbx],1"),
        &plain
            .replace("movq $1,(x)", "movq $1,%rcx")
            .replace("movq (y)", "movq %rcx,(x) | ;\nmovq (y)"),
    ]);
}

#[test]
fn every_instruction() {
    lines(&[
        "mov $1,(x)",
        "movb $1,(x)",
        "movw $1,(x)",
        "movl $-1,(x)",
        "movq $0x10,(x)",
        "mov %rbx,%rcx",
        "mfence",
        "sfence",
        "lfence",
        "MFENCE",
        "nop",
        "NOP",
        "pause",
        "endbr64",
        "ret",
        "retq",
        "leave",
        "nopl 0(%rax,%eax,0)",
        "nopw 0(%rax,%eax,0)",
        "NOPL %cs:0(%rax,%eax,0)",
        "xchg %ax,%ax",
        "nopw %cs:0x0(%rax,%rax,1)",
        "nop dword ptr [rax+rax*1+0]",
        "nopl (x)",
        "ret $8",
        "xchg (x),%rbx",
        "xchg %rbx,(x)",
        "xchgl (x),%ebx",
        "xchgb (x),%bl",
        "lock xchgq (x),%rbx",
        "lock; xchgq (x),%rbx",
        "LOCK ; incl (x)",
        "uxch (x),%rbx",
        "inc %rax",
        "incl (x)",
        "inc (x)",
        "inc [x]",
        "inc x",
        "decq (%rax)",
        "addl $1,%ebx",
        "add $1,(x)",
        "subq %rbx,(x)",
        "xorl %ebx,%ebx",
        "and %eax,%eax",
        "or $1,(x)",
        "shl $2,%ebx",
        "shl 2,%ebx",
        "shll %cl,%ebx",
        "shl %ebx",
        "sal $1,(x)",
        "shrq $1,(x)",
        "sar $1,%rbx",
        "neg (x)",
        "not %rbx",
        "lock incq (x)",
        "lock decl (x)",
        "lock addq $1,(x)",
        "lock xorl %ebx,(x)",
        "lock orb $1,(x)",
        "lock andq $0,(x)",
        "lock subl $1,(x)",
        "lock negq (x)",
        "lock notq (x)",
        "lock adcq $0,(x)",
        "lock sbbq $0,(x)",
        "lock cmpxchgq (x),%rbx",
        "lock cmpxchg %rbx,(x)",
        "lock xaddl (x),%ebx",
        "lock xadd %rbx,(x)",
        "lock btsq $1,(x)",
        "lock btr $1,(x)",
        "lock btc %rbx,(x)",
        "bt $1,(x)",
        "cmpxchgl (x),%ebx",
        "cmpxchg %ebx,%ecx",
        "xaddq %rbx,(x)",
        "cmp $1,%rbx",
        "cmpl $0,(x)",
        "cmp (x),%rbx",
        "cmpb $1,(x)",
        "test %rbx,%rbx",
        "testl $1,(x)",
        "setnb %cl",
        "sete (x)",
        "setg cl",
        "cmovc (x),%rbx",
        "cmovc %rbx,(x)",
        "cmovel %ebx,%ecx",
        "movnti %rbx,(x)",
        "movntil %ebx,(x)",
        "movntiq %rbx,(x)",
        "clflush (x)",
        "clflushopt (%rax)",
        "clwb (x)",
        "prefetcht0 (x)",
        "lea (x),%rbx",
        "leaq 8(%rax),%rbx",
        "lea rbx,[rax+rcx*8+16]",
        "movzbl (x),%ebx",
        "movsbq %al,%rbx",
        "movzx ebx, byte ptr [x]",
        "movsx rbx, word ptr [x]",
        "movsxd rbx, ecx",
        "movslq %ecx,%rbx",
        "movabsq $0x1122334455667788,%rbx",
        "adc %rbx,%rcx",
        "sbb $0,%rbx",
        "mov rbx, offset x",
        "mov $x,%rbx",
        "mov rbx, qword ptr [rax]",
        "mov byte [x], 1",
        "mov [rel x], rbx",
        "mov ds:[x], rbx",
        "L: jmp L",
        "L: je L",
        "L: jne L",
        "L: jle L",
        "L: jlt L",
        "L: jgt L",
        "L: jge L",
        "L: js L",
        "L: jns L",
        "L: ja L",
        "L: jnp L",
        ".L3: jmp .L3",
        "serialize",
    ]);
}

#[test]
fn thread_numbers() {
    let parsed = LITMUS.accept(
        "X86 T\n{ 7:EAX=1; }\n P7 | P3 ;\n MOV [x],EAX | MOV EAX,[x] ;\nexists (3:EAX=1 /\\ 7:EAX=1)",
    );
    assert_eq!(parsed.names.threads, ["P7", "P3"]);
    assert_eq!(parsed.names.observed, ["3:EAX", "7:EAX"]);
    let many: Vec<String> = (0..9).map(|i| format!("P{i}")).collect();
    LITMUS.accept(&format!("X86 T\n{{}}\n{};\n{};\n", many.join("|"), ["MOV [x],$1"; 9].join("|")));
}

#[test]
fn observed_in_order() {
    let check = |rest: &str, expected: &[&str], condition: &str| {
        let text =
            format!("X86 T\n{{ int t[11]; }}\n P0 | P1 ;\n MOV EAX,[y] | MOV EBX,[x] ;\n{rest}");
        let parsed = LITMUS.accept(&text);
        assert_eq!(parsed.names.observed, expected, "{rest}");
        assert_eq!(parsed.names.condition, condition, "{rest}");
        assert!(parsed.names.addresses_are_symbolic);
    };
    check("", &[], "(true)");
    check("locations [y; x; 1:EBX; 0:eax; [y]; 0:EAX;]", &["0:EAX", "1:EBX", "x", "y"], "(true)");
    check(
        "exists (x=1 /\\ (1:EBX=0 \\/ 0:EAX=-1))",
        &["0:EAX", "1:EBX", "x"],
        "(x=1 /\\ (1:EBX=0 \\/ 0:EAX=-1))",
    );
    check("exists (((x=1)) /\\ ((y=2)))", &["x", "y"], "(x=1 /\\ y=2)");
    check("exists (x=1 /\\ y=2) \\/ [x]=0xffffffff", &["x", "y"], "(x=1 /\\ y=2 \\/ x=-1)");
    check("forall ~(x!=1) /\\ (x=1 => y=1)", &["x", "y"], "(not (not (x=1)) /\\ (x=1 => y=1))");
    check(
        "exists t[10]=1 /\\ t[2]=1 /\\ 0:EAX=t[1]",
        &["0:EAX", "t[2]", "t[10]"],
        "(t[10]=1 /\\ t[2]=1 /\\ 0:EAX=t[1])",
    );
    check(
        "exists 1=x /\\ 0:EAX=[y] /\\ 0:EAX=1:EBX /\\ 0:EAX=x",
        &["0:EAX", "1:EBX", "x", "y"],
        "(x=1 /\\ 0:EAX=[y] /\\ 0:EAX=1:EBX /\\ 0:EAX=x)",
    );
}

#[test]
fn arrays_in_conditions() {
    let parsed =
        LITMUS.accept("X86 T\n{ int t[2]; }\nP0;\nMOV [t+4],$1;\nforall t={0,1} /\\ [t]={0,1}");
    assert_eq!(parsed.names.observed, ["t[0]", "t[1]"]);
    assert_eq!(judge(&parsed.program, &run(&parsed.program, Model::Tso)), ("Always", true));
}

#[test]
fn inert_registers() {
    let parsed = LITMUS.accept(
        "X86_64 A001\n{ 0:rip = 0; 0:cs = 0 }\nP0;\n NOP;\nforall (0:rip = 0 /\\ 0:cs=0)\n",
    );
    assert_eq!(judge(&parsed.program, &run(&parsed.program, Model::Tso)), ("Always", true));
}

#[test]
fn warned_about() {
    let text =
        |init: &str, code: &str, rest: &str| format!("X86_64 T\n{{{init}}}\nP0;\n{code};\n{rest}");
    warnings(&text("", "movq $1,(x)", ""), &[]);
    warnings(&text("", "movq $1,(x);\nmovl (x),%eax;\nmovb 2(x),%bl", ""), &[]);
    warnings(
        &text("int x", "movq $1,(x)", ""),
        &["4:9 this access reaches beyond `x`, which has 4 bytes"],
    );
    warnings(
        &text("int x; int t[2]", "movq $1,(t);\nmovl t+6(%rip),%eax;\nmovb 4(x),%bl", ""),
        &[
            "5:6 this access reaches beyond `t[1]`, which has 4 bytes",
            "6:6 this access reaches beyond `x`, which has 4 bytes",
        ],
    );
    warnings(&text("int x", "mov $1,(x)", ""), &[]);
    warnings(
        &text("", "movnti %eax,(x);\nmovnti %eax,(x)", ""),
        &["4:1 `movnti` is taken for a plain store; on hardware it is weaker"],
    );
    warnings(
        &text("", "clflush (x);\nclflushopt (x)", ""),
        &["4:1 `clflush` has no effect on what these models allow"],
    );
    warnings(
        &text("", "movl %rax,(x)", ""),
        &["4:6 `rax` is not 4 bytes wide; the suffix makes it `eax`"],
    );
    warnings(
        &text("x; int y", "nop", "exists x=y"),
        &["5:10 on the right of `=`, `y` is an address"],
    );
    warnings(&text("x=y", "nop", "exists x=y"), &[]);
    warnings(
        &text("x; y", "nop", "exists x=1 => x=1 /\\ y=1"),
        &["5:12 `=>` binds more tightly than `/\\` and `\\/`"],
    );
    warnings(
        "X86 T\n{}\nP0;\nMOVQ [x],$1;\n",
        &["4:6 X86 has no 64-bit accesses; the suffix `q` is read as `l`"],
    );
}

/// Names that are probably misspelt.
#[test]
fn typos() {
    let check = |init: &str, code: &str, rest: &str, expected: &[&str]| {
        let text = format!("X86 T\n{{{init}}}\nP0 | P1;\n{code};\n{rest}");
        let described: Vec<String> = LITMUS
            .accept(&text)
            .warnings
            .iter()
            .map(|w| {
                let (line, column) = w.span.line_column(&text);
                let help = w.help.as_deref().map(|h| format!("; {h}")).unwrap_or_default();
                format!("{line}:{column} {} ({}{help})", w.message, w.expected)
            })
            .collect();
        assert_eq!(described, expected, "{text}");
    };
    let code = "MOV [x],$1 | MOV EAX,[y]";
    check("", code, "exists (x=1 /\\ y=0 /\\ 1:EAX=0)", &[]);
    check("z=1", code, "locations [z;] exists (z=1)", &[]);
    check("0:EBX=z", code, "exists (z=1 \\/ 0:EBX=z)", &[]);
    check("", "MOV EAX,$z | NOP", "exists (0:EAX=z)", &[]);
    let z = "no instruction touches `z`, and the initial state does not name it";
    let known = "the test is about `x`, `y`";
    check("", code, "exists (z=1 /\\ z=2)", &[&format!("5:9 {z} ({known})")]);
    check("", code, "locations [z;]", &[&format!("5:12 {z} ({known})")]);
    check("", code, "exists (1:EAX=z)", &[&format!("5:15 {z} ({known})")]);
    check("", "NOP | NOP", "exists (z=1)", &[&format!("5:9 {z} ()")]);
    check(
        "flag=0",
        code,
        "exists (falg=1)",
        &["5:9 no instruction touches `falg`, and the initial state does not name it \
           (the test is about `flag`, `x`, `y`; did you mean `flag`?)"],
    );
    let case = "(the case of letters counts; did you mean `x`?)";
    check("", code, "exists (X=1)", &[&format!("5:9 `X` and `x` are two locations {case}")]);
    check("X; x", code, "exists (X=1)", &[]);
    check(
        "x=0",
        "MOV [X],$1 | MOV EAX,[x]",
        "exists (1:EAX=1)",
        &[&format!("4:6 `X` and `x` are two locations {case}")],
    );
    // Registers that could hold an address are refused as locations; these could not.
    let register = "is a location here, and no instruction touches it \
                    (a register is written with its thread; did you mean `1:AL`?)";
    check("", code, "exists (al=1)", &[&format!("5:9 `al` {register}")]);
    check("al=0", code, "exists (al=1)", &[]);
    let never = "never writes `EBX`, and the initial state does not set it";
    check("", code, "exists (1:EBX=1)", &[&format!("5:9 P1 {never} (P1 writes `1:EAX`)")]);
    check("", code, "exists (0:EBX=1)", &[&format!("5:9 P0 {never} (P0 writes no register)")]);
    check("1:EBX=1", code, "exists (1:EBX=1)", &[]);
    check("", code, "locations [1:EBX;]", &[]);
    check("", "XOR EBX,EBX | CMPXCHG [x],ECX", "exists (0:EBX=0 /\\ 1:EAX=0)", &[]);
}

#[test]
fn printed() {
    let check = |text: &str, expected: &str| {
        let test = parse(text).unwrap_or_else(|d| panic!("{}", d.message));
        assert_eq!(print(&test), expected);
    };
    check(
        "x86 SB (L) \"doc\"\nKey = some value\nwords\n{x=0;int* p=&x;[t[1]]=2;int t[2]={1,-1};0:eax=0x10;uint64_t y}P0|P1;mov [x],$1|lock;inc dword ptr [ebx+ecx*4-8];L:je L|;locations [x;0:EAX int]exists((x=1)/\\~(y=0x2)=>0:eax=&x\\/true)<<rest",
        "X86 SB (L)\n\"doc\"\nKey=some value\nwords\n{ x=0; int *p=x; [t[1]]=2; int t[2]={1,-1}; 0:EAX=16; uint64_t y; }\n P0         | P1                               ;\n MOV [x],$1 | LOCK INC DWORD PTR [EBX+ECX*4-8] ;\n L: JE L    |                                  ;\nlocations [x; 0:EAX int;]\nexists ((x=1) /\\ not (y=2) => 0:EAX=&x \\/ true)\n",
    );
    check(
        "X86_64 A\n{}\nP0;\nMOVQ  0(%RAX,%ebx,8) , %rcx;movl x+4(%rip),%eax;movl $-1,-8(%rbp);mov (,%rcx,4),%eax;\n",
        "X86_64 A\n{}\n P0                      ;\n movq (%rax,%ebx,8),%rcx ;\n movl (x+4),%eax         ;\n movl $-1,-8(%rbp)       ;\n mov (,%rcx,4),%eax      ;\n",
    );
}
