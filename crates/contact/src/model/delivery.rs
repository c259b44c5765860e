//! Surfaces as they are delivered: what is added to a simulated surface afterwards may not cross what the simulation kept apart.

use geometry::Vec3;

use super::BarrierContact;
use crate::{Attachment, Error};

impl BarrierContact {
    /// Contact points go from where a body at `x` carries them to where they are `wanted`, as far as nothing is crossed on the
    /// straight way; `exact` ones may not be held back. Points that get there are not touched. How many do not.
    ///
    /// For detail that a simulated surface is too coarse for: with it, folds that were held apart could cross after all.
    pub fn limit_delivered(
        &mut self,
        x: &[Vec3],
        wanted: &mut [Vec3],
        exact: &[bool],
    ) -> Result<usize, Error> {
        self.check_body(x)?;
        let count = self.attachment.len();
        if wanted.len() != count || exact.len() != count {
            let got = if wanted.len() == count { exact.len() } else { wanted.len() };
            return Err(Error::Sizes { what: "delivered points", expected: count, got });
        }
        let here = self.contact_points(x, &self.state.obstacle_positions);
        if here[..count] == *wanted {
            return Ok(0);
        }
        let attachment = Attachment::identity(count);
        let obstacles = vec![Vec3::ZERO; here.len() - count];
        let asked: Vec<Vec3> =
            wanted.iter().zip(&here).map(|(to, from)| *to - *from).chain(obstacles).collect();
        let displacements = self.shortened(&here, asked.clone(), &attachment, exact, count)?.displacements;
        let mut held = 0;
        for point in (0..count).filter(|&p| !exact[p] && displacements[p] != asked[p]) {
            wanted[point] = here[point] + displacements[point];
            held += 1;
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditedSurface, CollisionSurface, audit};

    /// A square of so many cells in the plane of a height.
    fn square(height: f64, cells: u32, turn: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |i: u32, j: u32| j * (cells + 1) + i;
        let (sin, cos) = turn.sin_cos();
        let place = |i: u32, j: u32| {
            let [x, z] = [i, j].map(|k| f64::from(k) / f64::from(cells) - 0.5);
            Vec3::new(cos * x - sin * z, height, sin * x + cos * z)
        };
        let points = (0..=cells).flat_map(|j| (0..=cells).map(move |i| place(i, j))).collect();
        let cell = |i: u32, j: u32| {
            [[at(i, j), at(i, j + 1), at(i + 1, j)], [at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]]
        };
        let triangles = (0..cells).flat_map(|j| (0..cells).flat_map(move |i| cell(i, j))).collect();
        (points, triangles)
    }

    #[test]
    fn detail_does_not_reach_through_what_was_held_apart() {
        let (low, triangles) = square(0.0, 6, 0.0);
        let (high, _) = square(0.02, 6, 0.4);
        let surfaces = [("low", &low), ("high", &high)]
            .map(|(name, points)| CollisionSurface::free(name, points.clone(), triangles.clone()));
        let body: Vec<Vec3> = low.iter().chain(&high).copied().collect();
        let attachment = Attachment::identity(body.len());
        let mut contact = BarrierContact::new(surfaces.to_vec(), attachment, Vec::new()).unwrap();
        // bumps of 3 cm on the lower sheet, up in its middle and down at its rim
        let bump = |p: &Vec3| 0.03 * (1.0 - 4.0 * p.with_y(0.0).length()) * Vec3::Y;
        let wanted: Vec<Vec3> = low.iter().map(|p| *p + bump(p)).chain(high.iter().copied()).collect();
        let crossings = |x: &[Vec3]| {
            let points: Vec<[f32; 3]> = x.iter().map(|p| p.as_vec3().to_array()).collect();
            let (low, high) = points.split_at(low.len());
            let surface =
                |name, points| AuditedSurface { name, points, triangles: &triangles, is_obstacle: false };
            audit(&[surface("low", low), surface("high", high)]).unwrap().len()
        };
        assert!(crossings(&wanted) > 0, "otherwise the test says nothing");
        let mut given = wanted.clone();
        let held = contact.limit_delivered(&body, &mut given, &vec![false; body.len()]).unwrap();
        assert_eq!(crossings(&given), 0);
        assert!(held > 0 && held < low.len(), "{held}");
        // what nothing is in the way of gets there, to the bit
        let rim = (0..low.len()).filter(|&p| low[p].with_y(0.0).length() > 0.45);
        assert!(rim.into_iter().all(|p| given[p] == wanted[p]));
        // nothing asked, nothing done
        let mut same = body.clone();
        assert_eq!(contact.limit_delivered(&body, &mut same, &vec![false; body.len()]).unwrap(), 0);
        assert!(contact.limit_delivered(&body, &mut same[1..], &[]).is_err());
    }
}
