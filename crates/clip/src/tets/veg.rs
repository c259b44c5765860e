//! VegaFEM's `.veg`: sections that begin with a star, numbers from one (or from zero, when the first is zero).

use std::fmt::Write;
use std::path::Path;

use super::words::{Line, Lines};
use super::{Raw, TetGroup, TetMaterial, Tets};
use crate::format::AtomicFile;
use crate::{Error, Files, Result, Written};

/// How deep files may include each other.
const DEEPEST: usize = 4;
/// How many files may be included, so that a few that include each other twice each do not become very many.
const MOST_INCLUDED: usize = 1000;
/// What VegaFEM calls the set that every mesh has.
const ALL: &str = "allElements";

#[derive(Default)]
struct Found {
    files: Files,
    /// How many files were included.
    included: usize,
    raw: Raw,
    /// Number of the first point and of the first element, once seen.
    first_point: Option<u32>,
    first_tet: Option<u32>,
    /// Set name and its elements by the file's numbers.
    sets: Vec<(String, Vec<u32>)>,
    materials: Vec<TetMaterial>,
    /// Set name, material name.
    regions: Vec<[String; 2]>,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    None,
    Vertices,
    Elements,
    Hexahedra,
    Set,
    Material,
    Region,
}

pub(super) fn read(path: &Path, files: &Files) -> Result<Raw> {
    let mut found = Found { files: files.clone(), ..Found::default() };
    section_file(path, &mut found, &mut Section::None, &mut String::new(), 0)?;
    let Found { mut raw, first_point, first_tet, sets, materials, regions, .. } = found;
    let base = first_point.unwrap_or(1).min(1);
    for corner in raw.tets.iter_mut().flatten().chain(raw.hexes.iter_mut().flatten()) {
        // an index below the first becomes one past the last, which is refused later
        *corner = corner.checked_sub(base).unwrap_or(u32::MAX);
    }
    let base = first_tet.unwrap_or(1).min(1);
    let count = (raw.tets.len() + raw.hexes.len()) as u32;
    let elements = |name: &str| match sets.iter().find(|(set, _)| set == name) {
        Some((_, list)) => Some(list.iter().map(|&e| e.checked_sub(base).unwrap_or(u32::MAX)).collect()),
        None if name == ALL => Some((0..count).collect()),
        None => None,
    };
    for [set, material] in regions {
        let Some(tets) = elements(&set) else {
            let known = sets.iter().map(|(name, _)| name.clone());
            return Err(Error::no_such_name("set", &set, path.display().to_string(), known));
        };
        let material = materials.iter().find(|known| known.name == material).cloned();
        raw.groups.push(TetGroup { name: set, tets, material });
    }
    for (name, _) in &sets {
        if !raw.groups.iter().any(|group| group.name == *name) {
            let tets = elements(name).unwrap_or_default();
            raw.groups.push(TetGroup { name: name.clone(), tets, material: None });
        }
    }
    Ok(raw)
}

/// Reads one file, the main one or one that it includes, going on in the section that includes it.
fn section_file(
    path: &Path,
    found: &mut Found,
    section: &mut Section,
    name: &mut String,
    depth: usize,
) -> Result<()> {
    let bytes = found.files.read(path)?;
    let mut lines = Lines::new(path, &bytes, Some(b'#'));
    // an included file goes on with the lines of a section whose head has been read
    let mut head = false;
    while let Some(line) = lines.next() {
        let Some(keyword) = line.words[0].strip_prefix('*') else {
            body_line(&line, found, *section, name, &mut head)?;
            continue;
        };
        if keyword.eq_ignore_ascii_case("INCLUDE") {
            let file = line.words.get(1).ok_or_else(|| line.error("the file to include is missing"))?;
            if depth == DEEPEST {
                return Err(line.error("files include each other without end"));
            }
            found.included += 1;
            if found.included > MOST_INCLUDED {
                return Err(line.error(format!("more than {MOST_INCLUDED} files are included")));
            }
            let beside = found.files.beside(path, &format!("line {}", line.number), file)?;
            section_file(&beside, found, section, name, depth + 1)?;
            continue;
        }
        head = true;
        *name = line.words.get(1).copied().unwrap_or_default().to_owned();
        *section = match keyword.to_ascii_uppercase().as_str() {
            "VERTICES" => Section::Vertices,
            "ELEMENTS" => {
                // the kind may stand on the same line or on the next
                let kind = match line.words.get(1) {
                    Some(word) => (*word).to_owned(),
                    None => lines.need("the kind of elements")?.words[0].to_owned(),
                };
                match kind.to_ascii_uppercase().as_str() {
                    tets if tets.starts_with("TET") => Section::Elements,
                    "CUBIC" => Section::Hexahedra,
                    _ => {
                        let problem = format!("elements are `{kind}`; only TET and CUBIC are read");
                        return Err(line.error(problem));
                    }
                }
            }
            "SET" => {
                found.sets.push((name.clone(), Vec::new()));
                Section::Set
            }
            "MATERIAL" => Section::Material,
            "REGION" => Section::Region,
            other => return Err(line.error(format!("`*{other}` is not a section we know"))),
        };
    }
    Ok(())
}

fn body_line(line: &Line, found: &mut Found, section: Section, name: &str, head: &mut bool) -> Result<()> {
    match section {
        Section::None => return Err(line.error("a section such as *VERTICES was expected")),
        // the first line counts; what follows is what counts for us
        Section::Vertices | Section::Elements | Section::Hexahedra if std::mem::take(head) => {}
        Section::Vertices => {
            let number: u32 = line.number(0, "a vertex number")?;
            let first = *found.first_point.get_or_insert(number);
            in_order(line, number, first, found.raw.points.len())?;
            found.raw.points.push(line.point(1)?);
        }
        Section::Elements => {
            let number: u32 = line.number(0, "an element number")?;
            let first = *found.first_tet.get_or_insert(number);
            in_order(line, number, first, found.raw.tets.len())?;
            let mut tet = [0; 4];
            for (i, corner) in tet.iter_mut().enumerate() {
                *corner = line.number(i + 1, "a vertex number")?;
            }
            found.raw.tets.push(tet);
        }
        Section::Hexahedra => {
            let number: u32 = line.number(0, "an element number")?;
            let first = *found.first_tet.get_or_insert(number);
            in_order(line, number, first, found.raw.hexes.len())?;
            let mut hex = [0; 8];
            for (i, corner) in hex.iter_mut().enumerate() {
                *corner = line.number(i + 1, "a vertex number")?;
            }
            found.raw.hexes.push(hex);
        }
        Section::Set => {
            let Some((_, list)) = found.sets.last_mut() else { return Ok(()) };
            for i in 0..line.words.len() {
                list.push(line.number(i, "an element number")?);
            }
        }
        Section::Material => {
            // others than Young's modulus and Poisson's ratio are passed over
            if line.words[0].eq_ignore_ascii_case("ENU") {
                let number = |i: usize, what: &str| match line.number::<f64>(i, what)? {
                    number if number.is_finite() => Ok(number),
                    _ => Err(line.error(format!("{what} is not a finite number"))),
                };
                found.materials.push(TetMaterial {
                    name: name.to_owned(),
                    density: number(1, "a density")?,
                    young: number(2, "Young's modulus")?,
                    poisson: number(3, "Poisson's ratio")?,
                });
            }
        }
        Section::Region => {
            let [set, material] = line.words[..] else {
                return Err(line.error("a region needs the name of a set and that of a material"));
            };
            found.regions.push([set.to_owned(), material.to_owned()]);
        }
    }
    Ok(())
}

fn in_order(line: &Line, number: u32, first: u32, count: usize) -> Result<()> {
    if first > 1 || u64::from(number) != u64::from(first) + count as u64 {
        return Err(line.error(format!("number {number} is out of order")));
    }
    Ok(())
}

pub(super) fn write(path: &Path, tets: &Tets, unit_in_metres: f64) -> Result<Written> {
    let Tets { mesh, groups } = tets;
    let (points, elements) = (mesh.points(), mesh.tets());
    let mut text = format!(
        "# Vega mesh file, written by followthrough.\n# {} vertices, {} elements\n\n*VERTICES\n{} 3 0 0\n",
        points.len(),
        elements.len(),
        points.len()
    );
    // writing to a string cannot fail
    for (i, p) in points.iter().enumerate() {
        let p = *p / unit_in_metres;
        let _ = writeln!(text, "{} {} {} {}", i + 1, p.x, p.y, p.z);
    }
    let _ = write!(text, "\n*ELEMENTS\nTET\n{} 4 0\n", elements.len());
    for (i, [a, b, c, d]) in elements.iter().enumerate() {
        let _ = writeln!(text, "{} {} {} {} {}", i + 1, a + 1, b + 1, c + 1, d + 1);
    }
    let mut materials: Vec<&TetMaterial> = Vec::new();
    for material in groups.iter().filter_map(|group| group.material.as_ref()) {
        if !materials.iter().any(|known| known.name == material.name) {
            materials.push(material);
        }
    }
    let rubber = TetMaterial { name: "rubber".into(), density: 1000.0, young: 1e6, poisson: 0.45 };
    for TetMaterial { name, density, young, poisson } in
        if materials.is_empty() { vec![&rubber] } else { materials.clone() }
    {
        let _ = write!(text, "\n*MATERIAL {}\nENU, {density}, {young}, {poisson}\n", word(name));
    }
    for group in groups.iter().filter(|group| group.name != ALL) {
        let _ = writeln!(text, "\n*SET {}", word(&group.name));
        for row in group.tets.chunks(16) {
            let row: Vec<String> = row.iter().map(|tet| (tet + 1).to_string()).collect();
            let _ = writeln!(text, "{},", row.join(", "));
        }
    }
    if materials.is_empty() {
        let _ = write!(text, "\n*REGION\n{ALL}, {}\n", rubber.name);
    }
    for group in groups {
        if let Some(material) = &group.material {
            let _ = write!(text, "\n*REGION\n{}, {}\n", word(&group.name), word(&material.name));
        }
    }
    let mut file = AtomicFile::create(path)?;
    file.append(text.as_bytes())?;
    Ok(Written { files: vec![path.to_path_buf()], frames: 1, bytes: file.finish()?, ..Written::default() })
}

/// A name as one word, since names end at white space, commas and comments.
fn word(name: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || c == ',' || c == '#' { '_' } else { c };
    let word: String = name.chars().map(plain).collect();
    if word.is_empty() { "unnamed".into() } else { word }
}
