//! Strangers' files at the door: what they name outside their folder is not read, and said so.

use crate::program::Place;

/// A triangle whose buffer and picture are called so.
fn triangle(buffer: &str, image: &str) -> String {
    format!(
        "{{'asset':{{'version':'2.0'}},'nodes':[{{'mesh':0}}],'scenes':[{{'nodes':[0]}}],'images':[{{'uri':'{image}'}}],\
         'textures':[{{'source':0}}],'materials':[{{'pbrMetallicRoughness':{{'baseColorTexture':{{'index':0}}}}}}],\
         'meshes':[{{'primitives':[{{'attributes':{{'POSITION':0}},'material':0}}]}}],\
         'accessors':[{{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}}],\
         'bufferViews':[{{'buffer':0,'byteLength':36}}],'buffers':[{{'uri':'{buffer}','byteLength':36}}]}}"
    )
    .replace('\'', "\"")
}

const BUFFER: &str = "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA";

#[test]
fn what_a_file_names_outside_its_folder_is_refused_with_the_remedy() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).expect("a folder");
    place.write("secret.txt", "root:x:0:0");
    place.write("in/a.gltf", &triangle(BUFFER, "../secret.txt"));
    for arguments in [
        &["convert", "in/a.gltf", "out.glb"][..],
        &["info", "in/a.gltf"],
        &["render", "in/a.gltf", "out.png"],
        &["compare", "in/a.gltf", "sample:flag"],
        &["tetmesh", "in/a.gltf"],
    ] {
        let run = place.expect(1, arguments);
        assert!(
            run.stderr.contains("secret.txt") && run.stderr.contains("--allow-outside"),
            "{}",
            run.stderr
        );
    }
    assert!(!place.path("out.glb").exists());
    // trusted, the file is read; but a text is still no picture
    let run = place.expect(0, &["convert", "in/a.gltf", "out.glb", "--allow-outside"]);
    assert!(run.stderr.contains("left out"), "{}", run.stderr);
    assert!(!place.read("out.glb").windows(10).any(|window| window == b"root:x:0:0"));
    let info = place.json(&["info", "in/a.gltf", "--allow-outside", "--json"]);
    assert_eq!(info["problems"][0]["severity"], "warning");
}

#[cfg(unix)]
#[test]
fn devices_are_not_read() {
    let place = Place::new();
    place.write("a.gltf", &triangle("/dev/zero", "a.png"));
    let run = place.expect(1, &["info", "a.gltf"]);
    assert!(run.stderr.contains("absolute path"), "{}", run.stderr);
    let run = place.expect(1, &["info", "a.gltf", "--allow-outside"]);
    assert!(run.stderr.contains("a device"), "{}", run.stderr);
    let run = place.expect(1, &["info", "/dev/zero"]);
    assert!(run.stderr.contains("a device"), "{}", run.stderr);
}

#[test]
fn info_reads_tets() {
    let place = Place::new();
    place.write(
        "a.veg",
        "*VERTICES\n5 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0 0 -1\n*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n2 1 2 3 5\n\
         *SET upper\n1\n*MATERIAL hard\nENU, 1000, 1e7, 0.45\n*REGION\nupper, hard\n",
    );
    let info = place.json(&["info", "a.veg", "--json"]);
    assert_eq!((&info["tets"], &info["points"], &info["format"]), (&2.into(), &5.into(), &"veg".into()));
    assert_eq!(
        (&info["groups"][0]["name"], &info["groups"][0]["material"]["poisson"]),
        (&"upper".into(), &0.45.into())
    );
    let text = place.expect(0, &["info", "a.veg"]).stdout;
    assert!(text.contains("2 tets on 5 points") && text.contains("group upper: 1 tets of hard"), "{text}");
    place.write(
        "a.msh",
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n$Elements\n1\n\
         1 4 2 0 1 1 2 3 4\n$EndElements\n",
    );
    assert!(place.expect(0, &["info", "a.msh"]).stdout.contains("1 tets on 4 points"));
}

#[test]
fn texture_coordinates_that_are_missing_are_a_warning() {
    let place = Place::new();
    place.write("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/2 3/3\n");
    assert!(place.expect(0, &["info", "a.obj"]).stdout.contains("read without one"));
    let answer = place.json(&["convert", "a.obj", "b.obj", "--json"]);
    assert!(answer["warnings"][0].as_str().is_some_and(|words| words.contains("line 4")), "{answer}");
}

#[test]
fn names_do_not_speak_to_the_terminal() {
    // that answers hold no control characters is asserted of every run
    let place = Place::new();
    place.write("a.obj", "o \u{1b}[31mred\u{7}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    assert!(place.expect(0, &["info", "a.obj"]).stdout.contains("[31mred"));
    place.write("b.gltf", &triangle("\u{1b}[2J.bin", "a.png").replace('\u{1b}', "\\u001b"));
    place.expect(1, &["info", "b.gltf"]);
}
