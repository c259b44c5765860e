//! Secondary motion for an animated surface: fit, simulate, carry the detail over.
//!
//! A frame goes through four hands: the fit gives tets that follow the animation; the engine moves the tets that are not held, and lets the
//! blending force draw them back; the surface follows its tets; and what the tets cannot represent, the difference between the
//! animation and its fit, is turned with each tet and added. Where the artist says *follow*, nothing of this is used: the output is
//! the input's own numbers.

mod averages;
mod detail;
mod drive;
mod flesh;
mod gravity;
mod pose;
mod settings;

use std::sync::Arc;

use dynamics::{Actor, Body, ContactModel, DeliveredSurface, Effort, Scene, State, Window};
use geometry::{Embedding, TetMesh, Vec3};
use linear::ConstraintRows;

use crate::{Error, Fitted, Solid, WeightKey};

pub use averages::{complementary_rows, surface_rows};
pub use flesh::FleshActor;
pub use pose::Pose;
pub use settings::EnrichSettings;

/// A surface in its tets.
#[derive(Clone, Debug)]
pub struct EmbeddedSurface<'a> {
    /// The tets at rest.
    pub mesh: &'a TetMesh,
    /// Where the surface is in them.
    pub embedding: &'a Embedding,
    /// What each vertex weighs in the fit, usually its area; zero where there is no animation.
    pub areas: &'a [f64],
}

/// Weighted averages that follow the animation; see [`crate::complementary_rows`] and [`crate::surface_rows`].
#[derive(Clone, Debug)]
pub struct AverageRows {
    /// Over the tets' points.
    pub rows: ConstraintRows,
    /// Over the surface's vertices, where the averages are those of the animation itself and not of its fit.
    pub surface_rows: Option<ConstraintRows>,
    /// What each is called.
    pub names: Vec<String>,
}

/// A surface that is enriched frame by frame: a [`FleshActor`] in a scene of its own.
pub struct Enrich {
    scene: Scene<FleshActor>,
    frame_rate_hz: f64,
    pre_roll: f64,
}

/// What a frame took and how it went.
#[derive(Clone, Debug, Default)]
pub struct Enriched {
    /// Every vertex of the surface.
    pub positions: Vec<Vec3>,
    /// Which of them follow the animation exactly: there the caller should use its own numbers, to the bit.
    pub exact: Vec<bool>,
    /// The fit that was made in this frame: of the frame after.
    pub fitted: Fitted,
    /// What the simulation took.
    pub effort: Effort,
    /// True where no step could be solved and the tets were put back on the animation.
    pub reset: bool,
}

impl Enrich {
    /// Prepares a surface, as [`FleshActor::new`] does.
    pub fn new(
        surface: &EmbeddedSurface,
        solid: Solid,
        keys: Vec<WeightKey>,
        points: Option<Vec<WeightKey>>,
        averages: Option<AverageRows>,
        settings: EnrichSettings,
    ) -> Result<Self, Error> {
        let (stepping, frame_rate_hz) = (settings.stepping.clone(), settings.frame_rate_hz);
        let pre_roll = if settings.simulate { settings.pre_roll } else { 0.0 };
        let (actor, body) = FleshActor::new(surface, solid, keys, points, averages, settings)?;
        let scene = Scene::new(vec![(Box::new(actor), body)], surface.mesh.points(), stepping)?;
        Ok(Self { scene, frame_rate_hz, pre_roll })
    }

    /// The first frame: fits it and the second, and lets the tets settle if asked to.
    pub fn begin(&mut self, first: &[Vec3], second: Option<&[Vec3]>) -> Result<Enriched, Error> {
        let window = self.window(0, first, second);
        self.scene.begin(std::slice::from_ref(&window), self.pre_roll > 0.0)?;
        let reset = self.scene.pre_roll(self.pre_roll, self.frame_rate_hz, &mut |scene, _| {
            scene.stand_still(1.0 / self.frame_rate_hz, None)
        })?;
        Ok(self.finish(&window, Effort::default(), reset))
    }

    /// Frame `index` from the one before; `surface` is the animation there, `next` the frame after it, if there is one.
    pub fn frame(
        &mut self,
        index: usize,
        surface: &[Vec3],
        next: Option<&[Vec3]>,
    ) -> Result<Enriched, Error> {
        self.frame_with_contact(index, surface, next, None)
    }

    /// [`Enrich::frame`] where there is something that the flesh may not pass through.
    pub fn frame_with_contact(
        &mut self,
        index: usize,
        surface: &[Vec3],
        next: Option<&[Vec3]>,
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Enriched, Error> {
        let window = self.window(index, surface, next);
        let advanced = self.scene.frame(std::slice::from_ref(&window), contact)?;
        Ok(self.finish(&window, advanced.effort, advanced.reset))
    }

    fn window(&self, index: usize, surface: &[Vec3], next: Option<&[Vec3]>) -> Window {
        let frames = [None, None, Some(surface.into()), next.map(Arc::from)];
        Window::new(index, self.frame_rate_hz, frames)
    }

    fn finish(&self, window: &Window, effort: Effort, reset: bool) -> Enriched {
        let DeliveredSurface { positions, exact } = self.flesh().deliver(&self.scene.state, window);
        Enriched { positions, exact, fitted: *self.flesh().fitted(), effort, reset }
    }

    /// The flesh.
    pub fn flesh(&self) -> &FleshActor {
        self.scene.actor(0)
    }

    /// Where the tets are.
    pub fn state(&self) -> &State {
        &self.scene.state
    }

    /// All that the next frame depends on.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.scene.to_bytes()
    }

    /// Goes on from there; false where the bytes are not those of this surface.
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        self.scene.restore(bytes)
    }

    /// What the engine moves.
    pub fn body(&self) -> &Body {
        self.scene.body()
    }

    /// Kinetic and elastic energy, in J.
    pub fn energies(&self) -> [f64; 2] {
        self.scene.energies()
    }

    /// Solvers of the simulation and of the fit.
    pub fn solver_info(&self) -> [linear::Info; 2] {
        [self.scene.solver_info(), self.flesh().fit_solver_info()]
    }
}
