//! A stiff pendulum, its period against the formula: `cargo run --release -p followthrough-dynamics --example pendulum`.
#![allow(clippy::print_stdout)]

use dynamics::{Block, Body, Element, Elements, Error, Settings, State, StaticGuide, Stepper};
use geometry::{Mat3, Vec3};

/// E = ½ k (‖x‖ − l)², a rod from the origin; k in N/m, l in m.
struct Rod {
    stiffness: f64,
    length: f64,
}

impl Element<1> for Rod {
    fn value(&self, x: &[Vec3; 1]) -> f64 {
        0.5 * self.stiffness * (x[0].length() - self.length).powi(2)
    }

    fn gradient(&self, x: &[Vec3; 1]) -> [Vec3; 1] {
        [self.stiffness * (x[0].length() - self.length) * x[0].normalize()]
    }

    fn hessian(&self, x: &[Vec3; 1]) -> Block<1> {
        let (r, n) = (x[0].length(), x[0].normalize());
        let along = Mat3::from_cols(n.x * n, n.y * n, n.z * n);
        let across = (Mat3::IDENTITY - along) * (1.0 - self.length / r);
        Block([[(along + across) * self.stiffness]])
    }
}

fn main() -> Result<(), Error> {
    let rod = Rod { stiffness: 1e5, length: 1.0 };
    let body =
        Body::builder(vec![1.0]).energy(Elements::new([([0], rod)])).gravity(-9.81 * Vec3::Y).build()?;
    let start = Vec3::new(0.1_f64.sin(), -(0.1_f64.cos()), 0.0);
    let mut state = State::at_rest(vec![start]);
    let guide = StaticGuide::new(state.positions.clone());
    let settings = Settings { tolerance: 1e-5, ..Settings::default() };
    let mut stepper = Stepper::new(&body, &[start, Vec3::ZERO], settings)?;
    // the first time it passes the middle is a quarter of the period
    let frame = 1.0 / 240.0;
    let (mut before, mut time) = (start.x, 0.0);
    loop {
        stepper.advance(&body, &mut state, &guide, frame, &mut [])?;
        let x = state.positions[0].x;
        if x <= 0.0 {
            let period = 4.0 * (time + frame * before / (before - x));
            // T = 2π √(l/g) (1 + θ²/16)
            let exact = std::f64::consts::TAU * (1.0 / 9.81_f64).sqrt() * (1.0 + 0.01 / 16.0);
            println!("period {period:.4} s, by the formula {exact:.4} s");
            return Ok(());
        }
        (before, time) = (x, time + frame);
    }
}
