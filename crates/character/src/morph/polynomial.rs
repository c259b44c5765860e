//! Elastic energy as a polynomial of reduced coordinates: its cost does not depend on the mesh.
//!
//! E(q) = e + gₐqₐ + ½ K_ab qₐq_b + ⅙ T_abc qₐq_bq_c + 1/24 S_abcd qₐq_bq_cq_d, all tensors symmetric, each entry stored once. In the paper's
//! letters, which are those of forces (§4), P = K, Q = ½T and S = ⅙S; the constants e and g are there because q = 0 is the reference's
//! rest shape and not the target's (§3.2, Δu). StVK's strain is quadratic in q and its energy quadratic in strain, so this is
//! exact (Barbič 2005); linear materials have T = S = 0.

use std::ops::Range;

use dynamics::Element;
use faer::Mat;
use geometry::{Mat3, Vec3};
use linear::{Matrix, transposed_product};
use solid::{Material, Tet};

/// Where the entries of each degree stand among the coefficients of a polynomial in r unknowns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Degrees {
    pub(crate) unknowns: usize,
    quadratic: usize,
    cubic: usize,
    quartic: usize,
    end: usize,
    /// For every sorted triple and every unknown: where the quartic's entry is.
    entries: Vec<u32>,
}

fn pairs(r: usize) -> usize {
    r * (r + 1) / 2
}

fn triples(r: usize) -> usize {
    r * (r + 1) * (r + 2) / 6
}

fn quads(r: usize) -> usize {
    r * (r + 1) * (r + 2) * (r + 3) / 24
}

/// The place of a multiset of indices, sorted ascending, among all of its length.
fn place2(a: usize, b: usize) -> usize {
    pairs(b) + a
}

fn place3(a: usize, b: usize, c: usize) -> usize {
    triples(c) + place2(a, b)
}

/// A symmetric matrix of r rows, row after row, from its pairs.
fn unpack(pairs: &[f64], r: usize, matrix: &mut [f64]) {
    for a in 0..r {
        for b in 0..=a {
            let value = pairs[place2(b, a)];
            (matrix[a * r + b], matrix[b * r + a]) = (value, value);
        }
    }
}

impl Degrees {
    pub(crate) fn new(unknowns: usize, nonlinear: bool) -> Self {
        let r = unknowns;
        let quadratic = 1 + r;
        let cubic = quadratic + pairs(r);
        let (quartic, end) =
            if nonlinear { (cubic + triples(r), cubic + triples(r) + quads(r)) } else { (cubic, cubic) };
        let mut entries = Vec::new();
        if nonlinear {
            entries.reserve_exact(r * triples(r));
            for c in 0..r {
                for b in 0..=c {
                    for a in 0..=b {
                        for d in 0..r {
                            let mut all = [a, b, c, d];
                            all.sort_unstable();
                            let [a, b, c, d] = all;
                            entries.push((quads(d) + place3(a, b, c)) as u32);
                        }
                    }
                }
            }
        }
        Self { unknowns: r, quadratic, cubic, quartic, end, entries }
    }

    /// How many coefficients.
    pub(crate) fn len(&self) -> usize {
        self.end
    }

    pub(crate) fn is_nonlinear(&self) -> bool {
        self.quartic > self.cubic
    }

    pub(crate) fn quadratic(&self) -> Range<usize> {
        self.quadratic..self.cubic
    }

    /// Room for [`Degrees::evaluate`].
    pub(crate) fn scratch_len(&self) -> usize {
        if self.is_nonlinear() { triples(self.unknowns) + pairs(self.unknowns) } else { 0 }
    }

    /// E, dE/dq, and d²E/dq² row after row, at q.
    ///
    /// With C_abc = S_abcd q_d, x_ab = T_abc q_c and y_ab = C_abc q_c, the Hessian is K + x + ½y, the gradient g + (K + ½x + ⅙y) q and the
    /// energy e + q·(g + ½(K + ⅓x + 1/12 y) q).
    pub(crate) fn evaluate(
        &self,
        coefficients: &[f64],
        q: &[f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let r = self.unknowns;
        let k = &coefficients[self.quadratic()];
        gradient[..r].copy_from_slice(&coefficients[1..=r]);
        let mut energy = coefficients[0] + dot(&coefficients[1..=r], q);
        if !self.is_nonlinear() {
            unpack(k, r, hessian);
            for a in 0..r {
                let product = dot(&hessian[a * r..(a + 1) * r], q);
                gradient[a] += product;
                energy += 0.5 * q[a] * product;
            }
            return energy;
        }
        let t = &coefficients[self.cubic..self.quartic];
        let s = &coefficients[self.quartic..];
        let (c, bent) = scratch.split_at_mut(triples(r));
        for (c, entries) in c.iter_mut().zip(self.entries.chunks_exact(r)) {
            let mut sum = 0.0;
            for (&entry, q) in entries.iter().zip(q) {
                sum += s[entry as usize] * q;
            }
            *c = sum;
        }
        // every sorted triple (a ≤ b ≤ c) is met once and adds to each pair that it holds
        let whole = &mut hessian[..pairs(r)];
        whole.fill(0.0);
        bent[..pairs(r)].fill(0.0);
        let mut place = 0;
        for c3 in 0..r {
            for b in 0..=c3 {
                let (bc, qc, qb) = (place2(b, c3), q[c3], q[b]);
                for a in 0..=b {
                    let (cubic, quartic) = (t[place], c[place]);
                    place += 1;
                    let (ab, ac) = (place2(a, b), place2(a, c3));
                    // (a, b) with c; (a, c) with b where b ≠ c; (b, c) with a where a ≠ b
                    whole[ab] += cubic * qc;
                    bent[ab] += quartic * qc;
                    if b != c3 {
                        whole[ac] += cubic * qb;
                        bent[ac] += quartic * qb;
                    }
                    if a != b {
                        whole[bc] += cubic * q[a];
                        bent[bc] += quartic * q[a];
                    }
                }
            }
        }
        for a in 0..r {
            for b in 0..=a {
                let (kept, x, y) = (k[place2(b, a)], whole[place2(b, a)], bent[place2(b, a)]);
                let force = kept + 0.5 * x + y / 6.0;
                let work = 0.5 * (kept + x / 3.0 + y / 12.0);
                gradient[a] += force * q[b];
                energy += work * q[a] * q[b];
                if a != b {
                    gradient[b] += force * q[a];
                    energy += work * q[a] * q[b];
                }
                bent[place2(b, a)] = kept + x + 0.5 * y;
            }
        }
        unpack(bent, r, hessian);
        energy
    }

    /// A linear material: ½ (q − q̂)ᵀ UᵀKU (q − q̂), with g = −UᵀK d exact even where the basis lacks something of d.
    pub(crate) fn linear(&self, stiffness: &Matrix, basis: &[Vec<Vec3>], rest: &[Vec3]) -> Vec<f64> {
        let mut coefficients = vec![0.0; self.end];
        let mut image = vec![Vec3::ZERO; rest.len()];
        stiffness.multiply(rest, &mut image);
        coefficients[0] = 0.5 * dots(rest, &image);
        for (a, mode) in basis.iter().enumerate() {
            coefficients[1 + a] = -dots(mode, &image);
        }
        for (b, mode) in basis.iter().enumerate() {
            stiffness.multiply(mode, &mut image);
            for (a, other) in basis.iter().enumerate().take(b + 1) {
                coefficients[self.quadratic + place2(a, b)] = dots(other, &image);
            }
        }
        coefficients
    }

    /// StVK: the sum over all tets of ½‖z‖², z = z₀ + Aq + B:qq their scaled strain, which is what products of z's columns give; of every
    /// tet the part that `share` says.
    pub(crate) fn stvk(
        &self,
        points: &[Vec3],
        corners: &[[u32; 4]],
        (tets, materials): (&[Tet], &[Material]),
        basis: &[Vec<Vec3>],
        share: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        const STRIP: usize = 512;
        let r = self.unknowns;
        let columns = 1 + r + pairs(r);
        let mut gram = Mat::<f64>::zeros(columns, columns);
        let own: Vec<usize> = (0..tets.len()).filter(|&e| share(e) > 0.0).collect();
        for strip in own.chunks(STRIP) {
            let mut z = Mat::<f64>::zeros(ROWS * strip.len(), columns);
            for (k, &e) in strip.iter().enumerate() {
                let scale = Scale::new(share(e) * tets[e].volume(), &materials[e]);
                let at = |u: &[Vec3]| tets[e].deformation(&corners[e].map(|v| u[v as usize]));
                let f0 = at(points);
                let modes: Vec<Mat3> = basis.iter().map(|mode| at(mode)).collect();
                let mut put = |column: usize, strain: Mat3| {
                    for (row, value) in scale.rows(&strain).into_iter().enumerate() {
                        z[(ROWS * k + row, column)] = value;
                    }
                };
                put(0, (f0.transpose() * f0 - Mat3::IDENTITY) * 0.5);
                for (a, fa) in modes.iter().enumerate() {
                    put(1 + a, symmetric(f0.transpose() * *fa));
                    for (b, fb) in modes.iter().enumerate().take(a + 1) {
                        let share = if a == b { 0.5 } else { 1.0 };
                        put(1 + r + place2(b, a), symmetric(fb.transpose() * *fa) * share);
                    }
                }
            }
            gram += transposed_product(z.as_ref(), z.as_ref());
        }
        self.folded(&gram)
    }

    /// ½ Σ W_PQ m_P m_Q over monomials m of degree up to two, as a polynomial.
    fn folded(&self, gram: &Mat<f64>) -> Vec<f64> {
        let r = self.unknowns;
        let mut monomials: Vec<Vec<usize>> = vec![Vec::new()];
        monomials.extend((0..r).map(|a| vec![a]));
        for b in 0..r {
            monomials.extend((0..=b).map(|a| vec![a, b]));
        }
        let mut coefficients = vec![0.0; self.end];
        for (p, left) in monomials.iter().enumerate() {
            for (q, right) in monomials.iter().enumerate() {
                let mut all: Vec<usize> = left.iter().chain(right).copied().collect();
                all.sort_unstable();
                let place = match all[..] {
                    [] => 0,
                    [a] => 1 + a,
                    [a, b] => self.quadratic + place2(a, b),
                    [a, b, c] => self.cubic + place3(a, b, c),
                    [a, b, c, d] => self.quartic + quads(d) + place3(a, b, c),
                    _ => continue,
                };
                // an entry of a symmetric tensor is the monomial's coefficient times the factorials of its repetitions
                let mut repeated = 1.0;
                for run in all.chunk_by(|a, b| a == b) {
                    repeated *= (1..=run.len()).product::<usize>() as f64;
                }
                coefficients[place] += 0.5 * gram[(p, q)] * repeated;
            }
        }
        coefficients
    }
}

/// Rows of z to a tet: six strains and their trace.
const ROWS: usize = 7;

/// √V·√(2μ) and √V·√λ, so that ½‖z‖² = V(μ E:E + ½λ tr²E).
struct Scale {
    shear: f64,
    lame: f64,
}

impl Scale {
    fn new(volume: f64, material: &Material) -> Self {
        let Material { young, poisson, .. } = *material;
        let shear = young / (2.0 * (1.0 + poisson));
        let lame = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
        Self { shear: (2.0 * shear * volume).sqrt(), lame: (lame * volume).sqrt() }
    }

    fn rows(&self, e: &Mat3) -> [f64; ROWS] {
        let twice = std::f64::consts::SQRT_2 * self.shear;
        let trace = e.x_axis.x + e.y_axis.y + e.z_axis.z;
        [
            self.shear * e.x_axis.x,
            self.shear * e.y_axis.y,
            self.shear * e.z_axis.z,
            twice * e.y_axis.z,
            twice * e.z_axis.x,
            twice * e.x_axis.y,
            self.lame * trace,
        ]
    }
}

fn symmetric(m: Mat3) -> Mat3 {
    (m + m.transpose()) * 0.5
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn dots(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

/// Σ over tets of dE/dx at x: what the polynomial stands for, and what modal derivatives are made of.
pub(crate) fn element_gradient(corners: &[[u32; 4]], tets: &[Tet], x: &[Vec3], gradient: &mut [Vec3]) {
    gradient.fill(Vec3::ZERO);
    for (corners, tet) in corners.iter().zip(tets) {
        let g = tet.gradient(&corners.map(|v| x[v as usize]));
        corners.iter().zip(g).for_each(|(&v, g)| gradient[v as usize] += g);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::TetMesh;
    use solid::Law;

    /// A bar whose tets rest in another shape than the one displacements start from, and smooth modes over it.
    fn bar() -> (TetMesh, Vec<Tet>, Vec<Material>, Vec<Vec<Vec3>>) {
        let mesh = TetMesh::box_grid([5, 2, 2], Vec3::new(0.5, 0.2, 0.2)).unwrap();
        let material = Material::preset("fat").unwrap();
        let sculpt = |p: Vec3| p + Vec3::new(0.0, 0.1 * p.x, 0.05 * p.y * p.x);
        let mut tets = Vec::new();
        let mut materials = Vec::new();
        for e in 0..mesh.tets().len() {
            let own = Material { young: material.young * (1.0 + 0.1 * e as f64), ..material };
            tets.push(
                Tet::from_young_poisson(&mesh.corners(e).map(sculpt), Law::Stvk, own.young, own.poisson)
                    .unwrap(),
            );
            materials.push(own);
        }
        let mode = |k: usize| -> Vec<Vec3> {
            let phase = 0.7 * k as f64;
            mesh.points()
                .iter()
                .map(|p| {
                    let s = (3.0 + k as f64) * p.x;
                    Vec3::new((s + phase).sin() * p.y, (s + 2.0 * phase).cos() * p.x, (s - phase).sin() * p.z)
                })
                .collect()
        };
        let modes = (0..5).map(mode).collect();
        (mesh, tets, materials, modes)
    }

    #[test]
    fn the_polynomial_is_the_sum_over_elements() {
        let (mesh, tets, materials, modes) = bar();
        let degrees = Degrees::new(modes.len(), true);
        let coefficients = degrees.stvk(mesh.points(), mesh.tets(), (&tets, &materials), &modes, |_| 1.0);
        assert_eq!(coefficients.len(), degrees.len());
        let r = modes.len();
        let (mut scratch, mut hessian) = (vec![0.0; degrees.scratch_len()], vec![0.0; r * r]);
        let (mut gradient, mut forces) = (vec![0.0; r], vec![Vec3::ZERO; mesh.points().len()]);
        for seed in 0..4 {
            let q: Vec<f64> = (0..r).map(|k| 0.05 * (1.3 * (k + 5 * seed) as f64).sin()).collect();
            let x: Vec<Vec3> = (0..mesh.points().len())
                .map(|p| mesh.points()[p] + (0..r).map(|k| q[k] * modes[k][p]).sum::<Vec3>())
                .collect();
            let energy = degrees.evaluate(&coefficients, &q, &mut gradient, &mut hessian, &mut scratch);
            let exact: f64 =
                tets.iter().zip(mesh.tets()).map(|(tet, c)| tet.value(&c.map(|v| x[v as usize]))).sum();
            assert!((energy - exact).abs() < 1e-10 * exact, "{energy} {exact}");
            element_gradient(mesh.tets(), &tets, &x, &mut forces);
            let size = modes.iter().map(|mode| dots(mode, &forces).abs()).fold(0.0, f64::max);
            for a in 0..r {
                assert!((gradient[a] - dots(&modes[a], &forces)).abs() < 1e-10 * size);
            }
            // the Hessian, by elements
            for a in 0..r {
                for b in 0..r {
                    let mut sum = 0.0;
                    for (tet, c) in tets.iter().zip(mesh.tets()) {
                        let block = tet.hessian(&c.map(|v| x[v as usize]));
                        let image = block.multiply(&c.map(|v| modes[b][v as usize]));
                        sum += (0..4).map(|i| modes[a][c[i] as usize].dot(image[i])).sum::<f64>();
                    }
                    let scale = hessian[a * r + a].abs().max(hessian[b * r + b].abs());
                    assert!((hessian[a * r + b] - sum).abs() < 1e-10 * scale, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn linear_materials_have_their_least_energy_at_their_rest_shape() {
        let (mesh, tets, _, modes) = bar();
        let pattern = std::sync::Arc::new(linear::Pattern::from_stencils(
            mesh.points().len(),
            mesh.tets().iter().map(<[u32; 4]>::as_slice),
        ));
        let mut stiffness = Matrix::new(pattern);
        for (e, (tet, c)) in tets.iter().zip(mesh.tets()).enumerate() {
            let block = tet.hessian(&mesh.corners(e));
            for i in 0..4 {
                (0..=i).for_each(|j| {
                    stiffness.add(c[i], c[j], block.0[i][j]);
                });
            }
        }
        let hat: Vec<f64> = (0..modes.len()).map(|k| 0.01 * (k as f64 + 1.0)).collect();
        let rest: Vec<Vec3> =
            (0..mesh.points().len()).map(|p| (0..modes.len()).map(|k| hat[k] * modes[k][p]).sum()).collect();
        let degrees = Degrees::new(modes.len(), false);
        let coefficients = degrees.linear(&stiffness, &modes, &rest);
        let r = modes.len();
        let (mut gradient, mut hessian) = (vec![0.0; r], vec![0.0; r * r]);
        let energy = degrees.evaluate(&coefficients, &hat, &mut gradient, &mut hessian, &mut []);
        let scale = hessian[0] * 0.01;
        assert!(energy.abs() < 1e-10 * scale && gradient.iter().all(|g| g.abs() < 1e-10 * scale));
    }
}
