//! Every mistake with its line, its column and what to write instead.

mod common;

use std::path::Path;

use common::registry;
use shot::{Diagnostic, Error, Reader};

/// Diagnostics of the file alone, or with its input when there are none.
fn mistakes(text: &str) -> Vec<Diagnostic> {
    match Reader::new(registry()).parse("test.toml", text, Path::new("")) {
        Ok(shot) => shot.check(),
        Err(Error::Invalid(mistakes)) => mistakes.0,
        Err(other) => panic!("{other}"),
    }
}

fn only(text: &str) -> Diagnostic {
    let found = mistakes(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].clone()
}

fn assert_mistake(text: &str, place: (usize, usize), excerpt: &str, message: &str, remedy: &str) {
    let mistake = only(text);
    assert_eq!((mistake.line(), mistake.column()), place, "{mistake:#?}");
    assert_eq!(mistake.excerpt(), excerpt);
    assert_eq!(mistake.message(), message);
    assert_eq!(mistake.remedy().unwrap_or(""), remedy);
}

const HEAD: &str = "[input]\nsample = \"flag\"\n\n[[layer]]\nkind = \"lag\"\n";

#[test]
fn unknown_keys_at_any_depth() {
    assert_mistake(
        "[inptu]\nsample = \"flag\"\n",
        (1, 2),
        "inptu",
        "the shot file has no key `inptu`",
        "did you mean `input`? There are `input`, `layer` and `output`",
    );
    assert_mistake(
        &format!("{HEAD}follow = {{ gruop = \"hoist\" }}\n"),
        (6, 12),
        "gruop",
        "`layer[0].follow` has no key `gruop`",
        "did you mean `group`?",
    );
    assert_mistake(
        &format!("{HEAD}\n  [layer.follow]\n  grp = 1\n"),
        (8, 3),
        "grp",
        "`layer[0].follow` has no key `grp`",
        "did you mean `group`?",
    );
}

#[test]
fn unknown_words() {
    assert_mistake(
        &HEAD.replace("\"lag\"", "\"lga\""),
        (5, 8),
        "\"lga\"",
        "there is no kind `lga`",
        "did you mean `lag`? There are `smooth` and `lag`",
    );
    assert_mistake(
        &format!("{HEAD}material = \"coton\"\n"),
        (6, 12),
        "\"coton\"",
        "`layer[0].material` cannot be `coton`",
        "did you mean `cotton`? There are `silk`, `cotton` and `denim`",
    );
    let mistake = only(&HEAD.replace("\"flag\"", "\"flg\""));
    assert_eq!((mistake.line(), mistake.message()), (2, "there is no sample `flg`"));
    assert!(mistake.remedy().unwrap().starts_with("did you mean `flag`?"));
}

#[test]
fn what_the_input_does_not_have() {
    let mistake = only(&format!("{HEAD}follow = {{ group = \"hoits\" }}\n"));
    assert_eq!((mistake.line(), mistake.column(), mistake.excerpt()), (6, 20, "\"hoits\""));
    assert_eq!(mistake.message(), "there is no vertex group `hoits`");
    assert!(mistake.remedy().unwrap().starts_with("did you mean `hoist`?"), "{:?}", mistake.remedy());

    let mistake = only(&format!("{HEAD}mesh = \"fleg\"\n"));
    assert_eq!((mistake.line(), mistake.message()), (6, "there is no mesh `fleg`"));
    let mistake = only("[input]\nsample = \"flag\"\nframes = \"0-100000\"\n");
    assert_eq!((mistake.line(), mistake.excerpt()), (3, "\"0-100000\""));
}

#[test]
fn wrong_types_and_values_out_of_range() {
    let cases = [
        (
            "frequency = \"2\"",
            "\"2\"",
            "`layer[0].frequency` must be a number, but is text",
            "remove the quotes",
        ),
        ("frequency = 0", "0", "`layer[0].frequency` must be greater than 0", ""),
        ("frequency = -1.5", "-1.5", "`layer[0].frequency` must be greater than 0", ""),
        ("frequency = nan", "nan", "`layer[0].frequency` is not a finite number", ""),
        ("frequency = 1e999", "1e999", "`layer[0].frequency` is not a finite number", ""),
        ("strength = 1.1", "1.1", "`layer[0].strength` must be at most 1", ""),
        ("enabled = 1", "1", "`layer[0].enabled` must be `true` or `false`, but is a number", ""),
        ("follow = \"hoist\"", "\"hoist\"", "`layer[0].follow` must be a table, but is text", ""),
        ("break_at = 1.5", "1.5", "`layer[0].break_at` must be a whole number, but is a number", ""),
    ];
    for (line, excerpt, message, remedy) in cases {
        let column = line.find(excerpt).unwrap() + 1;
        assert_mistake(&format!("{HEAD}{line}\n"), (6, column), excerpt, message, remedy);
    }
    let mistake = only("[input]\nfile = \"a.glb\"\nframe_rate = -24\n");
    assert_eq!((mistake.line(), mistake.message()), (3, "`input.frame_rate` must be at least 0.01"));
    let mistake = only("[input]\nfile = \"a.glb\"\nframes = \"9-3\"\n");
    assert_eq!((mistake.line(), mistake.message()), (3, "`input.frames`: frames 9-3 end before they begin"));
}

#[test]
fn missing_things() {
    let mistake = only("[[layer]]\nkind = \"lag\"\n");
    assert_eq!(mistake.message(), "the shot needs an `input`");
    let mistake = only("[input]\nsample = \"flag\"\n\n[[layer]]\nname = \"x\"\n");
    assert_eq!((mistake.line(), mistake.message()), (4, "`layer[0]` needs a `kind`"));
    let mistake = only("[input]\nframes = \"0-3\"\n");
    assert_eq!(
        (mistake.line(), mistake.message()),
        (1, "the input needs a `file`, a `sample` or a `duration`")
    );
    let mistake = only("[input]\nsample = \"flag\"\nfile = \"a.glb\"\n");
    assert_eq!((mistake.line(), mistake.message()), (2, "the input has both a `file` and a `sample`"));
    let mistake = only("[input]\nsample = \"flag\"\nunit = 0.01\n");
    assert_eq!((mistake.line(), mistake.message()), (3, "`unit` is about files, but the input is a sample"));
}

#[test]
fn files_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flag.obj"), "").unwrap();
    let path = folder.path().join("shot.toml");
    std::fs::write(&path, "[input]\nfile = \"flga.obj\"\n[output]\nfiles = [\"a.glb\", \"b.glc\"]\n")
        .unwrap();
    let found = shot::check(&path, &Reader::new(registry())).unwrap();
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!((found[0].line(), found[0].column()), (2, 8));
    assert_eq!(found[0].remedy(), Some("did you mean `flag.obj`?"));
    assert_eq!((found[1].line(), found[1].excerpt()), (4, "\"b.glc\""));
    assert!(found[1].remedy().unwrap().starts_with("did you mean `glb`?"));

    let error = Reader::new(registry()).read(folder.path().join("none.toml")).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

#[test]
fn all_mistakes_come_in_one_go_and_in_order() {
    let text = "[input]\nsampel = \"flag\"\n\n[[layer]]\nkind = \"lag\"\nfrequncy = 3\nmaterial = 5\n\n[[layer]]\nkind = \"smoth\"\n\n[output]\nfile = []\n";
    let lines: Vec<usize> = mistakes(text).iter().map(Diagnostic::line).collect();
    assert_eq!(lines, [2, 6, 7, 10, 13]);
    let names = "[input]\nsample = \"flag\"\n[[layer]]\nkind = \"lag\"\nname = \"a\"\n[[layer]]\nkind = \"lag\"\nname = \"a\"\n";
    let mistake = only(names);
    assert_eq!((mistake.line(), mistake.message()), (8, "two layers are called `a`"));
}

#[test]
fn the_line_is_drawn_and_underlined() {
    let text = format!("{HEAD}materal = \"cotton\"\n");
    let Err(error) = Reader::new(registry()).parse("flag.toml", &text, Path::new("")) else { panic!() };
    let mut drawn = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor());
    handler.render_report(&mut drawn, &error).unwrap();
    assert!(drawn.contains("there is a mistake in flag.toml"), "{drawn}");
    assert!(drawn.contains("6 │ materal = \"cotton\""), "{drawn}");
    assert!(drawn.contains("did you mean `material`?"), "{drawn}");
    assert!(drawn.contains("flag.toml:6:1"), "{drawn}");
}

proptest::proptest! {
    /// Whatever is written in a file, reading it answers and does not panic, and every place lies in the text.
    #[test]
    fn any_text_gets_an_answer(text in "(\\[|\\]|input|layer|kind|lag|sample|flag|follow|=|\"|\n|\\{|\\}|[0-9]|\\.|,| |#|'|-|nan|ü){0,40}") {
        if let Err(Error::Invalid(found)) = Reader::new(registry()).parse("t.toml", &text, Path::new("")) {
            for mistake in &found.0 {
                proptest::prop_assert!(mistake.line() <= text.lines().count() + 1);
            }
        }
    }
}
