//! Lamport's fast mutual exclusion for `n` threads, Fig. 7 of the paper. The array of flags of the
//! published algorithm is left out, and with it the slow way in: a thread that finds itself in `y`
//! after another one has changed `x` is stuck.

use super::c::{self, Uses};

const ABOUT: &str = "\
Lamport's fast mutual exclusion (1987) for $N threads, which call themselves 1 to $N; 0 is nobody.
Only the fast way in is there: a thread that has lost the race for x goes back to the start, and if
y still names it, it is stuck. Can all threads be in the critical section together?
";

pub(super) fn weak(n: usize) -> String {
    let all: Vec<String> = (0..n).map(|i| format!("t[{i}].cs")).collect();
    let text = comment("//", n)
        + "// Not under SC. Under TSO the looks at y overtake the stores to x.

const N = $N
shared x in 0..N, y in 0..N

thread t[N] {
    var i, rx, ry
    i = me + 1
    loop {
        x = i
        ry = y
        if (ry == 0) {
            y = i
            rx = x
            if (rx == i) {
                cs: y = 0
            } else {
                ry = y
                assume(ry != i)
            }
        }
    }
}

never at ($ALL)
";
    text.replace("$N", &n.to_string()).replace("$ALL", &all.join(", "))
}

pub(super) fn trencher(n: usize) -> String {
    let thread = |i: usize| {
        format!(
            "
thread t{i}
initial start
final cs
transition start set_x local i {i}
transition set_x read_y write i 100
transition read_y test_y read ry 101
transition test_y set_x check != ry 0
transition test_y set_y check == ry 0
transition set_y read_x write i 101
transition read_x test_x read rx 100
transition test_x cs check == rx i
transition cs set_x write 0 101
transition test_x read_y_again check != rx i
transition read_y_again test_y_again read ry 101
transition test_y_again set_x check != ry i
end
"
        )
    };
    let threads: String = (1..=n).map(thread).collect();
    comment("#", n) + "# x has address 100, y has 101.\n" + &threads
}

pub(super) fn c(n: usize) -> String {
    let about = ABOUT.replace("$N", &n.to_string())
        + "\ncbmc --mm tso --unwind 1 --no-unwinding-assertions FILE.c\n";
    let head = c::head(&about, &Uses { choose: true, endless: true });
    let body = "\
static volatile int x, y;
static volatile int goal[$N];

static void *thread(void *number)
{
    const int i = (int)(intptr_t)number;
    LOOP {
        x = i;
        if (y != 0)
            continue;
        y = i;
        if (x == i) {
            /* The critical section: stay here, or go on. */
            if (ONCE_IN(2)) {
                goal[i - 1] = 1;
                return NULL;
            }
            y = 0;
        } else {
            ASSUME(y != i);
        }
    }
    return NULL;
}

";
    let threads: Vec<(&str, usize)> = (1..=n).map(|i| ("thread", i)).collect();
    head + &body.replace("$N", &n.to_string()) + &c::main(&threads)
}

fn comment(mark: &str, n: usize) -> String {
    let lines = ABOUT.lines().map(|line| format!("{mark} {line}\n"));
    lines.collect::<String>().replace("$N", &n.to_string())
}
