//! Painted detail: from selectors of a training file to how little functions may vary in each triangle.

use clip::Selector;
use geometry::{Mat3, Vec3};
use shot::Diagnostic;

use crate::cloth::ClothError;
use crate::file::PaintedDetail;

/// How strongly each paint covers each point; `chosen` reads a selector that stands at a path.
pub(crate) fn brushes(
    paint: &[PaintedDetail],
    chosen: impl Fn(&Selector, &str) -> Result<Vec<f32>, ClothError>,
) -> Result<Vec<Vec<f32>>, ClothError> {
    let mut brushes = Vec::new();
    for (k, paint) in paint.iter().enumerate() {
        if paint.along.is_some_and(|along| Vec3::from(along).try_normalize().is_none()) {
            let path = format!("paint[{k}].along");
            return Err(ClothError::At(Diagnostic::new(path, "a way needs a direction")));
        }
        brushes.push(chosen(&paint.at, &format!("paint[{k}].at"))?);
    }
    Ok(brushes)
}

/// K of each triangle, if anything is painted.
pub(crate) fn conductances(
    paint: &[PaintedDetail],
    brushes: &[Vec<f32>],
    triangles: &[[u32; 3]],
) -> Option<Vec<Mat3>> {
    let of = |triangle: &[u32; 3]| conductance(paint, brushes, *triangle);
    (!brushes.is_empty()).then(|| triangles.iter().map(of).collect())
}

/// K of a triangle, its corners painted so strongly: a function that varies from crest to crest over c times the length has the same energy
/// where K is c².
fn conductance(paint: &[PaintedDetail], brushes: &[Vec<f32>], triangle: [u32; 3]) -> Mat3 {
    let mut all = Mat3::IDENTITY;
    for (paint, weights) in paint.iter().zip(brushes) {
        let weight = triangle.iter().map(|v| f64::from(weights[*v as usize])).sum::<f64>() / 3.0;
        let times = paint.coarser.powf(weight);
        let root = match paint.along.map(|along| Vec3::from(along).normalize_or_zero()) {
            // c along the way, 1 across it
            Some(u) => Mat3::IDENTITY + (times - 1.0) * Mat3::from_cols(u.x * u, u.y * u, u.z * u),
            None => times * Mat3::IDENTITY,
        };
        all = root * all * root;
    }
    all
}
