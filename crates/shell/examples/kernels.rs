//! Nanoseconds per element of the hot loops, one thread: `cargo run --release -p followthrough-shell --example kernels`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use dynamics::{Element, ForceElement};
use geometry::{Vec2, Vec3};
use shell::{Bending, ClothBuilder, Material, Uvs, Wind};

fn main() -> Result<(), shell::Error> {
    // 100 × 100 squares: 10,201 points, 20,000 triangles; waves and some stretch, so that no branch is always taken
    let n = 100_u32;
    let at = |i: u32, j: u32| j * (n + 1) + i;
    let uvs: Vec<Vec2> = (0..=n)
        .flat_map(|j| (0..=n).map(move |i| Vec2::new(f64::from(i), f64::from(j)) * 2.0 / f64::from(n)))
        .collect();
    let rest: Vec<Vec3> = uvs.iter().map(|q| q.extend(0.0)).collect();
    let triangles: Vec<[u32; 3]> = (0..n)
        .flat_map(|j| (0..n).map(move |i| (i, j)))
        .flat_map(|(i, j)| {
            [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
        })
        .collect();
    let x: Vec<Vec3> = uvs
        .iter()
        .map(|q| Vec3::new(1.01 * q.x, 0.99 * q.y, 0.1 * (7.0 * q.x).sin() * (5.0 * q.y).cos()))
        .collect();
    let wind = Arc::new(Wind { speed: 5.0, ..Wind::default() }.field()?);
    let material = Material::default();
    let builder = ClothBuilder::new(&rest, &triangles, &material).uvs(Uvs::PerPoint(&uvs)).wind(wind);
    let started = Instant::now();
    let cloth = builder.build()?;
    let built = started.elapsed();
    let plates = builder.bending(Bending::Plates).build()?.plates;
    println!("{} triangles, built in {:.1} ms", triangles.len(), 1e3 * built.as_secs_f64());

    measure("membrane", &cloth.membranes, &x);
    measure("hinge", &cloth.hinges, &x);
    measure("plate", &plates, &x);
    let still = [Vec3::ZERO; 3];
    report("air force", &cloth.air, |t, air| air.force(0.5, &t.map(|v| x[v as usize]), &still)[0].x);
    report("air damping", &cloth.air, |t, air| {
        black_box(air.damping(0.5, &t.map(|v| x[v as usize]), &still)).0[0][0].x_axis.x
    });
    Ok(())
}

fn measure<const N: usize, E: Element<N>>(name: &str, elements: &[([u32; N], E)], x: &[Vec3]) {
    let gather = |t: &[u32; N]| t.map(|v| x[v as usize]);
    report(&format!("{name} value"), elements, |t, e| e.value(&gather(t)));
    report(&format!("{name} gradient"), elements, |t, e| black_box(e.gradient(&gather(t)))[0].x);
    report(&format!("{name} hessian"), elements, |t, e| black_box(e.hessian(&gather(t))).0[0][0].x_axis.x);
    report(&format!("{name} projected_hessian"), elements, |t, e| {
        black_box(e.projected_hessian(&gather(t))).0[0][0].x_axis.x
    });
}

/// The fastest of thirty passes over all elements.
fn report<S, E>(name: &str, elements: &[(S, E)], kernel: impl Fn(&S, &E) -> f64) {
    let pass = || {
        let started = Instant::now();
        black_box(elements.iter().map(|(stencil, element)| kernel(stencil, element)).sum::<f64>());
        started.elapsed().as_secs_f64()
    };
    let best = (0..30).map(|_| pass()).fold(f64::INFINITY, f64::min);
    println!("{name:28} {:7.1} ns", 1e9 * best / elements.len() as f64);
}
