//! Parsing and printing are inverse.

use super::super::{parse, print};

/// Prints to `expected`, and that means the same.
fn check(text: &str, expected: &str) {
    let file = parse(text).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    let printed = print(&file);
    assert_eq!(printed, expected);
    assert_eq!(parse(&printed).unwrap_or_else(|e| panic!("{printed}\n{e:?}")), file, "{printed}");
}

#[test]
fn statements_get_lines_of_their_own() {
    check(
        "thread t[2]{var r=0,s;x=1;*p=2;a[i+1]=&x\nif(x==1){skip}else if(y){}\nelse{stop}
         while(x){break;continue}loop{fence;fence.ss};atomic{cas(x,0,1)};transaction{x=1}
         choose{assume(x)}\nor{assert(!x)}\nl:await(x);goto l;m:}",
        "thread t[2] {
    var r = 0, s
    x = 1
    *p = 2
    a[i + 1] = &x
    if (x == 1) {
        skip
    } else if (y) {} else {
        stop
    }
    while (x) {
        break
        continue
    }
    loop {
        fence
        fence.ss
    }
    atomic {
        cas(x, 0, 1)
    }
    transaction {
        x = 1
    }
    choose {
        assume(x)
    } or {
        assert(!x)
    }
    l: await (x)
    goto l
    m:
}
",
    );
}

#[test]
fn items() {
    check(
        "const N=2,M=N*2;shared x,y=1 in 0..1,a[N]={1,\n2},b[2]=choose(0..M)
         exists x==1\nforall(x==1)&&y\nnever((x))
         never at(t.l,p[0].m)\nnever two at p.cs\nnever at (t.l)\nobserve x,a[0],t.r,p[1].r",
        "const N = 2, M = N * 2
shared x, y = 1 in 0..1, a[N] = {1, 2}, b[2] = choose(0..M)
exists (x == 1)
forall (x == 1 && y)
never (x)
never at (t.l, p[0].m)
never two at p.cs
never at t.l
observe x, a[0], t.r, p[1].r
",
    );
}

#[test]
fn only_needed_parentheses_remain() {
    let pairs = [
        ("((a))+(b*c)", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)-d", "a - (b - c) - d"),
        ("(a<b)==(c<d)", "(a < b) == (c < d)"),
        ("a&&(b||c)&&!(d==1)", "a && (b || c) && !(d == 1)"),
        ("(a&1)==0|b<<2", "a & 1 == 0 | b << 2"),
        ("-(-1)- -a", "--1 - -a"),
        ("*(p+1)**p&&&x==q", "*(p + 1) * *p && &x == q"),
        ("~x%0x10", "~x % 16"),
        ("swap(*(p),fetch_add(a[0],-1))", "swap(*p, fetch_add(a[0], -1))"),
        ("cas(x\n,true,\nfalse)\n", "cas(x, true, false)"),
    ];
    for (text, expected) in pairs {
        check(&format!("exists {text}"), &format!("exists ({expected})\n"));
    }
}

#[test]
fn comments_and_empty_lines_stay() {
    check(
        "

// head

/* two
   lines */
shared x // behind


// before
thread t { // first
    // second
    x = // inside
        1 /* a */ ; // b

    l: // label
    /* c */ x = 2
    while (x) {
        // only a comment
    } // loop
    if (x) {} // gone to the front
    else { skip }
    // end of block

    // really
}
// tail",
        "// head

/* two
   lines */
shared x // behind

// before
thread t {
    // first
    // second
    // inside
    // a
    x = 1 // b

    l: // label
    /* c */
    x = 2
    while (x) {
        // only a comment
    } // loop
    if (x) {} else {
        // gone to the front
        skip
    }
    // end of block

    // really
}
// tail
"
        .replace("    // a\n", "    /* a */\n")
        .as_str(),
    );
}

#[test]
fn the_examples_of_the_page_are_in_canonical_form() {
    for example in super::page_examples() {
        // Comments that are aligned by hand are moved one space behind their statement.
        let tight: String = example.lines().map(|l| tighten(l) + "\n").collect();
        check(example, &tight);
    }
}

fn tighten(line: &str) -> String {
    match line.split_once(" //") {
        Some((code, comment)) if !code.trim().is_empty() => {
            format!("{} //{comment}", code.trim_end())
        }
        _ => line.to_owned(),
    }
}
