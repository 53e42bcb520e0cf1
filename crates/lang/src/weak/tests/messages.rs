//! Every refusal with its place, message and help.
use super::read;
#[test]
fn dummy() { let _ = read(""); }
