//! What is simulated as one: a layer on one mesh, a layer on several, or several layers together.

use std::sync::Arc;

use clip::{Clip, Files};

use crate::bake::prepare_error;
use crate::layer::{Layer, LayerError, Simulation, Target};
use crate::registry::GroupSimulation;
use crate::shot::{LayerEntry, Shot};
use crate::{Diagnostic, Error};

/// Layers with the meshes they work on; simulated, keyed and stored as one.
pub(crate) struct Group<'a> {
    /// Never empty.
    pub(crate) members: Vec<Member<'a>>,
}

/// Makes a simulation, on any thread.
pub(crate) type Preparation = Box<dyn FnOnce() -> Result<Box<dyn Simulation>, LayerError> + Send>;

/// A layer on one mesh.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) entry: &'a LayerEntry,
    pub(crate) mesh: usize,
}

/// The active layers of a shot, in groups: neighbours that say so are together.
pub(crate) fn in_groups<'a, T>(
    items: impl Iterator<Item = T>,
    entry_of: impl Fn(&T) -> &'a LayerEntry,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        let together = &entry_of(&item).together;
        match groups.last_mut() {
            Some(group) if together.is_some() && entry_of(&group[0]).together == *together => {
                group.push(item)
            }
            _ => groups.push(vec![item]),
        }
    }
    groups
}

impl Group<'_> {
    fn first(&self) -> &LayerEntry {
        self.members[0].entry
    }

    /// Whether it is one layer, on however many meshes.
    fn is_one_layer(&self) -> bool {
        self.members.iter().all(|member| member.entry.name == self.first().name)
    }

    /// What it is called: as its only layer is, or as its layers say.
    pub(crate) fn name(&self) -> &str {
        match &self.first().together {
            Some(together) if !self.is_one_layer() => together,
            _ => &self.first().name,
        }
    }

    /// Its layers' kind; `together` where they are of several kinds.
    pub(crate) fn kind(&self) -> &'static str {
        let kind = self.first().kind;
        if self.members.iter().all(|member| member.entry.kind == kind) { kind } else { "together" }
    }

    pub(crate) fn strength(&self) -> f64 {
        self.first().strength
    }

    pub(crate) fn needs_mesh(&self) -> bool {
        self.members.iter().any(|member| member.entry.layer.needs_mesh())
    }

    pub(crate) fn look_ahead(&self, target: impl Fn(usize) -> Target) -> usize {
        let ahead = |member: &Member| member.entry.layer.look_ahead(&target(member.mesh));
        self.members.iter().map(ahead).max().unwrap_or(0)
    }

    /// The clip that the result is compared and mixed with: the input, on the meshes that the layers give back.
    pub(crate) fn carried(&self, target: impl Fn(Clip, usize) -> Target, clip: &Clip) -> Result<Clip, Error> {
        let mut carried = clip.clone();
        for Member { entry, mesh } in &self.members {
            carried = entry.carried(&target(carried, *mesh)).map_err(prepare_error(&entry.name))?;
        }
        Ok(carried)
    }

    /// What makes the simulation of all of it.
    pub(crate) fn preparation(
        &self,
        target: impl Fn(usize) -> Target,
        simulate: Option<GroupSimulation>,
    ) -> Preparation {
        let members = self.members.iter().map(|member| (member.entry.layer.clone(), target(member.mesh)));
        let members: Vec<(Arc<dyn Layer>, Target)> = members.collect();
        Box::new(move || {
            if let [(layer, target)] = &members[..] {
                return layer.prepare(target);
            }
            let Some(simulate) = simulate else {
                return Err(LayerError::new("nobody here can simulate several meshes as one"));
            };
            let mut layers: Vec<&Arc<dyn Layer>> = Vec::new();
            let brought = members.iter().map(|(layer, target)| {
                let number =
                    layers.iter().position(|other| Arc::ptr_eq(other, layer)).unwrap_or(layers.len());
                if number == layers.len() {
                    layers.push(layer);
                }
                Ok(layer.member(target)?.of_layer(number))
            });
            simulate(brought.collect::<Result<_, LayerError>>()?)
        })
    }
}

/// Dials that a group must agree in.
const SHARED_DIALS: [&str; 3] = ["integrator", "substeps", "tolerance"];

impl Shot {
    /// What keeps layers from being simulated together, or on several meshes at once.
    pub(crate) fn check_groups(&self, clip: &Clip, files: &Files) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let active: Vec<&LayerEntry> = self.layers.iter().filter(|entry| entry.is_active()).collect();
        let place = |entry: &LayerEntry, key: &str| {
            let index = self.layers.iter().position(|other| other.name == entry.name).unwrap_or(0);
            format!("layer[{index}].{key}")
        };
        let mut ended: Vec<&String> = Vec::new();
        for entries in in_groups(active.into_iter(), |entry| entry) {
            let mut taken: Vec<(usize, &str)> = Vec::new();
            for entry in &entries {
                let Ok(targets) = entry.targets(clip, files) else { continue };
                let is_several = entries.len() > 1 || targets.len() > 1;
                let key = if entries.len() > 1 { "together" } else { "mesh" };
                if is_several && !entry.layer.joins_groups() {
                    let message = format!("layers of kind `{}` work on one mesh, by themselves", entry.kind);
                    let help = "give each mesh a layer of its own, without `together`";
                    found.push(self.diagnostic(&place(entry, key), message).with_help(help));
                }
                if entries.len() > 1 && entry.strength < 1.0 {
                    let message =
                        format!("`{}` is simulated together with others, but not whole", entry.name);
                    let help = "layers that are simulated together have a strength of 1";
                    found.push(self.diagnostic(&place(entry, "strength"), message).with_help(help));
                }
                for target in targets {
                    if let Some((_, other)) = taken.iter().find(|(mesh, _)| *mesh == target.mesh) {
                        let name = &target.mesh().name;
                        let message =
                            format!("mesh `{name}` belongs to `{other}` and to `{}` at once", entry.name);
                        let help = "layers that are simulated together need meshes of their own";
                        found.push(self.diagnostic(&place(entry, "mesh"), message).with_help(help));
                    }
                    taken.push((target.mesh, &entry.name));
                }
                for dial in SHARED_DIALS {
                    let said = |entry: &LayerEntry| {
                        entry.settings.get(dial).filter(|value| !value.is_null()).cloned()
                    };
                    let mut earlier = entries.iter().take_while(|other| other.name != entry.name);
                    let Some(ours) = said(entry) else { continue };
                    let other = earlier.find(|other| said(other).is_some_and(|theirs| theirs != ours));
                    if let Some(other) = other {
                        let message = format!(
                            "`{}` and `{}` are simulated together, but differ in `{dial}`",
                            other.name, entry.name
                        );
                        let help = format!("give both the same `{dial}`");
                        found.push(self.diagnostic(&place(entry, dial), message).with_help(help));
                    }
                }
            }
            if let Some(together) = &entries[0].together {
                if ended.contains(&together) {
                    let message = format!("the layers of `{together}` do not follow each other");
                    let help = "layers that are simulated together stand one after the other";
                    found.push(self.diagnostic(&place(entries[0], "together"), message).with_help(help));
                }
                ended.push(together);
            }
        }
        found
    }
}
