//! The book says what the code says.

mod glossary;
mod lists;
mod page;
mod readmes;
mod sections;
mod tables;
mod walk;

use std::path::Path;

use page::Page;

/// Tables between `<!-- … -->` and `<!-- end -->` are what the code says; `BOOK_WRITE=1` writes them.
#[test]
fn tables_are_what_the_code_says() {
    let write = std::env::var_os("BOOK_WRITE").is_some();
    let mut seen = sections::Seen::default();
    for page in Page::all() {
        let fresh = page.with_sections(|name| sections::section(name, &mut seen));
        if write && fresh != page.text {
            std::fs::write(page.full_path(), &fresh).unwrap();
        } else if let Some((old, new)) = page.text.lines().zip(fresh.lines()).find(|(old, new)| old != new) {
            panic!(
                "{} is stale; run `BOOK_WRITE=1 cargo test -p handbook --test book` and look at the difference:\n- {old}\n+ {new}",
                page.path
            );
        } else {
            assert_eq!(page.text, fresh, "{} is stale; run it with BOOK_WRITE=1", page.path);
        }
    }
    seen.check();
}

/// A block in TOML with an `[input]` is a whole shot: it is read, and checked against its input where that is a sample. Other
/// blocks are parts of one, and their keys are read; what belongs to no table belongs to a cloth.
#[test]
fn shots_can_be_read_and_whole_ones_baked() {
    let mut whole = 0;
    for page in Page::all() {
        for (line, block) in page.blocks("toml") {
            let is_whole = block.contains("[input]");
            let text = match (is_whole, block.starts_with('[')) {
                (true, _) => block,
                (false, true) => format!("[input]\nsample = \"flag\"\n{block}"),
                (false, false) => format!("[input]\nsample = \"flag\"\n[[layer]]\nkind = \"cloth\"\n{block}"),
            };
            let shot =
                followthrough::parse(&text).unwrap_or_else(|error| panic!("{}:{line}: {error:?}", page.path));
            if is_whole && (shot.input.sample.is_some() || shot.input.duration.is_some()) {
                let mistakes: Vec<String> = shot.check().iter().map(ToString::to_string).collect();
                assert!(mistakes.is_empty(), "{}:{line}: {mistakes:?}", page.path);
                whole += 1;
            }
        }
    }
    assert!(whole >= 4, "the book shows {whole} whole shots");
}

#[test]
fn links_lead_somewhere() {
    let pages = Page::all();
    let mut links = 0;
    for page in &pages {
        for (line, link) in page.links() {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(&page.path).parent().unwrap();
            let target = if path.is_empty() { page.path.clone() } else { page::join(folder, path) };
            assert!(page::root().join(&target).exists(), "{}:{line}: there is no {target}", page.path);
            if !anchor.is_empty() {
                let anchors = pages.iter().find(|page| page.path == target).map(Page::anchors);
                let found = anchors.is_some_and(|anchors| anchors.iter().any(|known| known == anchor));
                assert!(found, "{}:{line}: {target} has no heading #{anchor}", page.path);
            }
            links += 1;
        }
    }
    assert!(links > 30, "only {links} links were found");
}

/// A fence without a language would be compiled as Rust; a page that the library does not list would not be compiled.
#[test]
fn every_block_names_its_language_and_every_page_is_compiled() {
    let library = std::fs::read_to_string(page::root().join("crates/handbook/src/lib.rs")).unwrap();
    for page in Page::all() {
        assert!(library.contains(&format!("\"{}\"", page.path)), "{} is not in handbook's list", page.path);
        for (line, language) in page.languages() {
            // those of Python are run by the tests of its package
            let known = ["rust", "toml", "sh", "text", "json", "csv", "python"].contains(&language.as_str());
            assert!(known, "{}:{line}: a block of `{language}`", page.path);
        }
    }
}

/// Every page can be found from the table of contents, and every picture is shown somewhere.
#[test]
fn nothing_is_lost() {
    let pages = Page::all();
    let all: Vec<String> = pages
        .iter()
        .flat_map(|page| {
            let folder = Path::new(&page.path).parent().unwrap();
            page.links().into_iter().map(move |(_, link)| page::join(folder, link.split('#').next().unwrap()))
        })
        .collect();
    let contents = pages.iter().find(|page| page.path == "docs/README.md").unwrap();
    let listed: Vec<String> =
        contents.links().into_iter().map(|(_, link)| page::join(Path::new("docs"), &link)).collect();
    for page in pages.iter().filter(|page| page.path != "docs/README.md") {
        assert!(listed.contains(&page.path), "docs/README.md does not list {}", page.path);
    }
    for picture in std::fs::read_dir(page::root().join("docs/images")).into_iter().flatten().flatten() {
        let path = format!("docs/images/{}", picture.file_name().to_string_lossy());
        let readme = std::fs::read_to_string(page::root().join("README.md")).unwrap_or_default();
        assert!(all.contains(&path) || readme.contains(&path), "{path} is shown nowhere");
    }
}
