//! Long takes, a window at a time.

#![allow(clippy::print_stderr)] // what was measured is said aloud

#[allow(dead_code)] // it serves other tests, too
mod common;

use common::take_of;
use geometry::Vec3;
use motion::{Build, Data, Moment, Repair, Take};
use samples::Walker;

fn walk(strides: usize) -> Take {
    let settings = Walker { strides, slide: 0.02, tremble: 0.003, cell: 0.06, frame_rate_hz: 30.0 };
    take_of(&settings.clip(), 0, 1)
}

/// Half a minute in three windows obeys physics at every frame, those at the seams too, and moves there as it does elsewhere; each
/// window is a function of its seam alone.
#[test]
fn a_long_walk_has_no_seams() {
    let take = walk(24);
    let build = Build { mass: Some(72.0), ..Build::default() };
    let repair = Repair { build, ..Repair::default() };
    let begun = std::time::Instant::now();
    let result = repair.run(&take).unwrap();
    let (count, report) = (take.frame_count(), &result.report);
    eprintln!(
        "{count} frames in {:.1} s: {:?}",
        begun.elapsed().as_secs_f64(),
        (report.root_residual, report.slip)
    );
    assert!(report.root_residual < 1e-6 && report.cone_violations == 0, "{report:?}");
    assert!(report.slip < 1e-3 && report.penetration < 1e-3, "{report:?}");
    assert_eq!(result.solution.forces.len(), count);
    // a window at a time, the last one from its seam alone
    let staged = repair.stage(&take).unwrap();
    let (mut windows, mut seam) = (Vec::new(), None);
    loop {
        let window = repair.window(&staged, seam.as_ref()).unwrap();
        let next = window.seam.clone();
        windows.push((seam, window));
        seam = next;
        if seam.is_none() {
            break;
        }
    }
    assert!(windows.len() >= 2);
    let starts: Vec<usize> = windows.iter().skip(1).map(|(_, window)| window.frames.start).collect();
    assert!(windows.windows(2).all(|pair| pair[0].1.frames.end == pair[1].1.frames.start));
    for (_, window) in &windows {
        let part = &result.take.roots[window.frames.clone()];
        assert_eq!(part, window.repaired.take.roots);
        assert!(window.repaired.report.root_residual < 1e-6);
    }
    let (seam, last) = windows.last().unwrap();
    let again = repair.window(&repair.stage(&take).unwrap(), seam.as_ref()).unwrap();
    assert_eq!(again.repaired.take.rotations, last.repaired.take.rotations);
    // accelerations change from frame to frame at a seam no more than they do elsewhere
    let (body, mut data) = (&result.body, Data::new(&result.body));
    let mut moment = Moment::new(body);
    let pulls: Vec<Vec3> = (0..count)
        .map(|frame| {
            result.solution.spline.frame(body, frame, &mut moment);
            data.kinematics(body, &moment.q);
            Vec3::from_slice(&moment.a)
        })
        .collect();
    let jump = |frame: usize| pulls[frame].distance(pulls[frame - 1]);
    let mut all: Vec<f64> = (2..count - 1).map(jump).collect();
    all.sort_by(f64::total_cmp);
    let usual = all[all.len() * 98 / 100];
    for start in starts {
        let here = (start - 1..start + 2).map(jump).fold(0.0, f64::max);
        eprintln!("window from frame {start}: jump {here:.1} m/s², 98 of 100 below {usual:.1}");
        assert!(here < 1.5 * usual, "{here} {usual}");
    }
}
