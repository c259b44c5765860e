//! Training files end to end, on small cloths: resumed, learnt again, refused.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use clip::Clip;
use samples::{Portiere, Visitor};
use shot::{Context, Event, Registry};
use train::{Error, Options, Report, Trained, UpsampleReport};

const TEXT: &str = r#"
kind = "upsample"
coarse = { sample = "coarse" }
fine = { sample = "small" }
follow = { group = "held" }
fabric = { bend = 2e-3, damping = 0.2 }
tests = 12
harmonics = 80
settle = 0.2

[[learn]]
name = "small ball"
sample = "small"
obstacles = [{ joint = "Ball1", from = [-1.0, 1.0, 1.0], radius = 0.16 }]

[[test]]
name = "big ball"
sample = "big"
frames = "0-9"
obstacles = [{ joint = "Ball1", from = [-1.0, 1.0, 1.0], radius = 0.3 }]
"#;

fn curtain(visitor: Visitor) -> Clip {
    Portiere { cells: [12, 14], visitor, seconds: 0.8, ..Portiere::default() }.clip()
}

/// The curtain without a skin, hung on the second joint as a whole.
fn hung(mut clip: Clip) -> Clip {
    clip.meshes[0].skin = None;
    clip.meshes[0].parent = Some(1);
    clip
}

fn registry() -> Registry {
    Registry::empty()
        .with_sample("coarse", || Portiere::alone([5, 6]))
        .with_sample("small", || curtain(Visitor::Small))
        .with_sample("big", || curtain(Visitor::Big))
        .with_sample("hung coarse", || hung(Portiere::alone([5, 6])))
        .with_sample("hung", || hung(curtain(Visitor::Small)))
        .with_sample("far", || {
            let mut clip = curtain(Visitor::Small);
            clip.meshes[0].rest_points.iter_mut().for_each(|p| p[2] += 5.0);
            clip
        })
}

fn train(
    text: &str,
    work: &Path,
    context: &Context<'_>,
    change: impl FnOnce(&mut Options),
) -> Result<Trained, Error> {
    let mut options = Options { work: work.into(), ..Options::default() };
    change(&mut options);
    train::train("curtain.toml", text, "".as_ref(), &registry(), &options, context)
}

fn folds(trained: &Trained) -> &UpsampleReport {
    let Report::Upsample(report) = &trained.report else { panic!("cloth was trained") };
    report
}

#[test]
fn a_stopped_training_goes_on_and_learns_the_same() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let whole =
        train(TEXT, folders[0].path(), &Context::SILENT, |options| options.threads = Some(1)).unwrap();
    let report = folds(&whole);
    assert_eq!((report.coarse_points, report.fine_points, report.frames), (42, 195, 25));
    assert!(report.motions.len() == 2 && report.motions[0].learnt && !report.motions[1].learnt);
    assert!(report.remarks[0].contains("25 frames were learnt from, fewer than the 42 coarse points"));
    let learnt = &report.motions[0];
    assert!(learnt.ours.rms_mm < learnt.subdivision.rms_mm, "{}", report.text());

    // stopped in the middle of the first motion, then gone on with, on other threads
    let stop = AtomicBool::new(false);
    let listen = |event: Event<'_>| {
        if let Event::Frame { done: 7, .. } = event {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let context = Context { progress: &listen, cancel: &stop };
    let stopped = train(TEXT, folders[1].path(), &context, |_| ());
    let Err(Error::Cancelled { motion, done, of: 25 }) = stopped else { panic!("it was stopped") };
    assert!(motion == "small ball" && (7..12).contains(&done), "{motion} {done}");
    let relearnt = train(TEXT, folders[1].path(), &Context::SILENT, |options| options.relearn = true);
    assert!(matches!(relearnt, Err(Error::NotSimulated { need: 25, .. })));
    let gone_on =
        train(TEXT, folders[1].path(), &Context::SILENT, |options| options.threads = Some(2)).unwrap();
    assert!(whole.operator == gone_on.operator, "resumed and on two threads: other bytes");

    // learning again simulates nothing, and dials of learning count
    let (frames, never) = (AtomicBool::new(false), AtomicBool::new(false));
    let listen = |event: Event<'_>| {
        frames.fetch_or(matches!(event, Event::Frame { .. }), Ordering::Relaxed);
    };
    let context = Context { progress: &listen, cancel: &never };
    let again = train(TEXT, folders[0].path(), &context, |options| {
        (options.relearn, options.threads) = (true, Some(16));
    })
    .unwrap();
    assert!(again.operator == whole.operator && !frames.load(Ordering::Relaxed));
    let dialled = format!("rank = 4\n{TEXT}");
    let other = train(&dialled, folders[0].path(), &context, |options| options.relearn = true).unwrap();
    assert!(folds(&other).rank == 4 && !frames.load(Ordering::Relaxed));

    // so does paint; none at all, or where there is no cloth, is no paint
    let painted = |paint: &str| {
        let text = format!("detail = 0.3\nstrength = 0.02\npaint = [{paint}]\n{TEXT}");
        train(&text, folders[0].path(), &context, |options| options.relearn = true).unwrap()
    };
    let rms = |trained: &Trained| folds(trained).motions[0].ours.rms_mm;
    let even = painted("");
    let nothing = painted("{ coarser = 3.0, at = { height = { from = 90.0, to = 91.0 } } }");
    assert!((rms(&nothing) / rms(&even) - 1.0).abs() < 0.02, "{} {}", rms(&nothing), rms(&even));
    let [upright, lying] = ["[0.0, 1.0, 0.0]", "[1.0, 0.0, 0.0]"]
        .map(|way| painted(&format!("{{ coarser = 6.0, along = {way} }}")));
    let coarse = painted("{ coarser = 6.0 }");
    assert!(upright.operator != lying.operator && upright.operator != even.operator);
    // whatever is coarser has fewer functions for the motion that is learnt
    let all = [&even, &upright, &lying, &coarse].map(rms);
    assert!(all[1] > all[0] && all[2] > all[0] && all[3] > all[1] && all[3] > all[2], "{all:?}");
    assert!(!frames.load(Ordering::Relaxed));
}

/// A ball of another size leads the curtain where it was not: the report says in which frames, and that it is worth learning.
#[test]
fn the_report_says_where_a_motion_is_unknown_and_which_one_to_add() {
    let folder = tempfile::tempdir().unwrap();
    let whole = TEXT.replace("frames = \"0-9\"\n", "");
    let text = format!("detail = 0.3\nstrength = 0.02\n{whole}");
    let trained = train(&text, folder.path(), &Context::SILENT, |_| ()).unwrap();
    let report = folds(&trained);
    let unseen = &report.motions[1];
    let far: usize = unseen.unknown_frames.iter().map(|[first, last]| last - first + 1).sum();
    assert_eq!(far, (unseen.unknown * unseen.frames as f64).round() as usize);
    assert!(far > 0 && unseen.farthest > 1.0, "{}", report.text());
    assert!(unseen.unknown_frames.windows(2).all(|pair| pair[0][1] + 1 < pair[1][0]));
    assert!(report.remarks.iter().any(|said| said.contains("`big ball`") && said.contains("(frames ")));
    let Some(proposal) = &report.proposal else { panic!("{}", report.text()) };
    assert!(proposal.motion == "big ball" && proposal.then_mm < 0.97 * proposal.now_mm, "{proposal:?}");
    assert!(proposal.others_now_mm == 0.0 && report.text().contains("learning from `big ball`, too"));
    // a motion that was learnt is known
    assert!(report.motions[0].unknown_frames.is_empty());
}

#[test]
fn cloth_without_a_skin_hangs_on_its_joint() {
    let folder = tempfile::tempdir().unwrap();
    let text = "kind = \"upsample\"\ncoarse = { sample = \"hung coarse\" }\nfine = { sample = \"hung\" }\nfollow = { group = \"held\" }\n\
        tests = 12\nharmonics = 30\nsettle = 0.0\nwaves = 0\nlearn = [{ sample = \"hung\", frames = \"0-3\" }]\n";
    let trained = train(text, folder.path(), &Context::SILENT, |_| ()).unwrap();
    let operator = live::Operator::read(trained.operator).unwrap();
    let skeleton = hung(curtain(Visitor::Small)).skeleton.unwrap();
    assert_eq!(operator.joints().collect::<Vec<_>>(), [skeleton.joints[1].name.as_str()]);
    assert_ne!(skeleton.joints[0].name, skeleton.joints[1].name);
}

#[test]
fn mistakes_are_told_at_their_lines() {
    for (from, to, line, said) in [
        ("kind = \"upsample\"", "kind = \"upsampel\"", 2, "there is no kind of training `upsampel`"),
        ("kind = \"upsample\"", "", 1, "a training file needs a `kind`"),
        ("sample = \"coarse\"", "sample = \"corse\"", 3, "there is no sample `corse`"),
        ("sample = \"big\"", "sample = \"bog\"", 18, "there is no sample `bog`"),
        ("group = \"held\"", "group = \"hold\"", 5, "no group `hold`"),
        ("frames = \"0-9\"", "frames = \"0-900\"", 19, "frames 0-900 were asked for"),
        (
            "joint = \"Ball1\", from = [-1.0, 1.0, 1.0], radius = 0.16",
            "joint = \"Bell\", from = [0.0, 0.0, 0.0], radius = 0.1",
            14,
            "there is no joint `Bell`",
        ),
        ("radius = 0.3", "radius = 0.0", 20, "radius"),
        ("tests = 12", "tests = 0", 7, "tests"),
        ("settle = 0.2", "cloth = { rate = 0.0 }", 9, "rate"),
        ("settle = 0.2", "paint = [{ coarser = 100.0 }]", 9, "coarser"),
        (
            "settle = 0.2",
            "paint = [{ coarser = 2.0, along = [0.0, 0.0, 0.0] }]",
            9,
            "a way needs a direction",
        ),
        ("settle = 0.2", "paint = [{ coarser = 2.0, at = { group = \"hem\" } }]", 9, "no group `hem`"),
        ("settle = 0.2", "material = \"coton\"", 9, "there is no material `coton`"),
        ("fine = { sample = \"small\" }", "fine = { sample = \"far\" }", 4, ""),
    ] {
        let text = TEXT.replacen(from, to, 1);
        assert_ne!(text, TEXT, "{from}");
        match train::check("curtain.toml", &text, "".as_ref(), &registry()) {
            Err(Error::Shot(shot::Error::Invalid(found))) => {
                let first = &found.0[0];
                assert!(first.message().contains(said), "{to}: {}", first.message());
                assert_eq!(first.line(), line, "{to}: {}", first.message());
            }
            // meshes that do not lie on each other
            Err(Error::Upsample(error)) => {
                assert!(said.is_empty() && error.to_string().contains("do not lie on each other"))
            }
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_learnt_gets_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let too_fine = format!("detail = 0.001\n{TEXT}");
    let Err(error) = train(&too_fine, folder.path(), &Context::SILENT, |_| ()) else { panic!() };
    assert!(error.to_string().contains("finer than the fine mesh") && error.remedy().is_some(), "{error}");
    // nothing moves: one frame, held
    let still =
        TEXT.replacen("sample = \"small\"\nobstacles", "sample = \"small\"\nframes = \"0-0\"\nobstacles", 1);
    let learnt = train(&still, folder.path(), &Context::SILENT, |_| ());
    assert!(learnt.is_ok_and(|trained| folds(&trained).frames == 1 && !folds(&trained).remarks.is_empty()));
}
