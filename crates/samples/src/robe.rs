//! A robe as it comes from the cutter: two flat panels, before and behind whoever is to wear it, not sewn yet.

use clip::{Clip, Faces, Mesh};
use geometry::Vec3;

use crate::paint;
use crate::shapes::{Shape, append};

/// Two panels, hung up at arm's length from each other around a person who holds the arms out a little: mesh `robe`. Its groups `front` and `back` are
/// what is sewn to each other: shoulders, and sides below the arms; `waist` is a line around the middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robe {
    /// Quads across and down each panel.
    pub cells: [usize; 2],
    /// Height of the shoulders at the neck and how much lower they end, in metres: above whoever is to wear it, so that seams close over the shoulders.
    pub shoulders: [f64; 2],
    /// Half of the neck and half of the shoulders, in metres.
    pub widths: [f64; 2],
    /// Where sides begin below the arms and where they end, in metres.
    pub sides: [f64; 2],
    /// Half of the hem, in metres.
    pub hem: f64,
    /// How far ahead and behind the panels hang, in metres.
    pub away: f64,
}

impl Default for Robe {
    /// For the person of `person_walk`.
    fn default() -> Self {
        Self {
            cells: [27, 27],
            shoulders: [1.57, 0.05],
            widths: [0.08, 0.245],
            sides: [1.16, 0.42],
            hem: 0.4,
            away: 0.175,
        }
    }
}

/// How much lower the neck is cut, in front and behind, in metres.
const NECK: [f64; 2] = [0.06, 0.02];
/// Where its waist is between the beginning of its sides and its hem.
const WAIST: f64 = 0.18;

/// The robe of 1,568 points.
pub fn robe() -> Clip {
    Robe::default().clip()
}

impl Robe {
    /// Makes the clip: one frame.
    pub fn clip(&self) -> Clip {
        let mut mesh = self.panel(0).mesh("robe", Some(0));
        append(&mut mesh, &self.panel(1), Some(0));
        self.name_groups(&mut mesh);
        let mut clip = Clip::still(mesh, 24.0, 1);
        clip.materials = vec![paint::plain("robe", 0x5b7d5a)];
        clip
    }

    fn columns_rows(&self) -> [usize; 2] {
        self.cells.map(|cells| cells.max(4))
    }

    /// Where a point is on a panel of its own: how far across, and how high.
    fn place(&self, panel: usize, i: usize, j: usize) -> [f64; 2] {
        let [columns, rows] = self.columns_rows();
        let across = 2.0 * i as f64 / columns as f64 - 1.0;
        let [neck, shoulder] = self.widths;
        let ([above, drop], [arm, hem]) = (self.shoulders, self.sides);
        let x = across.abs() * shoulder;
        let top = match x < neck {
            true => above - NECK[panel] * (1.0 - (x / neck).powi(2)),
            false => above - drop * (x - neck) / (shoulder - neck),
        };
        let y = top + (hem - top) * j as f64 / rows as f64;
        let flare = ((arm - y) / (arm - hem)).max(0.0);
        [across * (shoulder + flare * (self.hem - shoulder)), y]
    }

    fn panel(&self, panel: usize) -> Shape {
        let [columns, rows] = self.columns_rows();
        let z = if panel == 0 { self.away } else { -self.away };
        let at = |i: usize, j: usize| (j * (columns + 1) + i) as u32;
        let cells = || (0..=rows).flat_map(move |j| (0..=columns).map(move |i| (i, j)));
        let points = cells().map(|(i, j)| {
            let [x, y] = self.place(panel, i, j);
            Vec3::new(x, y, z)
        });
        let points: Vec<Vec3> = points.collect();
        let uvs = points.iter().map(|p| [0.5 + 0.5 * p.x as f32, 1.0 - 0.5 * p.y as f32]).collect();
        let mut faces = Faces::default();
        for (i, j) in cells().filter(|(i, j)| *i < columns && *j < rows) {
            let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
            faces.push(&if panel == 0 { [a, b, c, d] } else { [d, c, b, a] });
        }
        Shape::new(points, faces, uvs)
    }

    fn name_groups(&self, mesh: &mut Mesh) {
        let [columns, rows] = self.columns_rows();
        let [arm, hem] = self.sides;
        let of_panel = (columns + 1) * (rows + 1);
        let is_seam = |panel: usize, i: usize, j: usize| {
            let [_, y] = self.place(panel, i, j);
            let across = (2.0 * i as f64 / columns as f64 - 1.0).abs() * self.widths[1];
            (j == 0 && across >= 0.999 * self.widths[0]) || ((i == 0 || i == columns) && y <= arm)
        };
        let waist = arm + WAIST * (hem - arm);
        let off = |j: usize| (self.place(0, columns / 4, j)[1] - waist).abs();
        let row = (0..=rows).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(0);
        let weights = |choose: &dyn Fn(usize, usize, usize) -> bool| -> Vec<f32> {
            let of =
                |p: usize| choose(p / of_panel, p % of_panel % (columns + 1), p % of_panel / (columns + 1));
            (0..2 * of_panel).map(|p| if of(p) { 1.0 } else { 0.0 }).collect()
        };
        let front = weights(&|panel, i, j| panel == 0 && is_seam(panel, i, j));
        let back = weights(&|panel, i, j| panel == 1 && is_seam(panel, i, j));
        let waist = weights(&|_, _, j| j == row);
        for (name, weights) in [("front", front), ("back", back), ("waist", waist)] {
            mesh.set_group(name, weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_no_degenerate_triangles, assert_sound};
    use crate::person::Person;

    #[test]
    fn the_panels_hang_clear_of_the_person_and_mirror_each_other() {
        let clip = robe();
        assert_sound(&clip);
        let mesh = &clip.meshes[0];
        assert_eq!(mesh.point_count(), 1_568);
        let rest = mesh.rest();
        assert_no_degenerate_triangles(&rest, &mesh.point_triangles());
        let person = Person::with_arms_out(0.45);
        let nearest = rest.iter().map(|p| person.body.distance(*p)).fold(f64::INFINITY, f64::min);
        assert!(nearest > 0.02, "{nearest} m from the body");
        let [front, back] = ["front", "back"].map(|name| {
            let weights = &mesh.group(name).unwrap().weights;
            (0..rest.len()).filter(|p| weights[*p] == 1.0).map(|p| rest[p]).collect::<Vec<Vec3>>()
        });
        assert!(front.len() == back.len() && front.len() > 40, "{}", front.len());
        for (a, b) in front.iter().zip(&back) {
            assert!(a.distance(Vec3::new(b.x, b.y, -b.z)) < 1e-6, "{a} {b}");
        }
        assert_eq!(mesh.group("waist").unwrap().weights.iter().filter(|w| **w == 1.0).count(), 2 * 28);
    }
}
