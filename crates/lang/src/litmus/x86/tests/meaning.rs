//! What tests mean: final states under the three models.

use super::*;

/// Runs a test of one thread; the one final state. A label in front of everything makes the
/// compiler forget the initial values, so that nothing is computed beforehand.
fn check(arch: &str, init: &str, code: &[&str], seen: &str, expected: &str) {
    let labelled: Vec<String> =
        code.iter().enumerate().map(|(i, c)| format!("L{i}: {c}")).collect();
    let labelled: Vec<&str> = labelled.iter().map(String::as_str).collect();
    for code in [code, &labelled] {
        let text = one_thread(arch, init, code, &format!("locations [{seen}]"));
        let parsed = LITMUS.accept(&text);
        for model in MODELS {
            let outcomes = run(&parsed.program, model);
            assert_eq!(states(&parsed, &outcomes), [expected], "{model:?}\n{text}");
        }
    }
}

/// Checks `Observation` under SC, TSO and PSO.
fn observe(text: &str, expected: [&str; 3]) {
    let parsed = LITMUS.accept(text);
    let found = MODELS.map(|m| judge(&parsed.program, &run(&parsed.program, m)).0);
    assert_eq!(found, expected, "{text}");
}

fn all(text: &str, model: Model) -> Vec<String> {
    let parsed = LITMUS.accept(text);
    states(&parsed, &run(&parsed.program, model))
}

#[test]
fn store_buffering() {
    let sb = r"X86 SB
{ }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\ 1:EAX=0)";
    observe(sb, ["Never", "Sometimes", "Sometimes"]);
    assert_eq!(
        all(sb, Model::Tso),
        ["0:EAX=0; 1:EAX=0;", "0:EAX=0; 1:EAX=1;", "0:EAX=1; 1:EAX=0;", "0:EAX=1; 1:EAX=1;"]
    );
    observe(&sb.replace("exists", "~exists"), ["Never", "Sometimes", "Sometimes"]);
    for fence in ["MFENCE", "XCHG [z],EBX", "LOCK INC [z]", "lock; add [z],0"] {
        let row = format!(" {fence} | {fence} ;\n MOV EAX,[y]");
        observe(&sb.replacen(" MOV EAX,[y]", &row, 1), ["Never", "Never", "Never"]);
    }
    for fence in ["SFENCE", "LFENCE", "NOP", "INC [z]"] {
        let row = format!(" {fence} | {fence} ;\n MOV EAX,[y]");
        observe(&sb.replacen(" MOV EAX,[y]", &row, 1), ["Never", "Sometimes", "Sometimes"]);
    }
}

#[test]
fn message_passing() {
    let mp = r"X86_64 MP
{ uint64_t x; uint64_t y; uint64_t 1:rax; }
 P0          | P1            ;
 movq $1,(x) | movq (y),%rax ;
 movq $1,(y) | movq (x),%rbx ;
exists (1:rax=1 /\ 1:rbx=0)";
    observe(mp, ["Never", "Never", "Sometimes"]);
    let fenced = |f: &str| mp.replacen(" movq $1,(y)", &format!(" {f} | ;\n movq $1,(y)"), 1);
    observe(&fenced("sfence"), ["Never", "Never", "Never"]);
    observe(&fenced("mfence"), ["Never", "Never", "Never"]);
    observe(&fenced("lock incq (z)"), ["Never", "Never", "Never"]);
    observe(&fenced("lfence"), ["Never", "Never", "Sometimes"]);
}

#[test]
fn atomic_or_not() {
    let inc = |op: &str| format!("X86 INC\n{{}}\n P0 | P1 ;\n {op} [x] | {op} [x] ;\nexists (x=1)");
    observe(&inc("INC"), ["Sometimes"; 3]);
    observe(&inc("LOCK INC"), ["Never"; 3]);
    let cas = |op: &str| {
        format!(
            "X86 CAS\n{{}}\n P0 | P1 ;\n MOV EAX,$0 | MOV EAX,$0 ;\n MOV ECX,$1 | MOV ECX,$2 ;\n \
             {op} [x],ECX | {op} [x],ECX ;\nexists (0:EAX=0 /\\ 1:EAX=0)"
        )
    };
    observe(&cas("CMPXCHG"), ["Sometimes"; 3]);
    observe(&cas("LOCK CMPXCHG"), ["Never"; 3]);
    assert_eq!(
        all(&cas("LOCK CMPXCHG").replace("exists", "locations [x;] exists"), Model::Tso),
        ["0:EAX=0; 1:EAX=1; x=1;", "0:EAX=2; 1:EAX=0; x=2;"]
    );
    let xadd = |op: &str| {
        format!(
            "X86_64 XADD\n{{ 0:rax=1; 1:rax=1 }}\n P0 | P1 ;\n {op} (x),%rax | {op} (x),%rax ;\nexists (0:rax=1:rax)"
        )
    };
    observe(&xadd("xaddq"), ["Sometimes"; 3]);
    observe(&xadd("lock xaddq"), ["Never"; 3]);
    let swap = |op: &str| {
        format!(
            "X86_64 S\n{{ 0:rax=1; 1:rax=2 }}\n P0 | P1 ;\n {op} (x),%rax | {op} (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)"
        )
    };
    observe(&swap("xchgq"), ["Never"; 3]);
    observe(&swap("uxchq"), ["Sometimes"; 3]);
}

#[test]
fn spinning() {
    let text = r"X86_64 spin
{ x=0; y=0; }
 P0          | P1               ;
 movl $1,(x) | L0: movl (y),%eax ;
 movl $1,(y) | cmpl $0,%eax     ;
             | je L0            ;
             | movl (x),%ebx    ;
forall (1:rbx=1)";
    observe(text, ["Always", "Always", "Sometimes"]);
}

#[test]
fn compiled_code_with_jumps() {
    let text = r"X86_64 A006
Variant=telechat
{ [P1_r0]=0;[x]=0;[y]=0; }
(**** made by a compiler ****)
  P0            |  P1                 ;
   movl $2,(x)  |   mov (y),%eax      ;
   movl $1,(y)  |   cmp $1,%eax       ;
   ret          |   je L0x3b          ;
                |  L0x31:             ;
                |   mov %eax,(P1_r0)  ;
                |   ret               ;
                |  L0x3b:             ;
                |   movl $1,(x)       ;
                |   jmp L0x31         ;
exists ([x]=2 /\ P1_r0=1)";
    observe(text, ["Never", "Never", "Sometimes"]);
}

#[test]
fn moves() {
    check(
        "X86",
        "",
        &["MOV EAX,$5", "MOV EBX,EAX", "MOV [x],EBX", "MOV ECX,[x]"],
        "0:ECX; x;",
        "0:ECX=5; x=5;",
    );
    check("X86", "", &["mov dword ptr [x], 7", "mov eax, [x]"], "0:eax;", "0:EAX=7;");
    check(
        "X86_64",
        "",
        &["movq $5,%rax", "movq %rax,(x)", "movq (x),%rbx"],
        "0:rbx; x;",
        "0:rbx=5; x=5;",
    );
    check(
        "X86_64",
        "",
        &["mov rax, 5", "mov [x], rax", "mov rbx, [x]"],
        "0:rbx; x;",
        "0:rbx=5; x=5;",
    );
    check("X86_64", "", &["movq $5,[x]", "movq [x],%rbx"], "0:rbx; x;", "0:rbx=5; x=5;");
    check("X86", "", &["movl $5,(x)", "movl (x),%eax"], "0:EAX; x;", "0:EAX=5; x=5;");
    check("X86", "0:EAX=x", &["MOV (EAX),$5", "MOV EBX,(EAX)"], "0:EBX; x;", "0:EBX=5; x=5;");
    check(
        "X86_64",
        "",
        &["movabsq $0x123456789abcdef0,%rax"],
        "0:rax",
        "0:rax=1311768467463790320;",
    );
}

/// Accesses that overlap, at known and at computed addresses.
#[test]
fn bytes() {
    check(
        "X86_64",
        "uint64_t x",
        &["movb $1,(x)", "movl $256,(x)", "movb $2,(x)", "movq (x),%rax"],
        "0:rax; x",
        "0:rax=258; x=258;",
    );
    let init = "uint64_t x=0x1122334455667788; p=x";
    check(
        "X86_64",
        init,
        &["movq (p),%rax", "movl 4(%rax),%ebx", "movb 1(%rax),%cl"],
        "0:rbx; 0:rcx; 0:rax",
        "0:rax=x; 0:rbx=287454020; 0:rcx=119;",
    );
    let code = ["movq (p),%rax", "movw $0x0102,3(%rax)", "movq (%rax),%rbx"];
    check("X86_64", init, &code, "x", "x=1234605327281190792;");
    check(
        "X86_64",
        "int t[3]={1,2,3}; p=t",
        &[
            "movq (p),%rax",
            "movq 4(%rax),%rbx",
            "movb $7,9(%rax)",
            "addq $4,%rax",
            "movw 4(%rax),%cx",
        ],
        "t; 0:rbx; 0:rcx",
        "0:rbx=12884901890; 0:rcx=1795; t[0]=1; t[1]=2; t[2]=1795;",
    );
    check(
        "X86",
        "x=-1",
        &["MOV BYTE PTR [x+1],$0", "MOV EAX,[x]"],
        "0:EAX; x",
        "0:EAX=-65281; x=-65281;",
    );
}

/// What is accessed in one way only stays one location, whatever its type and address.
#[test]
fn whole_locations() {
    let whole = |init: &str, code: &[&str], rest: &str| {
        let parsed = LITMUS.accept(&one_thread("X86_64", init, code, rest));
        assert!(parsed.program.wides.is_empty(), "{init} {code:?}");
    };
    whole("uint64_t x; p=x", &["movq (p),%rax", "movq $1,(%rax)"], "locations [x;]");
    whole("uint64_t x", &["movl $1,(x)", "movl (x),%eax"], "locations [x;]");
    whole("int x", &["movq $1,(x)", "movq (x),%rax"], "locations [x;]");
    whole("int t[2]", &["movl $1,(t)", "movl t+4(%rip),%eax"], "locations [t;]");
    whole("int x; p=x", &["movq (p),%rax", "movl (%rax),%ebx"], "locations [x;]");
}

#[test]
fn widths() {
    check("X86", "", &["MOV EAX,$-1"], "0:EAX", "0:EAX=-1;");
    check(
        "X86",
        "",
        &["MOV EAX,$0x12345678", "MOV AL,$-1"],
        "0:EAX; 0:AX; 0:AL;",
        "0:EAX=305420031; 0:AX=22271; 0:AL=-1;",
    );
    check("X86", "", &["MOV EAX,$0x12345678", "MOV AH,$0"], "0:EAX", "0:EAX=305397880;");
    check("X86", "", &["MOV EAX,$0x1234", "MOV BL,AH"], "0:EBX", "0:EBX=18;");
    check("X86_64", "", &["movq $-1,%rax", "movl $1,%eax"], "0:rax", "0:rax=1;");
    check("X86_64", "", &["movq $-1,%rax", "movw $1,%ax"], "0:rax", "0:rax=-65535;");
    check(
        "X86_64",
        "",
        &["movq $-1,%rax", "movb $1,%al"],
        "0:rax; 0:eax",
        "0:rax=-255; 0:eax=-255;",
    );
    check("X86_64", "", &["movl $-1,%eax"], "0:rax; 0:eax", "0:rax=4294967295; 0:eax=-1;");
    check("X86_64", "int 0:rax", &["movl $-1,%eax"], "0:rax", "0:rax=-1;");
    check("X86_64", "", &["movl $-1,(x)", "movl (x),%eax"], "0:rax; x;", "0:rax=4294967295; x=-1;");
    check("X86_64", "", &["movq $-1,(x)", "movl (x),%eax"], "0:rax; x;", "0:rax=4294967295; x=-1;");
    check(
        "X86_64",
        "uint8_t x",
        &["movb $-1,(x)", "movb (x),%al"],
        "0:rax; x;",
        "0:rax=255; x=255;",
    );
    check("X86_64", "int8_t x=-1", &["movb (x),%al"], "0:rax; x;", "0:rax=255; x=-1;");
    check(
        "X86_64",
        "int16_t x=-1",
        &["movzwl (x),%eax", "movswq (x),%rbx"],
        "0:rax; 0:rbx",
        "0:rax=65535; 0:rbx=-1;",
    );
    check(
        "X86_64",
        "",
        &["movb $200,%al", "movsbl %al,%ebx", "movzx ecx, al"],
        "0:ebx; 0:ecx",
        "0:ebx=-56; 0:ecx=200;",
    );
    check(
        "X86_64",
        "0:r8=300",
        &["movb %r8b,%r9b", "movw %r8w,%r10w", "movl %r8d,%r11d"],
        "0:r9; 0:r10; 0:r11",
        "0:r9=44; 0:r10=300; 0:r11=300;",
    );
    check("X86", "x=0xffffffff", &["MOV EAX,[x]", "INC EAX"], "0:EAX; x", "0:EAX=0; x=-1;");
    check("X86_64", "uint64_t x=0xffffffffffffffff", &["incq (x)"], "x", "x=0;");
    check(
        "X86_64",
        "uint64_t x;0:RBX=0x202020202020202",
        &["MOVQ %RBX,(x)"],
        "x",
        "x=144680345676153346;",
    );
    check(
        "X86_64",
        "0:rsi=5",
        &["mov %sil,%al", "mov %esi,%edi"],
        "0:rax;0:rdi",
        "0:rax=5; 0:rdi=5;",
    );
}

#[test]
fn arithmetic() {
    check("X86", "0:EAX=5", &["ADD EAX,$3", "SUB EAX,$10", "NEG EAX"], "0:EAX", "0:EAX=2;");
    check("X86", "0:EAX=12", &["AND EAX,$10", "OR EAX,$1", "XOR EAX,$3"], "0:EAX", "0:EAX=10;");
    check("X86", "0:EAX=5", &["NOT EAX"], "0:EAX", "0:EAX=-6;");
    check(
        "X86",
        "x=5",
        &["ADD [x],$3", "SUB [x],10", "NEG [x]", "INC [x]", "DEC [x]"],
        "x",
        "x=2;",
    );
    check(
        "X86",
        "x=5",
        &["LOCK ADD [x],$3", "LOCK SUB [x],10", "LOCK NEG [x]", "LOCK NOT [x]"],
        "x",
        "x=-3;",
    );
    check("X86", "x=5;0:EAX=2", &["ADD EAX,[x]", "ADD [x],EAX"], "0:EAX;x", "0:EAX=7; x=12;");
    check("X86_64", "0:RAX=1", &["shl 2,%eax"], "0:RAX", "0:rax=4;");
    check(
        "X86_64",
        "0:rax=-8",
        &["sar $1,%rax", "mov %rax,%rbx", "shr $60,%rbx"],
        "0:rax;0:rbx",
        "0:rax=-4; 0:rbx=15;",
    );
    check(
        "X86_64",
        "0:rcx=33;0:rax=1",
        &["shl %cl,%eax", "shlq %cl,%rax"],
        "0:rax",
        "0:rax=17179869184;",
    );
    check("X86_64", "x=1", &["shl [x]", "shlq $3,(x)", "shl qword ptr [x],1"], "x", "x=32;");
    check(
        "X86",
        "0:EAX=-1;0:EBX=1",
        &["ADD EAX,EBX", "ADC EBX,$0"],
        "0:EAX;0:EBX",
        "0:EAX=0; 0:EBX=2;",
    );
    check("X86", "0:EBX=5", &["CMP EAX,$1", "SBB EBX,EBX"], "0:EBX", "0:EBX=-1;");
    check("X86", "0:EAX=7", &["XOR EAX,EAX"], "0:EAX", "0:EAX=0;");
    check(
        "X86_64",
        "x=5",
        &["btsq $1,(x)", "btr $0,(x)", "lock btc $4,(x)", "setc %al"],
        "x;0:rax",
        "0:rax=0; x=22;",
    );
    check("X86", "0:EAX=1;0:EBX=2", &["XCHG EAX,EBX"], "0:EAX;0:EBX", "0:EAX=2; 0:EBX=1;");
    check("X86", "0:EAX=1;0:EBX=2", &["XADD EAX,EBX"], "0:EAX;0:EBX", "0:EAX=3; 0:EBX=1;");
    check(
        "X86",
        "0:EAX=1;x=2",
        &["XCHG EAX,[x]", "XCHG [x],EAX", "XADD [x],EAX"],
        "0:EAX;x",
        "0:EAX=2; x=3;",
    );
    check(
        "X86_64",
        "0:rax=0x100000001;x=1;0:rbx=9",
        &["lock cmpxchgl (x),%ebx"],
        "0:rax;x",
        "0:rax=4294967297; x=9;",
    );
    check(
        "X86_64",
        "0:rax=0x100000002;x=1;0:rbx=9",
        &["lock cmpxchgl (x),%ebx"],
        "0:rax;x",
        "0:rax=1; x=1;",
    );
    check(
        "X86_64",
        "x=1;0:rbx=9",
        &["cmpxchg %rbx,(x)", "sete %cl", "cmpxchg %rbx,(x)", "setz %dl"],
        "0:rax;0:rcx;0:rdx;x",
        "0:rax=1; 0:rcx=0; 0:rdx=1; x=9;",
    );
}

#[test]
fn addresses() {
    check(
        "X86_64",
        "0:rax=x",
        &["movq $1,(%rax)", "movq %rax,(p)"],
        "x;p;0:rax",
        "0:rax=x; p=x; x=1;",
    );
    check(
        "X86_64",
        "p=x; x=7",
        &["movq (p),%rax", "movq (%rax),%rbx", "movq $1,(%rax)"],
        "x;0:rbx",
        "0:rbx=7; x=1;",
    );
    check(
        "X86",
        "p=x; x=7",
        &["MOV EAX,[p]", "MOV EBX,[EAX]", "MOV [EAX],$1"],
        "x;0:EBX",
        "0:EBX=7; x=1;",
    );
    check(
        "X86_64",
        "int64_t t[2]={1,-1};0:rax=t;0:rbx=1;int64_t 0:rcx;",
        &["movq 0(%rax,%ebx,8),%rcx"],
        "0:rcx",
        "0:rcx=-1;",
    );
    check(
        "X86_64",
        "int t[3]={1,2,3};0:rax=t",
        &["movl 8(%rax),%ebx", "movl $5,4(%rax)", "movl t+4(%rip),%ecx"],
        "t;0:rbx;0:rcx",
        "0:rbx=3; 0:rcx=5; t[0]=1; t[1]=5; t[2]=3;",
    );
    check(
        "X86",
        "int t[3]={1,2,3};0:EBX=2",
        &["MOV EAX,[t+EBX*4]", "MOV ECX,[t+4]", "MOV EDX,[EBX*2+t]"],
        "0:EAX;0:ECX;0:EDX",
        "0:EAX=3; 0:ECX=2; 0:EDX=2;",
    );
    check(
        "X86",
        "int t[2]={1,2};0:EAX=t[1];0:EBX=-1",
        &["MOV ECX,[EAX]", "MOV EDX,[EAX+EBX*4]"],
        "0:ECX;0:EDX",
        "0:ECX=2; 0:EDX=1;",
    );
    check(
        "X86_64",
        "x=3",
        &["leaq (x),%rax", "movq $x,%rbx", "movq (%rax),%rcx", "lea rdx,[x]"],
        "0:rax;0:rbx;0:rcx;0:rdx",
        "0:rax=x; 0:rbx=x; 0:rcx=3; 0:rdx=x;",
    );
    check(
        "X86",
        "x=3",
        &["MOV EAX,x", "MOV EBX,[EAX]", "MOV ECX,$x", "LEA EDX,[EAX]"],
        "0:EAX;0:EBX;0:ECX;0:EDX",
        "0:EAX=x; 0:EBX=3; 0:ECX=x; 0:EDX=x;",
    );
    check(
        "X86_64",
        "x=3",
        &["movq x,%rax", "movq x(%rip),%rbx", "mov rcx,[rip+x]", "mov rdx,x[rip]"],
        "0:rax;0:rbx;0:rcx;0:rdx",
        "0:rax=3; 0:rbx=3; 0:rcx=3; 0:rdx=3;",
    );
}

#[test]
fn faults() {
    let text = one_thread("X86", "x=5", &["MOV EAX,[x]", "MOV EBX,[EAX]"], "locations [0:EBX;]");
    assert_eq!(all(&text, Model::Tso), ["fault"]);
}

#[test]
fn conditional_moves() {
    check(
        "X86",
        "0:EAX=1;0:EBX=2;x=3",
        &["CMP EAX,$1", "CMOVE ECX,EBX", "CMOVNE EDX,EBX", "CMOVZ ESI,[x]"],
        "0:ECX;0:EDX;0:ESI",
        "0:ECX=2; 0:EDX=0; 0:ESI=3;",
    );
    check(
        "X86_64",
        "0:rax=-1;0:rbx=-1",
        &["cmpl %eax,%ebx", "cmovnel %ebx,%eax", "cmove (x),%rcx"],
        "0:rax",
        "0:rax=4294967295;",
    );
}

#[test]
fn conditions() {
    let check = |condition: &str, expected: (&str, bool)| {
        let text = format!(
            "X86 T\n{{ int y=-1; uint32_t u=-1; int t[2]={{1,2}}; 0:EBX=y; }}\n P0 | P1 ;\n \
             MOV [x],$1 | MOV EAX,[x] ;\n{condition}"
        );
        let parsed = LITMUS.accept(&text);
        let outcomes = run(&parsed.program, Model::Tso);
        assert_eq!(judge(&parsed.program, &outcomes), expected, "{condition}");
    };
    check("exists (1:EAX=1)", ("Sometimes", true));
    check("exists 1:EAX=1", ("Sometimes", true));
    check("final 1:EAX=1", ("Sometimes", true));
    check("~exists (1:EAX=1)", ("Sometimes", false));
    check("not exists (1:EAX=2)", ("Never", true));
    check("forall (1:EAX=0 \\/ 1:EAX=1)", ("Always", true));
    check("forall (1:EAX=1)", ("Sometimes", false));
    check("", ("Always", true));
    check("locations [x;]", ("Always", true));
    check("exists (x=1 /\\ 1:EAX=1:EAX)", ("Always", true));
    check("exists true", ("Always", true));
    check("exists (false)", ("Never", false));
    check("forall (1:EAX=2 => false)", ("Always", true));
    check("forall (1:EAX=1 => false)", ("Sometimes", false));
    check("exists not 1:EAX=1", ("Sometimes", true));
    check("exists ~(1:EAX=1)", ("Sometimes", true));
    check("exists 1:EAX!=1", ("Sometimes", true));
    check("exists 1:EAX<>1", ("Sometimes", true));
    check("forall y=-1", ("Always", true));
    check("forall y=0xffffffff", ("Always", true));
    check("forall y=4294967295", ("Always", true));
    check("forall u=4294967295", ("Always", true));
    check("forall u=-1", ("Always", true));
    check("forall [y]=-1", ("Always", true));
    check("forall *y=-1", ("Always", true));
    check("forall -1=y", ("Always", true));
    check("forall 0:EBX=y", ("Always", true));
    check("forall 0:EBX=&y", ("Always", true));
    check("exists 0:EBX=x", ("Never", false));
    check("exists 1:EAX=[x]", ("Sometimes", true));
    check("exists x=1:EAX", ("Sometimes", true));
    check("forall t[1]=2 /\\ t[0]=1", ("Always", true));
    check("forall t={1,2}", ("Always", true));
    check("forall t=1", ("Always", true));
    check("exists P1:EAX=1", ("Sometimes", true));
    check("exists (1:EAX=1 /\\ x=1 \\/ x=2)", ("Sometimes", true));
    check("forall 1:EAX=0 \\/ 1:EAX=1 /\\ x=1", ("Always", true));
    // `=>` binds more tightly than `/\`.
    check("forall 1:EAX=2 /\\ 1:EAX=2 => false", ("Never", false));
    check("forall (1:EAX=1 => x=1 => true)", ("Always", true));
    check("final (1:EAX=1) with tso: exists; sc: ~exists; pso: forall", ("Sometimes", true));
    check("exists (1:EAX=1);", ("Sometimes", true));
    check("exists (1:EAX=1) << anything (* at all", ("Sometimes", true));
}
