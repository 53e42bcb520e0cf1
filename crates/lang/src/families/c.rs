//! What the C programs share. They are for two readers: CBMC, which explores all choices and all
//! store buffers (`--mm tso`), and a compiler, for which they are stress tests.
//!
//! A thread that stands at its goal says so in `goal` and returns; the assertion is in `main` after
//! all threads have ended. As a thread may also go on from a goal that is not its end, this asks the
//! same as the control points do: buffers drain without moving a thread.

/// What a program needs from the head of the file.
pub(super) struct Uses {
    /// Choices.
    pub(super) choose: bool,
    /// Loops without end.
    pub(super) endless: bool,
}

/// The head of the file: `about` as a comment, then the macros.
pub(super) fn head(about: &str, uses: &Uses) -> String {
    let mut text = String::from("/*\n");
    for line in about.trim_end().lines() {
        text += format!(" * {line}").trim_end();
        text.push('\n');
    }
    text += " *
 * Shared variables are volatile, so that a compiler keeps every access and its place; on x86 each
 * becomes one plain instruction.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CPROVER__
/* CBMC explores every choice, and gives up runs in which an assumption fails. */
#define ASSUME(condition) __CPROVER_assume(condition)
";
    if uses.choose {
        text += "int nondet_int(void);\n#define ONCE_IN(n) (nondet_int() != 0)\n";
    }
    if uses.endless {
        text += "#define LOOP for (;;)\n";
    }
    text += "\
#else
/* Compiled, a thread gives up when an assumption fails";
    text += match (uses.choose, uses.endless) {
        (true, _) => ",\n * draws its choices, and ends its loops some day. */\n",
        (false, true) => ",\n * and ends its loops some day. */\n",
        (false, false) => ". */\n",
    };
    text += "\
#define ASSUME(condition) \\
    do { \\
        if (!(condition)) \\
            return NULL; \\
    } while (0)
";
    if uses.choose {
        text += "\
static unsigned draw(void)
{
    static _Thread_local uint32_t state;
    if (state == 0)
        state = (uint32_t)(uintptr_t)&state;
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}
#define ONCE_IN(n) (draw() % (n) == 0)
";
    }
    if uses.endless {
        text += "#define LOOP for (long round = 0; round < 1000000; round++)\n";
    }
    text + "#endif\n\n"
}

/// `main` for one thread per entry of `threads`: its function, and the number that it is given.
/// Nothing here is a loop, so that a bound on loops is one on those of the threads.
pub(super) fn main(threads: &[(&str, usize)]) -> String {
    let mut text = String::from("int main(void)\n{\n");
    text += &format!("    pthread_t id[{}];\n", threads.len());
    for (i, (function, number)) in threads.iter().enumerate() {
        text += &format!(
            "    pthread_create(&id[{i}], NULL, {function}, (void *)(intptr_t){number});\n"
        );
    }
    for i in 0..threads.len() {
        text += &format!("    pthread_join(id[{i}], NULL);\n");
    }
    let goals: Vec<String> = (0..threads.len()).map(|i| format!("goal[{i}]")).collect();
    text + &format!("    assert(!({}));\n    return 0;\n}}\n", goals.join(" && "))
}
