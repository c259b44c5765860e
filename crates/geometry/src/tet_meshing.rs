//! Tets for any surface: an enclosing mesh of bounded quality, however broken the surface is.
//!
//! Triangles are made to agree on which side is out ([`oriented_triangles`]), the winding number tells inside from outside,
//! and the set within an offset of the surface or inside it is filled with tets by isosurface stuffing over an octree: cells
//! of one size around the boundary, larger ones within.
//!
//! **Enclosing.** A vertex x may still be outside where the shape is thinner than a cell or sharp. There the offset grows,
//! and with an offset of o = 1.5 a (a: side of a finest cell) at x itself it cannot fail: the lattice's tet around x
//! has its corners within a of x, where φ ≤ −a/2; φ has slope one, so cuts on their edges are at least a/2 away, farther than what
//! moves a corner (0.25 a on long edges, 0.36 a on short ones). So the tet is kept whole, and it holds x.

use rayon::prelude::*;

use crate::octree::{BackgroundTet, Fate, MOST_CELLS, Octree, Place};
use crate::offset::Offset;
use crate::stuffing::{Background, stuff};
use crate::{Embedding, Error, SurfaceQuery, TetMesh, Vec3, oriented_triangles, triangle_area};

/// How fine the tets are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TetSize {
    /// About so many tets: within a few per cent, where the shape allows.
    Count(usize),
    /// Edges near the surface are about so long, in metres. (The lattice's edges are 1 and 0.87 of it.)
    Edge(f64),
}

/// How to fill a surface with tets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TetMeshing {
    /// How fine.
    pub size: TetSize,
    /// How far outside of the surface the tets reach, as a fraction of the edge length. Less fits closer and needs more
    /// growing where the surface bends.
    pub offset: f64,
    /// Whether tets get larger inside, away from the surface.
    pub graded: bool,
}

impl Default for TetMeshing {
    fn default() -> Self {
        Self { size: TetSize::Count(10_000), offset: 0.2, graded: true }
    }
}

/// A surface filled with tets.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The tets.
    pub mesh: TetMesh,
    /// Every vertex of the surface in its tet, loose ones included.
    pub embedding: Embedding,
    /// The edge length used, in metres.
    pub edge: f64,
    /// Vertices at which the offset had to grow.
    pub grown: usize,
    /// Vertices of triangles that are not inside the tets: none, unless coordinates are so large that round-off decides.
    pub outside: usize,
}

/// Offsets, in edge lengths, that a vertex gets one after the other until it is enclosed; the last is enough.
const GROWTH: [f64; 3] = [0.6, 1.0, 1.5];
/// The offset, in edge lengths, where the shape is thinner than this many: above the lattice's covering radius √5/4, so that
/// no point of a sheet is farther than that from a lattice point inside.
const THIN: f64 = 0.6;
/// How near a count of tets must be to the one asked for, and how often it is tried.
const CLOSE_COUNT: f64 = 0.03;
const TRIES: usize = 8;
/// How much the edge changes at most from one try to the next: where small parts vanish between the lattice's points, counts
/// jump, and what they seem to say about finer lattices is wrong by orders of magnitude.
const STRIDE: f64 = 2.5;
/// A try is given up at so many cells of the octree for each tet asked for, and so many in any case; there are about two tets to a
/// cell.
const CELLS_PER_TET: usize = 16;
const FEW_CELLS: usize = 20_000;
/// How far outside, as a weight in its tet, a vertex may be and still count as enclosed: round-off.
const TOLERANCE: f64 = 1e-9;

impl TetMeshing {
    /// Fills a surface: any list of triangles over finite points, at least one.
    ///
    /// The same input gives the same tets, whatever the number of threads.
    pub fn fill(&self, points: &[Vec3], triangles: &[[u32; 3]]) -> Result<Filled, Error> {
        // checks indices and coordinates before anything looks them up
        let given = SurfaceQuery::new(points.to_vec(), triangles.to_vec())?;
        let oriented = oriented_triangles(points, triangles);
        // nothing but degenerate triangles is a wire: distance is all there is
        let surface =
            if oriented.is_empty() { given } else { self.with_degenerate(points, triangles, oriented)? };
        let offset = if self.offset.is_finite() { self.offset.clamp(0.01, 1.5) } else { 0.2 };
        // a surface that is one point still has a size to choose from
        let bounds = surface.bounds();
        let size = bounds.diagonal().max(1e-6 * bounds.centre().abs().max_element()).max(1e-9);
        let filler = Filler { surface: &surface, offset, graded: self.graded, size };
        let mut used = vec![false; points.len()];
        triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
        let vertices: Vec<Vec3> =
            points.iter().zip(&used).filter(|(_, used)| **used).map(|(&p, _)| p).collect();
        let (mut mesh, mut growth, mut edge) = match self.size {
            TetSize::Edge(edge) if edge > 0.0 && edge.is_finite() => filler.enclosing(edge, &vertices)?,
            TetSize::Edge(edge) => return Err(Error::TooFine { edge }),
            TetSize::Count(count) => filler.enclosing(filler.edge_for(count.max(1))?, &vertices)?,
        };
        if let TetSize::Count(count) = self.size {
            // growing adds tets of its own
            let miss = |mesh: &TetMesh| (mesh.tets().len() as f64 / count.max(1) as f64).ln();
            for _ in 0..2 {
                if miss(&mesh).abs() < 2.0 * CLOSE_COUNT {
                    break;
                }
                let stride = (miss(&mesh) / 2.2).exp().clamp(1.0 / STRIDE, STRIDE);
                let next = filler.enclosing(edge * stride, &vertices)?;
                if miss(&next.0).abs() >= miss(&mesh).abs() {
                    break;
                }
                (mesh, growth, edge) = next;
            }
        }
        let embedding = Embedding::new(&mesh, points)?;
        let beyond = |v: &usize| used[*v];
        let outside = embedding.outside(TOLERANCE).filter(beyond).count();
        Ok(Filled { mesh, embedding, edge, grown: growth, outside })
    }

    /// Triangles without area have no side, but their points are to be enclosed too.
    fn with_degenerate(
        &self,
        points: &[Vec3],
        triangles: &[[u32; 3]],
        mut oriented: Vec<[u32; 3]>,
    ) -> Result<SurfaceQuery, Error> {
        let mut held = vec![false; points.len()];
        oriented.iter().flatten().for_each(|&v| held[v as usize] = true);
        oriented.extend(triangles.iter().filter(|t| t.iter().any(|&v| !held[v as usize])));
        SurfaceQuery::new(points.to_vec(), oriented)
    }
}

struct Filler<'a> {
    surface: &'a SurfaceQuery,
    offset: f64,
    graded: bool,
    size: f64,
}

impl Filler<'_> {
    /// Tets that enclose every vertex, at how many of them the offset had to grow, and the edge length.
    fn enclosing(&self, edge: f64, vertices: &[Vec3]) -> Result<(TetMesh, usize, f64), Error> {
        self.check_size(edge)?;
        let triangle_offsets = self.triangle_offsets(edge);
        let mut growth = vec![0; vertices.len()];
        loop {
            let grown: Vec<(Vec3, f64)> = vertices
                .iter()
                .zip(&growth)
                .filter(|(_, steps)| **steps > 0)
                .map(|(&p, &steps)| (p, edge * GROWTH[steps - 1]))
                .collect();
            let field = Offset::new(self.surface, &triangle_offsets, &grown);
            let found = self.mesh(edge, &field, MOST_CELLS)?;
            let found = found.map(|mesh| Embedding::new(&mesh, vertices).map(|embedded| (mesh, embedded)));
            let found = found.transpose()?;
            let outside: Vec<usize> = match &found {
                Some((_, embedded)) => embedded.outside(TOLERANCE).collect(),
                None => (0..vertices.len()).collect(),
            };
            let mut changed = false;
            for v in outside {
                if growth[v] < GROWTH.len() {
                    growth[v] += 1;
                    changed = true;
                }
            }
            if !changed {
                let (mesh, embedded) = found.ok_or(Error::Empty { what: "tets" })?;
                return Ok((with_vertices_only(&mesh, &embedded), grown.len(), edge));
            }
        }
    }

    /// The offset of every triangle: larger where neither side of it is inside.
    fn triangle_offsets(&self, edge: f64) -> Vec<f64> {
        let inside = |q: Vec3| self.surface.winding_number(q).abs() > 0.5;
        let thick = |t: u32| {
            let [a, b, c] = self.surface.corners(t);
            let step = 0.5 * edge * (b - a).cross(c - a).normalize_or_zero();
            let centre = (a + b + c) / 3.0;
            inside(centre - step) || inside(centre + step)
        };
        // triangles much smaller than a cell are judged together, by one of them
        let patches = self.surface.patches(0.25 * edge);
        let judged: Vec<bool> =
            patches.par_iter().map(|patch| patch.first().is_none_or(|&t| thick(t))).collect();
        let mut offsets = vec![edge * self.offset.max(THIN); self.surface.triangles().len()];
        for (patch, _) in patches.iter().zip(judged).filter(|(_, thick)| *thick) {
            patch.iter().for_each(|&t| offsets[t as usize] = edge * self.offset);
        }
        offsets
    }

    /// Refuses edges so short that the cells along the surface alone would be too many.
    fn check_size(&self, edge: f64) -> Result<(), Error> {
        let triangles = 0..self.surface.triangles().len() as u32;
        let area: f64 =
            triangles.map(|t| self.surface.corners(t)).map(|[a, b, c]| triangle_area(a, b, c)).sum();
        if area / (edge * edge) > MOST_CELLS as f64 { Err(Error::TooFine { edge }) } else { Ok(()) }
    }

    /// The edge length that gives about so many tets.
    fn edge_for(&self, wanted: usize) -> Result<f64, Error> {
        let most_cells = (CELLS_PER_TET.saturating_mul(wanted) + FEW_CELLS).min(MOST_CELLS);
        // how many there are; at least so many where there are too many to count
        let count = |edge: f64| -> Result<f64, Error> {
            let field = Offset::new(self.surface, &self.triangle_offsets(edge), &[]);
            match self.check_size(edge).and_then(|()| self.mesh(edge, &field, most_cells)) {
                Ok(mesh) => Ok(mesh.map_or(1, |mesh| mesh.tets().len()) as f64),
                Err(Error::TooFine { .. }) => Ok(most_cells as f64),
                Err(other) => Err(other),
            }
        };
        edge_for_count(self.size, wanted as f64, count)
    }

    /// Tets of the set where the field is below zero. `None` where it is so small that it lies between the lattice's points.
    /// [`Error::TooFine`] where it takes more than `most_cells`.
    fn mesh(&self, edge: f64, field: &Offset, most_cells: usize) -> Result<Option<TetMesh>, Error> {
        let bounds = self.surface.bounds();
        // room for the offset, and for the cells that hold the tets cut off by it
        let reach = 0.5 * bounds.size().max_element() + field.largest() + 2.0 * edge;
        let fate = |centre: Vec3, side: f64| {
            let value = field.value(centre);
            let radius = 0.5 * 3.0_f64.sqrt() * side;
            if value > radius + 1.01 * edge {
                Fate::Void
            } else if self.graded && value < -(radius + 0.8 * edge) {
                Fate::Keep
            } else {
                Fate::Split
            }
        };
        let mut tree = Octree::new(bounds.centre(), reach, edge, most_cells, fate)?;
        loop {
            tree.balance();
            tree.check_size(most_cells)?;
            let background = tree.tets();
            let (places, tets) = numbered(&background);
            let positions: Vec<Vec3> = places.iter().map(|&place| tree.position(place)).collect();
            let values: Vec<f64> = positions.par_iter().map(|&p| field.value(p)).collect();
            let coarse = coarse_cells_at_the_boundary(&background, &tets, &values);
            if coarse.is_empty() {
                let (points, tets) = stuff(&Background {
                    places: &places,
                    positions: &positions,
                    values: &values,
                    tets: &tets,
                });
                if tets.is_empty() {
                    return Ok(None);
                }
                return Ok(Some(TetMesh::new(points, tets)?.without_loose_points().0));
            }
            coarse.into_iter().for_each(|cell| {
                tree.split(cell);
            });
        }
    }
}

/// The edge length at which a shape of this size has about `wanted` tets, by [`TRIES`] counts at most.
fn edge_for_count(size: f64, wanted: f64, count: impl Fn(f64) -> Result<f64, Error>) -> Result<f64, Error> {
    // solids have n³ tets and sheets n²; secants find out
    let mut edge = size / (0.6 * wanted.cbrt()).max(1.0);
    let mut power = 2.5_f64;
    let mut last: Option<(f64, f64)> = None;
    let mut best = (f64::INFINITY, edge);
    // edges that gave too many tets and too few
    let (mut short, mut long) = (0.0, f64::INFINITY);
    for _ in 0..TRIES {
        let found = count(edge)?;
        let miss = (found / wanted).ln();
        if miss.abs() < best.0 {
            best = (miss.abs(), edge);
        }
        if miss.abs() < CLOSE_COUNT {
            break;
        }
        if miss > 0.0 {
            short = edge.max(short);
        } else {
            long = edge.min(long);
        }
        if let Some((other_edge, other_found)) = last {
            let slope = (found / other_found).ln() / (other_edge / edge).ln();
            power = if slope.is_finite() { slope.clamp(1.2, 4.0) } else { power };
        }
        last = Some((edge, found));
        edge *= (miss / power).exp().clamp(1.0 / STRIDE, STRIDE);
        // counts are not quite monotonous; what was tried on either side still says more than a secant beyond it
        if short < long && !(short < edge && edge < long) {
            edge = (short * long).sqrt();
        }
        // no tet needs to be much larger than the whole
        edge = edge.min(2.0 * size);
    }
    Ok(best.1)
}

/// Numbers for the places of all tets.
fn numbered(tets: &[BackgroundTet]) -> (Vec<Place>, Vec<[u32; 4]>) {
    let mut places: Vec<Place> = tets.iter().flat_map(|tet| tet.places).collect();
    places.par_sort_unstable();
    places.dedup();
    // every place is in the list it was taken from
    let number = |place: &Place| places.binary_search(place).unwrap_or(0) as u32;
    let tets = tets.par_iter().map(|tet| tet.places.each_ref().map(number)).collect();
    (places, tets)
}

/// Cells above the finest size whose tets are cut, or have a corner that a cut may move: deep inside there are none, but
/// across holes the sign changes where no surface is near.
fn coarse_cells_at_the_boundary(background: &[BackgroundTet], tets: &[[u32; 4]], values: &[f64]) -> Vec<u32> {
    let inside = |v: u32| values[v as usize] < 0.0;
    let mut active = vec![false; values.len()];
    for tet in tets.iter().filter(|tet| tet.iter().any(|&v| inside(v) != inside(tet[0]))) {
        // only ends of cut edges can move, and in a cut tet every corner is one
        tet.iter().for_each(|&v| active[v as usize] = true);
    }
    let mut cells: Vec<u32> = background
        .iter()
        .zip(tets)
        .filter(|(_, tet)| tet.iter().any(|&v| active[v as usize]))
        .flat_map(|(tet, _)| tet.coarse.into_iter().flatten())
        .collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

/// Without parts that hold no vertex: bubbles of the winding number.
fn with_vertices_only(mesh: &TetMesh, embedded: &Embedding) -> TetMesh {
    let components = mesh.components();
    let mut wanted = vec![false; components.iter().max().map_or(0, |&last| last as usize + 1)];
    embedded.tets().iter().for_each(|&tet| wanted[components[tet as usize] as usize] = true);
    let kept = mesh.tets().iter().zip(&components).filter(|(_, part)| wanted[**part as usize]);
    mesh.with_tets(kept.map(|(&tet, _)| tet).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TetQuality;
    use crate::testing::sphere;

    fn judge(name: &str, filled: &Filled) -> TetQuality {
        let quality = TetQuality::of(&filled.mesh);
        assert_eq!(filled.outside, 0, "{name}");
        assert_eq!((quality.inverted, quality.overfull_faces), (0, 0), "{name}");
        let (low, high) = (quality.smallest_dihedral.to_degrees(), quality.largest_dihedral.to_degrees());
        assert!(low > 10.7 && high < 164.8, "{name}: {low} {high}");
        quality
    }

    fn fill(size: TetSize, points: &[Vec3], triangles: &[[u32; 3]]) -> Filled {
        TetMeshing { size, ..Default::default() }.fill(points, triangles).unwrap()
    }

    #[test]
    fn a_ball_is_graded_and_counted() {
        let (points, triangles) = sphere(32);
        let filled = fill(TetSize::Count(6000), &points, &triangles);
        let quality = judge("ball", &filled);
        assert!((quality.tets as f64 / 6000.0).ln().abs() < 0.06, "{}", quality.tets);
        assert_eq!(quality.components, 1);
        // the ball and its offset, 0.2 edges
        let ball = 4.0 / 3.0 * std::f64::consts::PI;
        assert!(quality.volume > ball && quality.volume < ball * (1.0 + 0.3 * filled.edge).powi(3));
        assert!(quality.longest_edge > 1.9 * filled.edge, "coarse inside");
        let uniform = TetMeshing { size: TetSize::Edge(filled.edge), graded: false, ..Default::default() };
        let uniform = uniform.fill(&points, &triangles).unwrap();
        assert!(uniform.mesh.tets().len() > quality.tets + quality.tets / 20);
    }

    #[test]
    fn sheets_needles_points_and_soups_are_enclosed() {
        let (ball, triangles) = sphere(8);
        let grid = |n: u32| {
            let points: Vec<Vec3> = (0..=n)
                .flat_map(|j| (0..=n).map(move |i| Vec3::new(f64::from(i), 0.0, f64::from(j)) / f64::from(n)))
                .collect();
            let corner = move |i: u32, j: u32| j * (n + 1) + i;
            let cells = (0..n * n).map(move |c| (c % n, c / n));
            let triangles: Vec<[u32; 3]> = cells
                .flat_map(|(i, j)| {
                    let [a, b, c, d] =
                        [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
                    [[a, b, c], [a, c, d]]
                })
                .collect();
            (points, triangles)
        };
        let (sheet, sheet_triangles) = grid(12);
        let filled = fill(TetSize::Edge(0.2), &sheet, &sheet_triangles);
        let quality = judge("sheet", &filled);
        assert_eq!(quality.components, 1, "a shell without gaps");
        assert!(quality.volume < 1.3 * 1.3 * 0.5);

        let needle =
            [Vec3::ZERO, Vec3::new(3.0, 0.0, 0.0), Vec3::new(3.0, 0.001, 0.0), Vec3::new(3.0, 0.0, 0.001)];
        let needle_triangles = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]];
        let filled = fill(TetSize::Edge(0.3), &needle, &needle_triangles);
        assert_eq!(judge("needle", &filled).components, 1);

        judge("point", &fill(TetSize::Count(100), &[Vec3::ONE], &[[0, 0, 0]]));
        judge("wire", &fill(TetSize::Count(100), &[Vec3::ONE, Vec3::ZERO, 0.3 * Vec3::ONE], &[[0, 1, 2]]));

        // half of a ball, turned at random, far from the origin
        let far: Vec<Vec3> = ball.iter().map(|&p| p + Vec3::new(1e4, -2e3, 0.0)).collect();
        let half: Vec<[u32; 3]> = triangles
            .iter()
            .enumerate()
            .filter(|(i, _)| i % 2 == 0)
            .map(|(i, &[a, b, c])| if i % 6 == 0 { [a, c, b] } else { [a, b, c] })
            .collect();
        judge("soup", &fill(TetSize::Count(2000), &far, &half));
    }

    /// Edges that were tried on the way to a count, and the one that was taken.
    fn tries(size: f64, wanted: f64, count: impl Fn(f64) -> f64) -> (Vec<f64>, f64) {
        let tried = std::cell::RefCell::new(Vec::new());
        let counted = |edge: f64| {
            tried.borrow_mut().push(edge);
            Ok(count(edge))
        };
        let edge = edge_for_count(size, wanted, counted).unwrap();
        (tried.into_inner(), edge)
    }

    #[test]
    fn where_counts_are_powers_of_the_edge_the_third_is_the_one() {
        for (power, share, wanted) in
            [(3, 8.0, 1e3), (3, 3.0, 1e5), (3, 20.0, 300.0), (2, 3.0, 1e4), (2, 6.0, 500.0)]
        {
            for size in [0.01, 3.5, 2000.0] {
                let count = |edge: f64| share * (size / edge).powi(power);
                let (tried, edge) = tries(size, wanted, count);
                assert!(tried.len() <= 3, "{power} {share} {wanted}: {tried:?}");
                assert!((count(edge) / wanted).ln().abs() < CLOSE_COUNT);
            }
        }
    }

    /// A count that leaps over what is wanted: no try leaves the bracket of those before, and the nearer side is taken.
    #[test]
    fn where_counts_leap_tries_stay_between_those_on_either_side() {
        let count = |edge: f64| if edge > 0.1 { 50.0 * (0.1 / edge) } else { 4000.0 * (0.1 / edge) };
        for (wanted, few) in [(1000.0, false), (150.0, true)] {
            let (tried, edge) = tries(1.0, wanted, count);
            let (mut short, mut long) = (0.0_f64, f64::INFINITY);
            for edge in &tried {
                assert!(short < *edge && *edge < long, "{tried:?}");
                if count(*edge) > wanted { short = short.max(*edge) } else { long = long.min(*edge) }
            }
            assert_eq!(tried.len(), TRIES);
            assert!((long / short).ln() < 0.05, "{tried:?}");
            assert_eq!(count(edge) < wanted, few, "{edge}");
        }
    }

    /// Spikes that are thinner than cells get tets of their own where the offset grows around them: about as many as were asked for in all,
    /// which the edge that was chosen without them gives beside them.
    #[test]
    fn tets_that_growing_adds_are_made_up_for() {
        let (ball, triangles) = sphere(10);
        let star: Vec<Vec3> =
            ball.iter().enumerate().map(|(i, p)| if i % 13 == 0 { 6.0 * *p } else { *p }).collect();
        let surface = SurfaceQuery::new(star.clone(), triangles.clone()).unwrap();
        let size = surface.bounds().diagonal();
        let filler = Filler { surface: &surface, offset: 0.2, graded: true, size };
        for wanted in [200_usize, 400] {
            let miss = |mesh: &TetMesh| (mesh.tets().len() as f64 / wanted as f64).ln();
            let (first, grown, _) = filler.enclosing(filler.edge_for(wanted).unwrap(), &star).unwrap();
            assert!(grown > 0 && miss(&first) > 0.4, "{}", miss(&first));
            let filled = fill(TetSize::Count(wanted), &star, &triangles);
            assert!(miss(&filled.mesh).abs() < 0.1, "{}", miss(&filled.mesh));
        }
    }

    #[test]
    fn a_ball_with_a_wide_opening_is_closed_across_it() {
        let (points, triangles) = sphere(24);
        let bowl: Vec<[u32; 3]> =
            triangles.iter().copied().filter(|t| t.iter().all(|&v| points[v as usize].y < 0.55)).collect();
        let filled = fill(TetSize::Edge(0.15), &points, &bowl);
        let quality = judge("bowl", &filled);
        // nearly the whole ball, since most of it is wound around by more than a half
        assert!(quality.volume > 2.5, "{}", quality.volume);
        let skin: f64 = filled
            .mesh
            .boundary_faces()
            .iter()
            .map(|f| f.map(|v| filled.mesh.points()[v as usize]))
            .map(|[a, b, c]| triangle_area(a, b, c))
            .sum();
        assert!(skin < 1.4 * 4.0 * std::f64::consts::PI, "not a double wall: {skin}");
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let (points, triangles) = sphere(16);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fill(TetSize::Count(1500), &points, &triangles).mesh)
        };
        assert!(with(1) == with(3));
    }

    #[test]
    fn bad_input_gets_a_sentence() {
        let fill = |size, points: &[Vec3], triangles: &[[u32; 3]]| {
            TetMeshing { size, ..Default::default() }.fill(points, triangles).map(|_| ()).unwrap_err()
        };
        let corner = [Vec3::ZERO, Vec3::X, Vec3::Y];
        assert_eq!(fill(TetSize::Count(10), &corner, &[]), Error::Empty { what: "triangles" });
        assert!(matches!(fill(TetSize::Count(10), &corner, &[[0, 1, 7]]), Error::NoSuchPoint { .. }));
        assert_eq!(fill(TetSize::Count(10), &[Vec3::NAN; 3], &[[0, 1, 2]]), Error::NotFinite { point: 0 });
        assert!(matches!(fill(TetSize::Edge(1e-9), &corner, &[[0, 1, 2]]), Error::TooFine { .. }));
        assert!(matches!(fill(TetSize::Edge(-1.0), &corner, &[[0, 1, 2]]), Error::TooFine { .. }));
        assert!(matches!(fill(TetSize::Edge(1e-4), &corner, &[[0, 1, 2]]), Error::TooFine { .. }));
    }

    /// Bodies smaller than the lattice's cells, and far apart: no lattice point is in any of them, and still each gets its tets.
    #[test]
    fn specks_between_the_lattice_points_are_enclosed() {
        let (ball, faces) = sphere(8);
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        for place in [Vec3::ZERO, Vec3::new(9.3, 0.4, 0.1), Vec3::new(0.2, 8.7, 7.9)] {
            triangles.extend(faces.iter().map(|face| face.map(|v| v + points.len() as u32)));
            points.extend(ball.iter().map(|p| place + 0.1 * *p));
        }
        for edge in [3.0, 1.1, 0.7] {
            let meshing = TetMeshing { size: TetSize::Edge(edge), ..TetMeshing::default() };
            judge("specks", &meshing.fill(&points, &triangles).unwrap());
        }
        let meshing = TetMeshing { size: TetSize::Count(60), ..TetMeshing::default() };
        judge("specks", &meshing.fill(&points, &triangles).unwrap());
    }

    /// Boxes far apart of quite different sizes, which vanish one after the other between the points of coarse lattices: a count of tets
    /// says little about the next, and no try may be finer than what was asked for by orders of magnitude.
    #[test]
    fn a_count_that_jumps_is_found_without_a_lattice_of_millions() {
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        for (place, size) in
            [(Vec3::ZERO, 1.0), (Vec3::new(40.0, 3.0, 0.0), 0.2), (Vec3::new(5.0, 60.0, 9.0), 0.05)]
        {
            let first = points.len() as u32;
            points.extend((0..8).map(|i| {
                place + size * Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))
            }));
            for [a, b, c, d] in
                [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
            {
                triangles.extend([[a, b, c], [a, c, d]].map(|t| t.map(|v| v + first)));
            }
        }
        for wanted in [20, 60, 100, 200, 300, 500, 1000, 3000] {
            let filled = fill(TetSize::Count(wanted), &points, &triangles);
            judge("boxes", &filled);
            let got = filled.mesh.tets().len();
            assert!(got < 4 * wanted + 400, "{got} for {wanted}");
        }
    }
}
