//! A prior from a training file, with strolls that are made in code.

use samples::Walker;
use shot::{Context, Registry};
use train::{Error, Kind, MotionReport, Options, Report, Trained};

const TEXT: &str = "kind = \"motion\"\ninducing = 40\n\n[[learn]]\nsample = \"stroll\"\n\n[[learn]]\nsample = \"sliding\"\nframes = \"2-30\"\n\n\
    [[test]]\nname = \"rough\"\nsample = \"trembling\"\n";

fn stroll(slide: f64, tremble: f64) -> clip::Clip {
    Walker { strides: 1, slide, tremble, cell: 0.06, frame_rate_hz: 30.0 }.clip()
}

fn registry() -> Registry {
    Registry::empty()
        .with_sample("stroll", || stroll(0.0, 0.0))
        .with_sample("sliding", || stroll(0.02, 0.0))
        .with_sample("trembling", || stroll(0.0, 0.005))
        .with_sample("curtain", samples::flag)
}

fn train(text: &str, threads: usize) -> Result<Trained, Error> {
    let options = Options { threads: Some(threads), ..Options::default() };
    train::train("walk.toml", text, "".as_ref(), &registry(), &options, &Context::SILENT)
}

fn report(trained: &Trained) -> &MotionReport {
    let Report::Motion(report) = &trained.report else { panic!("a prior was trained") };
    report
}

#[test]
fn a_prior_is_learnt_the_same_on_any_number_of_threads() {
    let trained = train(TEXT, 1).unwrap();
    let report = report(&trained);
    assert_eq!(train::kind("walk.toml", TEXT).unwrap(), Kind::Motion);
    assert_eq!((report.takes.len(), report.inducing), (3, 40));
    assert!(report.takes[0].learnt && !report.takes[2].learnt && report.takes[2].take == "rough");
    assert!(report.takes[0].error < 0.5 && report.takes[2].error < 0.8, "{}", report.text());
    let prior = motion::Prior::from_bytes(&trained.operator).unwrap();
    assert_eq!(prior.size().frames, report.frames);
    assert!(train(TEXT, 2).unwrap().operator == trained.operator, "on two threads: other bytes");
}

/// Takes of several people: the skeleton is the first one's, longer or shorter limbs are carried over to it.
#[test]
fn another_persons_take_is_carried_over() {
    let tall = || {
        let mut clip = stroll(0.0, 0.0);
        let skeleton = clip.skeleton.as_mut().unwrap();
        for joint in &mut skeleton.joints {
            joint.rest.translation *= 1.1;
            // whoever is only taller is of the same skeleton
            joint.name = format!("tall_{}", joint.name);
        }
        let frames: Vec<clip::Frame> = (0..clip.frame_count())
            .map(|index| {
                let mut frame = clip.frame(index).unwrap();
                frame.pose.iter_mut().for_each(|joint| joint.translation *= 1.1);
                frame
            })
            .collect();
        let frames = clip::MemoryFrames::new(frames);
        clip.with_frames(std::sync::Arc::new(frames))
    };
    let registry = registry().with_sample("tall", tall);
    let text = TEXT.replacen("\"sliding\"\nframes = \"2-30\"", "\"tall\"", 1);
    let options = Options { threads: Some(1), ..Options::default() };
    let trained =
        train::train("walk.toml", &text, "".as_ref(), &registry, &options, &Context::SILENT).unwrap();
    let report = report(&trained);
    assert!(
        report.remarks.iter().any(|remark| remark.contains("`tall` is of another skeleton")),
        "{:?}",
        report.remarks
    );
    assert!(report.takes[1].learnt && report.takes[1].error < 0.6, "{}", report.text());
    assert!(report.takes[2].error < 0.8, "{}", report.text());
}

#[test]
fn mistakes_are_told_at_their_lines() {
    for (from, to, line, said) in [
        ("\"motion\"", "\"motoin\"", 1, "there is no kind of training `motoin`"),
        ("\"stroll\"", "\"strol\"", 5, "there is no sample `strol`"),
        ("\"2-30\"", "\"2-300\"", 9, "frames 2-300 were asked for"),
        ("\"trembling\"", "\"curtain\"", 11, "no skeleton"),
        ("inducing = 40", "inducing = 4", 2, "inducing"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        let Err(Error::Shot(shot::Error::Invalid(found))) = train(&text, 1) else {
            panic!("{to}: a mistake")
        };
        assert!(found.0[0].line() == line && found.0[0].to_string().contains(said), "{:?}", found.0[0]);
    }
}
