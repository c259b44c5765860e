//! Triangles made to agree on which side is out.
//!
//! The winding number needs normals that mostly agree. Files have faces turned at random, faces twice, whole parts inside
//! out, and points split along seams; this undoes what can be undone, and never adds or moves a point.

use crate::{SurfaceQuery, Topology, Vec3, triangle_area};

/// The triangles without duplicates and without those that have fewer than three different corners, turned so that
/// neighbours agree and closed parts have their normals outwards.
///
/// Neighbours are found across edges with two triangles, equal points counting as one. A patch whose triangles agree keeps
/// its sense, otherwise the larger area decides. Then a patch that is inside out is turned, unless it lies within
/// another: that is the wall of a cavity. Patches that are open or not orientable come out as they may.
pub fn oriented_triangles(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let welded = weld(points);
    let mut seen: Vec<([u32; 3], u32)> = Vec::with_capacity(triangles.len());
    for (index, t) in triangles.iter().enumerate() {
        let mut key = t.map(|v| welded[v as usize]);
        key.sort_unstable();
        if key[0] != key[1] && key[1] != key[2] {
            seen.push((key, index as u32));
        }
    }
    seen.sort_unstable();
    seen.dedup_by_key(|(key, _)| *key);
    let mut kept: Vec<u32> = seen.into_iter().map(|(_, index)| index).collect();
    kept.sort_unstable();
    let mut result: Vec<[u32; 3]> = kept.iter().map(|&index| triangles[index as usize]).collect();
    let on_welded: Vec<[u32; 3]> = result.iter().map(|t| t.map(|v| welded[v as usize])).collect();
    let patches = agree(points, &on_welded, &mut result);
    turn_outwards(points, &mut result, &patches);
    result
}

/// For each point the first point at the same place.
fn weld(points: &[Vec3]) -> Vec<u32> {
    // −0 and 0 are the same place
    let key = |p: Vec3| (p + Vec3::ZERO).to_array().map(f64::to_bits);
    let mut order: Vec<([u64; 3], u32)> = points.iter().zip(0..).map(|(&p, index)| (key(p), index)).collect();
    order.sort_unstable();
    let mut first = vec![0; points.len()];
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        run.iter().for_each(|&(_, index)| first[index as usize] = run[0].1);
    }
    first
}

/// Turns triangles so that neighbours agree; gives the patch of each.
fn agree(points: &[Vec3], welded: &[[u32; 3]], triangles: &mut [[u32; 3]]) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let topology = Topology::new(points.len(), welded);
    // (neighbour, whether it runs along the shared edge in the same direction, which means that one must be turned)
    let mut around: Vec<Vec<(u32, bool)>> = vec![Vec::new(); welded.len()];
    let forward = |t: u32, [e0, e1]: [u32; 2]| {
        let corners = welded[t as usize];
        (0..3).any(|i| corners[i] == e0 && corners[(i + 1) % 3] == e1)
    };
    for edge in topology.edges() {
        if let [s, t] = edge.triangles[..] {
            let against = forward(s, edge.vertices) == forward(t, edge.vertices);
            around[s as usize].push((t, against));
            around[t as usize].push((s, against));
        }
    }
    let area = |t: u32| {
        let [a, b, c] = welded[t as usize].map(|v| points[v as usize]);
        triangle_area(a, b, c)
    };
    let mut patch = vec![UNSEEN; welded.len()];
    let mut turned = vec![false; welded.len()];
    let mut count = 0;
    for seed in 0..welded.len() {
        if patch[seed] != UNSEEN {
            continue;
        }
        patch[seed] = count;
        let mut members = vec![seed as u32];
        let mut next = 0;
        while next < members.len() {
            let t = members[next];
            next += 1;
            for &(other, against) in &around[t as usize] {
                if patch[other as usize] == UNSEEN {
                    patch[other as usize] = count;
                    turned[other as usize] = turned[t as usize] ^ against;
                    members.push(other);
                }
            }
        }
        let (mut as_listed, mut against) = (0.0, 0.0);
        for &t in &members {
            *(if turned[t as usize] { &mut against } else { &mut as_listed }) += area(t);
        }
        for &t in &members {
            if turned[t as usize] ^ (against > as_listed) {
                triangles[t as usize].swap(1, 2);
            }
        }
        count += 1;
    }
    patch
}

/// Turns patches that enclose a negative volume and do not lie within others.
fn turn_outwards(points: &[Vec3], triangles: &mut [[u32; 3]], patches: &[u32]) {
    let count = patches.iter().max().map_or(0, |&last| last as usize + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    patches.iter().zip(0..).for_each(|(&patch, t)| members[patch as usize].push(t));
    let corners = |t: &[u32; 3]| t.map(|v| points[v as usize]);
    let volume = |list: &[u32]| -> f64 {
        // about a point of the patch, so that being far from the origin costs no digits
        let Some(&first) = list.first() else { return 0.0 };
        let origin = corners(&triangles[first as usize])[0];
        let of = |t: &u32| {
            let [a, b, c] = corners(&triangles[*t as usize]).map(|p| p - origin);
            a.dot(b.cross(c)) / 6.0
        };
        list.iter().map(of).sum()
    };
    let negative: Vec<usize> = (0..count).filter(|&patch| volume(&members[patch]) < 0.0).collect();
    if negative.is_empty() {
        return;
    }
    let Ok(surface) = SurfaceQuery::new(points.to_vec(), triangles.to_vec()) else { return };
    // just behind a triangle of an inside-out patch is outside of the patch: what winds around there are the others
    let others = |t: &u32| {
        let [a, b, c] = corners(&triangles[*t as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let step = 1e-3 * triangle_area(a, b, c).sqrt();
        surface.winding_number((a + b + c) / 3.0 - step * normal)
    };
    let mut turn = Vec::new();
    for patch in negative {
        let list = &members[patch];
        // nine witnesses, spread over the patch
        let mut seen: Vec<f64> = list.iter().step_by(list.len().div_ceil(9)).map(others).collect();
        seen.sort_unstable_by(f64::total_cmp);
        if seen[seen.len() / 2] < 0.5 {
            turn.extend_from_slice(list);
        }
    }
    turn.iter().for_each(|&t| triangles[t as usize].swap(1, 2));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::testing::sphere;

    fn volume(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
        let of = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| points[v as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        triangles.iter().map(of).sum()
    }

    #[test]
    fn random_turns_duplicates_and_seams_are_undone() {
        let (points, good) = sphere(12);
        let mut random = Random::new(9);
        // every triangle has its own points, as in STL
        let mut soup = Vec::new();
        let mut bad = Vec::new();
        for t in &good {
            let start = soup.len() as u32;
            soup.extend(t.map(|v| points[v as usize]));
            let turned = if random.unit() < 0.45 { [0, 2, 1] } else { [0, 1, 2] };
            bad.push(turned.map(|i| start + i));
        }
        bad.push(bad[0]);
        bad.push([bad[1][1], bad[1][0], bad[1][2]]);
        bad.push([0, 0, 1]);
        let fixed = oriented_triangles(&soup, &bad);
        assert_eq!(fixed.len(), good.len());
        assert!((volume(&soup, &fixed) - volume(&points, &good)).abs() < 1e-12);
    }

    #[test]
    fn parts_inside_out_are_turned_but_cavities_stay() {
        let (unit, triangles) = sphere(12);
        let count = unit.len() as u32;
        let turned = |offset: u32| triangles.iter().map(move |&[a, b, c]| [a, c, b].map(|v| v + offset));
        let mut points = unit.clone();
        points.extend(unit.iter().map(|&p| 0.5 * p));
        points.extend(unit.iter().map(|&p| p + 5.0 * Vec3::X));
        let all: Vec<[u32; 3]> =
            triangles.iter().copied().chain(turned(count)).chain(turned(2 * count)).collect();
        let fixed = oriented_triangles(&points, &all);
        let ball = volume(&unit, &triangles);
        let n = triangles.len();
        assert!((volume(&points, &fixed[..n]) - ball).abs() < 1e-12);
        assert!((volume(&points, &fixed[n..2 * n]) + ball / 8.0).abs() < 1e-12, "the cavity");
        assert!((volume(&points, &fixed[2 * n..]) - ball).abs() < 1e-10, "the other ball");
    }

    /// Wherever a cavity lies and however it is turned, it is judged by what winds around its wall.
    #[test]
    fn cavities_stay_wherever_they_are() {
        let ((hull, hull_triangles), (wall, wall_triangles)) = (sphere(12), sphere(4));
        let mut random = Random::new(4);
        for _ in 0..12 {
            let place = 20.0 * random.vec3();
            let rotation = random.rotation();
            let mut points: Vec<Vec3> = hull.iter().map(|p| place + 3.0 * *p).collect();
            let inside = place + random.vec3();
            points.extend(wall.iter().map(|p| inside + 0.5 * (rotation * *p)));
            let offset = hull.len() as u32;
            let cavity: Vec<[u32; 3]> =
                wall_triangles.iter().map(|&[a, b, c]| [a, c, b].map(|v| v + offset)).collect();
            let all = [&hull_triangles[..], &cavity].concat();
            assert_eq!(oriented_triangles(&points, &all), all);
        }
    }
}
