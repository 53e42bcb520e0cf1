//! Threads that talk through pipes by functions that libc has above `read` and `write`.

use crate::real::run::{explore, two};

#[test]
fn what_is_sent_comes_before_what_follows_its_receipt() {
    let front = "#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/eventfd.h>
static int ends[2], event, data; static FILE *in, *out; static volatile int seen;";
    let pipe = "pipe(ends); in = fdopen(ends[0], \"r\"); out = fdopen(ends[1], \"w\");";
    let event = "event = eventfd(0, 0);";
    for (name, setup, send, receive) in [
        ("fgets", pipe, "fputs(\"a\\n\", out); fflush(out);", "char l[8]; fgets(l, 8, in);"),
        (
            "fread",
            pipe,
            "fwrite(\"abc\", 1, 3, out); fclose(out);",
            "char l[3]; fread(l, 1, 3, in);",
        ),
        (
            "fscanf",
            pipe,
            "fprintf(out, \"%d\\n\", 7); fflush(out);",
            "int i; fscanf(in, \"%d\", &i);",
        ),
        ("getc", pipe, "putc('a', out); fflush(out);", "getc(in);"),
        ("fgetc", pipe, "setbuf(out, 0); fputc('a', out);", "fgetc(in);"),
        (
            "getline",
            pipe,
            "fputs(\"ab\\n\", out); fclose(out);",
            "char *l = 0; size_t n = 0; getline(&l, &n, in);",
        ),
        ("dprintf", pipe, "dprintf(ends[1], \"a\");", "char c; read(ends[0], &c, 1);"),
        ("eventfd", event, "eventfd_write(event, 1);", "eventfd_t v; eventfd_read(event, &v);"),
    ] {
        let program = |first: &str| {
            let source = two(front, first, &format!("{receive} seen = data;"), "1");
            source.replace("pthread_t a, b;", &format!("pthread_t a, b; {setup}"))
        };
        let ordered = program(&format!("data = 1; {send}"));
        let (out, code) = explore(&format!("pipe_{name}"), &ordered, &["--model", "tso"]);
        assert_eq!(code, Some(0), "{name}: {out}");
        let racy = program(&format!("{send} data = 1;"));
        let (out, code) = explore(&format!("pipe_{name}_racy"), &racy, &["--model", "tso"]);
        assert_eq!(code, Some(1), "{name}: {out}");
        assert!(out.contains("data-race on data"), "{name}: {out}");
    }
}
