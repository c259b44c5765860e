//! The report for machines.

use serde_json::{Map, Value, json};

use shot::{Bake, LayerBake, Shot};

/// Everything that is on the page except pictures.
pub(super) fn report(shot: &Shot, bake: &Bake) -> Value {
    let meshes: Vec<Value> = bake
        .clip
        .meshes
        .iter()
        .map(|mesh| json!({ "name": mesh.name, "points": mesh.point_count(), "faces": mesh.faces.len() }))
        .collect();
    let layers: Vec<Value> = bake.layers.iter().map(|layer| layer_json(shot, bake, layer)).collect();
    json!({
        "prominent": bake.prominent_json(),
        "shot": shot.name,
        "version": env!("CARGO_PKG_VERSION"),
        "platform": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "threads": rayon::current_num_threads(),
        "frame_rate_hz": bake.clip.frame_rate_hz,
        "frames": { "first": bake.frames.first, "last": bake.frames.last },
        "input": { "key": bake.input_key.to_string(), "meshes": meshes },
        "loop": bake.looped.as_ref().map(shot::LoopReport::json),
        "layers": layers,
        "files": bake.files,
        "notes": bake.notes,
        "text": shot.text(),
    })
}

fn layer_json(shot: &Shot, bake: &Bake, layer: &LayerBake) -> Value {
    let entry = shot.layers.iter().find(|entry| entry.name == layer.name);
    let mut figures = Map::new();
    for plot in super::plots(layer) {
        for series in &plot.series {
            let name = match series.name.as_str() {
                "" => plot.title.clone(),
                line => format!("{}/{line}", plot.title),
            };
            figures.insert(name, json!({ "unit": plot.unit, "values": series.values }));
        }
    }
    let warnings: Vec<Value> =
        layer.warnings.iter().map(|(frame, text)| json!({ "frame": frame, "text": text })).collect();
    let fallbacks: Vec<Value> =
        layer.fallbacks.iter().map(|(frame, text)| json!({ "frame": frame, "text": text })).collect();
    let notes: Map<String, Value> =
        layer.notes.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
    json!({
        "name": layer.name,
        "kind": layer.kind,
        "mesh": bake.clip.meshes.get(layer.mesh).map(|mesh| &mesh.name),
        "strength": entry.map(|entry| entry.strength),
        "settings": entry.map(|entry| &entry.settings),
        "key": layer.key.to_string(),
        "baked": layer.baked,
        "reused": layer.reused,
        "prepare_seconds": layer.prepare_seconds,
        "figures": figures,
        "warnings": warnings,
        "fallbacks": fallbacks,
        "notes": notes,
    })
}
