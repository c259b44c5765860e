//! The angle between two triangles that share an edge, and its derivatives.

use dynamics::Block;
use geometry::{Mat3, Vec3};

/// Lengths below which the derivatives of an angle no longer grow, a thousandth of their rest values: a triangle crushed
/// that far has no meaningful normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Least {
    edge: f64,
    heights: [f64; 2],
}

impl Least {
    /// From rest points `[e0, e1, a, b]`. `None` where the edge or a triangle is so thin that the angle means nothing:
    /// height below 1e-6 of its longest side.
    pub(crate) fn new(points: &[Vec3; 4]) -> Option<Self> {
        const LEAST: f64 = 1e-3;
        let [e0, e1, a, b] = *points;
        let edge = e0.distance(e1);
        let mut heights = [0.0; 2];
        for (apex, height) in [a, b].into_iter().zip(&mut heights) {
            let doubled_area = (e1 - e0).cross(apex - e0).length();
            let longest = edge.powi(2).max(apex.distance_squared(e0)).max(apex.distance_squared(e1));
            if !doubled_area.is_finite() || doubled_area <= 1e-6 * longest {
                return None;
            }
            *height = LEAST * doubled_area / edge;
        }
        Some(Self { edge: LEAST * edge, heights })
    }
}

/// The signed angle between the normals of triangles (e0, e1, a) and (e1, e0, b), in (−π, π], as [`Folded::angle`] has it,
/// where nothing else is asked for: with normals e×a and −e×b as long as they come, a and b seen from e0, their
/// sine and cosine are ‖e‖ e·(a×b) and −(e×a)·(e×b) up to one common factor.
pub(crate) fn angle([e0, e1, a, b]: &[Vec3; 4]) -> f64 {
    let (e, a, b) = (*e1 - *e0, *a - *e0, *b - *e0);
    (e.length() * e.dot(a.cross(b))).atan2(-e.cross(a).dot(e.cross(b)))
}

/// One triangle of the hinge, seen from the edge.
#[derive(Clone, Copy)]
struct Wing {
    /// Unit normal.
    m: Vec3,
    /// Unit vector in the plane, from the edge towards the apex.
    p: Vec3,
    /// One over the height of the apex above the edge.
    inverse_height: f64,
    /// Where the foot of the apex divides the edge: 0 at e0, 1 at e1.
    foot: f64,
}

/// Points `[e0, e1, a, b]`, triangles (e0, e1, a) and (e1, e0, b), at some state.
pub(crate) struct Folded {
    /// Unit vector along the edge.
    e: Vec3,
    inverse_edge: f64,
    wings: [Wing; 2],
}

impl Folded {
    pub(crate) fn new(x: &[Vec3; 4], least: &Least) -> Self {
        let edge = x[1] - x[0];
        let inverse_edge = 1.0 / edge.length().max(least.edge);
        let e = edge * inverse_edge;
        let wing = |apex: Vec3, side: f64, least_height: f64| {
            let arm = apex - x[0];
            let doubled_area_normal = side * edge.cross(arm);
            let doubled_area = doubled_area_normal.length();
            let m = if doubled_area > 0.0 { doubled_area_normal / doubled_area } else { Vec3::ZERO };
            Wing {
                m,
                p: side * m.cross(e),
                inverse_height: 1.0 / (doubled_area * inverse_edge).max(least_height),
                foot: arm.dot(e) * inverse_edge,
            }
        };
        let wings = [wing(x[2], 1.0, least.heights[0]), wing(x[3], -1.0, least.heights[1])];
        Self { e, inverse_edge, wings }
    }

    /// The signed angle between the normals, in (−π, π]; positive where the apexes rise towards the side that the normals
    /// point to.
    pub(crate) fn angle(&self) -> f64 {
        let [m, n] = self.wings.map(|wing| wing.m);
        n.cross(m).dot(self.e).atan2(m.dot(n))
    }

    /// ∇θ. Lifting an apex by δ along its normal turns its wing by δ/height; what the edge does under the foot of the
    /// apex counts against it: dθ = Σ_wings m·δ/height with δ = dx_apex − (1−foot) dx_e0 − foot dx_e1.
    pub(crate) fn angle_gradient(&self) -> [Vec3; 4] {
        let [a, b] = self.wings;
        let (ga, gb) = (a.inverse_height * a.m, b.inverse_height * b.m);
        [-((1.0 - a.foot) * ga + (1.0 - b.foot) * gb), -(a.foot * ga + b.foot * gb), ga, gb]
    }

    /// Adds `scale` · ∇²θ to `block`, whose rows for e0, e1, a, b are `places`.
    ///
    /// One wing has unit normal m, edge direction e, p = from edge to apex, height h, foot t. With δ as above and
    /// ε = (dx_e1 − dx_e0)/‖edge‖, a plane through three moving points obeys
    ///
    /// dm = −p (m·δ)/h − e (m·ε),  dh = p·δ,  dt = (e·δ + h p·ε)/‖edge‖.
    ///
    /// Differentiating dθ = Σ m·δ/h once more, for displacements 1 and 2:
    ///
    /// ∇²θ = Σ_wings −[(p·δ₁)(m·δ₂) + (m·δ₁)(p·δ₂)]/h² − [(e·δ₁)(m·ε₂) + (m·ε₁)(e·δ₂)]/h − (m·ε₁)(p·ε₂).
    ///
    /// The last term is symmetric only in sum: its skew part is the rotation about e, opposite in the two wings. So it
    /// may be written with half of itself and half of its transpose.
    pub(crate) fn add_angle_hessian<const N: usize>(
        &self,
        block: &mut Block<N>,
        places: [usize; 4],
        scale: f64,
    ) {
        let [e0, e1, a, b] = places;
        let mut epsilon_epsilon = Mat3::ZERO;
        for (apex, wing) in [(a, self.wings[0]), (b, self.wings[1])] {
            let Wing { m, p, inverse_height, foot } = wing;
            let pm = outer(p, m);
            let bend = (pm + pm.transpose()) * -scale;
            epsilon_epsilon += 0.5 * bend;
            let delta_delta = bend * (inverse_height * inverse_height);
            let delta_epsilon = outer(self.e, m) * (-scale * inverse_height);
            // how each point enters δ and ε
            let points =
                [(e0, foot - 1.0, -self.inverse_edge), (e1, -foot, self.inverse_edge), (apex, 1.0, 0.0)];
            for (i, delta_i, epsilon_i) in points {
                for (j, delta_j, epsilon_j) in points {
                    block.0[i][j] += delta_delta * (delta_i * delta_j)
                        + delta_epsilon * (delta_i * epsilon_j)
                        + delta_epsilon.transpose() * (epsilon_i * delta_j);
                }
            }
        }
        let turn = epsilon_epsilon * (self.inverse_edge * self.inverse_edge);
        block.0[e0][e0] += turn;
        block.0[e1][e1] += turn;
        block.0[e0][e1] -= turn;
        block.0[e1][e0] -= turn;
    }
}

/// a bᵀ.
fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}
