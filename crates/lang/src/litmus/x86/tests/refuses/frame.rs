//! Heads, initial states, columns and rows.

use super::*;

#[test]
fn whole_tests() {
    table(
        str::to_owned,
        r##"
 --> 1:1 the file is empty
 \n (* only a comment *)\n --> 2:22 the file is empty
// a comment\nX86 T\n{}\n --> 1:1 unexpected `//`
X86 --> 1:4 the test has no name after `X86`
X86 SB --> 1:7 the test has no initial state
X86\n{}\nP0;\n --> 1:4 the test has no name after `X86`
AArch64 SB\n{}\nP0;\n --> 1:1 tests for `AArch64` are not supported
LISA SB\n{}\n --> 1:1 tests for `LISA` are not supported
PPC SB\n{}\n --> 1:1 tests for `PPC` are not supported
Y86 SB\n{}\n --> 1:1 unknown architecture `Y86`
{ x=0; } --> 1:1 the test does not begin with an architecture
X86 SB "never ends\n{}\nP0;\n --> 1:8 the string that begins here never ends
X86 SB (label\n{}\nP0;\n --> 1:8 unbalanced `(` after the name of the test
X86 SB\n(* never ends\n{}\nP0;\n --> 2:1 the comment that begins here never ends
X86 SB\nP0 | P1 ;\n MOV [x],$1 | ;\n --> 2:1 the threads begin at `P0`, but there is no initial state
X86 SB\n\0\n{}\nP0;\n --> 2:1 unexpected control character in the head of the test
\0 --> 1:1 unknown architecture `\0`
X86 T\n{ x=0;\n P0 ;\n MOV [x],$1 ;\n --> 2:1 the initial state that begins here never ends
X86 T\n{}\n --> 2:3 unexpected end of the file
X86 T\n{}\nexists (x=0)\n --> 3:1 unexpected `exists`
X86 T\n{}\nP0 ;\n MOV [x],$1 --> 4:12 missing `;` at the end of the row
X86 T\n{}\nP0 ;\n MOV [x],$1 << ; --> 4:13 unexpected `<<`
X86 T\n{}\nP0;\nJMP L;\n --> 4:5 undefined label `L`
X86 T\n{}\nP0|P1;\nJMP L|L:;\n --> 4:5 the label `L` stands in another column, that of P1
X86 T\n{}\nP0;\nL: NOP;\nL: NOP;\n --> 5:1 a second label `L` in this column
X86 T\n{}\nP0;\nJMP 1;\n --> 4:5 unexpected `1`
X86 T\n{}\nP0;\nJMP *EAX;\n --> 4:5 unexpected `*`
X86 T\n{}\nP0;\nJMP;\n --> 4:1 `JMP` takes 1 operand, but 0 were given
X86 T\n{}\nP0;\nLOCK;\n --> 4:1 `lock` without an instruction
X86 SB\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] ;\n{ x=0; }\nexists (0:EAX=0 /\ 1:EAX=0)\n --> 2:2 the threads begin at `P0`, but there is no initial state
X86 T\n{}\nP0|P1;\nJMP A|JMP B;\nB:|A:;\n --> 4:5 the label `A` stands in another column, that of P1
X86 T\n{}\nP0|P1;\nA:|A: A:;\n --> 4:7 a second label `A` in this column
X86 T\n{}\nP0;\nJMP end;\nEND: NOP;\n --> 4:5 undefined label `end`
X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] --> 5:27 missing `;` at the end of the row
X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\ 1:EAX=0 --> 6:8 unbalanced `(`
X86 SB\n{ x=0 y=0 }\n P0          | P1          \n MOV [x],$1  | MOV [y],$1  \n MOV EAX,[y] | MOV EAX,[x] \nexists (0:EAX=0 /\ 1:EAX=0)\n --> 2:7 unexpected `y`
X86 SB\n{ x=0; y=0; }\n P0           P1          ;\n MOV [x],$1   MOV [y],$1  ;\n MOV EAX,[y]  MOV EAX,[x] ;\nexists (0:EAX=0 /\ 1:EAX=0)\n --> 3:15 unexpected `P1`
X86 SB { x=0; y=0;   P0          | P1          ;  MOV [x],$1  | MOV [y],$1  ;  MOV EAX,[y] | MOV EAX,[x] ; exists (0:EAX=0 /\ 1:EAX=0) --> 1:8 the initial state that begins here never ends
"##,
    );
}

#[test]
fn heads() {
    table(
        |head| sb("X86 SB", head),
        r##"
X86SB --> 1:1 unknown architecture `X86SB`
X86: SB --> 1:1 unknown architecture `X86:`
X86 "SB" --> 1:5 the test has no name after `X86`
X86 (SB) --> 1:5 the test has no name after `X86`
86 SB --> 1:1 unknown architecture `86`
X86_32 SB --> 1:1 unknown architecture `X86_32`
x64 SB --> 1:1 unknown architecture `x64`
AMD64 SB --> 1:1 unknown architecture `AMD64`
X86 SB (a --> 1:8 unbalanced `(` after the name of the test
X86 SB "a" b" --> 1:13 unbalanced `"` in the head of the test
X86 SB\nCom="Rf --> 2:5 unbalanced `"` in the head of the test
X86 SB\n"a"" --> 2:4 the string that begins here never ends
X86 SB\n\7bell --> 2:1 unexpected control character in the head of the test
X86 SB\x8c --> 1:7 unexpected control character in the head of the test
X86 SB\né\x8cé --> 2:2 unexpected control character in the head of the test
X86 SB\n P0;\n --> 2:2 the threads begin at `P0`, but there is no initial state
test SB --> 1:1 unknown architecture `test`
"##,
    );
}

#[test]
fn initial_states() {
    table(
        |init| sb("{ x=0; y=0; }", init),
        r##"
{ x=0; y=0; --> 2:1 the initial state that begins here never ends
{ x=0; y=0 --> 2:1 the initial state that begins here never ends
{ x=0 y=0; } --> 2:7 unexpected `y`
{ x=0, y=0; } --> 2:6 unexpected `,`
{ x==0; } --> 2:4 unexpected `==`
{ x=; } --> 2:5 unexpected `;`
{ P2=0; } --> 2:3 `P2` is a thread, not a location
{ 0=x; } --> 2:3 unexpected `0`
{ x=0; x=1; } --> 2:10 `x` already has another initial value
{ 0:EAX=0; 0:EAX=1; } --> 2:12 `0:EAX` already has another initial value
{ 0:EAX=0; 0:AL=0; } --> 2:12 `0:AL` already has another initial value
{ 2:EAX=0; } --> 2:3 there is no thread `P2`
{ 0:EAZ=0; } --> 2:5 unknown register `EAZ`
{ 0:rax=0; } --> 2:5 unknown register `rax`
{ 0:=0; } --> 2:5 unexpected `=`
{ foo x=0; } --> 2:3 `foo` is not a type
{ itn x=0; } --> 2:3 `itn` is not a type
{ int x[2]={1}; } --> 2:12 the array `x` has 2 elements, but 1 values are given
{ int x[2]=1; } --> 2:12 the array `x` needs a value for each element
{ int x[]={1}; } --> 2:9 unexpected `]`
{ int x={1}; } --> 2:9 a list of values for something that is no array
{ int x[0]; } --> 2:7 the array `x` has no elements
{ int x[100000]; } --> 2:7 the array `x` is too long
{ int x=5000000000; } --> 2:9 this number does not fit in the 32 bits of `x`
{ int8_t x=256; } --> 2:12 this number does not fit in the 8 bits of `x`
{ 0:EAX=0x1ffffffff; } --> 2:9 this number does not fit in the 32 bits of `EAX`
{ x=99999999999999999999; } --> 2:5 the number `99999999999999999999` is too large
{ x=-9999999999999999999; } --> 2:5 the number `-9999999999999999999` is too large
{ x=t[3]; } --> 2:5 `t` is not declared as an array
{ x=0; (* } --> 2:8 the comment that begins here never ends
{ x=0; é=1; } --> 2:8 unexpected character `é`
 --> 3:2 the threads begin at `P0`, but there is no initial state
{ x=0; y=0; }} --> 2:14 unexpected `}`
{{ x=0; } --> 2:2 unexpected `{`
{ x=0 }} --> 2:8 unexpected `}`
[ x=0; ] --> 2:1 this looks like an initial state without its `{`
{ x 1; } --> 2:3 `x` is not a type
{ int; } --> 2:3 `int` is a type, not a location
{ int=1; } --> 2:3 `int` is a type, not a location
{ uint64_t; } --> 2:3 `uint64_t` is a type, not a location
{ int *; } --> 2:8 unexpected `;`
{ *; } --> 2:4 unexpected `;`
{ unsigned unsigned x; } --> 2:12 `unsigned` cannot follow `unsigned` in a type
{ unsigned uint64_t x; } --> 2:12 `uint64_t` cannot follow `unsigned` in a type
{ int char x; } --> 2:7 `char` cannot follow `int` in a type
{ long long long x; } --> 2:13 `long` cannot follow `long long` in a type
{ short long x; } --> 2:9 `long` cannot follow `short` in a type
{ signed unsigned x; } --> 2:10 `unsigned` cannot follow `signed` in a type
{ float x; } --> 2:3 `float` is not a type
{ double x=1; } --> 2:3 `double` is not a type
{ struct s x; } --> 2:3 `struct` is not a type
{ int x y; } --> 2:7 `x` is not a type
{ int x, y; } --> 2:8 unexpected `,`
{ x=y=1; } --> 2:6 unexpected `=`
{ x=&1; } --> 2:6 unexpected `1`
{ x=&; } --> 2:6 unexpected `;`
{ x=*y; } --> 2:5 unexpected `*`
{ x=[y]; } --> 2:5 unexpected `[`
{ x="a"; } --> 2:5 unexpected string
{ x='a'; } --> 2:5 unexpected character `'`
{ x=1; x=2; } --> 2:10 `x` already has another initial value
{ int x; uint64_t x; } --> 2:19 `x` already has another type
{ int x[2]; int x[3]; } --> 2:17 `x` already has another length
{ int x[2]={{1},{2}}; } --> 2:13 unexpected `{`
{ int x[2]={1;2}; } --> 2:14 unexpected `;`
{ int x[2]={1 2}; } --> 2:15 unexpected `2`
{ int x[1]=1; } --> 2:12 the array `x` needs a value for each element
{ x[0]=1; } --> 2:8 the array `x` needs a value for each element
{ int x[a]; } --> 2:7 `x` is not a type
{ int x[2]={1,2} --> 2:1 the initial state that begins here never ends
{ 0:EAX=EBX; } --> 2:9 `EBX` is a register, not a location
{ 0:EAX=0:EBX; } --> 2:9 unexpected `0`
{ EAX=1; } --> 2:3 `EAX` is a register, not a location
{ RAX=1; } --> 2:3 `RAX` is a register, not a location
{ %eax=1; } --> 2:3 unexpected `%`
{ 0:%=1; } --> 2:6 unexpected `=`
{ 0:XMM0=1; } --> 2:5 unknown register `XMM0`
{ 0:EAX 1; } --> 2:9 unexpected `1`
{ 0.EAX=1; } --> 2:3 malformed number `0.EAX`
{ 0;EAX=1; } --> 2:3 unexpected `0`
{ P0.EAX=1; } --> 2:3 `P0.EAX` is a thread, not a location
{ P5:EAX=1; } --> 2:3 there is no thread `P5`
{ T0:EAX=1; } --> 2:5 unexpected `:`
{ -1:EAX=1; } --> 2:3 unexpected `-`
{ 0:[x]=1; } --> 2:5 unexpected `[`
{ 0:EAX=1 /\ 1:EAX=2; } --> 2:11 unexpected `/\`
{ exists=1; } --> 2:3 `exists` is a word of conditions, not a location
{ true=1; } --> 2:3 `true` is a truth value, not a location
{ x=true; } --> 2:5 `true` is a truth value, not a location
{ x=NULL; y=-; } --> 2:13 unexpected `-`
{ x=+; } --> 2:5 unexpected `+`
{ x=0b2; } --> 2:5 malformed number `0b2`
{ x=08x; } --> 2:5 malformed number `08x`
{ x=1_000; } --> 2:5 malformed number `1_000`
{ x=1e3; } --> 2:5 malformed number `1e3`
{ x=1L; } --> 2:5 malformed number `1L`
{ locations [x]; } --> 2:3 `locations` is not a type
{ x:int=0; } --> 2:4 unexpected `:`
{ 4294967296:EAX=0; } --> 2:3 the number `4294967296` is too large
{ const const=1; } --> 2:9 `const` is a type, not a location
{ _Atomic; } --> 2:3 `_Atomic` is a type, not a location
{ int 0:EAX:EBX; } --> 2:12 unexpected `:`
{ x=0; # y=1; } --> 2:1 the initial state that begins here never ends
"##,
    );
}

/// Here a piece is what is replaced, ` ==> `, and by what.
#[test]
fn columns_and_rows() {
    table(
        |piece| {
            let (from, to) = piece.split_once(" ==>").expect("two pieces");
            sb(from, to.trim_start())
        },
        r##"
| P1          ; ==> P1 ; --> 3:14 unexpected `P1`
P1          ; ==> P0 ; --> 3:16 a second column for thread `P0`
P1          ; ==> Q1 ; --> 3:16 unexpected `Q1`
P1          ; ==> P1 --> 3:18 missing `;` at the end of the row
P1          ; ==> P1 | ; --> 3:21 unexpected `;`
$1  | MOV [y],$1  ; ==> $1    MOV [y],$1  ; --> 4:16 unexpected `MOV`
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1 --> 4:26 missing `;` at the end of the row
$1  | MOV [y],$1  ; ==> $1  ; --> 4:14 this row has 1 cell, but there are 2 threads
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1  | ; --> 4:28 this row has at least 3 cells, but there are 2 threads
MOV EAX,[x] ; ==> MOV EAX,[x] --> 5:27 missing `;` at the end of the row
MOV EAX,[x] ; ==> --> 5:15 missing `;` at the end of the row
 MOV EAX,[y] | MOV EAX,[x] ;\n ==> MFENCE MFENCE ;\n --> 5:8 unexpected `MFENCE`
P0          | P1          ; ==> P0 | P1 | ; --> 3:12 unexpected `;`
P0          | P1          ; ==> | P0 | P1 ; --> 3:2 unexpected `|`
P0          | P1          ; ==> P0 , P1 ; --> 3:5 unexpected `,`
P0          | P1          ; ==> P0 | P1 --> 3:9 missing `;` at the end of the row
P0          | P1          ; ==> P-1 | P1 ; --> 3:2 unexpected `P`
P0          | P1          ; ==> P0 | P0 ; --> 3:7 a second column for thread `P0`
P0          | P1          ; ==> P0 | P ; --> 3:7 unexpected `P`
P0          | P1          ; ==> P0 | P1x ; --> 3:7 unexpected `P1x`
P0          | P1          ; ==> P0 & P1 ; --> 3:5 unexpected `&`
P0          | P1          ; ==> P0 || P1 ; --> 3:6 unexpected `|`
P0          | P1          ; ==> Thread0 | Thread1 ; --> 3:2 unexpected `Thread0`
P0          | P1          ; ==> P0 | P99999999999 ; --> 3:7 unexpected `P99999999999`
P0          | P1          ; ==> P0 ; --> 4:14 this row has at least 2 cells, but there are 1 thread
P0          | P1          ; ==> P0 | P1 | P2 ; --> 4:28 this row has 2 cells, but there are 3 threads
P0          | P1          ; ==> --> 4:2 unexpected `MOV`
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1 | ; --> 4:27 this row has at least 3 cells, but there are 2 threads
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1 | MFENCE ; --> 4:27 this row has at least 3 cells, but there are 2 threads
$1  | MOV [y],$1  ; ==> $1  & MOV [y],$1 ; --> 4:14 unexpected `&`
$1  | MOV [y],$1  ; ==> $1  / MOV [y],$1 ; --> 4:14 unexpected `/`
$1  | MOV [y],$1  ; ==> $1  || MOV [y],$1 ; --> 4:15 this row has at least 3 cells, but there are 2 threads
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1 : --> 4:27 unexpected `:`
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1 . --> 4:27 unexpected `.`
$1  | MOV [y],$1  ; ==> $1  | MOV [y],$1 } --> 4:27 unexpected `}`
$1  | MOV [y],$1  ; ==> $1  ; MOV [y],$1 ; --> 4:14 this row has 1 cell, but there are 2 threads
$1  | MOV [y],$1  ; ==> $1  | NOP --> 4:19 missing `;` at the end of the row
MOV EAX,[x] ; ==> NOP --> 5:19 missing `;` at the end of the row
MOV EAX,[x] ; ==> RET --> 5:19 missing `;` at the end of the row
MOV EAX,[x] ; ==> MFENCE --> 5:22 missing `;` at the end of the row
MOV EAX,[x] ; ==> INC EAX --> 5:23 missing `;` at the end of the row
MOV EAX,[x] ; ==> JMP --> 5:16 `JMP` takes 1 operand, but 0 were given
MOV EAX,[x] ; ==> L: --> 5:18 missing `;` at the end of the row
MOV EAX,[x] ; ==> LOCK --> 5:16 `lock` without an instruction
MOV EAX,[x] ; ==> SHL EAX --> 5:23 missing `;` at the end of the row
MOV EAX,[x] ; ==> MOV EAX, --> 5:16 `MOV` takes 2 operands, but 1 was given
MOV EAX,[x] ; ==> MOV EAX --> 5:16 `MOV` takes 2 operands, but 1 was given
MOV EAX,[x] ; ==> MOV --> 5:16 `MOV` takes 2 operands, but 0 were given
MOV EAX,[x] ; ==> MOV EAX,[x] ; // done --> 5:30 unexpected `//`
MOV EAX,[x] ; ==> MOV EAX,[x] ; /* done */ --> 5:30 unexpected `/*`
MOV EAX,[x] ; ==> MOV EAX,[x] ; -- done --> 5:30 unexpected `-`
MOV EAX,[x] ; ==> MOV EAX,[x] ; done --> 5:30 unknown instruction `done`
MOV EAX,[x] ; ==> MOV EAX,[x] ; (* done --> 5:30 the comment that begins here never ends
"##,
    );
}
