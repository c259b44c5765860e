//! Reads a file and writes it in another format: `cargo run -p followthrough-clip --example convert -- in.gltf out.glb [in out …]`.

#![allow(clippy::print_stdout)] // an example talks

use clip::{ReadOptions, WriteOptions, read, write};

fn main() -> clip::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks_exact(2) {
        let clip = read(&pair[0], &ReadOptions::default())?;
        let written = write(&pair[1], &clip, &WriteOptions::default())?;
        println!("{}: {} frames, {} bytes", written.files[0].display(), written.frames, written.bytes);
    }
    Ok(())
}
