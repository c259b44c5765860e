//! Simple obstacles as triangles: spheres, capsules, boxes, planes.
//!
//! Triangles and not signed distances, for two reasons. A triangle of cloth can cut through a ball while its three
//! corners are outside, so corners against a distance function would miss it; and the audit, which judges every bake,
//! sees triangles. One kind of contact then serves all obstacles, animated meshes included. Points lie on the true
//! surface; between them it is flat, off by edge²/8r at most.

use std::f64::consts::{PI, TAU};

use geometry::Vec3;

use crate::{CollisionSurface, Error, Sides};

/// A simple solid about the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A ball.
    Sphere {
        /// In metres.
        radius: f64,
    },
    /// All points within `radius` of a segment along y.
    Capsule {
        /// In metres.
        radius: f64,
        /// From the centre to either end of the segment, in metres.
        half_length: f64,
    },
    /// A box along the axes.
    Box {
        /// From the centre to the faces, in metres.
        half_size: Vec3,
    },
}

/// The most points a shape may be cut into: beyond this a dial is wrong.
const MOST_POINTS: f64 = 4e6;

impl Shape {
    /// The shape's surface as an obstacle, outside to the front, with edges of about the given length.
    pub fn surface(&self, name: impl Into<String>, edge_length: f64) -> Result<CollisionSurface, Error> {
        let name = name.into();
        let positive = |dial: &'static str, value: f64| {
            let range = "a positive number";
            let surface = name.clone();
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(Error::OutOfRange { surface, dial, value, range })
            }
        };
        positive("edge length", edge_length)?;
        let area = match *self {
            Self::Sphere { radius } => {
                positive("radius", radius)?;
                2.0 * TAU * radius * radius
            }
            Self::Capsule { radius, half_length } => {
                positive("radius", radius)?;
                positive("half length", half_length)?;
                2.0 * TAU * radius * (radius + half_length)
            }
            Self::Box { half_size } => {
                half_size.to_array().into_iter().try_for_each(|side| positive("half size", side))?;
                8.0 * (half_size.x * half_size.y + half_size.y * half_size.z + half_size.z * half_size.x)
            }
        };
        let count = area / (edge_length * edge_length);
        if count > MOST_POINTS {
            return Err(Error::TooMany { what: "points of a shape", count: count as usize });
        }
        let (points, triangles) = match *self {
            Self::Sphere { radius } => turned(&arc(radius, 0.0, edge_length), edge_length),
            Self::Capsule { radius, half_length } => {
                turned(&arc(radius, half_length, edge_length), edge_length)
            }
            Self::Box { half_size } => block(half_size, edge_length),
        };
        Ok(CollisionSurface::obstacle(name, points, triangles))
    }
}

/// A plane through `point` as an obstacle that holds back what comes from where `normal` points: one triangle, whose
/// inscribed circle has the given radius in metres. Only its face counts, not its rim; keep it well beyond the scene
/// and below some thousand metres, where digits grow scarce.
pub fn plane(
    name: impl Into<String>,
    point: Vec3,
    normal: Vec3,
    radius: f64,
) -> Result<CollisionSurface, Error> {
    let name = name.into();
    let out_of_range =
        |dial, value| Error::OutOfRange { surface: name.clone(), dial, value, range: "positive and finite" };
    if !(radius > 0.0 && radius.is_finite()) {
        return Err(out_of_range("radius", radius));
    }
    let unit = normal.try_normalize().ok_or_else(|| out_of_range("normal's length", normal.length()))?;
    let along = unit.any_orthonormal_vector();
    let across = unit.cross(along);
    let corner = |k: f64| {
        let (sin, cos) = (k * TAU / 3.0).sin_cos();
        point + 2.0 * radius * (cos * along + sin * across)
    };
    let points = vec![corner(0.0), corner(1.0), corner(2.0)];
    Ok(CollisionSurface {
        sides: Sides::Front,
        faces_only: true,
        ..CollisionSurface::obstacle(name, points, vec![[0, 1, 2]])
    })
}

/// Half a meridian from the lower pole to the upper: (distance from the axis, height).
fn arc(radius: f64, half_length: f64, edge: f64) -> Vec<[f64; 2]> {
    let quarter = (0.5 * PI * radius / edge).ceil().max(2.0) as usize;
    let straight = if half_length > 0.0 { (2.0 * half_length / edge).ceil() as usize } else { 0 };
    let angle = |k: usize| 0.5 * PI * k as f64 / quarter as f64;
    let mut places = vec![[0.0, -radius - half_length]];
    places.extend((1..=quarter).map(|k| [radius * angle(k).sin(), -half_length - radius * angle(k).cos()]));
    places.extend((1..=straight).map(|k| [radius, half_length * (2.0 * k as f64 / straight as f64 - 1.0)]));
    places.extend((1..quarter).map(|k| [radius * angle(k).cos(), half_length + radius * angle(k).sin()]));
    places.push([0.0, radius + half_length]);
    places
}

/// A surface of revolution about y. Each ring gets as many points as its girth needs, so that triangles stay alike up
/// to the poles.
fn turned(meridian: &[[f64; 2]], edge: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    let mut below: Option<(u32, u32)> = None;
    for (index, &[r, y]) in meridian.iter().enumerate() {
        let is_pole = index == 0 || index + 1 == meridian.len();
        let count = if is_pole { 1 } else { (TAU * r / edge).ceil().max(5.0) as u32 };
        let first = points.len() as u32;
        points.extend((0..count).map(|k| {
            let (sin, cos) = (TAU * f64::from(k) / f64::from(count)).sin_cos();
            Vec3::new(r * cos, y, r * sin)
        }));
        if let Some((low, low_count)) = below {
            sew(low, low_count, first, count, &mut triangles);
        }
        below = Some((first, count));
    }
    (points, triangles)
}

/// Joins two rings of different counts: always steps along the ring that is behind.
fn sew(low: u32, low_count: u32, high: u32, high_count: u32, triangles: &mut Vec<[u32; 3]>) {
    // a pole is a ring that never steps
    let steps = |count: u32| if count == 1 { 0 } else { count };
    let (lows, highs) = (steps(low_count), steps(high_count));
    let (mut i, mut j) = (0, 0);
    while i < lows || j < highs {
        // compare (2i+1)/2·lows with (2j+1)/2·highs in whole numbers
        let low_next = j >= highs || (i < lows && (2 * i + 1) * highs <= (2 * j + 1) * lows);
        let (a, b) = (low + i % low_count, high + j % high_count);
        if low_next {
            i += 1;
            triangles.push([a, b, low + i % low_count]);
        } else {
            j += 1;
            triangles.push([a, b, high + j % high_count]);
        }
    }
}

/// A box of square-ish cells.
fn block(half: Vec3, edge: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let cells = (2.0 * half / edge).ceil().max(Vec3::ONE).to_array().map(|n| n as u32);
    let mut numbers = std::collections::BTreeMap::new();
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    let mut point = |at: [u32; 3]| {
        *numbers.entry(at).or_insert_with(|| {
            let part = |i: usize| half[i] * (2.0 * f64::from(at[i]) / f64::from(cells[i]) - 1.0);
            points.push(Vec3::new(part(0), part(1), part(2)));
            points.len() as u32 - 1
        })
    };
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for far in [false, true] {
            for (i, j) in (0..cells[u]).flat_map(|i| (0..cells[v]).map(move |j| (i, j))) {
                let mut corner = |di: u32, dj: u32| {
                    let mut at = [0; 3];
                    (at[axis], at[u], at[v]) = (if far { cells[axis] } else { 0 }, i + di, j + dj);
                    point(at)
                };
                let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                // u × v points along the axis, which is outwards on the far face
                triangles.extend(if far { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] });
            }
        }
    }
    (points, triangles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditedSurface, audit};
    use geometry::Topology;

    /// ∫ x·n/3 over the surface: positive when normals point outwards.
    fn volume(surface: &CollisionSurface) -> f64 {
        let corner = |v: u32| surface.rest_positions[v as usize];
        surface.triangles.iter().map(|t| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))) / 6.0).sum()
    }

    #[test]
    fn shapes_are_closed_outward_clean_and_of_the_right_volume() {
        let ball = 4.0 / 3.0 * PI;
        for (shape, expected) in [
            (Shape::Sphere { radius: 1.0 }, ball),
            (Shape::Capsule { radius: 1.0, half_length: 0.7 }, ball + PI * 1.4),
            (Shape::Box { half_size: Vec3::new(0.5, 1.0, 1.5) }, 6.0),
        ] {
            let surface = shape.surface("shape", 0.1).unwrap();
            let topology = Topology::new(surface.rest_positions.len(), &surface.triangles);
            assert!(topology.edges().iter().all(|edge| edge.triangles.len() == 2), "{shape:?} is closed");
            let euler = surface.rest_positions.len() + surface.triangles.len() - topology.edges().len();
            assert_eq!(euler, 2, "{shape:?}");
            // the flat parts are off by edge²/8r
            assert!((volume(&surface) / expected - 1.0).abs() < 0.01, "{shape:?}: {}", volume(&surface));
            let lengths = topology.edges().iter().map(|e| {
                let [a, b] = e.vertices.map(|v| surface.rest_positions[v as usize]);
                a.distance(b)
            });
            assert!(lengths.clone().fold(0.0, f64::max) < 0.16 && lengths.fold(1.0, f64::min) > 0.03);
            let points: Vec<[f64; 3]> = surface.rest_positions.iter().map(|p| p.to_array()).collect();
            let triangles = &surface.triangles;
            let audited = AuditedSurface { name: "shape", points: &points, triangles, is_obstacle: false };
            assert_eq!(audit(&[audited]).unwrap(), [], "{shape:?}");
        }
    }

    #[test]
    fn a_plane_faces_its_normal() {
        let normal = Vec3::new(0.3, 2.0, -0.4);
        let surface = plane("slope", Vec3::Y, normal, 100.0).unwrap();
        let [a, b, c] = [0, 1, 2].map(|i: usize| surface.rest_positions[i]);
        let facing = (b - a).cross(c - a).normalize();
        assert!(facing.distance(normal.normalize()) < 1e-12);
        let distance_of_rim = (0.5 * (a + b)).distance(Vec3::Y);
        assert!((distance_of_rim - 100.0).abs() < 1e-9);
    }

    #[test]
    fn dials_without_meaning_are_named() {
        let error = Shape::Sphere { radius: -1.0 }.surface("ball", 0.1).unwrap_err();
        assert_eq!(error.to_string(), "ball: radius is -1, but must be a positive number");
        assert!(matches!(Shape::Sphere { radius: 1.0 }.surface("ball", 1e-5), Err(Error::TooMany { .. })));
        assert!(plane("floor", Vec3::ZERO, Vec3::ZERO, 1.0).is_err());
        assert!(plane("floor", Vec3::ZERO, Vec3::Y, f64::NAN).is_err());
    }

    /// How many points a shape would have is its area over that of a cell: 4πr², 4πr(r + h), 8(xy + yz + zx).
    #[test]
    fn shapes_of_too_many_points_say_how_many() {
        for (shape, area) in [
            (Shape::Sphere { radius: 2.0 }, 16.0 * PI),
            (Shape::Capsule { radius: 2.0, half_length: 0.5 }, 20.0 * PI),
            (Shape::Box { half_size: Vec3::new(1.0, 2.0, 3.0) }, 88.0),
        ] {
            let Err(Error::TooMany { count, .. }) = shape.surface("shape", 1e-3) else { panic!("{shape:?}") };
            assert!((count as f64 / (1e6 * area) - 1.0).abs() < 1e-6, "{shape:?}: {count}");
            assert!(shape.surface("shape", 1.0).is_ok());
        }
    }
}
