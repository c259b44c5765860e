//! What a layer reads is part of what its frames are stored under.

mod common;

use std::fs;

use common::reader;
use shot::{BakeOptions, Context};

#[test]
fn a_file_of_weights_is_part_of_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[input]\nsample = \"flag\"\nframes = \"0-1\"\n[[layer]]\nkind = \"cloth\"\nfollow = { file = \"weights.json\" }\n[output]\nfiles = []\nreport = false\n";
    let path = folder.path().join("shot.toml");
    fs::write(&path, text).unwrap();
    let points = samples::flag().meshes[0].point_count();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let bake = |weight: &str| {
        fs::write(folder.path().join("weights.json"), format!("[{}]", vec![weight; points].join(",")))
            .unwrap();
        reader().read(&path).unwrap().bake(&options, &Context::SILENT).unwrap().layers[0].baked
    };
    assert_eq!([bake("1"), bake("1"), bake("0.5"), bake("1")], [2, 0, 2, 0]);
}
