use super::{File, compile, parse, print};
use crate::test_support::{Language, describe, for_each_mutation, show, spans};

const TRENCHER: Language<File> = Language { parse, print, compile };

const CORPUS: [&str; 5] = [
    include_str!("../../../../corpus/trencher/dekker.txt"),
    include_str!("../../../../corpus/trencher/dekker-fenced.txt"),
    include_str!("../../../../corpus/trencher/peterson-once.txt"),
    include_str!("../../../../corpus/trencher/message-passing.txt"),
    include_str!("../../../../corpus/trencher/locked-counter.txt"),
];

const EVERYTHING: &str = "
# Every construct once.
memory_size 5
thread all
initial q
final q<
transition q q' read r + 1 * 2 r
transition q' q= write - r -3 & r +7
transition q= q< local s ! && r || s 1
transition q< q check == r != s < 1 <= 2 > 3 >= r s
transition q q noop # comment after an instruction
# comment between instructions
transition q q mfence transition q q lock
transition q q unlock
transition q end local end / r % 9 s
transition q q check ^ r 3
end
";

fn check(text: &str, expected: &str) {
    assert_eq!(show(&TRENCHER.accept(text)), expected.trim(), "{text}");
}

fn check_refused(text: &str, expected: &str) {
    assert_eq!(describe(text, &TRENCHER.refuse(text)), expected, "{text}");
}

fn check_warnings(text: &str, expected: &[&str]) {
    assert_eq!(TRENCHER.warnings(text), expected, "{text}");
}

/// One thread `t` with initial state `q` around some lines.
fn thread(lines: &str) -> String {
    format!("thread t\ninitial q\n{lines}\nend\n")
}

#[test]
fn every_construct_is_understood() {
    check(
        EVERYTHING,
        "
all at q r=0 s=0 end=0
  q -> q': r := [(1 + (2 * r))]
  q -> q: nop
  q -> q: fence
  q -> q: lock
  q -> q: unlock
  q -> end: end := (r / (9 % s))
  q -> q: assume ((r * r) * r)
  q< -> q: assume (r == (s != (1 < (2 <= (3 > (r >= s))))))
  q' -> q=: [(r & 7)] := (r - -3)
  q= -> q<: s := !(r && (s || 1))
forbidden q<",
    );
}

#[test]
fn the_goal_is_all_final_states() {
    check(
        "thread a initial x final y transition x y noop end
         thread b initial x final x end",
        "
a at x
  x -> y: nop
b at x
forbidden y x",
    );
    check(
        "thread a initial x end thread b initial y end",
        "
a at x
b at y",
    );
}

#[test]
fn registers_belong_to_their_thread() {
    check(
        "thread a initial x transition x x read r 0 end
         thread b initial x transition x x local s 0 transition x x read r s end",
        "
a at x r=0
  x -> x: r := [0]
b at x s=0 r=0
  x -> x: s := 0
  x -> x: r := [s]",
    );
}

#[test]
fn slips_are_refused_with_a_place() {
    for (text, expected) in [
        ("", "1:1 `` a program without threads"),
        ("thred t", "1:1 `thred` unexpected `thred` (did you mean `thread`?)"),
        (
            "#comment",
            "1:1 `#comment` unexpected `#comment` (put a space after the `#` of a comment)",
        ),
        ("thread", "1:7 `` the text ends here"),
        ("thread t\ninitial q\n", "2:10 `` thread `t` is not ended"),
        (
            "thread t end",
            "1:8 `t` thread `t` has no initial state (name the state in which it starts: `initial q0`)",
        ),
        (
            "thread t initial q thread u initial q end",
            "1:20 `thread` `thread` inside thread `t` (end thread `t` with `end` first)",
        ),
        ("thread t initial q end thread t initial q end", "1:31 `t` a second thread `t`"),
        ("memory_size x", "1:13 `x` `x` is not a number of memory cells"),
        ("memory_size 1 memory_size 2", "1:15 `memory_size 2` a second `memory_size`"),
        (
            "thread a initial x final x end thread b initial x end",
            "1:39 `b` thread `b` has no final state (the goal is that all threads are in their final states; name a state for each thread or for none)",
        ),
    ] {
        check_refused(text, expected);
    }
}

#[test]
fn slips_in_threads_are_refused_with_a_place() {
    for (lines, expected) in [
        ("initial r", "3:9 `r` a second `initial` state `r` (the first is `q`)"),
        ("final q\nfinal r", "4:7 `r` a second `final` state `r` (the first is `q`)"),
        (
            "transiton q q noop",
            "3:1 `transiton` unexpected `transiton` (did you mean `transition`?)",
        ),
        ("#x", "3:1 `#x` unexpected `#x` (put a space after the `#` of a comment)"),
        (
            "transition q q wirte 1 0",
            "3:16 `wirte` unknown instruction `wirte` (did you mean `write`?)",
        ),
        (
            "transition q q cas 1 2 3",
            "3:16 `cas` unknown instruction `cas` (write an atomic update as `lock`, `read`, `write` and `unlock`)",
        ),
        (
            "transition q q write 1abc 0",
            "3:22 `1abc` `1abc` is not a number (names of registers do not start with a digit; Trencher reads this as 1)",
        ),
        (
            "transition q q read -1x 0",
            "3:21 `-1x` `-1x` is not a number (names of registers do not start with a digit; Trencher reads this as -1)",
        ),
        (
            "transition q q write 2147483648 0",
            "3:22 `2147483648` `2147483648` does not fit in 32 bits",
        ),
        ("transition q q check = r 0", "3:22 `=` unknown operator `=` (did you mean `==`?)"),
        ("transition q q check !r", "3:22 `!r` `!r` is not a register (put a space after `!`)"),
        ("transition q q read 5 0", "3:21 `5` `5` is not a register"),
        ("transition q q read + 0", "3:21 `+` `+` is not a register"),
        ("transition q q local r / 1 0", "3:28 `0` `/` by the constant 0"),
        ("transition q q local r % 1 - 3 3", "3:28 `- 3 3` `%` by the constant 0"),
        ("transition q q local r ^ 2 s", "3:28 `s` the exponent `s`"),
        ("transition q q local r ^ 2 65", "3:28 `65` the exponent `65`"),
        (
            "transition q q local r ^ ^ ^ 2 64 64 64",
            "3:26 `^ ^ 2 64 64` an expression with more than 4096 parts",
        ),
        (
            "transition q q write 1\ntransition q q noop",
            "4:1 `transition` `transition` where an address after the value is missing (the line before lacks an operand; a name like this may not start a line)",
        ),
        ("transition q q read r 0 1", "3:25 `1` unexpected `1`"),
    ] {
        check_refused(&thread(lines), expected);
    }
    let deep = thread(&format!("transition q q check {} 1", "! ".repeat(300)));
    check_refused(&deep, "3:424 `!` an expression that is nested more than 200 deep");
}

#[test]
fn what_may_surprise_is_a_warning() {
    check_warnings(
        "memory_size 3 thread t initial q0 final qf
transition q q check flg
transition q q read flag 0 end",
        &[
            "1:1 `memory_size 3` `memory_size` has no effect (every address exists here and starts at 0)",
            "1:32 `q0` no transition leaves the initial state `q0`",
            "1:41 `qf` no transition enters the final state `qf`",
            "2:22 `flg` register `flg` of thread `t` is never assigned (it is always 0)",
        ],
    );
    for text in CORPUS {
        check_warnings(text, &[]);
    }
}

#[test]
fn a_division_that_may_fault_is_left_to_the_machine() {
    check(
        &thread("transition q q local r / 1 r"),
        "
t at q r=0
  q -> q: r := (1 / r)",
    );
}

#[test]
fn printing_keeps_the_tree() {
    for text in CORPUS.iter().chain([&EVERYTHING]) {
        TRENCHER.accept(text);
    }
}

#[test]
fn spans_cover_whole_transitions() {
    let text = thread("transition q q\n write + 1 r 0 # end\ntransition q q noop");
    let found = spans(&text, &TRENCHER.accept(&text).program);
    assert_eq!(found, ["transition q q\n write + 1 r 0", "transition q q noop"]);
}

#[test]
fn broken_texts_never_panic() {
    let mut texts = CORPUS.to_vec();
    texts.push(EVERYTHING);
    for_each_mutation(&texts, &[], 9000, |text| drop(TRENCHER.read(text)));
}
