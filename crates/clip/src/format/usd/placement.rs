//! Where prims stand: transform stacks from the world inwards.

use glam::{DMat4, DQuat, DVec3};

use super::stage::{Prim, Stage};
use crate::Result;

/// How a prim gets into the world.
pub(super) struct Placement {
    /// From the outermost prim with a say to the prim itself.
    chain: Vec<usize>,
    /// The answer, when nothing in the chain moves.
    still: Option<DMat4>,
    /// Metres, Y up, from the layer's own unit and axes.
    world_from_stage: DMat4,
}

impl Placement {
    pub(super) fn new(stage: &Stage, prim: usize, world_from_stage: DMat4) -> Result<Self> {
        let mut chain = Vec::new();
        let mut moves = false;
        for index in stage.ancestors(prim) {
            let order = stage.words(&stage.prims[index], "xformOpOrder")?.unwrap_or_default();
            chain.push(index);
            moves |= stage.prims[index]
                .attributes
                .iter()
                .any(|(name, a)| name.starts_with("xformOp:") && a.moves());
            if order.iter().any(|op| op == "!resetXformStack!") {
                break;
            }
        }
        chain.reverse();
        let mut placement = Self { chain, still: None, world_from_stage };
        if !moves {
            placement.still = Some(placement.world_from_prim(stage, 0.0)?);
        }
        Ok(placement)
    }

    /// Whether the place is the same at all times.
    pub(super) fn still(&self) -> Option<DMat4> {
        self.still
    }

    pub(super) fn world_from_prim(&self, stage: &Stage, time: f64) -> Result<DMat4> {
        if let Some(still) = self.still {
            return Ok(still);
        }
        self.chain.iter().try_fold(self.world_from_stage, |world_from_parent, &prim| {
            Ok(world_from_parent * parent_from_prim(stage, &stage.prims[prim], time)?)
        })
    }
}

/// The product of a prim's operations, the first outermost.
fn parent_from_prim(stage: &Stage, prim: &Prim, time: f64) -> Result<DMat4> {
    let mut matrix = DMat4::IDENTITY;
    for op in stage.words(prim, "xformOpOrder")?.unwrap_or_default() {
        if op == "!resetXformStack!" {
            matrix = DMat4::IDENTITY;
            continue;
        }
        let (name, inverted) = match op.strip_prefix("!invert!") {
            Some(name) => (name, true),
            None => (op.as_str(), false),
        };
        let place = || format!("{}.{name}", prim.path);
        let numbers = stage.doubles_at(prim, name, time)?;
        let numbers = numbers.ok_or_else(|| stage.malformed(place(), "the operation has no value"))?;
        let kind = name.split(':').nth(1).unwrap_or_default();
        let step = operation(kind, &numbers).filter(DMat4::is_finite).ok_or_else(|| {
            stage.malformed(place(), format!("`{kind}` with {} numbers is no transform", numbers.len()))
        })?;
        matrix *= if inverted { step.inverse() } else { step };
    }
    Ok(matrix)
}

/// One operation; angles are in degrees.
fn operation(kind: &str, numbers: &[f64]) -> Option<DMat4> {
    let vector = || (numbers.len() == 3).then(|| DVec3::from_slice(numbers));
    let about = |axis: char, degrees: f64| match axis {
        'X' => DMat4::from_rotation_x(degrees.to_radians()),
        'Y' => DMat4::from_rotation_y(degrees.to_radians()),
        _ => DMat4::from_rotation_z(degrees.to_radians()),
    };
    match kind {
        "translate" => vector().map(DMat4::from_translation),
        "scale" => vector().map(DMat4::from_scale),
        "translateX" | "translateY" | "translateZ" | "scaleX" | "scaleY" | "scaleZ" => {
            let (&number, axis) = (numbers.first()?, "XYZ".find(kind.chars().last()?)?);
            let moved = kind.starts_with('t');
            let mut vector = if moved { DVec3::ZERO } else { DVec3::ONE };
            vector[axis] = number;
            Some(if moved { DMat4::from_translation(vector) } else { DMat4::from_scale(vector) })
        }
        "orient" if numbers.len() == 4 => {
            let quat = DQuat::from_slice(numbers);
            (quat.length_squared() > 0.0).then(|| DMat4::from_quat(quat.normalize()))
        }
        "transform" if numbers.len() == 16 => Some(DMat4::from_cols_slice(numbers)),
        _ => {
            let axes = kind.strip_prefix("rotate")?;
            if !axes.chars().all(|axis| "XYZ".contains(axis)) || axes.len() != numbers.len() {
                return None;
            }
            // rotateXYZ turns about x first
            match axes.len() {
                1 => Some(about(axes.chars().next()?, numbers[0])),
                3 => Some(axes.chars().fold(DMat4::IDENTITY, |matrix, axis| {
                    about(axis, numbers["XYZ".find(axis).unwrap_or(0)]) * matrix
                })),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_do_what_their_names_say() {
        let x = DVec3::X;
        let turned = operation("rotateXYZ", &[0.0, 0.0, 90.0]).unwrap().transform_point3(x);
        assert!(turned.distance(DVec3::Y) < 1e-12);
        // x first: z → −y, then about z: −y → x
        let turned = operation("rotateXYZ", &[90.0, 0.0, 90.0]).unwrap().transform_point3(DVec3::Z);
        assert!(turned.distance(x) < 1e-12, "{turned}");
        let turned = operation("rotateZXY", &[90.0, 0.0, 90.0]).unwrap().transform_point3(x);
        assert!(turned.distance(DVec3::Z) < 1e-12, "{turned}");
        assert_eq!(operation("translateY", &[2.0]).unwrap().transform_point3(x), DVec3::new(1.0, 2.0, 0.0));
        assert_eq!(
            operation("scale", &[2.0, 1.0, 1.0]).unwrap().transform_point3(x),
            DVec3::new(2.0, 0.0, 0.0)
        );
        assert!(operation("rotateXQ", &[1.0, 1.0]).is_none() && operation("scale", &[1.0]).is_none());
        assert!(operation("orient", &[0.0; 4]).is_none());
    }
}
