//! `--set`: values from outside.

mod common;

use std::path::Path;

use common::registry;
use shot::{Error, Reader, Shot};

const SHOT: &str = r#"# a flag
[input]
sample = "flag"

[[layer]]
kind = "lag"          # swings
name = "flag"
frequency = 2.0       # per second

[[layer]]
kind = "smooth"
"#;

fn read(settings: &[&str]) -> Result<Shot, Error> {
    let reader = settings.iter().fold(Reader::new(registry()), |reader, setting| reader.set(*setting));
    reader.parse("flag.toml", SHOT, Path::new(""))
}

fn refusal(setting: &str) -> String {
    match read(&[setting]).map(|_| ()) {
        Err(error) => format!(
            "{error}; {}",
            miette::Diagnostic::help(&error).map(|h| h.to_string()).unwrap_or_default()
        ),
        Ok(()) => panic!("{setting} was accepted"),
    }
}

#[test]
fn values_are_set_by_name_by_number_and_by_kind() {
    let shot = read(&[
        "layer.flag.frequency=3.5",
        "layer[0].material=silk",
        "layer.flag.follow.group=hoist",
        "layer.smooth.window = 0.1",
        "input.frames=0-4",
        "output.files=[\"a.pc2\"]",
        "layer.flag.strength=0.5",
    ])
    .unwrap();
    assert_eq!(shot.layers[0].settings["frequency"], 3.5);
    assert_eq!(shot.layers[0].settings["material"], "silk");
    assert_eq!(shot.layers[0].settings["follow"]["group"], "hoist");
    assert_eq!(shot.layers[0].strength, 0.5);
    assert_eq!(shot.layers[1].settings["window"], 0.1);
    assert_eq!(shot.input.frames.map(|frames| frames.last), Some(4));
    assert_eq!(shot.output.files.as_deref(), Some(&["a.pc2".into()][..]));
    assert!(shot.text().starts_with("# a flag"), "comments stay: {}", shot.text());
    assert!(shot.text().contains("frequency = 3.5       # per second"), "{}", shot.text());
}

#[test]
fn layers_written_inline_are_found_too() {
    let text = "input = { sample = 'flag' }\nlayer = [{ kind = 'lag', frequency = 2.0 }, { kind = 'smooth' }] # two\noutput = { report = false }";
    let reader = Reader::new(registry()).set("layer.lag.frequency=3.5").set("layer[1].window=0.1");
    let shot = reader.parse("flag.toml", text, Path::new("")).unwrap();
    assert_eq!(shot.layers[0].settings["frequency"], 3.5);
    assert_eq!(shot.layers[1].settings["window"], 0.1);
    assert!(!shot.output.report);
}

/// Lists of tables on one line are reached as those with headers are: items by number, keys that are left out too.
#[test]
fn items_of_inline_lists_are_set() {
    let text = "input = { sample = 'flag', add = [{ sample = 'flag', name = 'a', offset = [0.0, 0.0, 0.0] }] }\nlayer = [{ kind = 'lag' }]\n";
    let read = |setting: &str| {
        let reader = Reader::new(registry()).set(setting);
        reader.parse("flag.toml", text, Path::new("")).map(|shot| shot.text().to_owned())
    };
    for (setting, written) in [
        ("input.add[0].name=b", "name = \"b\""),
        ("input.add[0].offset[1]=2.0", "offset = [0.0, 2.0, 0.0]"),
        ("input.add[0].scale=3.0", "scale = 3.0"),
    ] {
        let text = read(setting).unwrap();
        assert!(text.contains(written), "{setting}: {text}");
    }
    let refused = |setting: &str| read(setting).unwrap_err().to_string();
    assert!(refused("input.add[1].name=b").contains("`input.add` has 1 items, counted from 0, and no `1`"));
    assert!(refused("input.add[0].name.x=b").contains("`input.add.0.name` is a string, not a table"));
}

#[test]
fn paths_that_do_not_exist_are_named() {
    assert_eq!(
        refusal("layer.flga.frequency=1"),
        "--set layer.flga.frequency=1: there is no layer `flga`; did you mean `flag`? There are `flag` and `smooth`"
    );
    assert_eq!(
        refusal("layer[2].window=1"),
        "--set layer[2].window=1: there is no layer `2`; there are 2, counted from 0"
    );
    assert!(refusal("layr.flag.frequency=1").contains("did you mean `layer`?"));
    assert!(refusal("layer.flag.frequency").contains("there is no `=`"));
    assert!(
        refusal("layer.flag=1").contains("is a list of tables") || refusal("layer.flag=1").contains("table")
    );
    assert!(refusal("layer.flag.frequency.x=1").contains("not a table"));
    assert!(refusal("=1").contains("no path"));
    // misspelt at the end: the same words as for a key in the file
    let Err(Error::Invalid(found)) = read(&["layer.flag.frequncy=3"]) else { panic!() };
    assert_eq!(found.0[0].message(), "`layer[0]` has no key `frequncy`");
    assert!(found.0[0].file().ends_with("with --set"));
    let Err(Error::Invalid(found)) = read(&["layer.flag.wind.speed=5"]) else { panic!() };
    assert_eq!(found.0[0].message(), "`layer[0]` has no key `wind`");
}
