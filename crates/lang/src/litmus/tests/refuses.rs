//! What is refused, where, and with which words.

use super::*;

/// The text must be refused at `line:column` with this message.
#[track_caller]
fn check(text: &str, place: &str, message: &str) {
    let refused = LITMUS.refuse(text);
    let (line, column) = refused.span.line_column(text);
    let found = format!("{line}:{column} {}", refused.message);
    assert_eq!(found, format!("{place} {message}"), "{text}");
}

/// A test with one thing changed.
#[track_caller]
fn sb(from: &str, to: &str, place: &str, message: &str) {
    let text = "X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
    assert!(text.contains(from), "{from}");
    check(&text.replacen(from, to, 1), place, message);
}

/// A line of code in X86_64, in which the registers `rax` and `rbx` hold addresses.
#[track_caller]
fn code(line: &str, column: usize, message: &str) {
    let text = format!("X86_64 T\n{{ x=0; y=0; 0:rax=x; 0:rbx=y; }}\nP0;\n{line};\n");
    check(&text, &format!("4:{column}"), message);
}

/// A line of code in X86.
#[track_caller]
fn code32(line: &str, column: usize, message: &str) {
    let text = format!("X86 T\n{{ x=0; y=0; 0:EBX=y; }}\nP0;\n{line};\n");
    check(&text, &format!("4:{column}"), message);
}

#[test]
fn heads() {
    check("", "1:1", "the file is empty");
    check(" \n (* only a comment *)\n", "3:1", "the file is empty");
    check("X86", "1:4", "the test has no name after `X86`");
    check("X86 SB", "1:7", "the test has no initial state");
    check("X86\n{}\nP0;\n", "1:4", "the test has no name after `X86`");
    check("AArch64 SB\n{}\nP0;\n", "1:1", "tests for `AArch64` are not supported");
    check("C SB\n{}\n", "1:1", "tests for `C` are not supported");
    check("PPC SB\n{}\n", "1:1", "tests for `PPC` are not supported");
    check("Y86 SB\n{}\n", "1:1", "unknown architecture `Y86`");
    check("{ x=0; }", "1:1", "the test does not begin with an architecture");
    check("X86 SB \"never ends\n{}\nP0;\n", "1:8", "the string that begins here never ends");
    check("X86 SB (label\n{}\nP0;\n", "1:8", "unbalanced `(` after the name of the test");
    check("X86 SB\n(* never ends\n{}\nP0;\n", "2:1", "the comment that begins here never ends");
    check(
        "X86 SB\nP0 | P1 ;\n MOV [x],$1 | ;\n",
        "2:1",
        "the threads begin at `P0`, but there is no initial state",
    );
    check("X86 SB\n\0\n{}\nP0;\n", "2:1", "unexpected control character in the head of the test");
    check("\0", "1:1", "unknown architecture `\0`");
}

#[test]
fn initial_states() {
    sb("{ x=0; y=0; }", "{ x=0; y=0; ", "2:1", "the initial state that begins here never ends");
    sb("{ x=0; y=0; }", "{ x=0; y=0", "3:2", "unexpected `P0`");
    check(
        "X86 T\n{ x=0;\n P0 ;\n MOV [x],$1 ;\n",
        "2:1",
        "the initial state that begins here never ends",
    );
    sb("{ x=0; y=0; }", "{ x=0 y=0; }", "2:7", "unexpected `y`");
    sb("{ x=0; y=0; }", "{ x=0, y=0; }", "2:6", "unexpected `,`");
    sb("{ x=0; y=0; }", "{ x==0; }", "2:4", "unexpected `==`");
    sb("{ x=0; y=0; }", "{ x=; }", "2:5", "unexpected `;`");
    sb("{ x=0; y=0; }", "{ P2=0; }", "2:3", "`P2` is a thread, not a location");
    sb("{ x=0; y=0; }", "{ 0=x; }", "2:3", "unexpected `0`");
    sb("{ x=0; y=0; }", "{ x=0; x=1; }", "2:10", "`x` already has another initial value");
    sb(
        "{ x=0; y=0; }",
        "{ 0:EAX=0; 0:EAX=1; }",
        "2:12",
        "`0:EAX` already has another initial value",
    );
    sb("{ x=0; y=0; }", "{ 0:EAX=0; 0:AL=0; }", "2:12", "`0:AL` already has another initial value");
    sb("{ x=0; y=0; }", "{ 2:EAX=0; }", "2:3", "there is no thread `P2`");
    sb("{ x=0; y=0; }", "{ 0:EAZ=0; }", "2:5", "unknown register `EAZ`");
    sb("{ x=0; y=0; }", "{ 0:rax=0; }", "2:5", "unknown register `rax`");
    sb("{ x=0; y=0; }", "{ 0:=0; }", "2:5", "unexpected `=`");
    sb("{ x=0; y=0; }", "{ foo x=0; }", "2:3", "`foo` is not a type");
    sb("{ x=0; y=0; }", "{ itn x=0; }", "2:3", "`itn` is not a type");
    sb(
        "{ x=0; y=0; }",
        "{ int x[2]={1}; }",
        "2:12",
        "the array `x` has 2 elements, but 1 values are given",
    );
    sb("{ x=0; y=0; }", "{ int x[2]=1; }", "2:12", "the array `x` needs a value for each element");
    sb("{ x=0; y=0; }", "{ int x[]={1}; }", "2:9", "unexpected `]`");
    sb("{ x=0; y=0; }", "{ int x={1}; }", "2:9", "a list of values for something that is no array");
    sb("{ x=0; y=0; }", "{ int x[0]; }", "2:7", "the array `x` has no elements");
    sb("{ x=0; y=0; }", "{ int x[100000]; }", "2:7", "the array `x` is too long");
    sb(
        "{ x=0; y=0; }",
        "{ int x=5000000000; }",
        "2:9",
        "`5000000000` does not fit in the 32 bits of `x`",
    );
    sb("{ x=0; y=0; }", "{ int8_t x=256; }", "2:12", "`256` does not fit in the 8 bits of `x`");
    sb(
        "{ x=0; y=0; }",
        "{ 0:EAX=0x1ffffffff; }",
        "2:9",
        "`8589934591` does not fit in the 32 bits of `EAX`",
    );
    sb(
        "{ x=0; y=0; }",
        "{ x=99999999999999999999; }",
        "2:5",
        "the number `99999999999999999999` is too large",
    );
    sb(
        "{ x=0; y=0; }",
        "{ x=-9999999999999999999; }",
        "2:5",
        "the number `-9999999999999999999` is too large",
    );
    sb("{ x=0; y=0; }", "{ x=t[3]; }", "2:5", "`t` is not declared as an array");
    sb("{ x=0; y=0; }", "{ x=0; (* }", "2:8", "the comment that begins here never ends");
    sb("{ x=0; y=0; }", "{ x=0; é=1; }", "2:8", "unexpected character `é`");
    sb("{ x=0; y=0; }", "", "3:2", "the threads begin at `P0`, but there is no initial state");
}

#[test]
fn frames() {
    sb("| P1          ;", "P1 ;", "3:14", "unexpected `P1`");
    sb("P1          ;", "P0 ;", "3:16", "a second column for thread `P0`");
    sb("P1          ;", "Q1 ;", "3:16", "unexpected `Q1`");
    sb("P1          ;", "P1", "4:2", "unexpected `MOV`");
    sb("P1          ;", "P1 | ;", "3:21", "unexpected `;`");
    sb("$1  | MOV [y],$1  ;", "$1    MOV [y],$1  ;", "4:16", "unexpected `MOV`");
    sb("$1  | MOV [y],$1  ;", "$1  | MOV [y],$1  ", "5:2", "unexpected `MOV`");
    sb("$1  | MOV [y],$1  ;", "$1  ;", "4:14", "this row has 1 cell, but there are 2 threads");
    sb(
        "$1  | MOV [y],$1  ;",
        "$1  | MOV [y],$1  | ;",
        "4:28",
        "this row has at least 3 cells, but there are 2 threads",
    );
    sb("MOV EAX,[x] ;", "MOV EAX,[x]", "6:1", "unexpected `exists`");
    sb("MOV EAX,[x] ;", "", "6:1", "unexpected `exists`");
    sb(" MOV EAX,[y] | MOV EAX,[x] ;\n", " MFENCE MFENCE ;\n", "5:9", "unexpected `MFENCE`");
    sb("exists", "exist", "6:1", "unknown instruction `exist`");
    sb("exists", "Exists", "6:1", "unknown instruction `Exists`");
    check("X86 T\n{}\n", "3:1", "unexpected end of the file");
    check("X86 T\n{}\nexists (x=0)\n", "3:1", "unexpected `exists`");
    check("X86 T\n{}\nP0 ;\n MOV [x],$1", "4:12", "unexpected end of the file");
    check("X86 T\n{}\nP0 ;\n MOV [x],$1 << ;", "4:13", "unexpected `<<`");
}

#[test]
fn labels() {
    check("X86 T\n{}\nP0;\nJMP L;\n", "4:5", "undefined label `L`");
    check(
        "X86 T\n{}\nP0|P1;\nJMP L|L:;\n",
        "4:5",
        "the label `L` stands in another column, that of P1",
    );
    check("X86 T\n{}\nP0;\nL: NOP;\nL: NOP;\n", "5:1", "a second label `L` in this column");
    check("X86 T\n{}\nP0;\nJMP 1;\n", "4:5", "unexpected `1`");
    check("X86 T\n{}\nP0;\nJMP *EAX;\n", "4:5", "unexpected `*`");
    check("X86 T\n{}\nP0;\nJMP;\n", "4:1", "`JMP` takes 1 operand, but 0 were given");
}

#[test]
fn instructions() {
    code32("MVO EAX,[x]", 1, "unknown instruction `MVO`");
    code32("MOV EAX", 1, "`MOV` takes 2 operands, but 1 were given");
    code32("MOV", 1, "`MOV` takes 2 operands, but 0 were given");
    code32("MOV EAX [x]", 9, "unexpected `[`");
    code32("MOV EAX,[x],[y]", 1, "`MOV` takes 2 operands, but 3 were given");
    code32("MOV [x],[y]", 9, "`mov` cannot have two operands in memory");
    code32("ADD [x],[y]", 9, "`add` cannot have two operands in memory");
    code32("XCHG [x],[y]", 10, "`xchg` cannot have two operands in memory");
    code32("MOV $1,[x]", 5, "`1` cannot be the destination of `mov`");
    code32("MOV 1,EAX", 5, "`1` cannot be the destination of `mov`");
    code32("MOV x,$1", 5, "an address cannot be the destination of `mov`");
    code32("MOV EAZ,[x]", 5, "unknown register `EAZ`");
    code32("INC EAZ", 5, "unknown register `EAZ`");
    code32("MOV EAX,EBZ", 9, "unknown register `EBZ`");
    code32("MOV RAX,[x]", 5, "unknown register `RAX`");
    code32("MOV EAX,[RAX]", 10, "unknown register `RAX`");
    code32("MOV %foo,%eax", 5, "unknown register `foo`");
    code32("MOV EAX,AL", 9, "`AL` is not 4 bytes wide");
    code32("MOV AL,BYTE PTR [x", 17, "unbalanced `[`");
    code32("MOV AL,DWORD PTR [x]", 8, "this operand has 4 bytes, but the instruction takes 1");
    code32("MOV AL,$300", 8, "`300` does not fit in the 8 bits of `this instruction`");
    code32("MOV EAX,[]", 10, "unexpected `]`");
    code32("MOV EAX,[x", 9, "unbalanced `[`");
    code32("MOV EAX,x]", 10, "unexpected `]`");
    code32("MOV EAX,(EBX", 9, "unbalanced `(`");
    code32("MOV EAX,[x y]", 12, "unexpected `y`");
    code32("MOV EAX,[x+y]", 12, "`y` is the second location in an address");
    code32("MOV EAX,[EBX*3]", 14, "`3` is not a scale");
    code32("MOV EAX,[x-EBX]", 12, "a register cannot be subtracted in an address");
    code32("MOV EAX,$", 10, "unexpected `;`");
    code32("INC", 1, "`INC` takes 1 operand, but 0 were given");
    code32("INC $1", 5, "a number cannot be this operand");
    code32("INC EAX,EBX", 1, "`INC` takes 1 operand, but 2 were given");
    code32("MFENCE EAX", 8, "unexpected `EAX`");
    code32("XCHG EAX,$1", 10, "a number cannot be this operand");
    code32("SHL EAX,EBX", 9, "a register cannot be this operand");
    code32("LEA EAX,EBX", 9, "a register cannot be this operand");
    code32("CLFLUSH EAX", 9, "a register cannot be this operand");
    code32("MOVNTI EAX,EBX", 8, "a register cannot be this operand");
    code32("CMOVE EAX,$1", 11, "a number cannot be this operand");
    code32("MOVZX EAX,EBX", 11, "this operand has 4 bytes, and the destination has only 4");
    code32("MOV CS,EAX", 5, "`CS` cannot be an operand");
    code32("PUSH EAX", 1, "unknown instruction `PUSH`");
    code("movq (x),$1", 10, "`1` cannot be the destination of `movq`");
    code("movq %rax,$1", 11, "`1` cannot be the destination of `movq`");
    code("movq $1,%raz", 9, "unknown register `raz`");
    code("mov %eax,%rbx", 5, "`eax` is not 8 bytes wide");
    code(
        "movq %fs:(x),%rcx",
        6,
        "the segment `fs` has its own base address, which is not supported",
    );
    code("movq (%al),%rcx", 6, "`al` cannot hold an address");
    code(
        "movq 99999999999999999999(%rax),%rcx",
        6,
        "the number `99999999999999999999` is too large",
    );
    code("movq (%rax,%rbx,3),%rcx", 17, "`3` is not a scale");
    code(
        "movl $0x1ffffffff,(x)",
        6,
        "`8589934591` does not fit in the 32 bits of `this instruction`",
    );
}

#[test]
fn locks() {
    code32("LOCK MOV [x],$1", 1, "`lock` cannot stand before `mov`");
    code32("LOCK CMP [x],$1", 1, "`lock` cannot stand before `cmp`");
    code32("LOCK TEST [x],$1", 1, "`lock` cannot stand before `test`");
    code32("LOCK MFENCE", 1, "`lock` cannot stand before `mfence`");
    code32("LOCK NOP", 1, "`lock` cannot stand before `nop`");
    code32("LOCK JMP L", 10, "undefined label `L`");
    code32("LOCK SHL [x],1", 1, "`lock` cannot stand before `shl`");
    code32("LOCK BT [x],1", 1, "`lock` cannot stand before `bt`");
    code32("LOCK INC EAX", 1, "`lock` needs an instruction that writes to memory");
    code32("LOCK ADD EAX,$1", 1, "`lock` needs an instruction that writes to memory");
    code32("LOCK ADD EAX,[x]", 1, "`lock` needs an instruction that writes to memory");
    code32("LOCK XCHG EAX,EBX", 1, "`lock` needs an instruction that writes to memory");
    code32("LOCK CMPXCHG EAX,EBX", 1, "`lock` needs an instruction that writes to memory");
    check("X86 T\n{}\nP0;\nLOCK;\n", "5:1", "unexpected end of the file");
    code32("LOCK LOCK INC [x]", 6, "unknown instruction `LOCK`");
}

#[test]
fn addresses() {
    code32("MOV EAX,[ECX]", 9, "`ECX` holds no address here");
    code32("MOV [ECX],$1", 5, "`ECX` holds no address here");
    code("movq (%rcx),%rdx", 6, "`rcx` holds no address here");
    code("lock incq (%rcx)", 11, "`rcx` holds no address here");
}

#[test]
fn addresses_of_nothing() {
    let text = |line: &str| format!("X86_64 T\n{{ int x; 0:rax=x; int t[2]; }}\nP0;\n{line};\n");
    check(&text("movq $5,%rcx;\nmovq (%rcx),%rdx"), "5:6", "`rcx` holds no address here");
    check(&text("movl 2(%rax),%ecx"), "4:6", "this is an address inside of `x`");
    check(&text("movl t+6,%ecx"), "4:6", "this is an address inside of `t[1]`");
    check(&text("movl t+8,%ecx"), "4:6", "there is no location at the address 268439560");
    check(&text("movl (100),%ecx"), "4:6", "there is no location at the address 100");
    check(&text("movl t[2],%ecx"), "4:6", "`t` has only 2 elements");
}

#[test]
fn conditions() {
    sb("/\\", "&&", "6:17", "unexpected `&&`");
    sb("/\\", "||", "6:17", "unexpected `|`");
    sb("/\\", "and", "6:17", "unexpected `and`");
    sb("/\\", "/", "6:17", "unexpected `/`");
    sb("/\\ ", "", "6:17", "unexpected `1`");
    sb("0:EAX=0 ", "0:EAX==0 ", "6:14", "unexpected `==`");
    sb("0:EAX=0 ", "0:EAX<1 ", "6:14", "unexpected `<`");
    sb("0:EAX=0 ", "0:EAX ", "6:15", "unexpected `/\\`");
    sb("0:EAX=0 ", "0:EAX= ", "6:16", "unexpected `/\\`");
    sb("0:EAX=0 ", "EAX: ", "6:12", "unexpected `:`");
    sb("0:EAX=0 ", "5:EAX=0 ", "6:9", "there is no thread `P5`");
    sb("0:EAX=0 ", "0:EXX=0 ", "6:11", "unknown register `EXX`");
    sb("0:EAX=0 ", "0:RAX=0 ", "6:11", "unknown register `RAX`");
    sb("0:EAX=0 ", "0:AH=0 ", "6:9", "`AH` cannot be observed");
    sb(
        "0:EAX=0 ",
        "0:EAX=5000000000 ",
        "6:15",
        "`5000000000` does not fit in the 32 bits of `0:EAX`",
    );
    sb(
        "0:EAX=0 ",
        "x=99999999999999999999 ",
        "6:11",
        "the number `99999999999999999999` is too large",
    );
    sb("0:EAX=0 ", "1=1 ", "6:11", "this compares two constants");
    sb("0:EAX=0 ", "x={1,2} ", "6:9", "`x` has 1 elements, but 2 values are given");
    sb(
        "0:EAX=0 ",
        "0:EAX={1} ",
        "6:15",
        "a list of values can only be compared with an array on its left",
    );
    sb("0:EAX=0 ", "x[1]=0 ", "6:9", "`x` is not declared as an array");
    sb("EAX=0)", "EAX=0", "6:8", "unbalanced `(`");
    sb("EAX=0)", "EAX=0))", "6:28", "unexpected `)`");
    sb("EAX=0)", "EAX=0) junk", "6:29", "unexpected `junk`");
    sb("EAX=0)", "EAX=0) exists (x=1)", "6:29", "a second condition");
    sb("EAX=0)", "EAX=0) \\/ ", "7:1", "unexpected end of the file");
    sb("exists (0:EAX=0 /\\ 1:EAX=0)", "exists", "7:1", "unexpected end of the file");
    sb("exists (0:EAX=0 /\\ 1:EAX=0)", "exists ()", "6:9", "unexpected `)`");
    sb("exists (", "~ (", "6:3", "unexpected `(`");
    sb("exists (", "~forall (", "6:2", "unexpected `forall`");
    sb("exists (", "filter (", "6:1", "`filter` is not supported");
    sb("exists (", "observed (", "6:1", "`observed` is not supported");
    sb("exists (", "locations [x exists (", "6:14", "`exists` is not a type");
    sb("exists (", "locations [x,y] exists (", "6:13", "unexpected `,`");
    sb("exists (", "locations x exists (", "6:11", "unexpected `x`");
    sb("exists (", "locations [5:EAX;] exists (", "6:12", "there is no thread `P5`");
    sb("exists (", "locations [1;] exists (", "6:12", "unexpected `1`");
}

#[test]
fn deep_conditions() {
    let deep = format!("X86 T\n{{}}\nP0;\nNOP;\nexists {}x=1{}", "(".repeat(300), ")".repeat(300));
    check(&deep, "5:209", "the condition is nested more than 200 deep");
    let not = format!("X86 T\n{{}}\nP0;\nNOP;\nexists {}x=1", "~".repeat(100_000));
    check(&not, "5:209", "the condition is nested more than 200 deep");
    let arrows = format!("X86 T\n{{}}\nP0;\nNOP;\nexists {}x=1", "x=1 => ".repeat(100_000));
    check(&arrows, "5:1415", "the condition is nested more than 200 deep");
    let wide = format!("X86 T\n{{}}\nP0;\nNOP;\nexists x=1{}", " /\\ x=1".repeat(50_000));
    let parsed = LITMUS.accept(&wide);
    assert_eq!(judge(&parsed.program, &run(&parsed.program, Model::Tso)).0, "Never");
    let comments = format!("X86 T\n{}", "(*".repeat(100_000));
    check(&comments, "2:1", "the comment that begins here never ends");
}
