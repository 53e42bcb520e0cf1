//! Arithmetic against its definition, and messages.

mod constructs;

use std::io::ErrorKind;
use std::path::Path;

use expect_test::{Expect, expect};
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Expr, Instr, Program};

use crate::{COptions, Format, Setting, parse, parse_with};

fn program(text: &str) -> Program {
    parse(Format::C, text).unwrap_or_else(|d| panic!("{d:?}\n{text}")).program
}

/// Whether `main` asserts something that is wrong. It runs alone, so that this is known.
fn fails(text: &str) -> bool {
    let program = program(text);
    let mut edges = program.threads[0].points.iter().flat_map(|p| &p.edges);
    edges.any(|e| matches!(&e.instr, Instr::Assert(e) if *e != Expr::Const(1)))
}

#[derive(Clone, Copy, Debug)]
struct Int {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const INTS: [Int; 8] = [
    Int { name: "signed char", bits: 8, signed: true },
    Int { name: "uint8_t", bits: 8, signed: false },
    Int { name: "short", bits: 16, signed: true },
    Int { name: "unsigned short", bits: 16, signed: false },
    Int { name: "int", bits: 32, signed: true },
    Int { name: "unsigned", bits: 32, signed: false },
    Int { name: "long", bits: 64, signed: true },
    Int { name: "size_t", bits: 64, signed: false },
];

impl Int {
    /// A number as one of this type.
    fn wrap(self, v: i128) -> i128 {
        let low = v & ((1 << self.bits) - 1);
        if self.signed && low >= 1 << (self.bits - 1) { low - (1 << self.bits) } else { low }
    }

    fn promoted(self) -> Int {
        if self.bits < 32 { INTS[4] } else { self }
    }

    /// The usual arithmetic conversions.
    fn common(self, other: Int) -> Int {
        let (a, b) = (self.promoted(), other.promoted());
        let bits = a.bits.max(b.bits);
        let unsigned = (!a.signed && a.bits == bits) || (!b.signed && b.bits == bits);
        Int { name: "", bits, signed: !unsigned }
    }
}

/// What C says that an operator gives; `None` where it says nothing.
fn defined(op: &str, (a, at): (i128, Int), (b, bt): (i128, Int)) -> Option<i128> {
    let ty = at.common(bt);
    let (l, r) = (ty.wrap(a), ty.wrap(b));
    Some(match op {
        "+" => ty.wrap(l + r),
        "-" => ty.wrap(l - r),
        "*" => ty.wrap(l.wrapping_mul(r)),
        "/" | "%" if r == 0 => return None,
        "/" => ty.wrap(l / r),
        "%" => ty.wrap(l % r),
        "&" => ty.wrap(l & r),
        "|" => ty.wrap(l | r),
        "^" => ty.wrap(l ^ r),
        "<<" | ">>" => {
            let ty = at.promoted();
            let l = ty.wrap(a);
            if !(0..i128::from(ty.bits)).contains(&b) {
                return None;
            }
            ty.wrap(if op == "<<" { l << b } else { l >> b })
        }
        "<" => i128::from(l < r),
        "<=" => i128::from(l <= r),
        ">" => i128::from(l > r),
        ">=" => i128::from(l >= r),
        "==" => i128::from(l == r),
        _ => i128::from(l != r),
    })
}

#[test]
fn arithmetic_is_that_of_c() {
    let ops =
        ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!="];
    let rng = &mut Rng::new(7);
    let mut checked = 0;
    for _ in 0..scaled(20_000) {
        let pick = |rng: &mut Rng| {
            let ty = INTS[rng.below(INTS.len())];
            let around = [
                0,
                1,
                2,
                7,
                127,
                128,
                255,
                32_767,
                65_535,
                1 << 31,
                (1 << 32) - 1,
                1 << 62,
                1 << 63,
            ];
            let v = around[rng.below(around.len())] + rng.below(3) as i128 - 1;
            let v = if rng.one_in(3) { -v } else { v };
            (ty.wrap(if rng.one_in(6) { i128::from(rng.next_u64()) } else { v }), ty)
        };
        let (a, b) = (pick(rng), pick(rng));
        let to = INTS[rng.below(INTS.len())];
        let op = ops[rng.below(ops.len())];
        let Some(result) = defined(op, a, b) else { continue };
        let (result, wrong) = (to.wrap(result), to.wrap(result + 1));
        for (expected, should_fail) in [(result, false), (wrong, true)] {
            let number = |v: i128, ty: Int| match (v < 0, ty.signed) {
                (true, _) => format!("({})(-{}ul)", ty.name, -v),
                (false, true) => format!("({})({v}l)", ty.name),
                (false, false) => format!("({})({v}ul)", ty.name),
            };
            // Constants are divided by in ways of their own.
            let right = if checked % 2 == 0 { number(b.0, b.1) } else { "b".to_owned() };
            let text = format!(
                "#include <assert.h>\nint main(void) {{\n{} a = {}; {} b = {};\n\
                 {} c = a {op} {right};\nassert(c == {});\n}}\n",
                a.1.name,
                number(a.0, a.1),
                b.1.name,
                number(b.0, b.1),
                to.name,
                number(expected, to)
            );
            assert_eq!(fails(&text), should_fail, "{text}");
        }
        checked += 1;
    }
    assert!(checked >= scaled(15_000), "{checked}");
}

#[test]
fn statements_and_data() {
    let holds = |body: &str| {
        let text = format!(
            "#include <assert.h>\n#include <stdbool.h>\n#include <stdlib.h>\n\
             #define TWICE(e) (2 * (e))\n#define N 3\n#if N > 2 && !defined(M)\n#define M N\n#endif\n\
             enum color {{ RED, GREEN = 5, BLUE }};\n\
             struct point {{ char tag; int x[2]; struct point *next; }};\n\
             typedef struct {{ struct point at; long id; }} item;\n\
             static item items[N] = {{ [1] = {{ .at = {{ 'a', {{ 4, 5 }} }}, .id = 7 }} }};\n\
             struct list {{ long n; int of[]; }};\n\
             #define NAME(a, b) a##_##b\n#define SHOW(f, ...) printf(f \": \" #__VA_ARGS__, ##__VA_ARGS__)\n\
             static int add(int a, int b) {{ return a + b; }}\n\
             static void set(int *p, int v) {{ *p = v; }}\n\
             static int next(void) {{ static int n = 3; return n++; }}\n\
             int main(void) {{\n{body}\n}}\n"
        );
        assert!(!fails(&text), "{text}");
        assert!(fails(&text.replace("assert(", "assert(!")), "{text}");
    };
    holds(
        "int s = 0; for (int i = 0; i < 5; i++) { if (i == 3) continue; s += i; } assert(s == 7);",
    );
    holds("int s = 0; do { s++; if (s == 4) break; } while (s < 9); assert(s == 4);");
    holds("int i = 3; int a = i++ + TWICE(i); assert(a == 11 && i == 4);");
    holds(
        "int s = 0; switch (GREEN) { case RED: s = 1; case 5: s += 2; case BLUE: s += 4; break; default: s = 9; } assert(s == 6);",
    );
    holds("int i = 0; again: i++; if (i < M) goto again; assert(i == 3);");
    holds("assert(items[1].at.x[1] == 5 && items[1].id == 7 && items[0].id == 0);");
    holds("item *p = items; p++; assert(p->at.tag == 'a' && p - items == 1);");
    holds("assert(sizeof(struct point) == 24 && sizeof items == 96 && sizeof items[0].at.x == 8);");
    holds("int v; set(&v, add(2, add(3, 4))); assert(v == 9);");
    holds("int a[2] = {1}; int *p = a; *(p + 1) = 6; assert(a[0] == 1 && p[1] == 6);");
    holds("next(); assert(next() == 4);");
    holds("bool b = 7; assert(b == 1 && !!8 == 1 && (b ? 2 : 3) == 2);");
    holds(
        "struct point *p = malloc(2 * sizeof *p); p[1].x[0] = 3; p->next = &p[1]; assert(p->next->x[0] == 3);",
    );
    holds("int x = 1, *p = 0; if (p && *p == x) x = 2; assert(x == 1);");
    holds("unsigned char c = 255; c++; assert(c == 0);");
    holds("int a = 0, b = (a = 2, a + 1); assert(b == 3);");
    holds(
        "struct list *l = malloc(sizeof *l + 3 * sizeof(int)); l->of[2] = 4; assert(l->of[2] == 4);",
    );
    holds("items[2] = items[1]; item i = items[2]; assert(i.at.x[0] == 4 && i.id == 7);");
    holds("memset(&items[1], 0, sizeof items[1]); assert(items[1].at.x[1] == 0);");
    holds("int NAME(a, b) = 2; SHOW(\"x\"); SHOW(\"y\", a_b++, 1); assert(a_b == 3);");
    holds("const char *s = \"text\"; assert(s && s != 0 && \"more\");");
    // Designators into parts, and braces that are left out.
    holds(
        "item i = { .at.x[1] = 5, &i.at, .id = 3 }; assert(i.at.x[1] == 5 && i.at.next == &i.at && i.id == 3);",
    );
    holds(
        "int a[2][2] = {1, 2, 3, 4}, b[][2] = {1, 2, {2, 3}, [3][1] = 7}; assert(a[1][0] == 3 && b[1][1] == 3 && b[3][1] == 7 && sizeof b == 32);",
    );
    holds(
        "struct point p = {'a', 4, 5}, q[] = {'b', {6}, 0, 'c'}; assert(p.x[1] == 5 && q[1].tag == 'c' && sizeof q == 48);",
    );
    holds(
        "item i = { .at = {'x', {1, 2}}, .at.x[0] = 9 }; assert(i.at.tag == 'x' && i.at.x[0] == 9 && i.at.x[1] == 2);",
    );
    holds(
        "int a[2][3] = {{0}}, (*p)[3] = a, (**pp)[3] = &p; p++; (*p)[1] = 7; (*pp)[0][2] = 8; assert(a[1][1] == 7 && a[1][2] == 8 && p - a == 1 && sizeof *p == 12);",
    );
    holds("int a[2] = {3, 4}, i = 1; i[a] += 2; assert(1[a] == 6 && (long)0[a] == 3);");
    holds(
        "assert(sizeof(int){3} == 4 && sizeof(int[]){1, 2}[0] == 4 && sizeof (char[]){1, 2, 3} == 3);",
    );
    // Unions are the member that is used.
    holds(
        "union { long v; struct { short a, b; } s; } u = {0}; u.s.b = 3; assert(u.s.b == 3 && u.s.a == 0 && sizeof u == 8);",
    );
    holds(
        "union { char c[8]; struct { int x; long y; } s; int first; } u = { .s = {1, 2} }; memset(&u, 0, sizeof u); u.s.y = 4; assert(u.first == 0 && u.s.y == 4 && sizeof u == 16);",
    );
    holds(
        "struct { union { struct { short a, b; }; int all; }; int n; } t = {{{1, 2}}, 3}; t.b++; assert(t.a == 1 && t.b == 3 && t.n == 3);",
    );
}

/// The message, with the line and column of its place.
fn refused(text: &str, expected: Expect) {
    let diagnostic = match parse(Format::C, text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(diagnostic) => diagnostic,
    };
    let (line, column) = diagnostic.span.line_column(text);
    let help = diagnostic.help.map_or(String::new(), |h| format!(" | {h}"));
    let expects = diagnostic.expected;
    expected.assert_eq(&format!("{line}:{column} {} | {expects}{help}", diagnostic.message));
}

/// All mutexes are the plain one, which keeps its own owner waiting: behind the second lock nothing would be reached.
#[test]
fn mutexes_that_their_owner_takes_again() {
    refused(
        "#include <threads.h>
         mtx_t m;
         int main(void) { mtx_init(&m, mtx_plain | mtx_recursive); return 0; }",
        expect![
            "3:40 this kind of mutex is not supported here | `mtx_plain` and `mtx_timed` are | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
}

/// Which function a thread runs may be said by a pointer, as long as it is known.
#[test]
fn threads_by_pointers_to_functions() {
    let threads = |main: &str| {
        let text = format!(
            "#include <pthread.h>
             typedef void *(*start_t)(void *);
             int x; pthread_t t, u;
             void *f(void *a) {{ x = 1; return a; }}
             void *g(void *a) {{ x = 2; return a; }}
             {main}"
        );
        let parsed = parse(Format::C, &text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
        parsed.names.threads.join(" ")
    };
    let plain = "int main(void) { pthread_create(&t, 0, g, 0); pthread_create(&u, 0, &f, 0); }";
    let expected = threads(plain);
    assert!(expected.contains("g#1") && expected.contains("f#2"), "{expected}");
    for main in [
        "int main(void) { start_t a = g, b = f; pthread_create(&t, 0, a, 0); pthread_create(&u, 0, b, 0); }",
        // The name of the parameter hides the function.
        "void go(pthread_t *t, void *(*f)(void *)) { pthread_create(t, 0, f, 0); }
         int main(void) { go(&t, g); go(&u, &f); }",
        "int main(void) { pthread_create(&t, 0, (void *(*)(void *))g, 0); pthread_create(&u, 0, (void *)f, 0); }",
        // Tables, which are not written to.
        "int main(void) { void *(*of[2])(void *) = { g, f }; pthread_t *at[2] = { &t, &u };
         for (int i = 0; i < 2; i++) pthread_create(i ? &u : &t, 0, of[i], 0); }",
        "static start_t const of[] = { [1] = f, [0] = &g };
         int main(void) { for (int i = 0; i < 2; i++) pthread_create(i ? &u : &t, 0, of[i], 0); }",
        "struct { int n; start_t f; } of[] = { { 1, g }, { .f = f } };
         int main(void) { for (int i = 0; i < 2; i++) pthread_create(i ? &u : &t, 0, of[i].f, 0); }",
    ] {
        assert_eq!(threads(main), expected, "{main}");
    }
}

const TABLE: &str = "#include <pthread.h>
typedef void *(*start_t)(void *);
int x; pthread_t t, u; start_t *p;
void *f(void *a) { x = 1; return a; }
start_t of[2] = { f, f };
";

/// A table that may be changed, or whose address is known elsewhere, says nothing once there are threads.
#[test]
fn tables_that_are_changed() {
    let create = "pthread_create(&t, 0, of[0], 0); pthread_create(&u, 0, of[1], 0);";
    let accepts = |before: &str, after: &str| {
        let text = format!("{TABLE}int main(void) {{ {before} {create} {after} }}");
        parse(Format::C, &text).is_ok()
    };
    assert!(accepts("", ""));
    assert!(accepts("start_t g = of[1]; long n = sizeof of;", "g = of[x];"));
    for after in [
        "of[1] = f;",
        "p = of;",
        "p = &of[0];",
        "p = of + 1;",
        "*of = f;",
        "start_t *q = of;",
        "x = *of == f;",
        "if (of) x = 1;",
        "of[0]++;",
        "p = x ? of : 0;",
    ] {
        assert!(!accepts("", after), "{after}");
        assert!(!accepts(after, ""), "{after}");
    }
}

#[test]
fn calls_by_tables() {
    let text = |body: &str| {
        format!(
            "static int one(int n) {{ return n + 1; }}
             static int two(int n) {{ return n + 2; }}
             static int (*const by[2])(int) = {{ one, two }};
             struct pair {{ int (*f)(int); int n; }};
             static struct pair pairs[] = {{ {{ two, 5 }}, {{ .f = one, .n = 7 }} }};
             int main(void) {{ {body} }}"
        )
    };
    for (call, value) in [
        ("by[0](3)", 4),
        ("by[1](3)", 5),
        ("(*by[1])(3)", 5),
        ("by[by[0](0)](10)", 12),
        ("pairs[0].f(pairs[0].n)", 7),
        ("pairs[1].f(pairs[1].n)", 8),
    ] {
        assert!(!fails(&text(&format!("assert({call} == {value});"))), "{call}");
        assert!(fails(&text(&format!("assert({call} == {value} + 1);"))), "{call}");
    }
    refused(
        &text("int i = 2;\nreturn by[i](1);"),
        expect!["7:1 this is an access where no variable of that type is | reached in every run"],
    );
}

#[test]
fn literals() {
    let text = |body: &str| {
        format!(
            "struct in {{ short a[2]; char b; }};
             struct s {{ int x; struct in in; struct s *next; }};
             struct s g = (struct s){{ 1, {{ {{ 2, 3 }}, 4 }}, 0 }};
             struct s *p = &(struct s){{ .x = 9 }};
             int sum(int *a, int n) {{ int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }}
             int main(void) {{ {body} }}"
        )
    };
    for body in [
        "assert(g.x == 1 && g.in.a[1] == 3 && g.in.b == 4 && !g.next);",
        "assert(p->x == 9 && p->in.b == 0);",
        "g = (struct s){ .in = { .b = 300 } }; assert(g.x == 0 && g.in.a[0] == 0 && g.in.b == 44);",
        "g = (struct s){ g.x + 1, g.in, &g }; assert(g.x == 2);",
        "g = (struct s){ g.in.b, { { g.x } } }; assert(g.x == 4 && g.in.a[0] == 1 && g.in.a[1] == 0);",
        "struct s l = (struct s){ 5, { { 6 } } }; assert(l.x == 5 && l.in.a[0] == 6);",
        "g.in = (struct in){ { 7, 8 }, 9 }; assert(g.x == 1 && g.in.a[1] == 8 && g.in.b == 9);",
        "struct s *q = &(struct s){ 5 }; q->x++; assert(q->x == 6 && p->x == 9);",
        "*p = (struct s){ 3 }; assert(p->x == 3);",
        "assert(sum((int[]){ 1, 2, 3 }, 3) == 6);",
        "assert((int){ 3 } == 3 && (char){ 300 } == 44);",
        "assert((struct s){ 8 }.x == 8 && ((int[]){ 4, 5 })[1] == 5);",
        "int n = 0; for (int i = 0; i < 3; i++) { int *a = (int[]){ i, 1 }; n += a[0] + a[1]++; } assert(n == 6);",
        "assert(sizeof((int[]){ 1, 2, 3 }) == 12);",
    ] {
        assert!(!fails(&text(body)), "{body}");
        let wrong = body.replacen("assert(", "assert(!(", 1);
        let wrong = format!("{}));", wrong.trim_end_matches(");"));
        assert!(fails(&text(&wrong)), "{wrong}");
    }
    refused(
        "struct s { int x; } g;\nstruct t { int x; };\nint main(void) {\n  g = (struct t){ 1 };\n}",
        expect!["4:7 this has the type `struct t` | "],
    );
    refused(
        "int main(void) {\n  int *a = (int[2]){ 1, 2, 3 };\n}",
        expect!["2:20 more values than there are members | "],
    );
}

#[test]
fn shifts() {
    for (shift, column) in [
        ("1 << 33", 32),
        ("1 >> -1", 32),
        ("(char)1 << 32", 38),
        ("1L << 64", 33),
        ("1 << (16 + 17)", 32),
    ] {
        let text = format!("int main(void) {{ long x = {shift}; }}");
        let refusal = parse(Format::C, &text).expect_err("refused");
        assert!(refusal.message.contains("is undefined in C"), "{}", refusal.message);
        assert_eq!(refusal.span.line_column(&text), (1, column), "{shift}");
    }
    for text in [
        "int a[1 << 40]; int main(void) { }",
        "int main(void) { int x = 1; x <<= 32; }",
        "enum { A = 1 << 32 }; int main(void) { }",
    ] {
        let refusal = parse(Format::C, text).expect_err("refused");
        assert!(refusal.message.contains("is undefined in C"), "{}", refusal.message);
    }
    // Of a count that is computed, the low bits count.
    let text = "int n = 33; long m = 65; int main(void) {
        assert(1 << n == 2); assert(4u >> n == 2); assert(-4 >> n == -2); assert(1L << m == 2);
        assert(1L << n == 8589934592); assert(1 << 31 < 0); int x = 1; x <<= n; assert(x == 2); }";
    assert!(!fails(text));
    assert!(fails(&text.replace("x == 2", "x == 3")));
}

#[test]
fn what_is_not_supported_is_said() {
    refused(
        "int x;\nunion word { int i; char c[4]; } u;\nint main(void) { u.i = 1;\nreturn u.c[0]; }",
        expect![
            "4:8 `c` of a union that is used as `i`, too | reading another member than was written is not supported here | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "struct s { int tag; union { int i; unsigned u; } v; } s = { 1, 2 };\nint main(void) { s.v.u = 1; }",
        expect![
            "2:18 `u` of a union that is used as `i`, too | reading another member than was written is not supported here | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "char s[4] = \"abcde\";\nint main(void) { }",
        expect!["1:13 this text is longer than the array | "],
    );
    refused(
        "struct { int a, b; } s = { .b[1] = 2 };\nint main(void) { }",
        expect!["1:31 `int32_t` has no such part | "],
    );
    refused(
        "int a[2][2] = {1, 2, 3, 4, 5};\nint main(void) { }",
        expect!["1:15 more values than there are members | "],
    );
    // A pointer that has the name of a function is not that function.
    refused(
        "void f(void) { }\nvoid g(void (*f)(int)) {\nf(1); }\nint main(void) { g((void *)0); }",
        expect![
            "3:1 a call by a pointer to a function, which is not known here | expected one whose address is taken in this file | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "#include <pthread.h>\nint x;\nint main(void) { pthread_t t;\npthread_create(&t, 0, (void *)&x, 0); }",
        expect![
            "4:1 which function this thread runs is not known before the program runs |  | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "int f(int n) { return n ? f(n - 1) : 0; }\nint main(void) { return f(3); }",
        expect![
            "1:27 `f` calls itself | recursion is not supported here | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "int main(void) {\n  double d = 1;\n}",
        expect![
            "2:3 floating point is not supported here |  | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "#include \"queue.h\"\n",
        expect![
            "1:10 the header `queue.h` is not found |  | -I FOLDER says where headers are; `weakspot run` explores programs of several files"
        ],
    );
    refused("int x;\nint main(void) { y = 1; }", expect!["2:18 `y` is not declared | "]);
    refused(
        "int main(void) { return strlen(0); }",
        expect![
            "1:25 `strlen` is neither defined here nor known | expected a function of this file | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "pthread_rwlock_t c;",
        expect![
            "1:1 unknown type `pthread_rwlock_t` | expected a declaration | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "struct list { long n; int of[]; } *l;\nint main(void) { l = malloc(sizeof *l + 8); l->of[2] = 1; }",
        expect!["2:45 this is an access where no variable of that type is | reached in every run"],
    );
    refused(
        "int x;\nint main(void) { memset(&x, 1, sizeof x); }",
        expect![
            "2:18 this use of `memset` is not supported here | expected 0 for whole objects, as many as a constant says | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused(
        "#define F(..., a) a\nint main(void) { return F(1, 2); }",
        expect!["1:16 this is no parameter of a macro | expected a name"],
    );
    refused(
        "int a[2];\nint main(void) { a[2] = 1; }",
        expect!["2:18 this is an access where no variable of that type is | reached in every run"],
    );
    refused(
        "int main(void) { int x = 1; x = x / (x - 1); }",
        expect!["1:29 this divides by zero | reached in every run"],
    );
    refused(
        "int main(void) { for (;;) ; }",
        expect![
            "1:27 this loop does not end, or takes too long |  | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
    refused("int main(void) { if (1 { } }", expect!["1:24 unexpected `{` | expected `)`"]);
    refused(
        "int x;\n",
        expect!["1:1 there is no function `main` | expected one that starts threads"],
    );
    refused(
        "#include <pthread.h>\nint x;\nvoid *f(void *a) { return a; }\nint main(void) { pthread_t t;\nwhile (x == 0)\npthread_create(&t, 0, f, 0); }",
        expect![
            "6:1 more than 64 threads |  | `weakspot run` explores compiled programs, with all that C has"
        ],
    );
}

/// Which names variables have in answers.
#[test]
fn variables_of_one_name_are_told_apart() {
    let text = "#include <pthread.h>
        #define TWO { int m; set(&m); } { int m; set(&m); }
        int v, only;
        void set(int *p) { static int v; static int own; v = own = *p; }
        void *run(void *a) {
            { int l; set(&l); }
            { int l; set(&l); } TWO
            int i = v; { int i = only; v = i; } only = i;
            return 0;
        }
        int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); int l = 1; set(&l); }";
    let names = parse(Format::C, text).expect("a program").names;
    expect!["v only main:l set::v own run#1:run::l@6 run#1:run::l@7 run#1:run::m@7#1 run#1:run::m@7#2 run#1 done"].assert_eq(&names.locs.join(" "));
    expect!["$1 run::i@8#1 run::i@8#2 $ends"].assert_eq(&names.regs[1].join(" "));
}

/// What is read first where C leaves it open: as gcc has it.
#[test]
fn places_and_values_in_order() {
    let text = |body: &str| {
        format!("#include <pthread.h>
            typedef struct {{ int a, b; }} S;
            S *p, *q, s; int i, v, w, a[4]; long l; _Atomic int at; volatile int vol;
            int f(void) {{ return v; }}
            void *run(void *x) {{ {body} return 0; }}
            int main(void) {{ p = q = &s; pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); }}")
    };
    let order = |body: &str| -> String {
        let parsed = parse(Format::C, &text(body)).expect("a program");
        let points = &parsed.program.threads[1].points;
        let loads = points.iter().flat_map(|p| &p.edges).filter_map(|e| match &e.instr {
            Instr::Load { addr: Expr::Const(addr), .. } => {
                let loc = parsed.program.locs.iter().position(|l| l.addr == *addr)?;
                Some(parsed.names.locs[loc].as_str())
            }
            _ => None,
        });
        loads.collect::<Vec<_>>().join(" ")
    };
    // Compared with what gcc 12 compiles; but for the last, where all are volatile.
    for (body, expected) in [
        ("*p = (S){v, w};", "p v w"),
        ("*p = *q;", "q p"),
        ("a[i] = v;", "i v"),
        ("p->a = v;", "p v"),
        ("a[i] = f();", "i v"),
        ("a[i] = v + w;", "v w i"),
        ("a[i] = -v;", "v i"),
        ("a[i] = l;", "l i"),
        ("a[i] = at;", "at i"),
        ("a[i] += vol;", "vol i"),
        ("a[i] += v;", "i v"),
        ("a[vol] += v;", "vol v"),
    ] {
        assert_eq!(order(body), expected, "{body}");
    }
}

/// Options and headers, as compilers take them.
#[test]
fn macros_and_headers_from_outside() {
    let files = [
        (
            "a/one.h",
            "#pragma once\n#include \"two.h\"\n#define TWICE(x) ((x) + (x))\nint one = 1;\n",
        ),
        ("a/two.h", "#ifndef TWO\n#define TWO 2\nstatic int two(void) { return TWO; }\n#endif\n"),
        ("inc/three.h", "enum { THREE = N };\n"),
        ("a/bad.h", "int x;\nint = 2;\n"),
    ];
    let mut read = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| ErrorKind::NotFound.into())
    };
    let text = "#include \"one.h\"\n#include \"one.h\"\n#include <three.h>\n#include \"two.h\"\n\
                int main(void) { assert(TWICE(one + two()) + THREE + !defined_here == V); }\n\
                #ifdef GONE\n#error gone\n#endif\n";
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let options = |define: &[&str], undefine: &[&str]| {
        COptions::new(&words(define), &words(undefine), vec!["inc".into()])
    };
    let good = options(&["N=3", "V=9", "defined_here", "GONE"], &["GONE"]).expect("options");
    let path = Path::new("a/main.c");
    let setting = Setting::of(text, path, &good, &mut read);
    let parsed = parse_with(Format::C, text, &setting).unwrap_or_else(|d| panic!("{d:?}"));
    let mut edges = parsed.program.threads[0].points.iter().flat_map(|p| &p.edges);
    assert!(!edges.any(|e| matches!(&e.instr, Instr::Assert(e) if *e != Expr::Const(1))));
    // Other options make another program of the text, and none leave it as it is.
    let other = Setting::of(text, path, &options(&["N=4"], &[]).expect("options"), &mut read);
    assert_ne!(other.identity(text), setting.identity(text));
    assert_eq!(Setting::default().identity(text), text);
    for bad in ["2=3", "", "F(=1", "A\nB"] {
        assert!(options(&[bad], &[]).is_err(), "{bad}");
    }
    let text = "int y;\n#include \"bad.h\"\n";
    let setting = Setting::of(text, path, &COptions::default(), &mut read);
    let why = parse_with(Format::C, text, &setting).expect_err("it is wrong");
    let (line, _) = why.span.line_column(text);
    assert_eq!(line, 2, "{why:?}");
}

/// No text makes the front end panic: pieces of programs, cut and put together.
#[test]
fn pieces_of_programs_do_not_panic() {
    let folder = format!("{}/../../corpus/c-programs", env!("CARGO_MANIFEST_DIR"));
    let texts: Vec<String> = std::fs::read_dir(folder)
        .expect("a part of the project")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .map(|path| std::fs::read_to_string(path).expect("a program"))
        .collect();
    let rng = &mut Rng::new(3);
    for _ in 0..scaled(4_000) {
        let text = &texts[rng.below(texts.len())];
        let mut words: Vec<&str> =
            text.split_inclusive([' ', '\n', '(', ')', ';', '*', '[', '&']).collect();
        for _ in 0..1 + rng.below(3) {
            let (i, j) = (rng.below(words.len()), rng.below(words.len()));
            match rng.below(3) {
                0 => words.swap(i, j),
                1 => drop(words.remove(i)),
                _ => words.insert(i, words[j]),
            }
        }
        let _ = parse(Format::C, &words.concat());
    }
}

/// What nests or goes on without end is refused, before a stack is too small for it.
#[test]
fn deep_and_long_texts_are_refused() {
    let n = 100_000;
    let main = |body: &str| format!("int x;\nint main(void) {{ {body} }}\n");
    let macros: String = (0..n).map(|i| format!("#define M{i} M{}\n", i + 1)).collect();
    let structs: String =
        (1..n / 10).map(|i| format!("struct s{i} {{ struct s{} a; }};\n", i - 1)).collect();
    for text in [
        main(&format!("x = {};", "(".repeat(n))),
        main(&format!("x = 1{};", " + 1".repeat(n))),
        main(&format!("x = {}1;", "-".repeat(n))),
        main(&format!("x = {}1;", "x = ".repeat(n))),
        main(&format!("x = 1{};", ", 1".repeat(n))),
        main(&format!("x{} = 1;", "[0]".repeat(n))),
        main(&format!("x = {}1;", "1 ? 1 : ".repeat(n))),
        main(&"{".repeat(n)),
        main(&"if (x) ".repeat(n)),
        main(&"if (x) {} else ".repeat(n)),
        format!("int {}p;\n", "*".repeat(n)),
        format!("int p{};\n", "[1]".repeat(n)),
        format!("int p = {};\n", "{".repeat(n)),
        format!("struct s0 {{ int a; }};\n{structs}"),
        format!("{macros}int x = M0;\n"),
    ] {
        let message = parse(Format::C, &text).expect_err("too deep").message;
        let is_limit = ["deep", "in a row"].iter().any(|word| message.contains(word));
        assert!(is_limit, "{message}: {}", &text[..80.min(text.len())]);
    }
}
