//! The followthrough binary.
fn main() {}
