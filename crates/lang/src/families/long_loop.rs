//! A loop of length `n` through which a thread has to go once and begin again before another one
//! sees what it wants, Fig. 9 of the paper. The load that ends the loop is offered at each turn.

use super::c::{self, Uses};

const ABOUT: &str = "\
t1 stores 0, 1, ..., $LAST to x, over and over, until it looks at y and finds it still 0.
t2 sets y, and then wants to see x fall from 1 to 0. Under SC x does not change any more by then.
Under TSO the looks of t2 overtake its store to y. But for x to fall, t1 has to go through its loop
and begin again.
";

pub(super) fn weak(n: usize) -> String {
    let text = comment("//", n)
        + "
const N = $N
shared x in 0..N - 1, y in 0..1

thread t1 {
    var i, r
    loop {
        choose {
            assume(i < N)
            x = i
            i = i + 1
        } or {
            assume(i == N)
            i = 0
        } or {
            r = y
            break
        }
    }
    assume(r == 0)
    goal:
}

thread t2 {
    var r
    y = 1
    r = x
    assume(r == 1)
    r = x
    assume(r == 0)
    goal:
}

never at (t1.goal, t2.goal)
";
    text.replace("$N", &n.to_string())
}

pub(super) fn trencher(n: usize) -> String {
    let text = comment("#", n)
        + "# x has address 100, y has 101.

thread t1
initial turn
final goal
transition turn store check < i $N
transition store count write i 100
transition count turn local i + i 1
transition turn reset check == i $N
transition reset turn local i 0
transition turn test read r 101
transition test goal check == r 0
end

thread t2
initial start
final goal
transition start first write 1 101
transition first test_first read r 100
transition test_first second check == r 1
transition second test_second read r 100
transition test_second goal check == r 0
end
";
    text.replace("$N", &n.to_string())
}

pub(super) fn c(n: usize) -> String {
    let about = ABOUT.to_owned() + "\ncbmc --mm tso --unwind $U --no-unwinding-assertions FILE.c\n";
    // One turn per store, one that starts again, and one that leaves.
    let about = about.replace("$LAST", &(n - 1).to_string()).replace("$U", &(n + 3).to_string());
    let head = c::head(&about, &Uses { choose: true, endless: true });
    let body = "\
#define N $N
static volatile int x, y;
static volatile int goal[2];

static void *t1(void *unused)
{
    int i = 0;
    (void)unused;
    LOOP {
        if (ONCE_IN(64)) {
            ASSUME(y == 0);
            goal[0] = 1;
            return NULL;
        }
        if (i < N) {
            x = i;
            i = i + 1;
        } else {
            i = 0;
        }
    }
    return NULL;
}

static void *t2(void *unused)
{
    (void)unused;
    y = 1;
    ASSUME(x == 1);
    ASSUME(x == 0);
    goal[1] = 1;
    return NULL;
}

";
    head + &body.replace("$N", &n.to_string()) + &c::main(&[("t1", 0), ("t2", 0)])
}

fn comment(mark: &str, n: usize) -> String {
    let lines = ABOUT.lines().map(|line| format!("{mark} {line}\n"));
    lines.collect::<String>().replace("$LAST", &(n - 1).to_string())
}
