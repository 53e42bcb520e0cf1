//! Broken texts: never a panic, and a place inside of the text for each refusal.

use super::*;
use crate::test_support::for_each_mutation;

const SEEDS: [&str; 6] = [
    "X86 SB\n\"Fre PodWR Fre PodWR\"\nCycle=Fre PodWR Fre PodWR\n(* c (* d *) *)\n{ x=0; int y=1; 0:EAX=1; [z]=2; P1:EBX = 0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ; # end\n MOV EAX,[y] | MOV EAX,[x] ;\nlocations [0:EAX; x;]\nexists (0:EAX=0 /\\ 1:EAX=0)\n",
    "X86_64 SB\n{ uint64_t x; int64_t t[2]={1,-1}; uint64_t 1:rax; 0:rbx=x; }\n P0            | P1            ;\n movq $1,(x)   | movq $1,(y)   ;\n movl 0(%rbx,%rcx,8),%eax | lock cmpxchgq (x),%rbx ;\n movq (y),%rax | movq (x),%rax ;\nforall (0:rax=0 \\/ 1:rax=x => not [x]=-1)\n",
    "X86 L\n{}\n P0 | P1 ;\n L0: MOV EAX,[x] | LOCK; INC [x] ;\n CMP EAX,$0 | XCHG [x],EAX ;\n JE L0 | CMPXCHG [x],ECX ;\n | ADD [x],$-1 ;\n~exists (x=1 /\\ 0:EAX=0x10)\n<< rest",
    "X86_64 W\n{ int8_t b=-1; int16_t s; int* p=&b; }\nP0;\nmov al, byte ptr [b];\nmovzx ecx, al;\nadcq $1,(q);\nshl %cl,%edx;\nsetne %r8b;\ncmovl %ecx,%esi;\nlea rdi,[rsi+rcx*4-8];\nbts $3,(q);\nneg b;\nfinal (0:al=-1) with tso: exists; sc: ~exists\n",
    "X86 N+a.b[c] (Label)\nfree text\n{ t[2]={x,&y}; *q=x; }\nP3|P5;\nMOVNTI [x],EAX|CLFLUSH [y];\nRET|JMP E;\n|E:;\nlocations [t; q*; 3:EAX int;]",
    "X86_64 T\n{ 0:rip=0; 0:cs=0; x=0xffffffffffffffff; int t[1]; }\nP0;\nNOPL %cs:0(%rax,%eax,0);\nmovb %ah,%bl;\nxchg %rcx,%rdx;\nuxchl (x),%eax;\ncmpxchg %ebx,%ecx;\nsbb $0x7fffffff,%r15d;\nforall t={1} /\\ x<>-1 /\\ &x=0:rax",
];

/// Bytes and words that do not occur in the texts.
const PIECES: [&str; 13] = [
    "\t",
    "\r\n",
    "\0",
    "\u{8c}",
    "é",
    "'",
    "@",
    "^",
    "?",
    "`",
    "!=",
    "(*",
    "99999999999999999999",
];

#[test]
fn mutated_tests_are_read_or_refused() {
    for seed in SEEDS {
        LITMUS.accept(seed);
    }
    for_each_mutation(&SEEDS, &PIECES, 60_000, |text| drop(LITMUS.read(text)));
}
