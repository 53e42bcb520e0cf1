//! Broken texts: never a panic, and a place inside of the text for each refusal.

use super::random::Rng;
use super::*;

const SEEDS: [&str; 6] = [
    "X86 SB\n\"Fre PodWR Fre PodWR\"\nCycle=Fre PodWR Fre PodWR\n(* c (* d *) *)\n{ x=0; int y=1; 0:EAX=1; [z]=2; P1:EBX = 0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ; # end\n MOV EAX,[y] | MOV EAX,[x] ;\nlocations [0:EAX; x;]\nexists (0:EAX=0 /\\ 1:EAX=0)\n",
    "X86_64 SB\n{ uint64_t x; int64_t t[2]={1,-1}; uint64_t 1:rax; 0:rbx=x; }\n P0            | P1            ;\n movq $1,(x)   | movq $1,(y)   ;\n movl 0(%rbx,%rcx,8),%eax | lock cmpxchgq (x),%rbx ;\n movq (y),%rax | movq (x),%rax ;\nforall (0:rax=0 \\/ 1:rax=x => not [x]=-1)\n",
    "X86 L\n{}\n P0 | P1 ;\n L0: MOV EAX,[x] | LOCK; INC [x] ;\n CMP EAX,$0 | XCHG [x],EAX ;\n JE L0 | CMPXCHG [x],ECX ;\n | ADD [x],$-1 ;\n~exists (x=1 /\\ 0:EAX=0x10)\n<< rest",
    "X86_64 W\n{ int8_t b=-1; int16_t s; int* p=&b; }\nP0;\nmov al, byte ptr [b];\nmovzx ecx, al;\nadcq $1,(q);\nshl %cl,%edx;\nsetne %r8b;\ncmovl %ecx,%esi;\nlea rdi,[rsi+rcx*4-8];\nbts $3,(q);\nneg b;\nfinal (0:al=-1) with tso: exists; sc: ~exists\n",
    "X86 N+a.b[c] (Label)\nfree text\n{ t[2]={x,&y}; *q=x; }\nP3|P5;\nMOVNTI [x],EAX|CLFLUSH [y];\nRET|JMP E;\n|E:;\nlocations [t; q*; 3:EAX int;]",
    "X86_64 T\n{ 0:rip=0; 0:cs=0; x=0xffffffffffffffff; }\nP0;\nNOPL %cs:0(%rax,%eax,0);\nmovb %ah,%bl;\nxchg %rcx,%rdx;\nuxchl (x),%eax;\ncmpxchg %ebx,%ecx;\nsbb $0x7fffffff,%r15d;\nforall t={1} /\\ x<>-1 /\\ &x=0:rax",
];

fn survives(text: &str) {
    let refused = match parse(text) {
        Err(d) => d,
        Ok(test) => {
            let printed = print(&test);
            match parse(&printed) {
                Ok(again) => assert_eq!(again, test, "{text:?} printed as {printed:?}"),
                Err(d) => panic!("{} in {printed:?}, printed from {text:?}", d.message),
            }
            match compile(&test) {
                Err(d) => d,
                Ok(parsed) => {
                    for warning in &parsed.warnings {
                        assert!(warning.span.end as usize <= text.len(), "{text:?}");
                    }
                    return;
                }
            }
        }
    };
    let (start, end) = (refused.span.start as usize, refused.span.end as usize);
    assert!(start <= end && end <= text.len(), "{refused:?} in {text:?}");
    assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{refused:?} in {text:?}");
    assert!(!refused.message.is_empty());
}

#[test]
fn bytes() {
    let mut rng = Rng(0x1234_5678_9abc_def1);
    let special = b"{}[]()|;:,=$%&*+-~<>!/\\\"#'@^?`0123456789abcxyzPLAX \n\t\r\0\xc3\xa9\xff";
    for round in 0..30_000 {
        let mut text = rng.pick(&SEEDS).as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let at = rng.below(text.len());
            match rng.below(4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, text[at]),
                2 => text[at] = *rng.pick(special),
                _ => text.insert(at, *rng.pick(special)),
            }
            if text.is_empty() {
                break;
            }
        }
        let text = String::from_utf8_lossy(&text);
        if std::panic::catch_unwind(|| survives(&text)).is_err() {
            panic!("round {round}: {text:?}");
        }
    }
}

#[test]
fn pieces() {
    // Whole tokens deleted, doubled, swapped with tokens of other tests.
    let tokens: Vec<&str> =
        SEEDS.iter().flat_map(|s| s.split_inclusive([' ', ',', '\n', ';'])).collect();
    let mut rng = Rng(0xfeed_beef_cafe_0001);
    for _ in 0..30_000 {
        let mut text: Vec<&str> = rng.pick(&SEEDS).split_inclusive([' ', ',', '\n', ';']).collect();
        for _ in 0..=rng.below(3) {
            let at = rng.below(text.len());
            match rng.below(3) {
                0 => drop(text.remove(at)),
                1 => text[at] = *rng.pick(&tokens),
                _ => text.insert(at, *rng.pick(&tokens)),
            }
            if text.is_empty() {
                break;
            }
        }
        survives(&text.concat());
    }
}

#[test]
fn truncated() {
    for seed in SEEDS {
        for end in 0..=seed.len() {
            survives(&seed[..end]);
        }
        for start in 0..seed.len() {
            survives(&seed[start..]);
        }
    }
}
