//! The `.weak` language.
