//! What moves flesh: a player with its fixed steps, or the engine.

use character::{Error, Flesh, Kit, Nonlinear, Player};
use dynamics::{ContactModel, Effort};
use geometry::Vec3;
use glam::Mat4;
use solid::Law;

use super::Solution;
use super::touch::Touch;

pub(super) enum Mover {
    Player(Box<Player>),
    Engine(Box<Nonlinear>),
}

impl Mover {
    /// In steps of `step` seconds, where it takes fixed ones.
    pub(super) fn new(flesh: &Flesh, method: Solution, step: f64) -> Result<Self, Error> {
        match method.in_real_time() {
            Some(method) => Ok(Self::Player(Box::new(Player::new(Kit::new(flesh, method, step)?)?))),
            None => Ok(Self::Engine(Box::new(Nonlinear::new(flesh, Law::NeoHookean, None)?))),
        }
    }

    /// Advances to a pose, `seconds` after `time`; what the engine needed for it.
    pub(super) fn step(
        &mut self,
        pose: &[Mat4],
        time: f64,
        seconds: f64,
        touch: Option<&mut Touch>,
    ) -> Result<Option<Effort>, Error> {
        match self {
            Self::Player(player) => player.step(pose, seconds).map(|()| None),
            Self::Engine(engine) => {
                engine.set_time(time);
                let Some(touch) = touch else { return engine.step(pose, seconds).map(Some) };
                let contact = &mut touch.collider.collision as &mut dyn ContactModel;
                let effort = engine.step_with_contact(pose, seconds, Some(contact))?;
                touch.touched().for_each(|point| engine.touch(point));
                Ok(Some(effort))
            }
        }
    }

    pub(super) fn cut_to(&mut self, pose: &[Mat4], velocity: Vec3) -> Result<(), Error> {
        match self {
            Self::Player(player) => player.cut_to(pose, velocity),
            Self::Engine(engine) => engine.cut_to(pose, velocity),
        }
    }

    pub(super) fn coefficients(&self) -> &[Vec3] {
        match self {
            Self::Player(player) => player.shown(),
            Self::Engine(engine) => engine.coefficients(),
        }
    }

    /// Which coefficients bones hold.
    pub(super) fn known(&self) -> &[bool] {
        match self {
            Self::Player(player) => player.known(),
            Self::Engine(engine) => engine.known(),
        }
    }

    /// Steps of a player so far.
    pub(super) fn steps(&self) -> u64 {
        match self {
            Self::Player(player) => player.steps(),
            Self::Engine(_) => 0,
        }
    }

    /// Steps so far in which flesh was held back.
    pub(super) fn held_back(&self) -> u64 {
        match self {
            Self::Player(player) => player.held_back(),
            Self::Engine(_) => 0,
        }
    }

    /// How many functions are switched on, where they come and go.
    pub(super) fn active_count(&self) -> Option<usize> {
        match self {
            Self::Player(player) => player.active().map(|_| player.active_count()),
            Self::Engine(engine) => {
                engine.active().map(|active| active.iter().filter(|active| **active).count())
            }
        }
    }

    pub(super) fn checkpoint(&self) -> Vec<u8> {
        match self {
            Self::Player(player) => player.checkpoint(),
            Self::Engine(engine) => engine.checkpoint(),
        }
    }

    pub(super) fn restore(&mut self, checkpoint: &[u8]) -> Result<(), Error> {
        match self {
            Self::Player(player) => player.restore(checkpoint),
            Self::Engine(engine) => engine.restore(checkpoint),
        }
    }
}
