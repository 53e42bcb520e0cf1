//! The README tells the truth.

use crate::{root, run};

/// The picture at the top is what its command prints, but for the time.
#[test]
fn the_picture_is_real() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let args = ["litmus", "--model", "tso", "--show", "corpus/litmus/SB.litmus"];
    assert!(readme.contains(&format!("$ weakspot {}", args.join(" "))));
    let quick = format!("cargo run --profile quick --no-default-features -q -- {}", args.join(" "));
    assert!(readme.contains(&quick));
    let ran = run(&args, "");
    assert_eq!(ran.code, Some(0));
    let untimed = |text: &str| -> Vec<String> {
        text.lines().filter(|l| !l.starts_with("Time ")).map(str::to_owned).collect()
    };
    let printed = untimed(ran.out.trim_end()).join("\n");
    assert!(untimed(&readme).join("\n").contains(&printed), "README.md shows something else");
}

/// The program that the README tells users to write gets the answers that it promises.
#[test]
fn the_example_program_is_real() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let program = readme
        .split("```")
        .find(|block| block.contains("shared x = 0, y = 0"))
        .expect("a .weak program");
    let ask = |text: &str, model: &str| {
        run(&["reach", "--input-format", "weak", "--model", model, "-"], text).code
    };
    assert_eq!(ask(program, "sc"), Some(0));
    assert_eq!(ask(program, "tso"), Some(1));
    let fixed = program.replace("    x = 1\n", "    x = 1; fence\n");
    let fixed = fixed.replace("    y = 1\n", "    y = 1; fence\n");
    assert_ne!(fixed, program);
    assert_eq!(ask(&fixed, "sc,tso,pso"), Some(0));
}
