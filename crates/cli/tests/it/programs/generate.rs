//! `weakspot gen`.

use expect_test::expect;

use crate::printed::transcripts::check;
use crate::run;

#[test]
fn help() {
    check(
        &["help", "gen"],
        "",
        expect![[r#"
            Write inputs to try and to measure with

            Usage: weakspot gen <COMMAND>

            Commands:
              family   A member of a family of programs or litmus tests that grows with a number
              history  Histories of random clients on a memory, a machine or a cache coherence protocol
              litmus   A litmus test from a cycle of accesses, or all tests up to a size
              help     Print this message or the help of the given subcommand(s)

            Options:
              -h, --help  Print help
            --- exit 0
        "#]],
    );
    check(
        &["help", "gen", "family"],
        "",
        expect![[r#"
            Example:
              weakspot gen family lamport --size 4 -o lamport-4.weak
              weakspot gen family diamond --size 50 --format trencher
              weakspot gen family loop --size 20 -o loop-20.c
              weakspot gen family --list

            A member of a family of programs or litmus tests that grows with a number

            Usage: weakspot gen family [OPTIONS] [NAME]

            Arguments:
              [NAME]  The family; --list tells which there are

            Options:
                  --size <N>           The size; each family has its own range and default
              -f, --format <LANGUAGE>  The language; by default what FILE ends in, else the first that the
                                       family comes in [possible values: weak, trencher, c, litmus]
              -o, --output <FILE>      Write to this file
                  --list               List the families with their sizes and languages
              -h, --help               Print help

            The text goes to standard output unless -o names a file.
            --- exit 0
        "#]],
    );
}

#[test]
fn the_list_of_families() {
    check(
        &["gen", "family", "--list"],
        "",
        expect![[r#"
            name        what it is                       languages            sizes  default
            lamport     Lamport's fast mutex, N threads  weak, trencher, c     2-64        3
            diamond     Dekker with an N-branching       weak, trencher, c  2-10000       10
                        diamond
            loop        loop of length N, twice          weak, trencher, c  2-10000        5
            fig12       safe, but it stores for ever     weak, trencher, c        -        -
            sb-all      SB all to all, N threads         litmus                 2-7        3
            corr        CoRR, N writers                  litmus                2-60        5
            locked-inc  LOCK INC, N threads              litmus                2-64        8
            sb-rounds   SB, N rounds                     litmus                 1-6        3
            try-lock    try-lock, N threads              litmus                2-60        3
            own-stores  a store each, N threads          litmus                2-64       20
            stores      N stores by one thread           litmus              1-1000       18
            one-place   N stores to one location         litmus              1-1000       18
            mp-behind   MP behind N stores               litmus              1-1000       20
            sb-behind   SB behind N stores each          litmus              1-1000       12
            --- exit 0
        "#]],
    );
}

#[test]
fn one_family_in_three_languages() {
    check(
        &["gen", "family", "lamport", "--size", "2"],
        "",
        expect![[r#"
        // Lamport's fast mutual exclusion (1987) for 2 threads, which call themselves 1 to 2; 0 is nobody.
        // Only the fast way in is there: a thread that has lost the race for x goes back to the start, and if
        // y still names it, it is stuck. Can all threads be in the critical section together?
        // Not under SC. Under TSO the looks at y overtake the stores to x.

        const N = 2
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

        never at (t[0].cs, t[1].cs)
        --- exit 0
    "#]],
    );
    check(
        &["gen", "family", "loop", "--size", "4", "--syntax", "trencher"],
        "",
        expect![[r#"
            # t1 stores 0, 1, ..., 3 to x, over and over, until it looks at y and finds it still 0.
            # t2 sets y, and then wants to see x fall from 1 to 0. Under SC x does not change any more by then.
            # Under TSO the looks of t2 overtake its store to y. But for x to fall, t1 has to go through its loop
            # and begin again.
            # x has address 100, y has 101.

            thread t1
            initial turn
            final goal
            transition turn store check < i 4
            transition store count write i 100
            transition count turn local i + i 1
            transition turn reset check == i 4
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
            --- exit 0
        "#]],
    );
    check(
        &["gen", "family", "diamond", "--size", "2", "--syntax", "c"],
        "",
        expect![[r#"
            /*
             * Dekker's flags: raise your own, then look at that of the other. In between, each thread adds one,
             * modulo 2, to a variable that nobody else uses, with one branch for each old value.
             * Can both threads find the flag of the other down? Not under SC; under TSO the load overtakes the
             * store.
             *
             * cbmc --mm tso FILE.c
             *
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
            #else
            /* Compiled, a thread gives up when an assumption fails. */
            #define ASSUME(condition) \
                do { \
                    if (!(condition)) \
                        return NULL; \
                } while (0)
            #endif

            static volatile int x, y, a, b;
            static volatile int goal[2];

            static void *t1(void *unused)
            {
                (void)unused;
                x = 1;
                switch (a) {
                case 0:
                    a = 1;
                    break;
                case 1:
                    a = 0;
                    break;
                default:
                    ASSUME(0);
                }
                ASSUME(y == 0);
                goal[0] = 1;
                return NULL;
            }

            static void *t2(void *unused)
            {
                (void)unused;
                y = 1;
                switch (b) {
                case 0:
                    b = 1;
                    break;
                case 1:
                    b = 0;
                    break;
                default:
                    ASSUME(0);
                }
                ASSUME(x == 0);
                goal[1] = 1;
                return NULL;
            }

            int main(void)
            {
                pthread_t id[2];
                pthread_create(&id[0], NULL, t1, (void *)(intptr_t)0);
                pthread_create(&id[1], NULL, t2, (void *)(intptr_t)0);
                pthread_join(id[0], NULL);
                pthread_join(id[1], NULL);
                assert(!(goal[0] && goal[1]));
                return 0;
            }
            --- exit 0
        "#]],
    );
}

#[test]
fn what_there_is_not() {
    check(
        &["gen", "family"],
        "",
        expect![[r#"
            --- standard error
            error: expected the NAME of a family, or --list
            --- exit 2
        "#]],
    );
    check(
        &["gen", "family", "lamprot"],
        "",
        expect![[r#"
        --- standard error
        error: invalid value 'lamprot' for '[NAME]'
          [possible values: lamport, diamond, loop, fig12, sb-all, corr, locked-inc, sb-rounds, try-lock, own-stores, stores, one-place, mp-behind, sb-behind]

          tip: a similar value exists: 'lamport'

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        &["gen", "family", "lamport", "--size", "65"],
        "",
        expect![[r#"
        --- standard error
        error: lamport takes a size from 2 to 64, not 65
        --- exit 2
    "#]],
    );
    check(
        &["gen", "family", "fig12", "--size", "3"],
        "",
        expect![[r#"
        --- standard error
        error: fig12 has no size
        --- exit 2
    "#]],
    );
    check(
        &["gen", "family", "sb-all", "--syntax", "c"],
        "",
        expect![[r#"
        --- standard error
        error: sb-all is not written in c, but in litmus
        --- exit 2
    "#]],
    );
    check(
        &["gen", "family", "fig12", "-o", "/no/such/folder/f.weak"],
        "",
        expect![[r#"
            --- standard error
            error: failed to write /no/such/folder/f.weak: No such file or directory (os error 2)
            --- exit 2
        "#]],
    );
}

/// The ending of the file decides on the language, and what is written is what `reach` reads.
#[test]
fn the_ending_decides() {
    let name = |ending| {
        let name = format!("weakspot-family-{}.{ending}", std::process::id());
        std::env::temp_dir().join(name).to_str().expect("UTF-8").to_owned()
    };
    for (ending, start) in [("weak", "// "), ("txt", "# "), ("c", "/*")] {
        let file = name(ending);
        assert_eq!(run(&["gen", "family", "diamond", "-o", &file], "").code, Some(0));
        let text = std::fs::read_to_string(&file).expect("the file");
        assert!(text.starts_with(start), "{text}");
        if ending != "c" {
            assert_eq!(run(&["reach", "-q", "--model", "sc", &file], "").code, Some(0));
            assert_eq!(run(&["reach", "-q", "--model", "tso", &file], "").code, Some(1));
        }
        std::fs::remove_file(&file).expect("the file");
    }
}

/// What `gen history` writes is the same for the same seed, and has the shape that was asked for.
#[test]
fn histories() {
    let args = ["gen", "history", "--source", "mesi", "--operations", "30", "--cpus", "3"];
    let ran =
        run(&[&args[..], &["--count", "2", "--updates", "0.2", "--fences", "0.1"]].concat(), "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let again =
        run(&[&args[..], &["--count", "2", "--updates", "0.2", "--fences", "0.1"]].concat(), "");
    assert_eq!(ran.out, again.out);
    let histories: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(histories.len(), 2);
    for (history, id) in histories.iter().zip(["mesi-1", "mesi-2"]) {
        assert_eq!(history["id"], id);
        let threads = history["threads"].as_array().expect("threads");
        let lengths: Vec<usize> =
            threads.iter().map(|t| t.as_array().expect("operations").len()).collect();
        assert_eq!(lengths, [10, 10, 10]);
        let written: Vec<(String, i64)> = threads
            .iter()
            .flat_map(|t| t.as_array().expect("operations"))
            .filter_map(|op| {
                let value = op["new"].as_i64().or(op["val"].as_i64().filter(|_| op["kind"] == "w"));
                Some((op["var"].as_str()?.to_owned(), value?))
            })
            .collect();
        for (i, one) in written.iter().enumerate() {
            assert!(!written[i + 1..].contains(one), "{one:?} is written twice");
        }
    }
}

#[test]
fn histories_that_cannot_be() {
    check(
        &["gen", "history", "--source", "mi", "--bug", "lost-owner"],
        "",
        expect![[r#"
        --- standard error
        error: mi cannot have the bug lost-owner; it can have: stale-forward, dropped-writeback, early-ack, eviction-race, swapped-fill, late-writeback
        --- exit 2
    "#]],
    );
    check(
        &["gen", "history", "--source", "tso", "--store-buffer"],
        "",
        expect![[r#"
        --- standard error
        error: store buffers go before protocols, not before tso
        --- exit 2
    "#]],
    );
    check(
        &["gen", "history", "--source", "mi", "--cpus", "65"],
        "",
        expect![[r#"
        --- standard error
        error: mi takes at most 64 CPUs
        --- exit 2
    "#]],
    );
    check(
        &["gen", "history", "--cpus", "0"],
        "",
        expect![[r#"
        --- standard error
        error: a client has 1 to 65536 CPUs
        --- exit 2
    "#]],
    );
    check(
        &["gen", "history", "--read-ratio", "1.5"],
        "",
        expect![[r#"
        --- standard error
        error: read ratio, updates and fences are shares from 0 to 1, updates and fences together at most 1
        --- exit 2
    "#]],
    );
}

#[test]
fn sources() {
    check(
        &["gen", "history", "--list"],
        "",
        expect![[r#"
            source           what runs the client
            atomic           an atomic memory
            tso              a store buffer per CPU
            pso              a store buffer per CPU and variable
            mi               caches with a line in one of them at most, directory
            mesi             caches over a shared cache with a directory, over memory
            moesi-hammer     caches that are asked by broadcast
            moesi-directory  caches, directory that collects their answers

            bug                what goes wrong                 in
            lost-ack           a writer goes ahead although    mesi, moesi-hammer,
                               one acknowledgement is missing  moesi-directory
            store-in-shared    a store hits in a line that     mesi, moesi-hammer,
                               others share                    moesi-directory
            stale-forward      an owner hands on its line as   mi, mesi, moesi-hammer,
                               it was when it was filled       moesi-directory
            dropped-writeback  a writeback is acknowledged,    mi, mesi, moesi-hammer,
                               but its data is thrown away     moesi-directory
            early-ack          an invalidation is              mi, mesi, moesi-hammer,
                               acknowledged before it is done  moesi-directory
            forgotten-sharer   one of the sharers is not       mesi, moesi-hammer,
                               invalidated                     moesi-directory
            eviction-race      a request that meets a line on  mi, mesi, moesi-hammer,
                               its way out gets old data       moesi-directory
            swapped-fill       a store that waits for its      mi, mesi, moesi-hammer,
                               line is done before the line    moesi-directory
                               is filled
            late-writeback     a writeback of a cache that no  mi, mesi, moesi-hammer,
                               longer owns the line is taken   moesi-directory
            split-update       an atomic update reads before   mesi, moesi-hammer,
                               it owns the line                moesi-directory
            lost-owner         a dirty line is shared, and no  moesi-hammer, moesi-directory
                               cache stays its owner
            lost-copyback      what an owner copies back when  mesi
                               others read is thrown away
            --- exit 0
        "#]],
    );
    check(
        &["help", "gen", "history"],
        "",
        expect![[r#"
            Example:
              weakspot gen history --source tso --cpus 4 --operations 1000 -o tso.jsonl
              weakspot gen history --source mesi --bug lost-ack --count 100 > lost-ack.jsonl
              weakspot gen history --transactions tcc --operations 100000 -o tcc.plume
              weakspot gen history --list

            Histories of random clients on a memory, a machine or a cache coherence protocol

            Usage: weakspot gen history [OPTIONS]

            Options:
                  --source <SOURCE>
                      Who runs the clients; --list tells which there are [default: atomic]

                  --bug <NAME>
                      A bug in the protocol; --list tells which there are

                  --store-buffer
                      Put a store buffer between each CPU and its cache: histories become TSO instead of SC

                  --transactions <MODEL>
                      Transactions of a database that is read-committed (rc), transactional-causal (tcc) or
                      serializable (ser), and no more; CPUs are sessions

                  --transaction-size <N>
                      With --transactions: how many operations a transaction has on average [default: 5]

                  --cpus <N>
                      How many CPUs the clients have [default: 4]

                  --operations <N>
                      How many operations they do, all CPUs together [default: 500]

                  --variables <N>
                      How many variables the clients have [default: 10]

                  --read-ratio <SHARE>
                      The share of reads in plain accesses [default: 0.5]

                  --updates <SHARE>
                      The share of atomic updates in all operations [default: 0]

                  --fences <SHARE>
                      The share of full fences in all operations [default: 0]

                  --seed <N>
                      What the clients are made from [default: 1]

                  --count <N>
                      How many histories [default: 1]

              -f, --format <FORMAT>
                      The format; by default what FILE ends in, else JSON Lines

                      Possible values:
                      - text:       One event or operation per line, for people
                      - jsonl:      JSON Lines
                      - axe:        Histories of Axe
                      - dbcop:      Histories in the text of dbcop
                      - dbcop-json: Histories in the JSON of dbcop
                      - plume:      Histories of Plume, PolySI and AWDIT
                      - awdit:      Histories of AWDIT's tests

              -o, --output <FILE>
                      Write to this file

                  --list
                      List the sources and their bugs

              -h, --help
                      Print help (see a summary with '-h')

            JSON Lines, one history per line, to standard output unless -o names a file. Of
            each variable no value is written twice. History number i is that of the seed
            plus i; the same seed, the same history. With --transactions it is one history
            of a database, in the format of Plume unless FILE or --format says otherwise.
            --- exit 0
        "#]],
    );
    check(
        &["help", "record"],
        "",
        expect![[r#"
            Example:
              weakspot record --cpus 2 --operations 1000000 -o cpu.jsonl
              weakspot gen history --cpus 2 --count 1000 | weakspot record - > cpu.jsonl

            Record what threads on this very CPU read and write

            Usage: weakspot record [OPTIONS] [FILE]

            Arguments:
              [FILE]
                      Clients: histories in any format, `-` is standard input; without it, a random client

            Options:
                  --cpus <N>
                      How many threads the client has; by default one per processor, at least 2

                  --operations <N>
                      How many operations they do, all threads together [default: 1000000]

                  --variables <N>
                      How many variables the clients have [default: 10]

                  --read-ratio <SHARE>
                      The share of reads in plain accesses [default: 0.5]

                  --updates <SHARE>
                      The share of atomic updates in all operations [default: 0]

                  --fences <SHARE>
                      The share of full fences in all operations [default: 0]

                  --seed <N>
                      What the clients are made from [default: 1]

                  --packed
                      Variables side by side, not each on a cache line of its own

                  --input-format <FORMAT>
                      Read FILE as this format, whatever its ending

                      Possible values:
                      - text:       One event or operation per line, for people
                      - jsonl:      JSON Lines
                      - axe:        Histories of Axe
                      - dbcop:      Histories in the text of dbcop
                      - dbcop-json: Histories in the JSON of dbcop
                      - plume:      Histories of Plume, PolySI and AWDIT
                      - awdit:      Histories of AWDIT's tests
                      - edn:        Histories of Jepsen
                      - csv:        Logs of hardware in columns

              -f, --format <FORMAT>
                      The format; by default what the FILE of -o ends in, else JSON Lines

                      Possible values:
                      - text:       One event or operation per line, for people
                      - jsonl:      JSON Lines
                      - axe:        Histories of Axe
                      - dbcop:      Histories in the text of dbcop
                      - dbcop-json: Histories in the JSON of dbcop
                      - plume:      Histories of Plume, PolySI and AWDIT
                      - awdit:      Histories of AWDIT's tests

              -o, --output <FILE>
                      Write to this file

              -q, --quiet
                      Do not say how fast it was

              -h, --help
                      Print help (see a summary with '-h')

            Plain loads and stores for reads and writes, exchanges for updates, full fences
            for fences; one thread per CPU of the client, started together. The history is
            written as by `gen history`. Of the histories in FILE only the operations count,
            not what they read; each is run once.
            --- exit 0
        "#]],
    );
}

/// Real threads do what the clients of a file say; what they read is theirs.
#[test]
fn record() {
    let client =
        run(&["gen", "history", "--count", "2", "--operations", "50", "--updates", "0.2"], "");
    let ran = run(&["record", "-q", "-"], &client.out);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let shape = |text: &str| -> Vec<String> {
        let ops = text.split("{\"kind\":").skip(1);
        ops.map(|op| op.split(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).take(1).collect())
            .collect()
    };
    assert_eq!(shape(&ran.out), shape(&client.out));
    assert_eq!(ran.out.lines().count(), 2);
    let random = run(&["record", "--cpus", "2", "--operations", "1000", "--packed"], "");
    assert_eq!(random.code, Some(0));
    assert_eq!(random.out.matches("\"kind\"").count(), 1000);
    assert!(random.err.contains("1,000 operations"), "{}", random.err);
    check(
        &["record", "-"],
        "\n{\"threads\":[[{\"kind\":\"w\"}]]}\n",
        expect![[r#"
            --- standard error
            error: -:2:25: an operation without `var`
            --- exit 2
        "#]],
    );
    check(
        &["record", "-"],
        "{\"threads\":",
        expect![[r#"
            --- standard error
            error: -:1:12: expected `[`, the threads of a history, found the end of the text
            --- exit 2
        "#]],
    );
}

/// The ending of the output says the format.
#[test]
fn histories_as_text() {
    let folder = std::env::temp_dir().join(format!("weakspot-endings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| folder.join(name).display().to_string();
    let text = path("h.wshist");
    let ran = run(&["gen", "history", "--operations", "4", "--count", "2", "-o", &text], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let written = std::fs::read_to_string(&text).expect("a file");
    assert!(written.starts_with("history atomic-1\nt0: "), "{written}");
    let again = path("r.wshist");
    assert_eq!(run(&["record", "-q", &text, "-o", &again], "").code, Some(0));
    let written = std::fs::read_to_string(&again).expect("a file");
    assert!(written.starts_with("history atomic-1\nt0: "), "{written}");
    // One history has room there, and no two.
    let plume = path("h.plume");
    assert_eq!(run(&["gen", "history", "--count", "2", "-o", &plume], "").code, Some(2));
    assert_eq!(run(&["gen", "history", "-o", &path("h.edn")], "").code, Some(2));
    let _ = std::fs::remove_dir_all(folder);
}
