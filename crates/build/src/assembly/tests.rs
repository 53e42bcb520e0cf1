use super::*;

/// The functions called and what is unseen, of one `asm` statement.
fn check(asm: &str, expected: &str) {
    let text = format!("f:\n#APP\n# 5 \"a.c\" 1\n\t{asm}\n# 0 \"\" 2\n#NO_APP\n\tret\n");
    let (out, unseen) = rewrite(&text);
    let calls = out.lines().filter_map(|line| {
        line.trim().strip_prefix("call *__weakspot_asm_")?.strip_suffix("@GOTPCREL(%rip)")
    });
    let mut found: Vec<String> = calls.map(str::to_string).collect();
    let announced = out.lines().filter_map(|line| {
        line.trim().strip_prefix("leaq ")?.strip_suffix(", %rax").map(str::to_string)
    });
    let kinds = out.lines().filter_map(|line| line.trim().strip_prefix("pushq $"));
    found.extend(announced.zip(kinds).map(|(operand, kind)| format!("{operand} {kind}")));
    found.extend(unseen.iter().map(|u| {
        assert_eq!(u.place, Some(("a.c".to_string(), 5)));
        format!("{} {}", u.instruction, u.why)
    }));
    assert_eq!(found.join(", "), expected, "{asm}");
    let words = |line: &str| line.replace([';', ' ', '\t'], "");
    let kept: Vec<String> = out.lines().map(words).collect();
    assert!(text.lines().all(|line| kept.contains(&words(line))), "nothing is lost: {out}");
}

#[test]
fn fences_and_pauses_are_recognised() {
    check("mfence", "fence");
    check("sfence", "store_fence");
    check("lfence", "");
    check("pause", "pause");
    check("rep; nop", "pause");
    check("rep nop", "pause");
    check("lock; addl $0,0(%rsp)", "fence");
    check("lock orq $0x0, (%rsp)", "fence");
    check("MFENCE", "fence");
    check("LOCK ; ADDL $0, ( %RSP )", "fence");
    check("/* all */ mfence /* stores */", "fence");
    check("cpuid", "fence");
    check("serialize", "fence");
    check("nopw 0(%rax,%rax)", "");
    check("fadd %st(1), %st", "");
    check("jne 1b; jmp 2f; 2: call 3f", "");
    check("1: pause; mfence # wait", "pause, fence");
    check("", "");
    check("# only a comment", "");
    check("movl %eax, %ebx; addl $3, %ebx", "");
}

#[test]
fn what_is_not_seen_is_told() {
    check("lock; incq %fs:(%rdi)", "lock incq %fs:(%rdi) updates memory unseen");
    check("addl $1, (%rdi)", "addl $1, (%rdi) accesses memory unseen");
    check("movdqu (%rdi), %xmm0", "movdqu (%rdi), %xmm0 accesses memory unseen");
    check("rep; movsb", "rep movsb accesses memory unseen");
    check("rdtsc", "rdtsc reads the time, which differs from run to run");
    check("leaq 8(%rdi), %rbx", "");
    check("stosl", "stosl accesses memory unseen");
    check("cmpsb", "cmpsb accesses memory unseen");
    check("movl $1, flag", "movl $1, flag accesses memory unseen");
    check("movl flag+4, %eax", "movl flag+4, %eax accesses memory unseen");
    check("movq %fs:0, %rax", "");
    check("movq %rax, %fs:x@tpoff", "movq %rax, %fs:x@tpoff accesses memory unseen");
    check("lock incl flag", "lock incl flag updates memory unseen");
    check("xchgl %eax, flag", "xchgl %eax, flag updates memory unseen");
    check("movabsq 4096, %rax", "movabsq 4096, %rax accesses memory unseen");
    check("maskmovdqu %xmm0, %xmm1", "maskmovdqu %xmm0, %xmm1 accesses memory unseen");
    check("call buf", "call buf goes elsewhere");
    check("jmp f", "jmp f goes elsewhere");
    check(".byte 0x0f, 0xae, 0xf0", ".byte 0x0f, 0xae, 0xf0 is code as numbers");
    check(".pushsection .note; .long 1; .popsection", "");
    check(
        ".intel_syntax noprefix; mfence; .att_syntax; mfence",
        "fence, mfence is in the syntax of Intel",
    );
}

#[test]
fn padding_does_nothing() {
    for harmless in [
        ".p2align 4,,15; nop; .balign 16; .skip 3, 0x90; .fill 4, 1, 0x90; .space 8",
        ".byte 0x90, 144",
        ".rept 4; nop; .endr",
        ".rept 2; .rept 3; .byte 0x90; .endr; .endr",
        ".macro pad n=1; .skip 2, 0x90; nopl 0(%rax); .endm; pad; pad 3",
        ".irp x, 1, 2; .p2align 4; .endr",
        "jmp 1f; .skip 16; 1: nop",
    ] {
        check(harmless, "");
    }
    check(".byte 0x90, 0xf0", ".byte 0x90, 0xf0 is code as numbers");
    check(".fill 2, 1, 0xf0", ".fill 2, 1, 0xf0 is code as numbers");
    check(".skip 2, x", ".skip 2, x is code as numbers");
    check(".rept 2; mfence; .endr; mfence", "fence, fence, .rept 2 is not looked at");
    check(
        ".rept 2; nop; .byte 0xf0; .endr",
        ".rept 2 is not looked at, .byte 0xf0 is code as numbers",
    );
    check(".macro m x; nop; \\x; .endm", ".macro m x is not looked at");
    check(".irp x, mfence; \\x; .endr", ".irp x, mfence is not looked at");
    check(
        ".rept 2; .macro m; movl $1, f; .endm; .endr",
        ".rept 2 is not looked at, movl $1, f accesses memory unseen",
    );
    check(
        ".macro m; mfence; .endm; m x",
        "fence, .macro m is not looked at, m x accesses memory unseen",
    );
    check(".macro mfence; .endm; nop", ".macro mfence is not looked at");
    check(".include \"f.s\"", ".include \"f.s\" is not looked at");
}

#[test]
fn what_compilers_make_of_functions() {
    let calls = |text: &str| {
        let (out, unseen) = rewrite(text);
        let calls = out.matches("call *__weakspot_asm_").count();
        (calls, unseen.into_iter().map(|u| u.instruction).collect::<Vec<_>>().join("; "))
    };
    let seen = |n: usize| (n, String::new());
    assert_eq!(calls("f:\n\tmfence\n\tsfence\n\tlfence\n\tret\n"), seen(2));
    assert_eq!(calls("f:\n\tvpxor\t%ymm0, %ymm0, %ymm0\n\tmfence\n"), (0, "mfence".to_owned()));
    let unseen = [
        "movnti\t%eax, x(%rip)",
        "movntdq\t%xmm0, (%rdi)",
        "maskmovdqu\t%xmm1, %xmm0",
        "vpgatherdd\t%ymm1, (%rdi,%ymm0,4), %ymm2",
        "vpscatterdd\t%zmm1, (%rdi,%zmm0,4){%k1}",
        "vmaskmovps\t%ymm0, %ymm1, (%rdi)",
        "vmovdqu32\t%zmm0, (%rdi){%k1}",
    ];
    for text in unseen {
        assert_eq!(calls(&format!("f:\n\t{text}\n")), (0, text.replace('\t', " ")));
    }
    assert_eq!(calls("f:\n\tmovnti\t%eax, 8(%rsp)\n\tvmovdqu32\t%zmm0, %zmm1{%k1}\n"), seen(0));
    assert_eq!(calls("f:\n\tmovq\t%rsp, %rbp\n\tmovnti\t%eax, -8(%rbp)\n"), seen(0));
}

#[test]
fn the_syntax_of_intel() {
    let text = |asm: &str| format!("\t.intel_syntax noprefix\nf:\n#APP\n\t{asm}\n#NO_APP\n\tret\n");
    assert_eq!(in_intel_syntax(&text("")), Some(false));
    assert_eq!(in_intel_syntax(&text("mov eax, DWORD PTR [rdi]")), Some(true));
    assert_eq!(in_intel_syntax("f:\n#APP\n\tmfence\n#NO_APP\n"), None);
}

#[test]
fn accesses_are_announced() {
    check("movl (%rdi), %eax", "access, (%rdi) 4");
    check("movb %cl, 3(%rsi,%rdx,2)", "access, 3(%rsi,%rdx,2) 257");
    check("lock; cmpxchgl %edx, (%rdi)", "access, (%rdi) 516");
    check("lock incl counter(%rip)", "access, counter(%rip) 516");
    check("lock addl $0, 4(%rdi)", "access, 4(%rdi) 516");
    check("lock cmpxchg16b (%rdi)", "access, (%rdi) 528");
    check("xchg %rax, 8(%rsp)", "access, 136+8(%rsp) 520");
    check("xchgw %ax, (%rsp)", "access, 136(%rsp) 514");
}

#[test]
fn clang_says_where_by_directives() {
    let text =
        "\t.file 1 \"/src\" \"b.c\"\n\t.loc 1 7 3\n\t#APP\n\tmovsb\t(%rdi), (%rsi)\n\t#NO_APP\n";
    let (out, unseen) = rewrite(text);
    assert_eq!(out, text);
    assert_eq!(unseen[0].place, Some(("/src/b.c".to_string(), 7)));
}

/// As `rustc --emit=asm` writes it: fences and atomic updates are found in the program itself.
#[test]
fn what_no_trap_finds() {
    let text = "\t.file\t1 \"/src\" \"a.rs\"\n_ZN1a1fE:\n.Lfunc_begin0:\n\t.loc\t1 7 9\n\t#APP\n\n\tmfence\n\n\t#NO_APP\n\
                \t.loc\t1 8 9\n\t#APP\n\txchgl\t%eax, (%rbx)\n\t#NO_APP\n\
                \t.loc\t1 9 9\n\t#APP\n\tlock\n\tcmpxchgl\t%ecx, (%rbx)\n\trdtsc\n\t#NO_APP\n\
                \tmovl\t(%rax), %eax\n\
                \t.loc\t1 10 9\n\t#APP\n\tmovl\t(%rbx), %ecx\n\taddl\t$1, (%rbx)\n\t#NO_APP\n";
    let found: Vec<(String, String, Option<u32>)> = untrapped(text)
        .into_iter()
        .map(|(function, u)| (function, u.instruction, u.place.map(|(_, line)| line)))
        .collect();
    let at = |text: &str| ("_ZN1a1fE".to_owned(), text.to_owned(), Some(10));
    assert_eq!(found, [at("movl\t(%rbx), %ecx"), at("addl\t$1, (%rbx)")]);
}

/// What gcc makes of a call of `_mm_stream_si32` behind a statement of which it has moved a part.
#[test]
fn what_is_in_headers_of_compilers_is_where_they_are_used() {
    let header = "\t.file 2 \"/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h\"\n";
    let text = |statements: &str| {
        format!(
            "\t.file 1 \"n.c\"\n{header}\t.type\tf, @function\nf:\n{statements}\tmovnti\t%eax, x(%rip)\n"
        )
    };
    let place = |statements: &str| rewrite(&text(statements)).1[0].place.clone();
    let moved = "\t.loc 1 6 5 view .LVU9\n\t.loc 2 1496 3 view .LVU10\n\t.loc 1 9 9 is_stmt 0 view .LVU11\n\t.loc 2 1496 3 view .LVU12\n";
    assert_eq!(place(moved), Some(("n.c".to_string(), 6)));
    // Without optimisation gcc says so only if it is asked to.
    let unasked = moved.replace(" is_stmt 0", "");
    assert!(has_unseen_in_headers(&text(&unasked)));
    assert!(!has_unseen_in_headers(&text(moved)));
    // Of a function of the header itself, nobody knows who has called it.
    let here = "\t.loc 2 1496 3 is_stmt 1\n";
    assert_eq!(place(here).map(|(_, line)| line), Some(1496));
    let earlier = format!("{moved}\t.type\tg, @function\ng:\n{here}");
    assert_eq!(place(&earlier).map(|(_, line)| line), Some(1496));
}
