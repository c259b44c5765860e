//! An image carried by the flow: painted at one time, seen at another.
//!
//! At time t the fluid at x came from ξ_t(x). An image painted at time r is seen at t by asking, for each pixel x, where the same fluid
//! was at r: the y with ξ_r(y) = ξ_t(x). With ξ = place + displacement d this is y = ξ_t(x) − d_r(y), solved by Newton.

use super::Picture;
use crate::{Domain, Error, Field, Side, Texture, sample};

/// A picture that was painted at the time of `reference`, as the flow has distorted it at the time of `current`. Without a reference the
/// picture was painted when the texture set started.
pub fn warp(
    picture: &Picture,
    domain: &Domain,
    reference: Option<&Texture>,
    current: &Texture,
) -> Result<Picture, Error> {
    for texture in reference.into_iter().chain([current]) {
        if texture.displacement.len() < 2 {
            return Err(Error::Length { what: "texture", found: texture.displacement.len(), expected: 2 });
        }
        for field in &texture.displacement {
            field.check("texture", domain.points())?;
        }
    }
    let wraps = [0, 1].map(|d| domain.axes[d].side == Side::Periodic);
    Ok(Picture::paint(picture.width, picture.height, |x, y| {
        let moved = displacement_at(&current.displacement, domain, [x, y]);
        let origin = [x + moved[0], y + moved[1]];
        let place = match reference {
            None => origin,
            Some(reference) => inverse(&reference.displacement, domain, origin, [x, y]),
        };
        picture.sample(place[0], place[1], wraps)
    }))
}

/// The warps by all texture sets of a state, blended by their weights, so that a restart is never seen as a jump.
pub fn blend_warps(picture: &Picture, domain: &Domain, textures: &[Texture]) -> Result<Picture, Error> {
    let mut result = Picture { pixels: vec![[0.0; 4]; picture.pixels.len()], ..*picture };
    for texture in textures.iter().filter(|t| t.weight > 0.0) {
        let warped = warp(picture, domain, None, texture)?;
        for (sum, pixel) in result.pixels.iter_mut().zip(&warped.pixels) {
            (0..4).for_each(|k| sum[k] += texture.weight as f32 * pixel[k]);
        }
    }
    Ok(result)
}

fn displacement_at(displacement: &[Field], domain: &Domain, place: [f64; 2]) -> [f64; 2] {
    let index = [domain.axes[0].index(place[0]), domain.axes[1].index(place[1]), 0.0];
    [0, 1].map(|d| f64::from(sample(&displacement[d], domain, index)))
}

/// The place y whose origin y + d(y) is given. Newton with the displacement's own gradient, in bites that never leave the nearest fold.
fn inverse(displacement: &[Field], domain: &Domain, origin: [f64; 2], guess: [f64; 2]) -> [f64; 2] {
    let h = [0, 1].map(|d| 0.5 / domain.axes[d].points as f64);
    let mut y = guess;
    for _ in 0..24 {
        let d = displacement_at(displacement, domain, y);
        let miss = [origin[0] - y[0] - d[0], origin[1] - y[1] - d[1]];
        if miss[0].abs() < 1e-3 * h[0] && miss[1].abs() < 1e-3 * h[1] {
            break;
        }
        let slope = [0, 1].map(|axis| {
            let mut side = [y, y];
            side[0][axis] -= h[axis];
            side[1][axis] += h[axis];
            let [low, high] = side.map(|p| displacement_at(displacement, domain, p));
            [0, 1].map(|k| (high[k] - low[k]) / (2.0 * h[axis]))
        });
        let (a, b, c, e) = (1.0 + slope[0][0], slope[1][0], slope[0][1], 1.0 + slope[1][1]);
        let determinant = a * e - b * c;
        let step = if determinant.abs() > 0.1 {
            [(e * miss[0] - b * miss[1]) / determinant, (a * miss[1] - c * miss[0]) / determinant]
        } else {
            // folded beyond what the grid resolves: creep
            [0.5 * miss[0], 0.5 * miss[1]]
        };
        for d in 0..2 {
            y[d] += step[d].clamp(-0.1, 0.1);
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(domain: &Domain, shift: f64) -> Texture {
        let x = domain.field(|p| -shift + 0.02 * shift * (std::f64::consts::TAU * p[1]).sin());
        Texture { displacement: vec![x, domain.field(|_| 0.0)], since: 0.0, weight: 1.0 }
    }

    fn stripes() -> Picture {
        Picture::paint(96, 48, |x, _| [(0.5 + 0.5 * (x * std::f64::consts::TAU * 2.0).sin()) as f32; 4])
    }

    #[test]
    fn an_image_moves_with_the_flow_between_two_times() {
        let domain = Domain::plane([64, 33], [2.0, 1.0], [Side::Periodic, Side::Wall]).unwrap();
        let picture = stripes();
        // the flow has moved by 0.1 at the reference and by 0.35 now: the image moves by 0.25
        let (early, late) = (texture(&domain, 0.1), texture(&domain, 0.35));
        let warped = warp(&picture, &domain, Some(&early), &late).unwrap();
        let same = warp(&picture, &domain, Some(&late), &late).unwrap();
        for x in 0..96 {
            let before = picture.pixels[24 * 96 + (x + 96 - 24) % 96][0];
            assert!((warped.pixels[24 * 96 + x][0] - before).abs() < 0.05, "column {x}");
            assert!(
                (same.pixels[24 * 96 + x][0] - picture.pixels[24 * 96 + x][0]).abs() < 0.02,
                "no time, no change"
            );
        }
    }

    #[test]
    fn blended_weights_make_one_picture() {
        let domain = Domain::plane([64, 33], [2.0, 1.0], [Side::Periodic, Side::Wall]).unwrap();
        let mut sets = [texture(&domain, 0.0), texture(&domain, 0.0)];
        sets[0].weight = 0.3;
        sets[1].weight = 0.7;
        let (blended, plain) = (blend_warps(&stripes(), &domain, &sets).unwrap(), stripes());
        for (a, b) in blended.pixels.iter().zip(&plain.pixels) {
            assert!((a[0] - b[0]).abs() < 1e-3);
        }
    }
}
