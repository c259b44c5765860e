//! A kit: what a player needs of a character, and its bytes.
//!
//! Bytes are little-endian: a magic word, a version, lists with their lengths in front, and a checksum of all before it. Nothing in
//! them is trusted: lengths are checked against what is left, indices against what they point into.

use std::sync::Arc;

use dynamics::{Mass, stiffness_damping};
use geometry::{Mat3, Prolongation, Vec3};
use glam::DAffine3;
use linear::{Matrix, Pattern};
use solid::Material;

use crate::Error;
use crate::adaptation::{Adaptation, Sensor, sensors};
use crate::bones::End;
use crate::corotated::Corotated;
use crate::flesh::{Driver, Flesh, Piece, region_joints};
use crate::frames::Frame;
use crate::limits::Limit;
use crate::region::Region;
use crate::regions::{Shares, cell_regions};
use crate::swing::reach;
use crate::unfold::{Guarded, guarded};

/// How flesh is solved for, with matrices that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// Every bone's surroundings in its own frame, then blended (skeleton §4.5).
    #[default]
    BlendedLinear,
    /// All at once in the frame of the first joint: right for small turns only.
    GlobalLinear,
    /// Every cell in a frame of its own, with volumes averaged over neighbours; the matrix stays the same.
    Corotated,
}

/// A character as a player needs it.
#[derive(Clone, Debug)]
pub struct Kit {
    pub(crate) joint_from_rest: Vec<DAffine3>,
    /// Coefficients at rest; those of level 0 come first.
    pub(crate) rest: Vec<Vec3>,
    pub(crate) level_zero: usize,
    pub(crate) drivers: Vec<Driver>,
    pub(crate) shares: Vec<Shares>,
    pub(crate) regions: Vec<Region>,
    pub(crate) surface: Prolongation,
    /// When finer functions come and go, and what judges it.
    pub(crate) adaptation: Option<Adaptation>,
    pub(crate) sensors: Vec<Sensor>,
    /// All flesh in frames of every cell's own, instead of regions.
    pub(crate) corotated: Option<Corotated>,
    /// The joints alone, on top of regions.
    pub(crate) joints: Option<Corotated>,
    /// Cones that free joints stay in.
    pub(crate) limits: Vec<Limit>,
    /// How far coefficients of level 0 may swing from where their bones would take them, in metres; empty: as far as they do.
    pub(crate) reach: Vec<f64>,
    /// Cells that are kept from turning inside out.
    pub(crate) guarded: Vec<Guarded>,
    pub(crate) step: f64,
    pub(crate) beta: f64,
    pub(crate) gravity: Vec3,
    joint_names: Vec<String>,
    meshes: Vec<(String, usize)>,
}

/// Steps shorter than this, in seconds, would keep a player busy for ever.
const LEAST_STEP: f64 = 1e-5;
const MAGIC: &[u8; 8] = b"flesh\0\0\x07";

impl Kit {
    /// What a player needs to move this flesh in steps of `step` seconds.
    pub fn new(flesh: &Flesh, method: Method, step: f64) -> Result<Self, Error> {
        if !(LEAST_STEP..=1.0).contains(&step) {
            return Err(Error::Range {
                what: "the step in seconds",
                value: step,
                range: "from a hundred-thousandth to 1",
            });
        }
        let levels = f64::from(flesh.settings.levels);
        if method == Method::Corotated && levels > 0.0 {
            // its matrix is turned function by function, and a coarse one stands for cells that are turned differently
            return Err(Error::Range {
                what: "the number of finer levels, in frames of every cell's own,",
                value: levels,
                range: "0",
            });
        }
        let regions = match method {
            Method::BlendedLinear => blended(flesh)?,
            Method::Corotated => Vec::new(),
            Method::GlobalLinear => {
                let all: Vec<&Piece> = flesh.pieces.iter().collect();
                let first = region_joints(&flesh.shares).first().copied().unwrap_or(0);
                vec![Region::new(flesh, first, &all, |_| 1.0)?]
            }
        };
        // a coarse function of several levels stands for cells that are turned differently
        let has_joints =
            method == Method::BlendedLinear && flesh.settings.joints && flesh.settings.levels == 0;
        let damping = flesh.settings.material.damping;
        // without finer functions there is nothing to switch
        let adaptation = flesh.settings.adaptation.clone().filter(|_| flesh.settings.levels > 0);
        Ok(Self {
            sensors: adaptation.as_ref().map_or_else(Vec::new, |adaptation| sensors(flesh, adaptation)),
            adaptation,
            corotated: (method == Method::Corotated).then(|| Corotated::new(flesh)).transpose()?,
            joints: if has_joints { Corotated::at_joints(flesh)? } else { None },
            joint_from_rest: flesh.joint_from_rest.clone(),
            rest: flesh.hierarchy.rest().to_vec(),
            level_zero: flesh.lattice.points().len(),
            drivers: flesh.drivers.clone(),
            shares: flesh.shares.clone(),
            regions,
            surface: flesh.surface.clone(),
            limits: flesh.limits.clone(),
            reach: if method == Method::BlendedLinear { reach(flesh) } else { Vec::new() },
            guarded: guarded(flesh),
            step,
            beta: stiffness_damping(damping, Material::DAMPING_REFERENCE_HZ),
            gravity: flesh.settings.gravity,
            joint_names: Vec::new(),
            meshes: Vec::new(),
        })
    }

    /// The same with names: of the joints in the order of a pose, and of the meshes whose points follow each other in the skin, each with
    /// its number of points.
    #[must_use]
    pub fn named(self, joint_names: Vec<String>, meshes: Vec<(String, usize)>) -> Self {
        Self { joint_names, meshes, ..self }
    }

    /// Names of the joints in the order of a pose; none where nobody gave them.
    pub fn joint_names(&self) -> &[String] {
        &self.joint_names
    }

    /// The meshes whose points follow each other in the skin: their names, and how many points each has.
    pub fn meshes(&self) -> &[(String, usize)] {
        &self.meshes
    }

    /// How many coefficients bones hold.
    pub fn known_count(&self) -> usize {
        self.drivers.len()
    }

    /// How many joints a pose has.
    pub fn joint_count(&self) -> usize {
        self.joint_from_rest.len()
    }

    /// How many points the skin has.
    pub fn point_count(&self) -> usize {
        self.surface.fine_count()
    }

    /// How many coefficients move, those that bones hold included.
    pub fn coefficient_count(&self) -> usize {
        self.rest.len()
    }

    /// How many regions.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// The length of a step, in seconds.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// All of it as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(MAGIC);
        out.numbers([self.step, self.beta].into_iter().chain(self.gravity.to_array()));
        out.list(&self.joint_from_rest, |out, joint| {
            out.numbers(joint.matrix3.to_cols_array().into_iter().chain(joint.translation.to_array()));
        });
        out.list(&self.joint_names, |out, name| out.text(name));
        out.list(&self.meshes, |out, (name, points)| {
            out.text(name);
            out.count(*points);
        });
        out.count(self.level_zero);
        out.list(&self.rest, |out, p| out.numbers(p.to_array()));
        out.list(&self.drivers, |out, driver| {
            out.count(driver.coefficient as usize);
            driver.ends.iter().for_each(|end| {
                out.count(end.joint);
                out.numbers(end.rest.to_array());
            });
            out.numbers([driver.along]);
        });
        let pairs = |out: &mut Writer, row: &Vec<(u32, f64)>| {
            out.list(row, |out, &(k, value)| {
                out.count(k as usize);
                out.numbers([value]);
            });
        };
        out.list(&self.shares, pairs);
        let adaptation =
            self.adaptation.iter().flat_map(|adaptation| [&adaptation.refine, &adaptation.coarsen]);
        out.list(&adaptation.collect::<Vec<_>>(), |out, list| out.list(list, |out, &x| out.numbers([x])));
        out.count(usize::from(self.adaptation.as_ref().is_some_and(|adaptation| adaptation.contact)));
        out.list(&self.sensors, |out, sensor| {
            out.count(sensor.level as usize);
            out.list(&sensor.gradient, |out, &(f, g)| {
                out.count(f as usize);
                out.numbers(g.to_array());
            });
            out.list(&sensor.functions, |out, &f| out.count(f as usize));
            out.count(usize::from(sensor.always));
        });
        out.list(self.corotated.as_slice(), |out, corotated| corotated.write(out));
        out.list(self.joints.as_slice(), |out, joints| joints.write(out));
        let rows: Vec<Vec<(u32, f64)>> =
            (0..self.surface.fine_count()).map(|p| self.surface.row(p).collect()).collect();
        out.list(&rows, pairs);
        out.list(&self.regions, write_region);
        out.list(&self.limits, |out, limit| {
            out.count(limit.joint as usize);
            out.numbers(limit.axis.to_array().into_iter().chain([limit.sine, limit.cosine]));
            pairs(out, &limit.row);
        });
        out.list(&self.reach, |out, &reach| out.numbers([reach]));
        out.list(&self.guarded, |out, cell| {
            cell.corners.iter().for_each(|&v| out.count(v as usize));
            out.numbers([cell.volume]);
        });
        out.finished()
    }

    /// The reverse of [`Kit::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Reader::whole(bytes, MAGIC, read)
    }
}

/// Coefficients of flesh that has followed its joints without any life of its own.
pub(crate) fn skinned(kit: &Kit, frames: &[Frame], coefficients: &mut [Vec3]) {
    for (f, (place, shares)) in coefficients.iter_mut().zip(&kit.shares).enumerate() {
        let rest = kit.rest[f];
        let moved = |&(joint, weight): &(u32, f64)| {
            weight * frames[joint as usize].world_from_rest.transform_point3(rest)
        };
        *place = if f < kit.level_zero { shares.iter().map(moved).sum() } else { Vec3::ZERO };
    }
    for driver in &kit.drivers {
        coefficients[driver.coefficient as usize] = driver.place(frames);
    }
}

pub(crate) fn write_region(out: &mut Writer, region: &Region) {
    out.count(region.joint as usize);
    out.list(&region.functions, |out, &f| out.count(f as usize));
    out.numbers(region.shares.iter().copied());
    out.numbers(region.mass.weights().iter().copied());
    let lower = |i: usize| region.mass.row(i).filter(move |(j, _)| *j as usize <= i);
    out.count(region.functions.len());
    for i in 0..region.functions.len() {
        out.list(&lower(i).collect::<Vec<_>>(), |out, &(k, value)| {
            out.count(k as usize);
            out.numbers([value]);
        });
    }
    let pattern = region.stiffness.pattern();
    let count = region.functions.len() as u32;
    let columns = |i: u32| (0..=i).filter_map(move |j| Some((j, pattern.slot(i, j)?)));
    for i in 0..count {
        let row: Vec<(u32, usize)> = columns(i).collect();
        out.list(&row, |out, &(j, slot)| {
            out.count(j as usize);
            out.numbers(region.stiffness.values()[slot].to_cols_array());
        });
    }
}

/// A region for every joint that has one, over the cells that lie in it whole.
fn blended(flesh: &Flesh) -> Result<Vec<Region>, Error> {
    let cells: Vec<Vec<u32>> =
        flesh.lattice.cells().iter().map(|cell| cell_regions(cell.corners(), &flesh.shares)).collect();
    let weight = |joint: u32, f: usize| {
        flesh.shares[f].iter().find(|share| share.0 == joint).map_or(0.0, |share| share.1)
    };
    let mut regions = Vec::new();
    for joint in region_joints(&flesh.shares) {
        let own: Vec<&Piece> =
            flesh.pieces.iter().filter(|piece| cells[piece.cell as usize].contains(&joint)).collect();
        if !own.is_empty() {
            regions.push(Region::new(flesh, joint, &own, |f| weight(joint, f))?);
        }
    }
    // finer functions may reach into cells whose region is not theirs: what is there sums to one
    let mut sums = vec![0.0; flesh.shares.len()];
    for region in &regions {
        region.functions.iter().zip(&region.shares).for_each(|(&f, share)| sums[f as usize] += share);
    }
    for region in &mut regions {
        let Region { functions, shares, .. } = region;
        functions
            .iter()
            .zip(shares)
            .for_each(|(&f, share)| *share /= sums[f as usize].max(f64::MIN_POSITIVE));
    }
    Ok(regions)
}

fn read(input: &mut Reader) -> Option<Kit> {
    let [step, beta, x, y, z] = input.numbers()?;
    let joint_from_rest = input.list(|input| {
        let matrix3 = Mat3::from_cols_array(&input.numbers()?);
        Some(DAffine3 { matrix3, translation: Vec3::from_array(input.numbers()?) })
    })?;
    let joint_names = input.list(Reader::text)?;
    let meshes = input.list(|input| Some((input.text()?, input.count()?)))?;
    let level_zero = input.count()?;
    let rest = input.list(|input| Some(Vec3::from_array(input.numbers()?)))?;
    let (joints, functions) = (joint_from_rest.len(), rest.len());
    let drivers = input.list(|input| {
        let coefficient = input.below(functions)? as u32;
        let mut end = || Some(End { joint: input.below(joints)?, rest: Vec3::from_array(input.numbers()?) });
        let ends = [end()?, end()?];
        let [along] = input.numbers()?;
        Some(Driver { coefficient, ends, along })
    })?;
    let shares = input.list(|input| input.pairs(joints))?;
    let mut thresholds = input.list(|input| input.list(|input| input.numbers().map(|[x]| x)))?.into_iter();
    let contact = input.below(2)? == 1;
    let thresholds = thresholds.next().zip(thresholds.next());
    let sensors = input.list(|input| {
        let level = input.count()? as u32;
        let gradient =
            input.list(|input| Some((input.below(functions)? as u32, Vec3::from_array(input.numbers()?))))?;
        let switched = input.list(|input| Some(input.below(functions)? as u32))?;
        let always = input.below(2)? == 1;
        Some(Sensor { level, gradient, functions: switched, always })
    })?;
    // what is always there is said by the sensors
    let joints_too = sensors.iter().any(|sensor| sensor.always);
    let adaptation = thresholds
        .map(|(refine, coarsen)| Adaptation { refine, coarsen, contact, joints: joints_too });
    let corotated = input.list(|input| Corotated::read(input, joints, functions))?.pop();
    let joint_cells = input.list(|input| Corotated::read(input, joints, functions))?.pop();
    let rows = input.list(|input| input.pairs(functions))?;
    let surface = Prolongation::new(functions, rows);
    let regions = input.list(|input| read_region(input, joints, functions))?;
    let limits = input.list(|input| {
        let joint = input.below(joints)? as u32;
        let [x, y, z, sine, cosine] = input.numbers()?;
        let row = input.pairs(functions)?;
        Some(Limit { joint, axis: Vec3::new(x, y, z), sine, cosine, row })
    })?;
    let reach = input.list(|input| input.numbers().map(|[reach]| reach))?;
    let guarded = input.list(|input| {
        let mut corners = [0; 4];
        for corner in &mut corners {
            *corner = input.below(functions)? as u32;
        }
        let [volume] = input.numbers()?;
        (volume > 0.0).then_some(Guarded { corners, volume })
    })?;
    let sound = level_zero <= functions
        && shares.len() == functions
        && (LEAST_STEP..=1.0).contains(&step)
        && beta >= 0.0;
    let sound = sound
        && adaptation.as_ref().is_none_or(Adaptation::is_sound)
        && (reach.is_empty() || reach.len() == level_zero)
        && reach.iter().all(|reach| *reach >= 0.0)
        && sensors.iter().all(|sensor| sensor.level > 0)
        && corotated.as_ref().is_none_or(|flesh| flesh.region.functions.len() == functions);
    sound.then_some(Kit {
        adaptation,
        sensors,
        corotated,
        joints: joint_cells,
        joint_from_rest,
        rest,
        level_zero,
        drivers,
        shares,
        regions,
        surface,
        limits,
        reach,
        guarded,
        step,
        beta,
        gravity: Vec3::new(x, y, z),
        joint_names,
        meshes,
    })
}

pub(crate) fn read_region(input: &mut Reader, joints: usize, functions: usize) -> Option<Region> {
    let joint = input.below(joints)? as u32;
    let functions = input.list(|input| Some(input.below(functions)? as u32))?;
    let count = functions.len();
    let (shares, weights) = (input.many(count)?, input.many(count)?);
    let rows = input.list(|input| input.pairs(count))?;
    if rows.len() != count {
        return None;
    }
    let entries =
        rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&(j, m)| (i as u32, j, m)));
    let mass = Mass::full(weights, entries.collect::<Vec<_>>());
    let mut blocks = Vec::new();
    for i in 0..count as u32 {
        let row = input
            .list(|input| Some((input.below(count)? as u32, Mat3::from_cols_array(&input.numbers()?))))?;
        blocks.extend(row.into_iter().map(|(j, block)| (i, j, block)));
    }
    let stencils: Vec<[u32; 2]> = blocks.iter().map(|&(i, j, _)| [i, j]).collect();
    let pattern = Pattern::from_stencils(count, stencils.iter().map(<[u32; 2]>::as_slice));
    let mut stiffness = Matrix::new(Arc::new(pattern));
    for (i, j, block) in blocks {
        stiffness.add(i, j, block);
    }
    Some(Region { joint, functions, shares, mass, stiffness })
}

pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins with a magic word, whose last byte is the version.
    pub(crate) fn new(magic: &[u8; 8]) -> Self {
        Self { bytes: magic.to_vec() }
    }

    /// All bytes, with their checksum.
    pub(crate) fn finished(mut self) -> Vec<u8> {
        let sum = checksum(&self.bytes);
        self.bytes.extend(sum.to_le_bytes());
        self.bytes
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.bytes.extend((count as u32).to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, numbers: impl IntoIterator<Item = f64>) {
        numbers.into_iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    pub(crate) fn singles(&mut self, numbers: &[f32]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }

    pub(crate) fn list<T>(&mut self, list: &[T], write: impl Fn(&mut Self, &T)) {
        self.count(list.len());
        list.iter().for_each(|item| write(self, item));
    }
}

pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// All of what a [`Writer`] with the same magic word has written.
    pub(crate) fn whole<T>(
        bytes: &'a [u8],
        magic: &[u8; 8],
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Result<T, Error> {
        let broken = |problem| Error::Packed { problem };
        let Some((body, sum)) = bytes.split_last_chunk::<8>() else {
            return Err(broken("there are too few of them"));
        };
        if !body.starts_with(&magic[..5]) {
            return Err(broken("they begin otherwise"));
        }
        if !body.starts_with(magic) {
            return Err(broken("they are of another version"));
        }
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(broken("they were cut short or changed"));
        }
        let mut input = Self { bytes: &body[magic.len()..] };
        let found = read(&mut input).ok_or(broken("a length or an index is wrong"))?;
        if input.bytes.is_empty() { Ok(found) } else { Err(broken("there are too many of them")) }
    }
}

impl Reader<'_> {
    /// So many numbers.
    pub(crate) fn many(&mut self, count: usize) -> Option<Vec<f64>> {
        // so many cannot be there: do not make room for them
        (count <= self.bytes.len() / 8).then_some(())?;
        (0..count).map(|_| self.numbers().map(|[number]| number)).collect()
    }

    /// So many numbers in single precision.
    pub(crate) fn singles(&mut self, count: usize) -> Option<Vec<f32>> {
        let (own, rest) = self.bytes.split_at_checked(count.checked_mul(4)?)?;
        self.bytes = rest;
        let numbers = own.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word));
        numbers.map(|number| number.is_finite().then_some(number)).collect()
    }

    pub(crate) fn count(&mut self) -> Option<usize> {
        let (word, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        Some(u32::from_le_bytes(*word) as usize)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let count = self.count()?;
        let (text, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    pub(crate) fn below(&mut self, limit: usize) -> Option<usize> {
        self.count().filter(|&index| index < limit)
    }

    pub(crate) fn numbers<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            let (word, rest) = self.bytes.split_first_chunk::<8>()?;
            self.bytes = rest;
            *number = f64::from_le_bytes(*word);
            if !number.is_finite() {
                return None;
            }
        }
        Some(numbers)
    }

    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        // every item takes four bytes at least
        let mut list = Vec::with_capacity(count.min(self.bytes.len() / 4));
        for _ in 0..count {
            list.push(item(self)?);
        }
        Some(list)
    }

    pub(crate) fn pairs(&mut self, limit: usize) -> Option<Vec<(u32, f64)>> {
        self.list(|input| {
            let index = input.below(limit)? as u32;
            let [value] = input.numbers()?;
            Some((index, value))
        })
    }
}

/// FNV-1a over eight bytes at a time: tells damage, no more.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
    sum ^ bytes.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Joint, Player, Settings, Skin};
    use geometry::{Random, TetMesh};
    use glam::Mat4;

    fn bytes() -> Vec<u8> {
        let bar = TetMesh::box_grid([4, 1, 1], Vec3::new(0.4, 0.1, 0.1)).unwrap();
        let (points, triangles) = (bar.points().to_vec(), bar.boundary_faces());
        let influences = points.iter().map(|p| vec![(u32::from(p.x > 0.2), 1.0)]).collect();
        let joint = |parent, x: f64| {
            let rest_from_joint = DAffine3::from_translation(Vec3::new(x, 0.05, 0.05));
            Joint { parent, rest_from_joint }
        };
        let joints = [joint(None, 0.02), joint(Some(0), 0.2)];
        let settings = Settings {
            cells: 20,
            levels: 1,
            adaptation: Some(Adaptation::default()),
            free: vec![1],
            limits: vec![(1, 0.3)],
            ..Settings::default()
        };
        let flesh = Flesh::new(&joints, Skin { points, triangles, influences }, settings).unwrap();
        assert_eq!(flesh.limits.len(), 1);
        Kit::new(&flesh, Method::BlendedLinear, 1.0 / 120.0).unwrap().to_bytes()
    }

    /// Bytes that somebody changed on purpose, so that the checksum fits: a sentence, or a player that can be stepped.
    #[test]
    fn changed_bytes_with_a_checksum_that_fits_do_not_break_a_player() {
        let sound = bytes();
        let body = sound.len() - 8;
        let mut random = Random::new(17);
        let mut number = move |below: usize| random.below(below);
        let (mut refused, mut played) = (0, 0);
        for _ in 0..400 {
            let mut changed = sound[..body].to_vec();
            for _ in 0..1 + number(3) {
                let at = MAGIC.len() + number(body - MAGIC.len());
                changed[at] = match number(4) {
                    0 => 0,
                    1 => 255,
                    _ => changed[at] ^ (1 << number(8)),
                };
            }
            if number(8) == 0 {
                changed.truncate(MAGIC.len() + number(body - MAGIC.len()));
            }
            let sum = checksum(&changed);
            changed.extend(sum.to_le_bytes());
            match Player::read(&changed) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
                Ok(mut player) => {
                    let pose = vec![Mat4::IDENTITY; player.kit().joint_count()];
                    for _ in 0..2 {
                        let _ = player.step(&pose, 1.0 / 60.0);
                    }
                    played += 1;
                }
            }
        }
        assert!(refused > 20 && played > 20, "{refused} {played}");
    }
}
