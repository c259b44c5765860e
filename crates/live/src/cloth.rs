//! The whole of it: a frame of the game in, fine points and normals out.

use alloc::vec;
use alloc::vec::Vec;

use crate::collision::{Capsule, Plane};
use crate::file::Operator;
use crate::levels::{Level, levels};
use crate::operator::{Applied, Detail, Scratch};
use crate::rig::Skin;
use crate::surface::{Groups, vertex_normals, vertex_tangents};
use crate::vector::{length, lerp};
use crate::waves::Air;
use crate::{Error, Frame, Point, Simulator, Transform};

/// A cloth that lives: simulated coarse, shown fine.
#[derive(Clone, Debug)]
pub struct LiveCloth<B> {
    operator: Operator<B>,
    simulator: Simulator,
    /// How much of what was learnt is shown.
    pub detail: Detail,
    scratch: Scratch,
    /// The finest first.
    levels: Vec<Level>,
    /// Of the next frame, and of the last one.
    level: [usize; 2],
    attached: Vec<(u32, Skin, Point)>,
    groups: Groups,
    phases: Vec<f32>,
    air: Air,
    points: Vec<Point>,
    normals: Vec<Point>,
    applied: Applied,
}

/// Shown points stay this part of the coarse cloth's thickness away from bodies.
const SHOWN_THICKNESS: f32 = 0.5;

impl<B: AsRef<[u8]>> LiveCloth<B> {
    /// All that will ever be allocated is allocated here.
    pub fn new(operator: Operator<B>) -> Result<Self, Error> {
        let simulator = Simulator::new(&operator)?;
        let rest: Vec<Point> = operator.fine_rest().collect();
        let attached = operator.fine_skin().map(|(p, skin)| (p, skin, rest[p as usize])).collect();
        let triangles: Vec<[u32; 3]> = operator.fine_triangles().collect();
        Ok(Self {
            scratch: operator.scratch(),
            groups: Groups::new(&operator),
            phases: vec![0.0; operator.counts().modes],
            air: Air::default(),
            normals: vec![[0.0; 3]; rest.len()],
            points: rest,
            detail: Detail::default(),
            applied: Applied { distance: 0.0, shown: 0.0 },
            attached,
            levels: levels(operator.counts().fine, triangles),
            level: [0; 2],
            simulator,
            operator,
        })
    }

    /// Simulates up to the next frame and shows it. On an error nothing has changed.
    pub fn advance(&mut self, frame: &Frame<'_>) -> Result<(), Error> {
        self.simulator.advance(frame)?;
        let Self { operator, simulator, detail, scratch, points, phases, air, levels, level, .. } = self;
        let points = &mut points[..levels[level[0]].points];
        self.applied = operator.apply(simulator.points(), *detail, scratch, points)?;
        let (mean, speed) = air.follow(length(frame.wind.velocity), frame.seconds);
        operator.advance_waves(phases, mean, frame.seconds)?;
        self.finish(frame.skin, frame.planes, speed, None);
        Ok(())
    }

    /// Shows the fine cloth over coarse points of any origin: another engine's simulation, an animation. Bodies are those of the
    /// rig at `skin`, and `frame`'s; of time, only the waves know.
    pub fn show(&mut self, coarse: &[Point], frame: &Frame<'_>, bodies: &[Capsule]) -> Result<(), Error> {
        if !(frame.seconds.is_finite() && frame.seconds >= 0.0) {
            return Err(Error::OutOfRange { what: "seconds", value: frame.seconds });
        }
        if frame.skin.len() != self.operator.counts().joints {
            let (found, expected) = (frame.skin.len(), self.operator.counts().joints);
            return Err(Error::Count { what: "joint transforms", found, expected });
        }
        if let Some(&value) = frame.wind.velocity.iter().find(|x| !x.is_finite()) {
            return Err(Error::OutOfRange { what: "wind", value });
        }
        let Self { operator, detail, scratch, points, phases, air, levels, level, .. } = self;
        let points = &mut points[..levels[level[0]].points];
        self.applied = operator.apply(coarse, *detail, scratch, points)?;
        let (mean, speed) = air.follow(length(frame.wind.velocity), frame.seconds);
        operator.advance_waves(phases, mean, frame.seconds)?;
        self.finish(frame.skin, frame.planes, speed, Some(bodies));
        Ok(())
    }

    fn finish(&mut self, skin: &[Transform], planes: &[Plane], speed: f32, bodies: Option<&[Capsule]>) {
        let kernel = self.operator.kernel;
        self.level[1] = self.level[0];
        let Level { points: count, triangles } = &self.levels[self.level[1]];
        let points = &mut self.points[..*count];
        let normals = &mut self.normals[..*count];
        if !self.phases.is_empty() && speed > 0.0 {
            vertex_normals(kernel, points, triangles, normals);
            self.operator.add_waves(&self.phases, speed, normals, points);
        }
        let margin = SHOWN_THICKNESS * self.simulator.settings().thickness;
        let capsules = bodies.unwrap_or(self.simulator.capsules());
        self.groups.push_out(capsules, planes, margin, points);
        for (point, how, rest) in &self.attached {
            let Some(point) = points.get_mut(*point as usize) else { continue };
            *point = match how.attachment >= 1.0 {
                true => how.place(*rest, skin),
                false => lerp(*point, how.place(*rest, skin), how.attachment),
            };
        }
        vertex_normals(kernel, points, triangles, normals);
    }

    /// How many levels of detail there are: one more for every time that the mesh was cut finer, triangle by triangle; else one.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// From the next frame on, points, normals and triangles are those of another level: 0 is all of them, each further one about a quarter.
    /// What has been shown stays until then. The coarse cloth moves as ever, so levels change without a jump.
    pub fn set_level(&mut self, level: usize) -> Result<(), Error> {
        if level >= self.levels.len() {
            return Err(Error::TooMany { what: "levels", found: level + 1, most: self.levels.len() });
        }
        self.level[0] = level;
        Ok(())
    }

    /// Puts the cloth where skinning has it; the next frame begins there.
    pub fn reset(&mut self) {
        self.simulator.reset();
        self.phases.fill(0.0);
        self.air = Air::default();
    }

    /// The fine points of the last frame.
    pub fn points(&self) -> &[Point] {
        &self.points[..self.levels[self.level[1]].points]
    }

    /// Their normals, of length one.
    pub fn normals(&self) -> &[Point] {
        &self.normals[..self.levels[self.level[1]].points]
    }

    /// Tangents of the last frame for the game's texture coordinates, one pair for each shown point: see [`vertex_tangents`].
    pub fn tangents(&self, texture: &[[f32; 2]], tangents: &mut [[f32; 4]]) -> Result<(), Error> {
        let expected = self.points().len();
        for (what, found) in [("texture coordinates", texture.len()), ("tangents", tangents.len())] {
            if found != expected {
                return Err(Error::Count { what, found, expected });
            }
        }
        let kernel = self.operator.kernel;
        vertex_tangents(kernel, self.points(), self.triangles(), texture, self.normals(), tangents);
        Ok(())
    }

    /// Triangles of the fine mesh, at the level of the last frame.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.levels[self.level[1]].triangles
    }

    /// The coarse cloth.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// The operator it was made from.
    pub fn operator(&self) -> &Operator<B> {
        &self.operator
    }

    /// How far from what was learnt the last frame was, and how much of it was shown.
    pub fn applied(&self) -> Applied {
        self.applied
    }
}
