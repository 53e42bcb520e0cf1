//! C.

use super::*;

/// A test with these threads over `x` and `y`, both `int`.
fn test(threads: &[&str], condition: &str) -> String {
    let mut out = "C T\n{}\n".to_owned();
    for (i, body) in threads.iter().enumerate() {
        out += &format!("P{i}(int *x, int *y)\n{{\n{body}\n}}\n");
    }
    format!("{out}{condition}\n")
}

/// One thread ends with these values, in every run.
fn ends(body: &str, condition: &str) {
    let text = test(&[body], &format!("forall ({condition})"));
    assert_eq!(observations(&text), "Always Always Always", "{text}");
}

/// Store buffering, where `x` and `y` stand for themselves.
fn sb(body: &str) -> String {
    let swap = |word: &str| match word.trim_end_matches(|c: char| !c.is_alphanumeric()) {
        "x" => word.replacen('x', "y", 1),
        "y" => word.replacen('y', "x", 1),
        _ => word.to_owned(),
    };
    let other: String =
        body.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').map(swap).collect();
    observations(&test(&[body, &other], "exists (0:r=0 /\\ 1:r=0)"))
}

#[test]
fn store_buffering() {
    let weak = "Never Sometimes Sometimes";
    let none = "Never Never Never";
    assert_eq!(sb("WRITE_ONCE(*x, 1); int r = READ_ONCE(*y);"), weak);
    assert_eq!(sb("*x = 1; int r = *y;"), weak);
    assert_eq!(sb("WRITE_ONCE(*x, 1); smp_mb(); int r = READ_ONCE(*y);"), none);
    assert_eq!(sb("WRITE_ONCE(*x, 1); smp_wmb(); smp_rmb(); int r = READ_ONCE(*y);"), weak);
    assert_eq!(sb("smp_store_mb(*x, 1); int r = READ_ONCE(*y);"), none);
    assert_eq!(sb("smp_store_release(x, 1); int r = smp_load_acquire(y);"), weak);
    assert_eq!(sb("atomic_store(x, 1); int r = atomic_load(y);"), none);
    assert_eq!(
        sb("atomic_store_explicit(x, 1, memory_order_release); int r = atomic_load(y);"),
        weak
    );
    assert_eq!(sb("*x = 1; atomic_thread_fence(memory_order_acq_rel); int r = *y;"), weak);
    assert_eq!(sb("*x = 1; atomic_thread_fence(memory_order_seq_cst); int r = *y;"), none);
    assert_eq!(sb("atomic_inc(x); int r = READ_ONCE(*y);"), none);
    assert_eq!(sb("int o = xchg_relaxed(x, 1); int r = READ_ONCE(*y);"), none);
}

#[test]
fn message_passing() {
    let mp = |write: &str| {
        let reader = "int r = READ_ONCE(*y); int s = READ_ONCE(*x);";
        observations(&test(&[write, reader], "exists (1:r=1 /\\ 1:s=0)"))
    };
    assert_eq!(mp("WRITE_ONCE(*x, 1); WRITE_ONCE(*y, 1);"), "Never Never Sometimes");
    for fenced in [
        "WRITE_ONCE(*x, 1); smp_wmb(); WRITE_ONCE(*y, 1);",
        "WRITE_ONCE(*x, 1); smp_store_release(y, 1);",
        "WRITE_ONCE(*x, 1); rcu_assign_pointer(*y, 1);",
        "*x = 1; atomic_store_explicit(y, 1, memory_order_release);",
        "*x = 1; atomic_thread_fence(memory_order_release); *y = 1;",
        "WRITE_ONCE(*x, 1); atomic_set_release(y, 1);",
        "WRITE_ONCE(*x, 1); int r = cmpxchg(y, 0, 1);",
    ] {
        assert_eq!(mp(fenced), "Never Never Never", "{fenced}");
    }
}

#[test]
fn functions() {
    ends(
        "int a = atomic_add_return(3, x); int b = atomic_fetch_add(2, x);",
        "0:a=3 /\\ 0:b=3 /\\ x=5",
    );
    ends("int b = atomic_fetch_add(x, 2); atomic_sub(1, x);", "0:b=0 /\\ x=1");
    ends(
        "atomic_set(x, 1); int a = atomic_dec_and_test(x); int b = atomic_inc_and_test(x);",
        "0:a=1 /\\ 0:b=0 /\\ x=1",
    );
    ends("int a = cmpxchg(x, 0, 2); int b = cmpxchg(x, 0, 3);", "0:a=0 /\\ 0:b=2 /\\ x=2");
    ends("int a = 1; a = xchg(x, a); a = xchg(x, a + 4);", "0:a=1 /\\ x=4");
    ends(
        "int e = 1; int a = atomic_compare_exchange_strong(x, &e, 5); int b = try_cmpxchg(x, &e, 7);",
        "0:a=0 /\\ 0:b=1 /\\ 0:e=0 /\\ x=7",
    );
    ends(
        "int a = atomic_add_unless(x, 2, 0); int b = atomic_add_unless(x, 2, 1); int c = atomic_inc_not_zero(x);",
        "0:a=0 /\\ 0:b=1 /\\ 0:c=1 /\\ x=3",
    );
    ends(
        "spin_lock(x); int a = spin_is_locked(x); int b = spin_trylock(x); spin_unlock(x); int c = spin_trylock(x);",
        "0:a=1 /\\ 0:b=0 /\\ 0:c=1 /\\ x=1",
    );
    ends(
        "atomic_or(5, x); atomic_and(4, x); atomic_xor(1, x); int a = atomic_fetch_andnot(1, x);",
        "0:a=5 /\\ x=4",
    );
}

#[test]
fn statements() {
    ends(
        "int i = 0; int s = 0; while (i < 4) { i++; if (i == 2) continue; if (i == 4) break; s += i; }",
        "0:i=4 /\\ 0:s=4",
    );
    ends("int i = 3; int s = 0; do { s += i; i--; } while (i); ;", "0:i=0 /\\ 0:s=6");
    ends(
        "int r = 1 ? 2 : 3; int s = !r || *x; int t = *x && *y; *y = r == 2 && !t;",
        "0:r=2 /\\ 0:s=0 /\\ 0:t=0 /\\ y=1",
    );
    ends(
        "int r = 2147483647; r = r + 1; unsigned int u = 0; u = u - 1; char c = 255; long l = 2147483647; l = l + 1;",
        "0:r=-2147483648 /\\ 0:u=4294967295 /\\ 0:c=-1 /\\ 0:l=2147483648",
    );
    ends("int r = (1 << 4) | 3; r ^= 1; r = -r / 2 % 5; /* a */ // b\n", "0:r=-4");
    ends("WRITE_ONCE(*x, 1); if (READ_ONCE(*x)) { *y = 1; return; } else *y = 2; *y = 3;", "y=1");
    let pointers = "C T\n{ int z = 7; int *p = &z; int t[2] = {1,2}; }\nP0(int **p, int *z, int *t)\n{ int *r = READ_ONCE(*p); int s = *r; int u = t[1]; WRITE_ONCE(*p, t); }\nforall (0:r=z /\\ 0:s=7 /\\ 0:u=2 /\\ p=t)\n";
    assert_eq!(observations(pointers), "Always Always Always");
}

/// Shifts that C does not define are refused, if that can be seen.
#[test]
fn shifts() {
    ends("int n = 33; int r = 1 << n; long l = 1L << n; r <<= n;", "0:r=4 /\\ 0:l=8589934592");
    ends("long l = 1L << 63; int r = 1 << 31;", "0:r=-2147483648");
    for (body, place) in [("int r = 1 << 33;", "5:14"), ("int r = 1; r >>= -1;", "5:18")] {
        let said = refused(&test(&[body], "exists (x=1)"));
        assert!(said.starts_with(place) && said.contains("is undefined in C"), "{said}");
    }
}

/// Numbers of 64 bits are written as their types say.
#[test]
fn unsigned_numbers() {
    let text = "C T\n{ uint64_t x; int64_t y; }\nP0(uint64_t *x, int64_t *y)\n{ unsigned long r = *x - 1; long s = -1; *x = r; *y = s; int b = r > 5; }\nforall (0:r=-1 /\\ 0:s=-1 /\\ x=0xffffffffffffffff /\\ y=-1 /\\ 0:b=1)\n";
    assert_eq!(observations(text), "Always Always Always");
    let shown = LITMUS.accept(text).names.condition;
    let most = u64::MAX;
    assert_eq!(shown, format!("(0:r={most} /\\ 0:s=-1 /\\ x={most} /\\ y=-1 /\\ 0:b=1)"));
}

#[test]
fn locks_and_filters() {
    let inc = "spin_lock(y); int r = READ_ONCE(*x); WRITE_ONCE(*x, r + 1); spin_unlock(y);";
    assert_eq!(observations(&test(&[inc, inc], "forall (x=2)")), "Always Always Always");
    let write = "WRITE_ONCE(*x, 1); int r = READ_ONCE(*y);";
    let other = "WRITE_ONCE(*y, 1); int r = READ_ONCE(*x);";
    let filtered =
        "filter (0:r=0 /\\ (1:r=1 \\/ 1:r=2))\nlocations [0:r; 1:r]\nforall (0:r=0 /\\ 1:r=1)";
    assert_eq!(observations(&test(&[write, other], filtered)), "Always Always Always");
}

#[test]
fn refusals() {
    let code = |body: &str| refused(&test(&[body], "exists (x=1)"));
    assert_eq!(code("rcu_read_lock();"), "5:1 `rcu_read_lock` `rcu_read_lock` is not supported");
    assert_eq!(
        code("synchronize_rcu();"),
        "5:1 `synchronize_rcu` `synchronize_rcu` is not supported"
    );
    assert_eq!(
        code("WRITE_ONC(*x, 1);"),
        "5:1 `WRITE_ONC` unknown function `WRITE_ONC` (did you mean `WRITE_ONCE`?)"
    );
    assert_eq!(code("WRITE_ONCE(x, 1);"), "5:12 `x` `x` is the address of a location here");
    assert_eq!(
        code("WRITE_ONCE(*x);"),
        "5:1 `WRITE_ONCE(*x)` `WRITE_ONCE` takes 2 arguments, but 1 were given"
    );
    assert_eq!(
        code("WRITE_ONCE(*x, 1)\nsmp_mb();"),
        "5:18 `` missing `;` at the end of the statement"
    );
    assert_eq!(code("for (;;) ;"), "5:1 `for` `for` is not supported");
    assert_eq!(code("int r = r0;"), "5:9 `r0` `r0` is not declared");
    assert_eq!(code("x->next = 1;"), "5:2 `->` unexpected `->` (structs are not supported)");
    assert_eq!(code("break;"), "5:1 `break` `break` outside of a loop");
    assert_eq!(refused("C T\n{}\nexists (x=1)\n"), "3:1 `exists` unexpected `exists`");
    let parsed = LITMUS.accept(&test(&["*x = 1;"], "exists (0:r9=0 /\\ z=0)"));
    let said: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(said, ["P0 has no variable `r9`", "no thread is given `z`"]);
    assert!(parsed.of_machine.is_some());
    let implicit = LITMUS.warnings(&test(&["r0 = *x; r1 = r0;"], "exists (0:r1=0)"));
    assert_eq!(implicit, ["5:1 `r0` `r0` is not declared"]);
}
