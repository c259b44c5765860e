//! The book's keeper: no code, only tests that hold the pages in `docs/`, README.md and CONTRIBUTING.md to what the code says.
//!
//! Every Rust block of a page is compiled and run as a doc test, from here; `tests/book` does the rest: tables are what the
//! code says, shots can be baked, links lead somewhere, and the lists of crates and dependencies are complete.
//!
//! ```sh
//! BOOK_WRITE=1 cargo test -p handbook --test book    # writes the tables anew
//! ```

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        $(#[cfg(doctest)] #[doc = include_str!(concat!("../../../", $path))] struct $name;)*
    };
}

pages! {
    Readme: "README.md",
    Contributing: "CONTRIBUTING.md",
    Benches: "benches/README.md",
    Contents: "docs/README.md",
    Architecture: "docs/architecture.md",
    Concepts: "docs/concepts.md",
    Contact: "docs/contact.md",
    Dependencies: "docs/dependencies.md",
    Dress: "docs/dress.md",
    Formats: "docs/formats.md",
    Glossary: "docs/glossary.md",
    ShotFile: "docs/shot-file.md",
    Live: "docs/live.md",
    TetMeshing: "docs/tet-meshing.md",
    Blender: "docs/blender.md",
    Python: "docs/python.md",
    Trust: "docs/trust.md",
    Wedge: "docs/wedge.md",
    WalkOfAFrame: "docs/walk-of-a-frame.md",
    LayerBlend: "docs/layers/blend.md",
    LayerCloth: "docs/layers/cloth.md",
    LayerSmoke: "docs/layers/smoke.md",
    LayerEnrich: "docs/layers/enrich.md",
    LayerInextensible: "docs/layers/inextensible.md",
    LayerMotion: "docs/layers/motion.md",
    LayerSkeleton: "docs/layers/skeleton.md",
    LayerMorph: "docs/layers/morph.md",
    LayerSmooth: "docs/layers/smooth.md",
    LayerTracks: "docs/layers/tracks.md",
    LayerUpsample: "docs/layers/upsample.md",
}
