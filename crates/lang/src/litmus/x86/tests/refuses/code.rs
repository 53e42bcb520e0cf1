//! Instructions.

use super::*;

/// Code of X86, in which `EBX` holds an address; it stands on line 4.
fn code32(code: &str) -> String {
    format!("X86 T\n{{ x=0; y=0; 0:EBX=y; }}\nP0;\n{code};\n")
}

/// Code of X86_64, in which `rax` and `rbx` hold addresses; it stands on line 4.
fn code64(code: &str) -> String {
    format!("X86_64 T\n{{ x=0; y=0; 0:rax=x; 0:rbx=y; }}\nP0;\n{code};\n")
}

#[test]
fn instructions() {
    table(
        code32,
        r##"
MVO EAX,[x] --> 4:1 unknown instruction `MVO`
MOV EAX --> 4:1 `MOV` takes 2 operands, but 1 was given
MOV --> 4:1 `MOV` takes 2 operands, but 0 were given
MOV EAX,[x],[y] --> 4:1 `MOV` takes 2 operands, but 3 were given
MOV [x],[y] --> 4:9 `mov` cannot have two operands in memory
ADD [x],[y] --> 4:9 `add` cannot have two operands in memory
XCHG [x],[y] --> 4:10 `xchg` cannot have two operands in memory
MOV $1,[x] --> 4:5 `1` cannot be the destination of `mov`
MOV 1,EAX --> 4:5 `1` cannot be the destination of `mov`
MOV EAZ,[x] --> 4:5 unknown register `EAZ`
INC EAZ --> 4:5 unknown register `EAZ`
MOV EAX,EBZ --> 4:9 unknown register `EBZ`
MOV RAX,[x] --> 4:5 unknown register `RAX`
MOV EAX,[RAX] --> 4:10 unknown register `RAX`
MOV %foo,%eax --> 4:5 unknown register `foo`
MOV EAX,AL --> 4:9 `AL` is not 4 bytes wide
MOV AL,DWORD PTR [x] --> 4:8 this operand has 4 bytes, but the instruction takes 1
MOV AL,$300 --> 4:8 this number does not fit in the 8 bits of this instruction
INC --> 4:1 `INC` takes 1 operand, but 0 were given
INC $1 --> 4:5 a number cannot be this operand
INC EAX,EBX --> 4:1 `INC` takes 1 operand, but 2 were given
XCHG EAX,$1 --> 4:10 a number cannot be this operand
SHL EAX,EBX --> 4:9 a register cannot be this operand
LEA EAX,EBX --> 4:9 a register cannot be this operand
CLFLUSH EAX --> 4:9 a register cannot be this operand
MOVNTI EAX,EBX --> 4:8 a register cannot be this operand
CMOVE EAX,$1 --> 4:11 a number cannot be this operand
MOVZX EAX,EBX --> 4:11 this operand has 4 bytes, the destination only 4
MOV CS,EAX --> 4:5 `CS` cannot be an operand
PUSH EAX --> 4:1 unknown instruction `PUSH`
NOP EAX --> 4:5 a register cannot be this operand
NOP $1 --> 4:5 a number cannot be this operand
NOP [x],[y] --> 4:1 `NOP` takes at most 1 operand, but 2 were given
NOP NOP --> 4:5 unknown register `NOP`
RET EAX --> 4:5 a register cannot be this operand
RET [x] --> 4:5 a memory operand cannot be this operand
RET 1,2 --> 4:1 `RET` takes at most 1 operand, but 2 were given
MOV EAX,#1 --> 4:1 `MOV` takes 2 operands, but 1 was given
MOV EAX;[x] --> 4:1 `MOV` takes 2 operands, but 1 was given
EAX=[x] --> 4:1 unknown instruction `EAX`
x = 1 --> 4:1 unknown instruction `x`
MOV EAX,BL --> 4:9 `BL` is not 4 bytes wide
MOV AL,EBX --> 4:8 `EBX` is not 1 byte wide
MOV EAX,RBX --> 4:9 unknown register `RBX`
MOV R8D,EBX --> 4:5 unknown register `R8D`
MOV EAX,ST0 --> 4:9 unknown register `ST0`
MOV XMM0,[x] --> 4:5 unknown register `XMM0`
MOV EIP,EAX --> 4:5 `EIP` cannot be an operand
MOV EAX,CR0 --> 4:9 unknown register `CR0`
MOV DS,EAX --> 4:5 `DS` cannot be an operand
LEA [x],EAX --> 4:5 a memory operand cannot be this operand
LEA EAX,$1 --> 4:9 a number cannot be this operand
LEA EAX --> 4:1 `LEA` takes 2 operands, but 1 was given
SETE EAX --> 4:6 this operand has 4 bytes, but the instruction takes 1
SETE $1 --> 4:6 a number cannot be this operand
SETE DWORD PTR [x] --> 4:6 this operand has 4 bytes, but the instruction takes 1
SETE --> 4:1 `SETE` takes 1 operand, but 0 were given
SETX AL --> 4:1 unknown instruction `SETX`
CMOVE [x],[y] --> 4:11 `cmove` cannot have two operands in memory
CMOVE $1,EAX --> 4:7 `1` cannot be the destination of `cmove`
CMOVX EAX,EBX --> 4:1 unknown instruction `CMOVX`
SHL EAX,BL --> 4:9 a register cannot be this operand
SHL $1 --> 4:5 a number cannot be this operand
SHL EAX,EBX,1 --> 4:1 `SHL` takes 1 to 2 operands, but 3 were given
SHL EAX,[x] --> 4:9 a memory operand cannot be this operand
BT EAX --> 4:1 `BT` takes 2 operands, but 1 was given
BTS $1,[x] --> 4:5 `1` cannot be the destination of `bts`
MOVZX AL,AL --> 4:10 this operand has 1 byte, the destination only 1
MOVSX [x],AL --> 4:7 a memory operand cannot be this operand
XADD [x],$1 --> 4:10 a number cannot be this operand
XADD $1,EAX --> 4:6 a number cannot be this operand
CMPXCHG EAX --> 4:1 `CMPXCHG` takes 2 operands, but 1 was given
CMPXCHG [x],$1 --> 4:13 a number cannot be this operand
CMPXCHG8B [x] --> 4:1 unknown instruction `CMPXCHG8B`
XCHG $1,$2 --> 4:9 a number cannot be this operand
XCHG EAX,[x],EBX --> 4:1 `XCHG` takes 2 operands, but 3 were given
INC [x],$1 --> 4:1 `INC` takes 1 operand, but 2 were given
NEG --> 4:1 `NEG` takes 1 operand, but 0 were given
NOT $1 --> 4:5 a number cannot be this operand
TEST [x],[y] --> 4:10 `test` cannot have two operands in memory
CMP $1,$2 --> 4:5 `1` cannot be the destination of `cmp`
ADD $1,EAX --> 4:5 `1` cannot be the destination of `add`
POP EAX --> 4:1 unknown instruction `POP`
CALL f --> 4:1 unknown instruction `CALL`
INT 3 --> 4:1 unknown instruction `INT`
HLT --> 4:1 unknown instruction `HLT`
CPUID --> 4:1 unknown instruction `CPUID`
RDTSC --> 4:1 unknown instruction `RDTSC`
XBEGIN L --> 4:1 unknown instruction `XBEGIN`
REP MOVSB --> 4:1 unknown instruction `REP`
IN AL,DX --> 4:1 unknown instruction `IN`
LOADFENCE --> 4:1 unknown instruction `LOADFENCE`
MFENCE. --> 4:1 unknown instruction `MFENCE.`
DMB SY --> 4:1 unknown instruction `DMB`
STR R0,[R1] --> 4:1 unknown instruction `STR`
movdqa xmm0,[x] --> 4:1 unknown instruction `movdqa`
CLFLUSH --> 4:1 `CLFLUSH` takes 1 operand, but 0 were given
CLFLUSH $1 --> 4:9 a number cannot be this operand
CLFLUSHOPT EAX --> 4:12 a register cannot be this operand
MOVNTI EAX,[x],1 --> 4:1 `MOVNTI` takes 2 operands, but 3 were given
MOVNTI $1,[x] --> 4:8 `1` cannot be the destination of `movnti`
"##,
    );
}

#[test]
fn operands() {
    table(
        code32,
        r##"
MOV EAX [x] --> 4:9 unexpected `[`
MOV AL,BYTE PTR [x --> 4:17 unbalanced `[`
MOV EAX,[] --> 4:10 unexpected `]`
MOV EAX,[x --> 4:9 unbalanced `[`
MOV EAX,x] --> 4:10 unexpected `]`
MOV EAX,(EBX --> 4:9 unbalanced `(`
MOV EAX,[x y] --> 4:12 unexpected `y`
MOV EAX,[EBX*3] --> 4:14 `3` is not a scale
MOV EAX,$ --> 4:10 unexpected `;`
MFENCE EAX --> 4:8 unexpected `EAX`
PAUSE EAX --> 4:7 unexpected `EAX`
ENDBR64 [x] --> 4:9 `ENDBR64` takes no operand
LEAVE EAX --> 4:7 unexpected `EAX`
MFENCE 1 --> 4:8 unexpected `1`
SFENCE;;LFENCE [x] --> 4:16 `LFENCE` takes no operand
MOV EAX,[x+] --> 4:12 unexpected `]`
MOV EAX,[+x] --> 4:10 unexpected `+`
MOV EAX,[x*2] --> 4:11 unexpected `*`
MOV EAX,[EBX*] --> 4:14 unexpected `]`
MOV EAX,[EBX*ECX] --> 4:14 unexpected `ECX`
MOV EAX,[2*2] --> 4:12 unexpected `2`
MOV EAX,[x,y] --> 4:9 unbalanced `[`
MOV EAX,[x;y] --> 4:9 unbalanced `[`
MOV EAX,[x|y] --> 4:9 unbalanced `[`
MOV EAX,{x} --> 4:9 unexpected `{`
MOV EAX,<x> --> 4:9 unexpected `<`
MOV EAX,[[x]] --> 4:10 unexpected `[`
MOV EAX,*x --> 4:9 unexpected `*`
MOV EAX,&x --> 4:9 unexpected `&`
MOV EAX,@x --> 4:9 unexpected character `@`
MOV EAX,x[ --> 4:11 unexpected `;`
MOV EAX,x[1 --> 4:10 unbalanced `[`
MOV EAX,[x[1] --> 4:9 unbalanced `[`
MOV EAX,$[x] --> 4:10 unexpected `[`
MOV EAX,$EBX --> 4:10 unexpected `EBX`
MOV EAX,$$1 --> 4:10 unexpected `$`
MOV EAX,%%ebx --> 4:10 unexpected `%`
MOV EAX,-EBX --> 4:9 unexpected `-`
MOV EAX,1+1 --> 4:10 unexpected `+`
MOV EAX,(1 --> 4:9 unbalanced `(`
MOV EAX,"1" --> 4:9 unexpected string
MOV EAX,'a' --> 4:9 unexpected character `'`
MOV EAX,1.0 --> 4:9 malformed number `1.0`
MOV EAX,0y1 --> 4:9 malformed number `0y1`
MOV EAX:[x] --> 4:8 unexpected `:`
MOV EAX=[x] --> 4:8 unexpected `=`
MOV,EAX,[x] --> 4:4 unexpected `,`
MOV EAX,,[x] --> 4:9 unexpected `,`
MOV EAX,[x], --> 4:13 unexpected `;`
EAX := [x] --> 4:6 unexpected `=`
[x] := 1 --> 4:1 unexpected `[`
MOV BYTE PTR EAX,1 --> 4:14 unexpected `EAX`
MOV DWORD PTR,1 --> 4:14 unexpected `,`
MOV EAX,DWORD PTR --> 4:18 unexpected `;`
MOV EAX,FWORD PTR [x] --> 4:15 unexpected `PTR`
CLFLUSH [x --> 4:9 unbalanced `[`
"##,
    );
}

#[test]
fn labels() {
    table(
        code32,
        r##"
JMP L+1 --> 4:6 unexpected `+`
JMP L: --> 4:6 unexpected `:`
JMP [EAX] --> 4:5 unexpected `[`
JMP EAX --> 4:5 undefined label `EAX`
JMP "L" --> 4:5 unexpected string
J L --> 4:1 unknown instruction `J`
JMP L,L --> 4:1 `JMP` takes 1 operand, but 2 were given
L: L: NOP --> 4:4 a second label `L` in this column
L: MOV L: EAX,[x] --> 4:9 unexpected `:`
1: JMP 1 --> 4:1 unexpected `1`
MOV: EAX,[x] --> 4:6 unknown instruction `EAX`
exists: NOP --> 4:1 `exists` cannot be a label
L; NOP --> 4:1 unknown instruction `L`
JMP l;\nL: NOP --> 4:5 undefined label `l`
JNE L1;\nL10: NOP --> 4:5 undefined label `L1`
"##,
    );
}

#[test]
fn locks() {
    table(
        code32,
        r##"
LOCK MOV [x],$1 --> 4:1 `lock` cannot stand before `mov`
LOCK CMP [x],$1 --> 4:1 `lock` cannot stand before `cmp`
LOCK TEST [x],$1 --> 4:1 `lock` cannot stand before `test`
LOCK MFENCE --> 4:1 `lock` cannot stand before `mfence`
LOCK NOP --> 4:1 `lock` cannot stand before `nop`
LOCK JMP L --> 4:10 undefined label `L`
LOCK SHL [x],1 --> 4:1 `lock` cannot stand before `shl`
LOCK BT [x],1 --> 4:1 `lock` cannot stand before `bt`
LOCK INC EAX --> 4:1 `lock` needs an instruction that writes to memory
LOCK ADD EAX,$1 --> 4:1 `lock` needs an instruction that writes to memory
LOCK ADD EAX,[x] --> 4:1 `lock` needs an instruction that writes to memory
LOCK XCHG EAX,EBX --> 4:1 `lock` needs an instruction that writes to memory
LOCK CMPXCHG EAX,EBX --> 4:1 `lock` needs an instruction that writes to memory
LOCK LOCK INC [x] --> 4:6 a second `lock` before one instruction
LOCK: INC [x] --> 4:1 `LOCK` cannot be a label
LOCK --> 4:1 `lock` without an instruction
LOCK; --> 4:1 `lock` without an instruction
LOCK;;INC [x] --> 4:1 `lock` without an instruction
LOCK,INC [x] --> 4:5 unexpected `,`
LOCK INC --> 4:1 `INC` takes 1 operand, but 0 were given
LOCK [x] --> 4:6 unexpected `[`
LOCK INC EBX --> 4:1 `lock` needs an instruction that writes to memory
LOCK INC $1 --> 4:1 `lock` needs an instruction that writes to memory
LOCK CMPXCHG EBX,[x],EAX --> 4:1 `CMPXCHG` takes 2 operands, but 3 were given
LOCK LEA EAX,[x] --> 4:1 `lock` cannot stand before `lea`
LOCK SETE [x] --> 4:1 `lock` cannot stand before `sete`
LOCK CMOVE EAX,[x] --> 4:1 `lock` cannot stand before `cmove`
LOCK RET --> 4:1 `lock` cannot stand before `ret`
LOCK PAUSE --> 4:1 `lock` cannot stand before `pause`
LOCK CLFLUSH [x] --> 4:1 `lock` cannot stand before `clflush`
LOCK UXCH [x],EAX --> 4:1 `lock` cannot stand before `uxch`
LOCK JE L --> 4:9 undefined label `L`
LOCK L: INC [x] --> 4:6 unknown instruction `L`
INC LOCK [x] --> 4:5 unexpected `LOCK`
LOCK.INC [x] --> 4:1 unknown instruction `LOCK.INC`
LOCKINC [x] --> 4:1 unknown instruction `LOCKINC`
UNLOCK INC [x] --> 4:1 unknown instruction `UNLOCK`
LOCK MOVNTI [x],EAX --> 4:1 `lock` cannot stand before `movnti`
LOCK NEG EAX --> 4:1 `lock` needs an instruction that writes to memory
LOCK NOT ECX --> 4:1 `lock` needs an instruction that writes to memory
LOCK XADD EAX,EBX --> 4:1 `lock` needs an instruction that writes to memory
LOCK 5 --> 4:6 unexpected `5`
LOCK EAX --> 4:6 unknown instruction `EAX`
LOCK INC [EDX] --> 4:10 `EDX` holds no address here
"##,
    );
}

#[test]
fn addresses() {
    table(
        code32,
        r##"
MOV x,$1 --> 4:5 an address cannot be the destination of `mov`
MOV EAX,[x+y] --> 4:12 `y` is the second location in an address
MOV EAX,[x-EBX] --> 4:12 a register cannot be subtracted in an address
MOV EAX,[ECX] --> 4:9 `ECX` holds no address here
MOV [ECX],$1 --> 4:5 `ECX` holds no address here
MOV EAX,[EBX+ECX+EDX] --> 4:18 too many registers in an address
MOV PTR [x],1 --> 4:10 `x` is the second location in an address
MOV [ECX],EAX --> 4:5 `ECX` holds no address here
MOV EAX,[EBX+4096] --> 4:9 there is no location at this address
MOV ECX,$5;\nMOV EAX,[ECX] --> 5:9 `ECX` holds no address here
XOR EBX,EBX;\nMOV EAX,[EBX] --> 5:9 `EBX` holds no address here
MOV EAX,[0] --> 4:9 there is no location at the address 0
MOV EAX,[x+100000] --> 4:9 there is no location at this address
MOV EAX,[EBX*2] --> 4:9 there is no location at this address
LOCK INC [EDX] --> 4:10 `EDX` holds no address here
"##,
    );
}

#[test]
fn att_syntax() {
    table(
        code64,
        r##"
movq (x),$1 --> 4:10 `1` cannot be the destination of `movq`
movq %rax,$1 --> 4:11 `1` cannot be the destination of `movq`
movq $1,%raz --> 4:9 unknown register `raz`
mov %eax,%rbx --> 4:5 `eax` is not 8 bytes wide
movq %fs:(x),%rcx --> 4:6 the segment `fs` has its own base address, which is not supported
movq (%al),%rcx --> 4:6 `al` cannot hold an address
movq 99999999999999999999(%rax),%rcx --> 4:6 the number `99999999999999999999` is too large
movq (%rax,%rbx,3),%rcx --> 4:17 `3` is not a scale
movl $0x1ffffffff,(x) --> 4:6 this number does not fit in the 32 bits of this instruction
movq (%rcx),%rdx --> 4:6 `rcx` holds no address here
movq (%rax,%rbx,%rcx),%rdx --> 4:17 unexpected `%`
movq (%rax,%rbx,),%rdx --> 4:17 unexpected `)`
movq (%rax,,8),%rdx --> 4:12 unexpected `,`
movq (%rax,%rbx 8),%rdx --> 4:17 unexpected `8`
movq 8(%rax --> 4:7 unbalanced `(`
movq 8)%rax(,%rdx --> 4:7 unexpected `)`
movq (%rax)(%rbx),%rdx --> 4:12 unexpected `(`
movq x(y),%rdx --> 4:8 `y` is the second location in an address
movq (x,%rax,8),%rdx --> 4:8 unexpected `,`
movq %rax --> 4:1 `movq` takes 2 operands, but 1 was given
movq %rax %rbx --> 4:11 unexpected `%`
movq rax%,%rbx --> 4:9 unexpected `%`
movq %,%rbx --> 4:7 unexpected `,`
movq %1,%rbx --> 4:7 unexpected `1`
movq %rax,%rzx --> 4:11 unknown register `rzx`
addq %xmm0,%rax --> 4:6 `xmm0` cannot be an operand
movntdqa (x),%rax --> 4:14 a register cannot be this operand
movntdqa %xmm1,%xmm0 --> 4:10 a register cannot be this operand
movq %xmm16,%rax --> 4:6 unknown register `xmm16`
movq $%rax,%rbx --> 4:7 unexpected `%`
movq $,%rbx --> 4:7 unexpected `,`
movq $(x),%rax --> 4:7 unexpected `(`
movq (%eal),%rax --> 4:7 unknown register `eal`
movq (%ax),%rcx --> 4:6 `ax` cannot hold an address
movq $0x1ffffffffffffffff,%rax --> 4:7 the number `0x1ffffffffffffffff` is too large
movl $0x100000000,(x) --> 4:6 this number does not fit in the 32 bits of this instruction
movb $256,(x) --> 4:6 this number does not fit in the 8 bits of this instruction
movw $-40000,(x) --> 4:6 this number does not fit in the 16 bits of this instruction
movqq $1,(x) --> 4:1 unknown instruction `movqq`
movz $1,%rax --> 4:1 unknown instruction `movz`
mov %al,%rbx --> 4:5 `al` is not 8 bytes wide
xchgq %rax,$1 --> 4:12 a number cannot be this operand
sete %eax --> 4:6 this operand has 4 bytes, but the instruction takes 1
setne %rax --> 4:7 this operand has 8 bytes, but the instruction takes 1
cmovel $1,%eax --> 4:8 a number cannot be this operand
leaq %rax,%rbx --> 4:6 a register cannot be this operand
leaq (x),(y) --> 4:6 `leaq` cannot have two operands in memory
nopl %eax --> 4:6 a register cannot be this operand
nop $5 --> 4:5 a number cannot be this operand
retq %rax --> 4:6 a register cannot be this operand
jmp *%rax --> 4:5 unexpected `*`
jmp $L --> 4:5 unexpected `$`
jne (x) --> 4:5 unexpected `(`
movq %gs:(x),%rax --> 4:6 the segment `gs` has its own base address, which is not supported
movq %fs:0,%rax --> 4:6 the segment `fs` has its own base address, which is not supported
movq %ds,%rax --> 4:6 `ds` cannot be an operand
movq %rip,%rax --> 4:6 `rip` cannot be an operand
incq 5 --> 4:6 a number cannot be this operand
cmpxchg16b (x) --> 4:1 unknown instruction `cmpxchg16b`
mfence (x) --> 4:8 `mfence` takes no operand
"##,
    );
}

#[test]
fn locks_in_att_syntax() {
    table(
        code64,
        r##"
lock incq (%rcx) --> 4:11 `rcx` holds no address here
lock incq %rcx --> 4:1 `lock` needs an instruction that writes to memory
lock movq $1,(x) --> 4:1 `lock` cannot stand before `movq`
lock cmpxchgq %rax,%rbx --> 4:1 `lock` needs an instruction that writes to memory
lock addq (x),%rbx --> 4:1 `lock` needs an instruction that writes to memory
lock negb %cl --> 4:1 `lock` needs an instruction that writes to memory
lock xaddq $1,(x) --> 4:12 a number cannot be this operand
"##,
    );
}

#[test]
fn addresses_of_nothing() {
    table(
        |code| format!("X86_64 T\n{{ int x; 0:rax=x; int t[2]; }}\nP0;\n{code};\n"),
        r##"
movq $5,%rcx;\nmovq (%rcx),%rdx --> 5:6 `rcx` holds no address here
movl t+8,%ecx --> 4:6 there is no location at this address
movl 8(%rax),%ecx --> 4:6 there is no location at this address
movl (100),%ecx --> 4:6 there is no location at the address 100
movl t[2],%ecx --> 4:6 `t` has only 2 elements
"##,
    );
}
