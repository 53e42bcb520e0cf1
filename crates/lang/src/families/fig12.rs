//! Fig. 12 of the paper (appendix A): safe, but with store buffers that grow without bound, so that
//! searches which extend what is buffered step by step never end.

use super::c::{self, Uses};

pub(super) const WEAK: &str = "\
// Each thread stores, loads and looks for a 2, in any order and for ever. All values are 0 or 1, so
// nobody finds a 2 under any model. But the buffers grow without bound.

shared x in 0..1, y in 0..1

thread t1 {
    var r
    loop {
        choose {
            x = 1 - r
        } or {
            r = y
        } or {
            assume(r == 2)
            break
        }
    }
    goal:
}

thread t2 {
    var r
    loop {
        choose {
            y = 1 - r
        } or {
            r = x
        } or {
            assume(r == 2)
            break
        }
    }
    goal:
}

never at (t1.goal, t2.goal)
";

pub(super) const TRENCHER: &str = "\
# Each thread stores, loads and looks for a 2, in any order and for ever. All values are 0 or 1, so
# nobody finds a 2 under any model. But the buffers grow without bound.
# x has address 100, y has 101.

thread t1
initial turn
final goal
transition turn turn write - 1 r 100
transition turn turn read r 101
transition turn goal check == r 2
end

thread t2
initial turn
final goal
transition turn turn write - 1 r 101
transition turn turn read r 100
transition turn goal check == r 2
end
";

const ABOUT: &str = "\
Each thread stores, loads and looks for a 2, in any order and for ever. All values are 0 or 1, so
nobody finds a 2 under any model. But the buffers grow without bound.

cbmc --mm tso --unwind 5 --no-unwinding-assertions FILE.c
says so for 5 turns of the loops only.
";

pub(super) fn c() -> String {
    let mut text = c::head(ABOUT, &Uses { choose: true, endless: true });
    text += "static volatile int x, y;\nstatic volatile int goal[2];\n\n";
    for (i, (name, own, other)) in [("t1", "x", "y"), ("t2", "y", "x")].iter().enumerate() {
        text += &format!(
            "\
static void *{name}(void *unused)
{{
    int r = 0;
    (void)unused;
    LOOP {{
        if (ONCE_IN(3)) {{
            {own} = 1 - r;
        }} else if (ONCE_IN(2)) {{
            r = {other};
        }} else if (r == 2) {{
            goal[{i}] = 1;
            return NULL;
        }}
    }}
    return NULL;
}}

"
        );
    }
    text + &c::main(&[("t1", 0), ("t2", 0)])
}
