//! Completions and man pages.

use crate::run;

#[test]
fn completions() {
    for (shell, part) in
        [("bash", "complete -F"), ("zsh", "#compdef weakspot"), ("fish", "complete -c")]
    {
        let ran = run(&["completions", shell], "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains(part) && ran.out.contains("litmus"), "{shell}: {}", ran.out);
    }
    assert_eq!(run(&["completions", "tea"], "").code, Some(2));
}

#[test]
fn man_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = run(&["man", folder.path().to_str().expect("UTF-8")], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    for name in ["weakspot.1", "weakspot-litmus.1", "weakspot-gen-history.1", "weakspot-run.1"] {
        let page = std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{name}: {page}");
    }
    assert!(!folder.path().join("weakspot-man.1").exists());
}
