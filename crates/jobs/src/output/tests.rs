use std::fs;
use std::path::PathBuf;

use super::*;

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("weakspot-output-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_and_nothing_else() {
    let folder = folder("written");
    let path = folder.join("a.txt");
    write(&path, "one").expect("written");
    write(&path, "two").expect("written again");
    assert_eq!(fs::read_to_string(&path).expect("a file"), "two");
    assert_eq!(names(&folder), ["a.txt"]);
}

#[test]
fn a_file_that_is_not_finished_leaves_the_old_one() {
    let folder = folder("unfinished");
    let path = folder.join("a.txt");
    fs::write(&path, "old").expect("written");
    let mut file = NewFile::create(&path).expect("created");
    file.write_all(b"new").expect("written");
    file.flush().expect("flushed");
    assert_eq!(names(&folder).len(), 2);
    drop(file);
    assert_eq!(fs::read_to_string(&path).expect("a file"), "old");
    assert_eq!(names(&folder), ["a.txt"]);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("links");
    let (path, link) = (folder.join("a.sh"), folder.join("link"));
    fs::write(&path, "old").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).expect("allowed");
    symlink("a.sh", &link).expect("a link");
    write(&link, "new").expect("written");
    assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
    assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o751);
    assert!(link.is_symlink());
    let dangling = folder.join("dangling");
    symlink("b.txt", &dangling).expect("a link");
    write(&dangling, "b").expect("written");
    assert_eq!(fs::read_to_string(folder.join("b.txt")).expect("a file"), "b");
    assert!(dangling.is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_themselves() {
    write(Path::new("/dev/null"), "gone").expect("written");
    let error = write(Path::new("/dev/full"), "too much").expect_err("it is full");
    assert!(
        format!("{error:#}").starts_with("failed to write /dev/full: No space left"),
        "{error:#}"
    );
}

#[test]
fn errors_name_the_file() {
    let error = write(Path::new("/no/such/folder/a.txt"), "").expect_err("there is none");
    assert!(
        format!("{error:#}").starts_with("failed to write /no/such/folder/a.txt: "),
        "{error:#}"
    );
}
