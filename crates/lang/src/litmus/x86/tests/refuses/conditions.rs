//! Conditions and `locations`.

use super::*;

#[test]
fn conditions() {
    table(
        |condition| sb("exists (0:EAX=0 /\\ 1:EAX=0)", condition),
        r##"
exist (0:EAX=0 /\ 1:EAX=0) --> 6:1 unknown instruction `exist`
Exists (0:EAX=0 /\ 1:EAX=0) --> 6:1 unknown instruction `Exists`
exists (0:EAX=0 && 1:EAX=0) --> 6:17 unexpected `&&`
exists (0:EAX=0 || 1:EAX=0) --> 6:17 unexpected `|`
exists (0:EAX=0 and 1:EAX=0) --> 6:17 unexpected `and`
exists (0:EAX=0 / 1:EAX=0) --> 6:17 unexpected `/`
exists (0:EAX=0 1:EAX=0) --> 6:17 unexpected `1`
exists (0:EAX==0 /\ 1:EAX=0) --> 6:14 unexpected `==`
exists (0:EAX<1 /\ 1:EAX=0) --> 6:14 unexpected `<`
exists (0:EAX /\ 1:EAX=0) --> 6:15 unexpected `/\`
exists (0:EAX= /\ 1:EAX=0) --> 6:16 unexpected `/\`
exists (EAX: /\ 1:EAX=0) --> 6:9 `EAX` is a register, not a location
exists (5:EAX=0 /\ 1:EAX=0) --> 6:9 there is no thread `P5`
exists (0:EXX=0 /\ 1:EAX=0) --> 6:11 unknown register `EXX`
exists (0:RAX=0 /\ 1:EAX=0) --> 6:11 unknown register `RAX`
exists (0:AH=0 /\ 1:EAX=0) --> 6:9 `AH` cannot be observed
exists (0:EAX=5000000000 /\ 1:EAX=0) --> 6:15 this number does not fit in the 32 bits of `0:EAX`
exists (x=99999999999999999999 /\ 1:EAX=0) --> 6:11 the number `99999999999999999999` is too large
exists (1=1 /\ 1:EAX=0) --> 6:11 this compares two constants
exists (x={1,2} /\ 1:EAX=0) --> 6:11 a list of values can only be compared with an array on its left
exists (0:EAX={1} /\ 1:EAX=0) --> 6:15 a list of values can only be compared with an array on its left
exists (x[1]=0 /\ 1:EAX=0) --> 6:9 `x` is not declared as an array
exists (0:EAX=0 /\ 1:EAX=0 --> 6:8 unbalanced `(`
exists (0:EAX=0 /\ 1:EAX=0)) --> 6:28 unexpected `)`
exists (0:EAX=0 /\ 1:EAX=0) junk --> 6:29 unexpected `junk`
exists (0:EAX=0 /\ 1:EAX=0) exists (x=1) --> 6:29 a second condition
exists (0:EAX=0 /\ 1:EAX=0) \/ --> 6:31 unexpected end of the file
exists --> 6:7 unexpected end of the file
exists () --> 6:9 unexpected `)`
~ (0:EAX=0 /\ 1:EAX=0) --> 6:3 unexpected `(`
~forall (0:EAX=0 /\ 1:EAX=0) --> 6:2 unexpected `forall`
filter (0:EAX=1:EAX) --> 6:15 a filter on locations, or on several threads at once, is not supported
observed (0:EAX=0 /\ 1:EAX=0) --> 6:1 `observed` is not supported
locations [x exists (0:EAX=0 /\ 1:EAX=0) --> 6:14 `exists` is not a type
locations [x,y] exists (0:EAX=0 /\ 1:EAX=0) --> 6:13 unexpected `,`
locations x exists (0:EAX=0 /\ 1:EAX=0) --> 6:11 unexpected `x`
locations [5:EAX;] exists (0:EAX=0 /\ 1:EAX=0) --> 6:12 there is no thread `P5`
locations [1;] exists (0:EAX=0 /\ 1:EAX=0) --> 6:12 unexpected `1`
exists\n --> 6:7 unexpected end of the file
forall --> 6:7 unexpected end of the file
~exists --> 6:8 unexpected end of the file
not exists --> 6:11 unexpected end of the file
not --> 6:1 `not` takes 1 operand, but 0 were given
final --> 6:6 unexpected end of the file
exists ) --> 6:8 unexpected `)`
exists ((x=1) --> 6:8 unbalanced `(`
exists (x=1 --> 6:8 unbalanced `(`
exists x=1) --> 6:11 unexpected `)`
exists (x=1 /\ --> 6:15 unexpected end of the file
exists (x=1) /\ --> 6:16 unexpected end of the file
exists (x=1) \/ \/ y=1 --> 6:17 unexpected `\/`
exists (x=1)(y=1) --> 6:13 unexpected `(`
exists (x=1) junk --> 6:14 unexpected `junk`
exists (x=1) /\ junk --> 6:21 unexpected end of the file
exists (x=1) . --> 6:14 unexpected `.`
exists (x=1);; --> 6:14 unexpected `;`
exists (x=1); x --> 6:15 unexpected `x`
exists (x=1) "done" --> 6:14 unexpected string
exists (x=1) { --> 6:14 unexpected `{`
exists (x=1) P0 | P1 ; --> 6:14 unexpected `P0`
exists (x=1)\nX86 MP\n{}\nP0;\nNOP; --> 7:1 unexpected `X86`
exists (x=1)\nexists (y=1) --> 7:1 a second condition
forall (x=1)\n~exists (y=1) --> 7:1 a second condition
exists (x=1) forall (y=1) --> 6:14 a second condition
exists (x=1) /\ exists (y=1) --> 6:17 `exists` is a word of conditions, not a location
exists exists (x=1) --> 6:8 `exists` is a word of conditions, not a location
exists: (x=1) --> 6:1 `exists` cannot be a label
exists = (x=1) --> 6:8 unexpected `=`
Exists (x=1) --> 6:1 unknown instruction `Exists`
EXISTS (x=1) --> 6:1 unknown instruction `EXISTS`
exist (x=1) --> 6:1 unknown instruction `exist`
there exists (x=1) --> 6:1 unknown instruction `there`
~~exists (x=1) --> 6:2 unexpected `~`
~forall (x=1) --> 6:2 unexpected `forall`
not forall (x=1) --> 6:5 `forall` is a word of conditions, not a location
forall not --> 6:11 unexpected end of the file
exists not --> 6:11 unexpected end of the file
exists not not --> 6:15 unexpected end of the file
exists ~ --> 6:9 unexpected end of the file
exists (x) --> 6:10 unexpected `)`
exists (1) --> 6:10 unexpected `)`
exists (true=1) --> 6:13 unexpected `=`
exists (x=true) --> 6:11 `true` is a truth value, not a location
exists (x=false) --> 6:11 `false` is a truth value, not a location
exists (false=x) --> 6:14 unexpected `=`
exists (x=1 && y=1) --> 6:13 unexpected `&&`
exists (x=1 & y=1) --> 6:13 unexpected `&`
exists (x=1 || y=1) --> 6:13 unexpected `|`
exists (x=1 | y=1) --> 6:13 unexpected `|`
exists (x=1 and y=1) --> 6:13 unexpected `and`
exists (x=1, y=1) --> 6:12 unexpected `,`
exists (x=1; y=1) --> 6:12 unexpected `;`
exists (x=1 y=1) --> 6:13 unexpected `y`
exists (x=1 /\ /\ y=1) --> 6:16 unexpected `/\`
exists (x=1 \ y=1) --> 6:13 unexpected `\`
exists (x=1 -> y=1) --> 6:13 unexpected `-`
exists (x=1 <=> y=1) --> 6:13 unexpected `<`
exists (x=1 ==> y=1) --> 6:13 unexpected `==`
exists (x=1 xor y=1) --> 6:13 unexpected `xor`
exists (x==1) --> 6:10 unexpected `==`
exists (x:=1) --> 6:10 unexpected `:`
exists (x<1) --> 6:10 unexpected `<`
exists (x>=1) --> 6:10 unexpected `>`
exists (x<=1) --> 6:10 unexpected `<`
exists (x!1) --> 6:10 unexpected `!`
exists (x=!1) --> 6:11 unexpected `!`
exists (x=1=y) --> 6:12 unexpected `=`
exists (x=) --> 6:11 unexpected `)`
exists (=1) --> 6:9 unexpected `=`
exists (x=-) --> 6:11 unexpected `-`
exists (x=--1) --> 6:11 unexpected `-`
exists (x=$1) --> 6:11 unexpected `$`
exists (x=0x) --> 6:11 malformed number `0x`
exists (x=0xg) --> 6:11 malformed number `0xg`
exists (x=1.5) --> 6:11 malformed number `1.5`
exists (x="1") --> 6:11 unexpected string
exists (x='1') --> 6:11 unexpected character `'`
exists (x=1+1) --> 6:12 unexpected `+`
exists (x=y+1) --> 6:12 unexpected `+`
exists (x+1=1) --> 6:10 unexpected `+`
exists (x=99999999999999999999) --> 6:11 the number `99999999999999999999` is too large
exists (0:EAX=5000000000) --> 6:15 this number does not fit in the 32 bits of `0:EAX`
exists (2:EAX=0) --> 6:9 there is no thread `P2`
exists (P2:EAX=0) --> 6:9 there is no thread `P2`
exists (-1:EAX=0) --> 6:11 unexpected `:`
exists (0:=0) --> 6:11 unexpected `=`
exists (0:0=0) --> 6:11 unexpected `0`
exists (0:x=0) --> 6:11 unknown register `x`
exists (0:EAZ=0) --> 6:11 unknown register `EAZ`
exists (0:RAX=0) --> 6:11 unknown register `RAX`
exists (0:%=0) --> 6:12 unexpected `=`
exists (0.EAX=0) --> 6:9 malformed number `0.EAX`
exists (0,EAX=0) --> 6:10 unexpected `,`
exists (0 EAX=0) --> 6:11 unexpected `EAX`
exists (EAX=0) --> 6:9 `EAX` is a register, not a location
exists (RAX=0) --> 6:9 `RAX` is a register, not a location
exists (%eax=0) --> 6:9 unexpected `%`
exists (P0=0) --> 6:9 `P0` is a thread, not a location
exists (P0:EAX:EBX=0) --> 6:15 unexpected `:`
exists (0:EAX=EBX) --> 6:15 `EBX` is a register, not a location
exists (0:EAX=0:FOO) --> 6:17 unknown register `FOO`
exists (0:EAX=3:EAX) --> 6:15 there is no thread `P3`
exists ([0:EAX]=1) --> 6:10 unexpected `0`
exists (*0:EAX=1) --> 6:8 the comment that begins here never ends
exists (&0:EAX=1) --> 6:10 unexpected `0`
exists ([x=1) --> 6:11 unexpected `=`
exists (x]=1) --> 6:10 unexpected `]`
exists ([]=1) --> 6:10 unexpected `]`
exists ([x][y]=1) --> 6:12 unexpected `[`
exists ([[x]]=1) --> 6:10 unexpected `[`
exists (*=1) --> 6:8 the comment that begins here never ends
exists (&=1) --> 6:10 unexpected `=`
exists (x=&) --> 6:12 unexpected `)`
exists (&x=&y) --> 6:13 this compares two constants
exists (1=2) --> 6:11 this compares two constants
exists (x={1}) --> 6:11 a list of values can only be compared with an array on its left
exists (x={1,2}) --> 6:11 a list of values can only be compared with an array on its left
exists (x={1) --> 6:13 unexpected `)`
exists ({1}=x) --> 6:9 a list of values can only be compared with an array on its left
exists (x[1]=0) --> 6:9 `x` is not declared as an array
exists (x[=0) --> 6:10 unexpected `[`
exists (x[y]=0) --> 6:10 unexpected `[`
exists (x[-1]=0) --> 6:10 unexpected `[`
exists {x=1} --> 6:9 unexpected `x`
exists [x=1] --> 6:10 unexpected `=`
exists <x=1> --> 6:8 unexpected `<`
exists "x=1" --> 6:8 unexpected string
filter (x=1) --> 6:9 a filter on locations, or on several threads at once, is not supported
observed [x] --> 6:1 `observed` is not supported
locations --> 6:10 unexpected end of the file
locations x --> 6:11 unexpected `x`
locations [ --> 6:11 unbalanced `[`
locations [x --> 6:11 unbalanced `[`
locations [x y] --> 6:14 `y` is not a type
locations [x,y] --> 6:13 unexpected `,`
locations (x) --> 6:11 unexpected `(`
locations {x;} --> 6:11 unexpected `{`
locations [x=1;] --> 6:13 unexpected `=`
locations [9:EAX;] --> 6:12 there is no thread `P9`
locations [0:FOO;] --> 6:14 unknown register `FOO`
locations [EAX;] --> 6:12 `EAX` is a register, not a location
locations [true;] --> 6:12 `true` is a truth value, not a location
locations [1;] --> 6:12 unexpected `1`
locations [x int int;] --> 6:18 `int` cannot follow `int` in a type
locations [x foo;] --> 6:14 `foo` is not a type
locations [x] [y] --> 6:15 unexpected `[`
locations [x];\nexists --> 6:14 unexpected `;`
locations [x;]\nlocations --> 7:10 unexpected end of the file
location [x;] --> 6:1 unknown instruction `location`
where (x=1) --> 6:1 unknown instruction `where`
forall (x=1) with --> 6:18 unexpected end of the file
if (x=1) --> 6:1 unknown instruction `if`
x=1 --> 6:1 unknown instruction `x`
(x=1) --> 6:1 unexpected `(`
assert (x=1) --> 6:1 unknown instruction `assert`
!exists (x=1) --> 6:1 unexpected `!`
no exists (x=1) --> 6:1 unknown instruction `no`
exists (x=1) < --> 6:14 unexpected `<`
exists (not) --> 6:12 unexpected `)`
exists (x=1 /\ not) --> 6:19 unexpected `)`
exists (~~) --> 6:11 unexpected `)`
exists (x=1 => ) --> 6:16 unexpected `)`
exists (=> x=1) --> 6:9 unexpected `=>`
exists (x=1 \/ ) --> 6:16 unexpected `)`
"##,
    );
}

/// A test with this condition on line 5.
fn deep(condition: String) -> String {
    format!("X86 T\n{{}}\nP0;\nNOP;\nexists {condition}")
}

#[test]
fn deep_conditions() {
    let check = |text: &str, expected: &str| {
        let refused = LITMUS.refuse(text);
        let (line, column) = refused.span.line_column(text);
        assert_eq!(format!("{line}:{column} {}", refused.message), expected);
    };
    let parens = deep(format!("{}x=1{}", "(".repeat(300), ")".repeat(300)));
    check(&parens, "5:209 the condition is nested more than 200 deep");
    let not = deep(format!("{}x=1", "~".repeat(100_000)));
    check(&not, "5:209 the condition is nested more than 200 deep");
    let arrows = deep(format!("{}x=1", "x=1 => ".repeat(100_000)));
    check(&arrows, "5:1415 the condition is nested more than 200 deep");
    let wide = LITMUS.accept(&deep(format!("x=1{}", " /\\ x=1".repeat(50_000))));
    assert_eq!(judge(&wide.program, &run(&wide.program, Model::Tso)).0, "Never");
    let comments = format!("X86 T\n{}", "(*".repeat(100_000));
    check(&comments, "2:1 the comment that begins here never ends");
}
