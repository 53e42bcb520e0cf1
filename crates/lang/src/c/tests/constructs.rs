//! What programs compute, by assertions in `main`, which runs alone, and their opposites.

use expect_test::expect;
use weakspot_core::{Expr, Instr};

use super::{fails, program, refused};
use crate::{Format, parse};

/// Bodies of `main` in which an assertion holds, and would not if it said the opposite.
fn decided(head: &str, bodies: &[&str]) {
    for body in bodies {
        let text = |body: &str| format!("{head}\nint main(void) {{ {body} }}");
        assert!(!fails(&text(body)), "{body}");
        let (before, asked) = body.rsplit_once("assert(").expect("something is asserted");
        let wrong = format!("{before}assert(!({}));", asked.trim_end_matches(");"));
        assert!(fails(&text(&wrong)), "{wrong}");
    }
}

#[test]
fn numbers_of_headers() {
    decided(
        "#include <limits.h>\n#include <stdint.h>\n#include <inttypes.h>\n#include <stddef.h>
         #if UINT8_MAX != 255 || INT64_MIN >= 0 || ULONG_MAX != UINT64_C(0xffffffffffffffff) || CHAR_BIT != 8
         #error wrong
         #endif
         struct in { char c; short s[3]; }; struct out { int x; struct in in[2]; union { long l; char d; }; };",
        &[
            "assert(UINT8_MAX == 255 && INT8_MIN == -128 && UINT16_MAX == 65535 && INT16_MAX == 32767);",
            "assert(INT32_MIN < 0 && UINT32_MAX == 4294967295 && sizeof UINT32_MAX == 4 && -1 > UINT32_MAX - 2);",
            "assert(INT64_MAX + INT64_MIN == -1 && SIZE_MAX == UINT64_MAX && PTRDIFF_MAX == LLONG_MAX);",
            "assert(sizeof INT64_C(1) == 8 && sizeof UINT32_C(1) == 4 && INT8_C(-5) == -5 && UINT64_C(1) - 2 > 0);",
            "assert(SCHAR_MAX == 127 && UCHAR_MAX == 255 && SHRT_MIN == -32768 && USHRT_MAX == 65535);",
            "uint_fast16_t f = 0; int_least8_t l = 0; assert(sizeof f == 8 && sizeof l == 1 && UINT_FAST16_MAX == ULONG_MAX);",
            "printf(\"%\" PRIu64 \" %\" PRIdPTR, 1ul, 2l); assert(sizeof PRIu64 == 3);",
            "assert(offsetof(struct out, in) == 4 && offsetof(struct out, in[1].s[2]) == 4 + 8 + 2 + 4);",
            "int a[offsetof(struct out, l)]; assert(sizeof a == 4 * 24 && __builtin_offsetof(struct out, d) == 24);",
        ],
    );
}

#[test]
fn texts_and_lists() {
    decided(
        "struct p { int x, y; }; struct q { struct p p[2]; char n[4]; int z; }; struct p gp = {7, 8};
         char g[] = \"hi\\n\", h[2] = \"ok\", two[2][6] = {\"hello\", \"wor\" \"ld\"}; const unsigned char b[] = {\"\\xff\\0z\"};
         struct q gq = { {{1, 2}}, \"abc\", 3 };",
        &[
            "assert(sizeof g == 4 && g[0] == 'h' && g[2] == '\\n' && g[3] == 0);",
            "assert(sizeof h == 2 && h[1] == 'k' && two[1][0] == 'w' && two[1][4] == 'd' && two[0][5] == 0);",
            "assert(sizeof b == 4 && b[0] == 255 && b[1] == 0 && b[2] == 'z');",
            "assert(gq.p[0].y == 2 && gq.p[1].x == 0 && gq.n[2] == 'c' && gq.n[3] == 0 && gq.z == 3);",
            "char s[] = \"hi\", *p = s; p[0]++; assert(sizeof s == 3 && *s == 'i' && s[2] == 0);",
            "char s[8] = \"hi\"; assert(s[1] == 'i' && s[7] == 0);",
            "struct p v = {1, 2}; struct q o = { v, gp, \"x\", 5 }; assert(o.p[0].y == 2 && o.p[1].x == 7 && o.n[0] == 'x' && o.z == 5);",
            "struct p v = {1, 2}; struct q o = { .p[1] = v, .z = 4 }; assert(o.p[1].x == 1 && o.p[0].x == 0 && o.z == 4);",
            "struct p v[] = { gp, 3, 4, gp }; assert(sizeof v == 24 && v[1].y == 4 && v[2].x == 7);",
            "char t[6]; strcpy(t, two[0]); assert(t[0] == 'h' && t[4] == 'o' && t[5] == 0);",
            "char t[6]; strcpy(t, \"yes\"); assert(t[2] == 's' && t[3] == 0);",
            "struct p v[2]; memcpy(&v[1], &gp, sizeof gp); memcpy(v, v + 1, sizeof *v); assert(v[0].y == 8);",
        ],
    );
}

#[test]
fn structs_by_value() {
    decided(
        "struct p { int x; struct { short y; char *s; } in; }; struct p g = {1, {2, 0}};
         static struct p made(int x) { struct p p = {x, {x + 1, 0}}; return p; }
         static struct p twice(struct p p) { p.x *= 2; p.in.y *= 2; return p; }
         static int sum(struct p a, int n, struct p b) { a.x += n; return a.x + a.in.y + b.x; }
         static struct p either(int n) { return n ? made(n) : (struct p){.in.y = 9}; }
         static struct p same(struct p p) { return p; }",
        &[
            "struct p p = made(3); assert(p.x == 3 && p.in.y == 4);",
            "struct p p; p = twice(twice(made(1))); assert(p.x == 4 && p.in.y == 8 && g.x == 1);",
            "assert(twice(g).x == 2 && g.x == 1 && made(5).in.y == 6);",
            "assert(sum(g, 10, made(4)) == 17 && g.x == 1);",
            "assert(sum(twice(g), 0, same(twice(g))) == 8);",
            "struct p p = either(0), q = either(6); assert(p.in.y == 9 && p.x == 0 && q.x == 6);",
            "struct p a[2] = { made(1), twice(made(2)) }; assert(a[0].in.y == 2 && a[1].x == 4);",
            "struct p p = g.x ? same(g) : made(3); assert(p.x == 1);",
            "struct p p, q; p = q = made(8); assert(p.x == 8 && q.in.y == 9);",
            "g = twice(g); same(g); assert(g.x == 2 && g.in.y == 4);",
            "struct p *q = &g; *q = made(sum(*q, 1, *q)); assert(g.x == 5);",
        ],
    );
}

#[test]
fn statements_in_expressions_and_types_of() {
    decided(
        "#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
         #define ACCESS_ONCE(x) (*(volatile typeof(x) *)&(x))
         struct s { long l; char c[3]; } s; int n = 3; unsigned char u; int two(void) { n++; return 2; }
         static int bound(int x) { return ({ if (x > 4) return 4; x; }) + 1; }",
        &[
            "assert(max(two(), 1) == 2 && n == 4);",
            "assert(max(max(1, 5), max(7, two())) == 7 && n == 4);",
            "ACCESS_ONCE(n) = 8; assert(ACCESS_ONCE(n) == 8 && ACCESS_ONCE(s.l) == 0);",
            "assert(bound(9) == 4 && bound(2) == 3);",
            "int x = ({ int y = 1; for (int i = 0; i < 3; i++) y *= 2; y; }); assert(x == 8);",
            "typeof(s.c) t = \"ab\"; typeof(&s) p = &s; p->l = 4; assert(sizeof t == 3 && s.l == 4);",
            "typeof(u + 1) w; typeof(u) v; typeof(1 ? u : 1l) x; assert(sizeof w == 4 && sizeof v == 1 && sizeof x == 8);",
            "__auto_type p = &s.c[1]; *p = 7; assert(s.c[1] == 7 && sizeof *p == 1);",
            "int a[sizeof s.c], b[sizeof(s) / sizeof s.l]; assert(sizeof a == 12 && sizeof b == 8);",
            "switch (n) { case 0 ... 2: n = 9; break; case 3 ... 5: n = 7; } assert(n == 7);",
            "switch (u = 200) { case 100 ... 199: n = 9; break; case -5 ... 7: n = 8; } assert(n == 3);",
            "switch (0xffffffffu) { case 5 ... 0xffffffff: n = 1; } assert(n == 1);",
            "assert(__extension__ ({ n; }) == 3);",
        ],
    );
}

/// Functions are known by their addresses where these are taken.
#[test]
fn calls_by_pointers() {
    decided(
        "struct ops { int (*f)(int); void (*g)(struct ops *); int n; };
         static int one(int n) { return n + 1; } static int ten(int n) { return n + 10; }
         static void up(struct ops *o) { o->n++; }
         static int apply(int (*f)(int), int n) { return f(n); }
         static int both(int n) { return apply(one, n) + apply(ten, n); }
         static void init(struct ops *o, int (*f)(int)) { o->f = f; o->g = up; }",
        &[
            "assert(apply(one, 1) == 2 && apply(&ten, 1) == 11);",
            "struct ops o = {0}; init(&o, ten); o.g(&o); assert(o.f(2) == 12 && o.n == 1);",
            "assert(both(1) == 13);",
            "int (*f)(int) = one; f = ten; assert((*f)(0) == 10);",
        ],
    );
    refused(
        "int f(int n) { return n; }\nint g(int (*h)(int)) {\nreturn h(1); }\nint main(void) { int (*p)(int) = f; return g((void *)0); }",
        expect!["3:1 this is an access where no variable of that type is | reached in every run"],
    );
}

/// Variables that each thread has for itself are registers, or in memory where their addresses are taken.
#[test]
fn variables_of_threads() {
    let text = "#include <pthread.h>
        static __thread int id = 7; _Thread_local struct { int a[2]; } s = {{1, 2}}; static __thread int *p; int x;
        static int next(void) { static _Thread_local int n = 3; return ++n; }
        static void *f(void *a) { assert(id == 7); assert(next() == 4); assert(next() == 5); assert(s.a[1] == 2); id = 8; s.a[1]++; p = &x; return a; }
        int main(void) {
            id = 1; s.a[1] = 5; next();
            pthread_t t[2];
            pthread_create(&t[0], 0, f, 0); pthread_create(&t[1], 0, f, 0);
            pthread_join(t[0], 0); pthread_join(t[1], 0);
            assert(id == 1); assert(next() == 5); assert(!p); assert(s.a[1] == 5); }";
    let failing = |text: &str| {
        let program = program(text);
        let points = program.threads.iter().flat_map(|t| &t.points);
        let edges = points.flat_map(|p| &p.edges);
        edges.filter(|e| matches!(&e.instr, Instr::Assert(e) if *e == Expr::Const(0))).count()
    };
    assert_eq!(failing(text), 0);
    assert_eq!(failing(&text.replace("id == 7", "id == 1")), 2);
    assert_eq!(failing(&text.replace("next() == 4", "next() == 5")), 2);
    assert_eq!(failing(&text.replace("id == 1)", "id == 7)")), 1);
    assert_eq!(failing(&text.replace("!p)", "p)")), 1);
    let names = parse(Format::C, text).expect("read").names;
    assert!(!names.locs.iter().any(|name| name.contains("id")), "{:?}", names.locs);
}

#[test]
fn atomic_instructions_of_assembly() {
    decided(
        "unsigned l = 5; long q = 2; unsigned char f;
         static inline unsigned xchg(unsigned *p, unsigned x) {
             __asm__ __volatile__(\"xchgl %0,%1\" : \"=r\"(x), \"+m\"(*p) : \"0\"(x) : \"memory\"); return x; }
         static inline unsigned cas(unsigned *p, unsigned old, unsigned new) { unsigned r;
             asm volatile(\"lock; cmpxchgl %2,%1\" : \"=a\"(r), \"+m\"(*p) : \"r\"(new), \"0\"(old) : \"memory\"); return r; }
         static inline int cas_ok(long *p, long old, long new) { unsigned char ok;
             asm volatile(\"lock\\n\\tcmpxchgq %3, %1\\n\\tsete %0\" : \"=q\"(ok), \"+m\"(*p), \"+a\"(old) : \"r\"(new) : \"cc\"); return ok; }
         static inline long xadd(long *p, long n) {
             asm volatile(\"lock xaddq %[n], %[p]\" : [n] \"+r\"(n), [p] \"+m\"(*p)); return n; }",
        &[
            "unsigned old = xchg(&l, 9); assert(old == 5 && l == 9);",
            "unsigned a = cas(&l, 5, 6), b = cas(&l, 5, 7); assert(a == 5 && b == 6 && l == 6);",
            "int a = cas_ok(&q, 2, 3), b = cas_ok(&q, 2, 4); assert(a == 1 && b == 0 && q == 3);",
            "long a = xadd(&q, 5); assert(a == 2 && q == 7);",
            "asm volatile(\"lock incl %0\" : \"+m\"(l)); asm volatile(\"lock; subl %1, %0\" : \"+m\"(l) : \"ir\"(4)); assert(l == 2);",
            "asm volatile(\"lock decq %0; setz %1\" : \"+m\"(q), \"=qm\"(f)); assert(q == 1 && f == 0);",
            "int x = 3; asm(\"\" : \"+r\"(x)); asm(\"\" : \"=r\"(x) : \"0\"(x + 1)); assert(x == 4);",
            "unsigned x; asm volatile(\"movl %1, %0\" : \"=r\"(x) : \"m\"(l)); asm volatile(\"movl %1, %0\" : \"=m\"(l) : \"r\"(1)); assert(x == 5 && l == 1);",
        ],
    );
    for wrong in ["lock incb %0", "incl %0", "lock btsl $1, %0", "xchgl %0, %%eax"] {
        let text = format!("int l; int main(void) {{ asm volatile(\"{wrong}\" : \"+m\"(l)); }}");
        let refusal = parse(Format::C, &text).expect_err(wrong);
        assert!(refusal.message.contains("is not supported here"), "{}", refusal.message);
    }
}

/// What gcc does where C leaves the order open; each was compiled with it.
#[test]
fn order_of_combined_assignments() {
    decided(
        "int A[3] = {10, 11, 12}, B[3] = {20, 21, 22}, (*P)[3] = &A, n = 1; struct { int r[3]; } S[2] = {{{1, 2, 3}}, {{4, 5, 6}}}, *G = &S[0];
         volatile int v = 1;
         static int fq(int k) { P = &B; G = &S[1]; A[1] += 5; v = 7; return k; }",
        &[
            "(*P)[fq(1)] |= A[1]; assert(B[1] == (16 | 16) && A[1] == 16);",
            "G->r[fq(2)] += A[1]; assert(S[1].r[2] == 3 + 16 && S[0].r[2] == 3);",
            "A[fq(1)] += A[1]; assert(A[1] == 32);",
            "A[fq(1)] += v; assert(A[1] == 17);",
            "A[2] += fq(2); assert(A[2] == 14);",
            "(*P)[fq(1)] = (*P)[1] = 7; assert(B[1] == 21 && A[1] == 12);",
            "A[n++] += n; assert(A[1] == 13);",
        ],
    );
}

/// The same for calls: the last argument first, then the place on the left, then what the function does.
#[test]
fn order_of_calls() {
    decided(
        "struct P { int x, y; } p[4]; int a[4]; long order;
         static int say(int v) { order = order * 10 + v; return v & 3; }
         static struct P make(int x, int y) { struct P p = {x, y}; order = order * 10 + 9; return p; }
         static int less(int x, int y) { order = order * 10 + 9; return x - y; }",
        &[
            "a[say(1)] = less(say(2), say(3)); assert(order == 3219 && a[1] == -1);",
            "a[say(1)] = say(2); assert(order == 12);",
            "a[say(1)] = (say(2), less(say(3), 0)); assert(order == 2319);",
            "p[say(1)] = make(say(2), say(3)); assert(order == 3219 && p[1].y == 3);",
            "p[say(1)] = p[say(2)] = p[say(3)]; assert(order == 321);",
            "a[say(1)] = make(say(2), 3).y; assert(order == 291 && a[1] == 3);",
            "__atomic_fetch_add(&a[say(1)], say(2), 5); assert(order == 21 && a[1] == 2);",
            "__atomic_store_n(&a[say(1)], say(2), 3); assert(order == 21 && a[1] == 2);",
            "__sync_bool_compare_and_swap(&a[say(1)], say(0), say(3)); assert(order == 301 && a[1] == 3);",
            "atomic_exchange((atomic_int *)&a[say(1)], say(2)); assert(order == 12);",
        ],
    );
}

/// The types of nested conditions are looked for once each.
#[test]
fn nested_conditions() {
    let nested = (0..40).fold("0".to_owned(), |inner, i| format!("x == {i} ? {} : {inner}", i + 1));
    let text =
        format!("volatile int x = 7; int main(void) {{ int y = {nested}; assert(y == 8); }}");
    assert!(!fails(&text));
}
