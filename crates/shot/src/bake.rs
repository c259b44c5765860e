//! The driver: all layers, frame by frame, into the store.

mod aside;
mod judge;
mod layer;
mod looped;
mod order;
mod reads;
mod scenery;
mod trace;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Files};

use self::layer::{Job, Order};
pub use self::looped::LoopReport;
use self::scenery::{scenery, surrounded};
use self::trace::InputChain;
use crate::diagnostic::Diagnostics;
use crate::group::{Group, Member, in_groups};
use crate::key::{BakeKey, canonical};
use crate::layer::{Figures, LayerError, Target};
use crate::manifest::Manifest;
use crate::progress::{Context, Event};
use crate::shot::{LayerEntry, Shot};
use crate::store::Store;
use crate::{Error, FrameRange, input};

/// How to bake. Nothing here changes the frames that come out, only where they go and how many.
#[derive(Clone, Debug, Default)]
pub struct BakeOptions {
    /// The folder for outputs, report and bake; the shot's own when `None`.
    pub out: Option<PathBuf>,
    /// The frames that are wanted; all when `None`. A simulation still runs from its first frame, so that these frames are
    /// the same, bit for bit, as in a whole bake.
    pub frames: Option<FrameRange>,
    /// Forget earlier bakes of these layers, superseded ones included.
    pub fresh: bool,
    /// How many threads to use; one per core when `None`. The result does not depend on it.
    pub threads: Option<usize>,
    /// Another bake's folder: layers that it has under the same key are read from there and not baked again. Nothing is written to it, so
    /// any number of bakes may share one.
    pub shared: Option<PathBuf>,
}

/// What a bake made.
pub struct Bake {
    /// The input, with the frames that were asked for.
    pub input: Clip,
    /// The whole input.
    pub whole_input: Clip,
    /// The result, with the frames that were asked for; they are read from the store when asked for.
    pub clip: Clip,
    /// The result with what stands around it and is in no clip, such as obstacles from files: what pictures show.
    pub scene: Clip,
    /// What stands around it, by itself, from the shot's first frame on.
    pub(crate) scenery: Vec<Clip>,
    /// Which frames of the shot these are.
    pub frames: FrameRange,
    /// How many of the frames that were asked for are not baked yet: those after the last one here. Only
    /// [`Shot::baked_so_far`] leaves some out.
    pub missing: usize,
    /// The layers that took part, from the lowest to the highest.
    pub layers: Vec<LayerBake>,
    /// The folder of outputs, report and bake.
    pub out: PathBuf,
    /// The key of the input.
    pub input_key: BakeKey,
    /// The files that it was made from, and no others, as they were then.
    pub sources: Files,
    /// Output files that were written, by whoever wrote them.
    pub files: Vec<PathBuf>,
    /// What writing them had to tell, a sentence each.
    pub notes: Vec<String>,
    /// The report, if one was written.
    pub report: Option<PathBuf>,
    /// How the loop was found, if one was asked for.
    pub looped: Option<LoopReport>,
}

/// What a bake made of one layer.
#[derive(Clone, Debug)]
pub struct LayerBake {
    /// The layer's name.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The first of the clip's meshes that it worked on.
    pub mesh: usize,
    /// All of them.
    pub meshes: Vec<usize>,
    /// What its frames are stored under.
    pub key: BakeKey,
    /// Where they are stored.
    pub folder: PathBuf,
    /// Frames that this bake made.
    pub baked: usize,
    /// Frames that were there.
    pub reused: usize,
    /// How long preparing took; zero when nothing had to be baked.
    pub prepare_seconds: f64,
    /// Figures of every frame from 0.
    pub figures: Vec<Figures>,
    /// Seconds of every frame from 0, of whichever bake made it, where known.
    pub seconds: Vec<Option<f64>>,
    /// Frame and sentence; those of `fallbacks` are among them.
    pub warnings: Vec<(usize, String)>,
    /// Where physics was off: frame and sentence.
    pub fallbacks: Vec<(usize, String)>,
    /// What the simulation says about itself.
    pub notes: Vec<(String, String)>,
}

impl Shot {
    /// Bakes all layers into the store and ends there: files and reports are made of what is stored (crate `film`).
    ///
    /// Frames that are in the store already are not made again; a bake that was stopped, killed or failed goes on where it
    /// was, with the same bytes as if it had never stopped.
    pub fn bake(&self, options: &BakeOptions, context: &Context<'_>) -> Result<Bake, Error> {
        self.bake_then(options, context, |_| Ok(()))
    }

    /// The same, with something more to do on the same threads before the bake folder may be used by others: writing outputs.
    pub fn bake_then<E: From<Error> + Send>(
        &self,
        options: &BakeOptions,
        context: &Context<'_>,
        then: impl FnOnce(&mut Bake) -> Result<(), E> + Send,
    ) -> Result<Bake, E> {
        in_pool(options.threads, || {
            let (_lock, locked) = self.lock(options)?;
            if !locked {
                context.progress.event(Event::NoLocks { folder: &bakes_folder(&self.out(options)) });
            }
            let mut bake = self.all_layers(options, context, Purpose::Make)?;
            then(&mut bake)?;
            Ok(bake)
        })
    }

    /// Bakes the lowest so many layers and no more: what bakes have in common that are to [share](BakeOptions::shared) it. Layers that are
    /// simulated together are baked only where all of them are among these. Gives back how many layers were baked.
    pub fn bake_lowest(
        &self,
        layers: usize,
        options: &BakeOptions,
        context: &Context<'_>,
    ) -> Result<usize, Error> {
        in_pool(options.threads, || {
            let (_lock, _) = self.lock(options)?;
            self.through_layers(options, context, Purpose::MakeLowest(layers)).map(|bake| bake.layers.len())
        })
    }

    /// What was baked before, without simulating anything; [`Error::NotBaked`] where frames are missing. Nothing is written, so
    /// another process may be baking into the same folder.
    pub fn baked(&self, options: &BakeOptions) -> Result<Bake, Error> {
        in_pool(options.threads, || self.all_layers(options, &Context::SILENT, Purpose::ReadAll))
    }

    /// The same for a bake that still goes on or was stopped: the frames that are through all layers, up to the first that is not;
    /// [`Bake::missing`] counts the others. [`Error::NotBaked`] where there is none at all.
    pub fn baked_so_far(&self, options: &BakeOptions) -> Result<Bake, Error> {
        in_pool(options.threads, || self.through_layers(options, &Context::SILENT, Purpose::ReadSome))
    }

    /// Removes the bakes in a folder that this shot, as it is now, does not use; gives back what was removed.
    ///
    /// Superseded bakes are kept otherwise, so that going back to an earlier value costs nothing.
    pub fn prune(&self, options: &BakeOptions) -> Result<Vec<PathBuf>, Error> {
        let (_lock, _) = self.lock(options)?;
        let bakes = bakes_folder(&self.out(options));
        let used: Vec<PathBuf> =
            self.planned()?.1.iter().map(|planned| bakes.join(&planned.folder)).collect();
        let mut removed = Vec::new();
        for folder in folders_in(&bakes).filter(|folder| !used.contains(folder)) {
            fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
            removed.push(folder);
        }
        Ok(removed)
    }

    /// What the input and the layers that take part are known by, from the lowest to the highest: equal keys promise equal frames. Nothing
    /// is baked.
    pub fn keys(&self) -> Result<Vec<BakeKey>, Error> {
        let (input, plan) = self.planned()?;
        Ok([input].into_iter().chain(plan.iter().map(|planned| planned.key)).collect())
    }

    /// The key of the input, and the plan.
    fn planned(&self) -> Result<(BakeKey, Vec<Planned<'_>>), Error> {
        let files = self.files.clone().with_manifest();
        let input = self.open_input_among(&files)?;
        let manifest = Manifest::of(self, &files)?;
        let input_key = self.input_key(&input, &manifest)?;
        Ok((input_key, self.plan(&input, input_key, &manifest, &files)?))
    }

    fn out(&self, options: &BakeOptions) -> PathBuf {
        options.out.clone().unwrap_or_else(|| self.default_out())
    }

    /// The lock of the bake folder, and whether it locks: network folders may know none. The system lets go of it when the process ends,
    /// however it ends.
    fn lock(&self, options: &BakeOptions) -> Result<(File, bool), Error> {
        let bakes = bakes_folder(&self.out(options));
        fs::create_dir_all(&bakes).map_err(Error::io(&bakes))?;
        let path = bakes.join("lock");
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(Error::io(&path))?;
        let locked = is_locked(file.try_lock(), bakes)?;
        Ok((file, locked))
    }

    fn all_layers(
        &self,
        options: &BakeOptions,
        context: &Context<'_>,
        purpose: Purpose,
    ) -> Result<Bake, Error> {
        match self.input.r#loop {
            true => self.through_periods(options, context, purpose),
            false => self.through_layers(options, context, purpose),
        }
    }

    fn through_layers(
        &self,
        options: &BakeOptions,
        context: &Context<'_>,
        purpose: Purpose,
    ) -> Result<Bake, Error> {
        // everything is read through these files: what was read once must stay what it was
        let files = self.files.clone().with_manifest();
        let input = self.open_checked(&files).map_err(Diagnostics)?;
        let manifest = Manifest::of(self, &files)?;
        let input_key = self.input_key(&input, &manifest)?;
        let out = self.out(options);
        let bakes = bakes_folder(&out);
        let count = input.frame_count();
        let mut frames = options.frames.unwrap_or(FrameRange { first: 0, last: count.saturating_sub(1) });
        if frames.last >= count {
            return Err(Error::NoSuchFrames { first: frames.first, last: frames.last, count });
        }
        let plan = self.plan(&input, input_key, &manifest, &files)?;
        if options.fresh && purpose.makes() {
            for planned in &plan {
                forget(&bakes, planned.group.name())?;
            }
        }
        let shared = options.shared.as_deref().map(bakes_folder);
        let (mut jobs, clip) = self.jobs(&plan, &input, &files, frames.last + 1, &|folder, key| {
            let store = match purpose {
                Purpose::Make => Store::open(bakes.join(folder), key)?,
                Purpose::MakeLowest(_) | Purpose::ReadAll | Purpose::ReadSome => {
                    Store::at(bakes.join(folder), key)
                }
            };
            Ok(store.sharing(shared.as_ref().map(|shared| shared.join(folder))))
        })?;
        if let Purpose::MakeLowest(layers) = purpose {
            jobs.truncate(self.lowest_groups(&plan, layers));
            for (job, planned) in jobs.iter().zip(&plan) {
                Store::open(bakes.join(&planned.folder), job.key())?;
            }
        }
        if purpose.makes() {
            for job in &mut jobs {
                job.take_over(&bakes_of(&bakes, job.name()))?;
            }
        }
        for (index, job) in jobs.iter().enumerate() {
            let (layer, of, reused, frames) = (job.name(), jobs.len(), job.reused(), job.need());
            context.progress.event(Event::Layer { layer, index, of, reused, frames });
        }
        if purpose.makes() {
            order::run(&mut jobs, context)?;
        }
        // what layers hold in memory was compared when it was read; this tells of files that changed behind them
        files.verify()?;
        let there = available(&jobs, frames, purpose == Purpose::ReadSome)?;
        let missing = frames.last - there;
        frames.last = there;
        let clip = input::cropped(&clip, frames)?;
        let scenery = scenery(&plan, &input, &files)?;
        Ok(Bake {
            input: input::cropped(&input, frames)?,
            whole_input: input,
            scene: surrounded(&clip, &scenery, frames.first)?,
            scenery,
            clip,
            frames,
            missing,
            layers: jobs.iter().map(Job::record).collect(),
            out,
            input_key,
            sources: files,
            files: Vec::new(),
            notes: Vec::new(),
            report: None,
            looped: None,
        })
    }

    /// How many groups, from the lowest, have all their members among the lowest so many layers of the shot.
    fn lowest_groups(&self, plan: &[Planned<'_>], layers: usize) -> usize {
        let lowest = |entry: &LayerEntry| {
            self.layers.iter().position(|other| other.name == entry.name).is_some_and(|index| index < layers)
        };
        let is_whole = |planned: &&Planned<'_>| planned.group.members.iter().all(|m| lowest(m.entry));
        plan.iter().take_while(is_whole).count()
    }

    /// A job for each group, on the frames of the one below, and the clip that they will give.
    fn jobs<'a>(
        &'a self,
        plan: &'a [Planned<'a>],
        input: &Clip,
        files: &Files,
        wanted: usize,
        open: &dyn Fn(&str, BakeKey) -> Result<Store, Error>,
    ) -> Result<(Vec<Job<'a>>, Clip), Error> {
        let target = |clip: Clip, mesh| Target { clip, mesh, files: files.clone() };
        let ahead = |planned: &Planned<'_>| planned.group.look_ahead(|mesh| target(input.clone(), mesh));
        let look_ahead: Vec<usize> = plan.iter().map(ahead).collect();
        let needs = needs(&look_ahead, wanted, input.frame_count());
        let chain = Arc::new(InputChain::new(input));
        let mut clip = input.clone();
        let (mut jobs, mut below) = (Vec::new(), None);
        for (planned, (need, look_ahead)) in plan.iter().zip(needs.into_iter().zip(look_ahead)) {
            let carried = planned.group.carried(target, &clip)?;
            let order = Order {
                group: &planned.group,
                clip,
                files: files.clone(),
                carried: carried.clone(),
                key: planned.key,
                need,
                look_ahead,
                registry: &self.registry,
                recipe: planned.recipe,
                input: chain.clone(),
                below: below.take(),
            };
            let job = Job::new(order, open(&planned.folder, planned.key)?);
            below = Some(job.trace());
            clip = carried.with_frames(Arc::new(job.frames()));
            jobs.push(job);
        }
        Ok((jobs, clip))
    }

    /// The active layers with their meshes, keys and folders.
    fn plan(
        &self,
        clip: &Clip,
        input_key: BakeKey,
        manifest: &Manifest,
        files: &Files,
    ) -> Result<Vec<Planned<'_>>, Error> {
        // the keys of what is below: with the input, and without
        let (mut below, mut below_recipe) = (input_key, BakeKey::of(&[b"followthrough recipe"]));
        let mut clip = clip.clone();
        let mut plan = Vec::new();
        let layers = self.layers.iter().zip(&manifest.layers).filter(|(entry, _)| entry.is_active());
        for entries in in_groups(layers, |(entry, _)| entry) {
            let (mut members, mut keys, mut recipes) = (Vec::new(), Vec::new(), Vec::new());
            for (entry, own_files) in entries {
                let targets =
                    entry.targets(&clip, files).map_err(|_| Diagnostics(self.check_with(&clip, files)))?;
                for Target { mesh, .. } in targets {
                    let own_files = manifest.hashes(own_files);
                    keys.push(layer_key(entry, mesh, below, &own_files));
                    recipes.push(layer_key(entry, mesh, below_recipe, &own_files));
                    members.push(Member { entry, mesh });
                }
            }
            let group = Group { members };
            let of = |clip: Clip, mesh| Target { clip, mesh, files: files.clone() };
            clip = group.carried(of, &clip)?;
            let key = group_key(&keys);
            // a layer may give back another mesh
            let recipe = BakeKey::of(&[group_key(&recipes).bytes(), input::still_key(&clip).bytes()]);
            let folder = format!("{}-{}", file_name(group.name()), key.short());
            // the strength is no part of the layer's own key: its result is stored whole and mixed when it is read
            let mixed = |key: BakeKey| match group.strength() {
                1.0 => key,
                strength => BakeKey::of(&[key.bytes(), &strength.to_le_bytes()]),
            };
            (below, below_recipe) = (mixed(key), mixed(recipe));
            plan.push(Planned { group, key, recipe, folder });
        }
        Ok(plan)
    }
}

/// What the layers are gone through for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To make what is missing.
    Make,
    /// The same in the lowest so many layers.
    MakeLowest(usize),
    /// To read what must all be there.
    ReadAll,
    /// To read what is there.
    ReadSome,
}

impl Purpose {
    fn makes(self) -> bool {
        matches!(self, Self::Make | Self::MakeLowest(_))
    }
}

struct Planned<'a> {
    group: Group<'a>,
    key: BakeKey,
    /// The same, of everything but the input.
    recipe: BakeKey,
    folder: String,
}

/// The error of a layer that cannot begin.
pub(crate) fn prepare_error(layer: &str) -> impl FnOnce(LayerError) -> Error + use<> {
    let layer = layer.to_owned();
    move |failure| Error::Prepare { layer, help: failure.remedy().map(str::to_owned), failure }
}

fn layer_key(entry: &LayerEntry, mesh: usize, below: BakeKey, files: &[&[u8]]) -> BakeKey {
    let (version, settings) = (entry.version.to_le_bytes(), canonical(&entry.settings));
    let mesh = (mesh as u64).to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![
        b"followthrough layer",
        entry.kind.as_bytes(),
        &version,
        settings.as_bytes(),
        &mesh,
        below.bytes(),
    ];
    parts.extend(files);
    BakeKey::of(&parts)
}

/// The key of layers that are simulated as one.
fn group_key(keys: &[BakeKey]) -> BakeKey {
    match keys {
        [alone] => *alone,
        _ => {
            let parts = std::iter::once(&b"followthrough group"[..]);
            BakeKey::of(&parts.chain(keys.iter().map(|key| key.bytes())).collect::<Vec<_>>())
        }
    }
}

/// How many frames each layer must bake so that the highest has `wanted`: those below layers that look ahead need more.
fn needs(look_ahead: &[usize], wanted: usize, count: usize) -> Vec<usize> {
    let mut needs = vec![wanted; look_ahead.len()];
    for i in (1..look_ahead.len()).rev() {
        needs[i - 1] = needs[i].saturating_add(look_ahead[i]).min(count);
    }
    needs
}

/// The last frame of those asked for that is there, and all before it; where `some` are not enough, all must be there.
fn available(jobs: &[Job<'_>], frames: FrameRange, some: bool) -> Result<usize, Error> {
    let Some(shortest) = jobs.iter().min_by_key(|job| job.complete()) else { return Ok(frames.last) };
    let unfinished = jobs.iter().find(|job| job.done() < job.need());
    match (some, unfinished) {
        (true, _) if shortest.complete() > frames.first => Ok(frames.last.min(shortest.complete() - 1)),
        (true, _) => Err(shortest.not_baked()),
        (false, Some(job)) => Err(job.not_baked()),
        (false, None) => Ok(frames.last),
    }
}

fn bakes_folder(out: &Path) -> PathBuf {
    out.join(".bake")
}

fn folders_in(bakes: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut folders: Vec<PathBuf> = fs::read_dir(bakes)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders.into_iter()
}

/// Every bake of a layer, superseded ones included.
fn bakes_of(bakes: &Path, layer: &str) -> Vec<PathBuf> {
    let prefix = format!("{}-", file_name(layer));
    let is_key = |rest: &str| rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_hexdigit());
    let is_of_layer = |folder: &PathBuf| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.strip_prefix(&prefix).is_some_and(is_key)
    };
    folders_in(bakes).filter(is_of_layer).collect()
}

/// Removes them.
fn forget(bakes: &Path, layer: &str) -> Result<(), Error> {
    bakes_of(bakes, layer).iter().try_for_each(|folder| fs::remove_dir_all(folder).map_err(Error::io(folder)))
}

/// A layer's name with everything replaced that some file system dislikes.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.chars().take(64).map(safe).collect()
}

/// Whether a folder is ours now; false where the file system knows no locks: baking without one is better than not baking.
fn is_locked(tried: Result<(), fs::TryLockError>, folder: PathBuf) -> Result<bool, Error> {
    match tried {
        Ok(()) => Ok(true),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Locked { folder }),
        Err(fs::TryLockError::Error(_)) => Ok(false),
    }
}

/// Does some work on so many threads; on all there are where none are said.
pub fn in_pool<T: Send, E: From<Error> + Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    match threads {
        None => work(),
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map_err(|error| Error::Threads { threads, problem: error.to_string() })?.install(work)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// What a network folder answers whose server has no locks.
    #[test]
    fn a_folder_without_locks_is_used_and_one_that_is_in_use_is_not() {
        let tried = |answer| is_locked(answer, "somewhere".into());
        assert!(matches!(tried(Ok(())), Ok(true)));
        let unsupported = fs::TryLockError::Error(ErrorKind::Unsupported.into());
        assert!(matches!(tried(Err(unsupported)), Ok(false)));
        let in_use = tried(Err(fs::TryLockError::WouldBlock));
        assert!(matches!(in_use, Err(Error::Locked { folder }) if folder == Path::new("somewhere")));
    }
}
