//! What a clip says as USD: meshes under one transform, materials, the skeleton as UsdSkel.
//!
//! Points are baked into samples, so meshes hang on no skeleton; the skeleton stands beside them with its own
//! animation, and a mesh keeps its skin in attributes of ours (`followthrough:skin:…`) and its morph targets as blend shapes that nothing
//! binds, so that a rig comes back whole.

use std::collections::HashSet;

use super::blend::{OWN_TARGETS, OWN_WEIGHTS};
use super::layer::{Layer, Prim, Track};
use super::value::{Value, ValueType};
use crate::format::moments::bounds;
use crate::format::{WriteOptions, identifier};
use crate::{Clip, Frame, Material, Mesh, Skeleton, Skin};

/// Where a clip's pictures are written, by the number of the picture.
pub(super) type PictureNames = Vec<Option<String>>;

/// What the file says of every clip: units, axes, time.
pub(super) fn layer_of(clip: &Clip, options: &WriteOptions) -> Layer {
    let first = f64::from(options.start_frame.unwrap_or(0));
    let times: Vec<f64> = (0..clip.frame_count()).map(|frame| first + frame as f64).collect();
    let number = |name, value| (name, ValueType::DOUBLE, Value::Doubles(vec![value]));
    let last = times.last().copied().unwrap_or(first);
    let metadata = vec![
        number("endTimeCode", last),
        number("framesPerSecond", clip.frame_rate_hz),
        number("metersPerUnit", options.unit_in_metres.unwrap_or(1.0)),
        number("startTimeCode", first),
        number("timeCodesPerSecond", clip.frame_rate_hz),
        ("upAxis", ValueType::TOKEN, Value::text("Y")),
    ];
    Layer { metadata, times, ..Layer::default() }
}

/// The whole clip. `first` is its first frame, in the file's unit.
pub(super) fn author(clip: &Clip, first: &Frame, options: &WriteOptions, pictures: &PictureNames) -> Layer {
    let mut layer = layer_of(clip, options);
    let root_name = identifier(&clip.name, "clip");
    layer.metadata.push(("defaultPrim", ValueType::TOKEN, Value::text(root_name.clone())));
    let mut root = Prim::new("Xform", root_name.clone()).display_name(&clip.name);
    root.metadata.push(("kind", ValueType::TOKEN, Value::text("component")));

    let mut names = Names::default();
    let materials_name = names.take("Materials");
    let skeleton_name = names.take("Skeleton");
    let materials_path = format!("/{root_name}/{materials_name}");
    let material_paths = material_paths(clip, &materials_path);
    let moving = clip.frame_count() > 1;
    let scale = 1.0 / options.unit_in_metres.unwrap_or(1.0);
    for (number, (mesh, points)) in clip.meshes.iter().zip(&first.points).enumerate() {
        let name = names.take(&mesh.name);
        let path = format!("/{root_name}/{name}");
        let mut prim = mesh_prim(mesh, name).display_name(&mesh.name);
        add_points(&mut prim, number, mesh, points, moving, scale);
        if options.velocities {
            prim.sample("velocities", Track::Velocities(number), None);
            layer.tracks.push(Track::Velocities(number));
        }
        if moving {
            layer.tracks.extend([Track::Points(number), Track::Extent(number)]);
        }
        bind_materials(&mut prim, clip, mesh, &path, &material_paths);
        if let Some(skin) = &mesh.skin {
            add_skin(&mut prim, skin, scale);
        }
        if !mesh.morph_targets.is_empty() {
            add_targets(&mut prim, number, mesh, &path, scale);
            layer.tracks.push(Track::Weights(number));
        }
        add_groups(&mut prim, mesh, clip.skeleton.as_ref());
        root.children.push(prim);
    }
    if let Some(skeleton) = &clip.skeleton {
        root.children.push(skeleton_prim(skeleton, &format!("/{root_name}"), skeleton_name, scale));
        layer.tracks.extend([Track::Translations, Track::Rotations, Track::Scales]);
    }
    if !clip.materials.is_empty() {
        let mut scope = Prim::new("Scope", materials_name);
        for (index, material) in clip.materials.iter().enumerate() {
            scope.children.push(material_prim(material, &material_paths[index], pictures));
        }
        root.children.push(scope);
    }
    layer.prims.push(root);
    layer
}

/// Names of siblings: identifiers, each once.
#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let wanted = identifier(wanted, "mesh");
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.0.insert(name.clone()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
    }
}

fn mesh_prim(mesh: &Mesh, name: String) -> Prim {
    let mut prim = Prim::new("Mesh", name);
    let counts = mesh.faces.iter().map(|face| face.len() as i64).collect();
    let corners = mesh.faces.corners();
    let indices = corners.iter().map(|&vertex| i64::from(mesh.vertex_points[vertex as usize])).collect();
    prim.set("int[]", "faceVertexCounts", Value::Ints(counts));
    prim.set("int[]", "faceVertexIndices", Value::Ints(indices));
    prim.set_uniform("token", "subdivisionScheme", Value::text("none"));
    prim.set_uniform("token", "orientation", Value::text("rightHanded"));
    let split = mesh.vertex_count() != mesh.point_count()
        || mesh.vertex_points.iter().enumerate().any(|(vertex, &point)| vertex != point as usize);
    let corner_vertices = || Value::Ints(corners.iter().map(|&vertex| i64::from(vertex)).collect());
    let sets = [&mesh.uvs]
        .into_iter()
        .chain(&mesh.more_uvs)
        .filter(|uvs| uvs.len() == mesh.vertex_count() && !uvs.is_empty());
    for (number, uvs) in sets.enumerate() {
        let name = if number == 0 { "primvars:st".to_string() } else { format!("primvars:st{number}") };
        // USD's v goes up
        let flipped = uvs.iter().flat_map(|&[u, v]| [u, 1.0 - v]).collect();
        prim.set("texCoord2f[]", &name, Value::Floats(flipped)).interpolation("faceVarying");
        prim.set("int[]", &format!("{name}:indices"), corner_vertices());
    }
    if split && !mesh.smoothing.is_empty() && mesh.smoothing.len() == mesh.vertex_count() {
        let groups = mesh.smoothing.iter().map(|&group| i64::from(group)).collect();
        prim.set("int[]", "primvars:smoothing", Value::Ints(groups)).interpolation("faceVarying");
        prim.set("int[]", "primvars:smoothing:indices", corner_vertices());
    }
    prim
}

/// Points and the box around them; the rest shape is the value outside time.
fn add_points(prim: &mut Prim, number: usize, mesh: &Mesh, points: &[[f32; 3]], moving: bool, scale: f64) {
    let finite = mesh.rest_points.iter().flatten().all(|c| c.is_finite());
    let flat = |points: &[[f32; 3]]| Value::Floats(points.as_flattened().to_vec());
    if !moving || !finite || mesh.rest_points.len() != points.len() {
        let extent = bounds(points);
        let default = (flat(points), flat(&extent));
        if moving {
            prim.sample("points", Track::Points(number), Some(default.0));
            prim.sample("extent", Track::Extent(number), Some(default.1));
        } else {
            prim.set("point3f[]", "points", default.0);
            prim.set("float3[]", "extent", default.1);
        }
        return;
    }
    let scaled = |c: f32| if scale == 1.0 { c } else { (f64::from(c) * scale) as f32 };
    let rest: Vec<[f32; 3]> = mesh.rest_points.iter().map(|p| p.map(scaled)).collect();
    let extent = bounds(&rest);
    prim.sample("points", Track::Points(number), Some(flat(&rest)));
    prim.sample("extent", Track::Extent(number), Some(flat(&extent)));
}

/// Groups as primvars; colours as the colours that USD knows.
fn add_groups(prim: &mut Prim, mesh: &Mesh, skeleton: Option<&Skeleton>) {
    let count = mesh.point_count();
    let of_group = |name: &str| mesh.group(name).filter(|group| group.weights.len() == count && count > 0);
    let mut names = Names::default();
    for name in ["st", "smoothing", "displayColor", "displayOpacity", "normals"] {
        names.take(name);
    }
    if let [Some(r), Some(g), Some(b)] = ["color.r", "color.g", "color.b"].map(of_group) {
        let color = (0..count).flat_map(|p| [r.weights[p], g.weights[p], b.weights[p]]).collect();
        prim.set("color3f[]", "primvars:displayColor", Value::Floats(color)).interpolation("vertex");
        if let Some(a) = of_group("color.a") {
            prim.set("float[]", "primvars:displayOpacity", Value::Floats(a.weights.clone()))
                .interpolation("vertex");
        }
    }
    let from_skin = |name: &str| {
        mesh.skin.is_some() && skeleton.is_some_and(|skeleton| skeleton.joint_index(name).is_some())
    };
    for group in &mesh.groups {
        if group.weights.len() != count
            || group.name.starts_with("color.")
            || from_skin(&group.name)
            || count == 0
        {
            continue;
        }
        let name = names.take(&group.name);
        let property = prim.set("float[]", &format!("primvars:{name}"), Value::Floats(group.weights.clone()));
        property.interpolation("vertex");
        if name != group.name {
            property.display_name(&group.name);
        }
    }
}

/// The skin, which baked points do not need, for whoever reads the file next.
fn add_skin(prim: &mut Prim, skin: &Skin, scale: f64) {
    let ints = |items: Vec<i64>| Value::Ints(items);
    let joints = skin.binds.iter().map(|&(joint, _)| joint as i64).collect();
    let matrices = skin.binds.iter().flat_map(|(_, matrix)| matrix_rows(&matrix.as_dmat4(), scale)).collect();
    let counts = skin.influences.iter().map(|of_point| of_point.len() as i64).collect();
    let pairs = || skin.influences.iter().flatten();
    prim.set("int[]", "followthrough:skin:joints", ints(joints)).mark_custom();
    prim.set("matrix4d[]", "followthrough:skin:jointFromRest", Value::Doubles(matrices)).mark_custom();
    prim.set("int[]", "followthrough:skin:counts", ints(counts)).mark_custom();
    prim.set("int[]", "followthrough:skin:binds", ints(pairs().map(|&(bind, _)| i64::from(bind)).collect()))
        .mark_custom();
    let weights = pairs().map(|&(_, weight)| weight).collect();
    prim.set("float[]", "followthrough:skin:weights", Value::Floats(weights)).mark_custom();
}

/// The morph targets, which baked points have in them already, and how much of each there is.
fn add_targets(prim: &mut Prim, number: usize, mesh: &Mesh, path: &str, scale: f64) {
    // subsets are children, too
    let mut names = Names(prim.children.iter().map(|child| child.name.clone()).collect());
    let mut paths = Vec::new();
    for target in &mesh.morph_targets {
        let name = names.take(&target.name);
        paths.push(format!("{path}/{name}"));
        let moved = |offset: &[f32; 3]| offset.iter().any(|&c| c != 0.0);
        let places = (0..target.offsets.len()).filter(|&point| moved(&target.offsets[point]));
        let mut points: Vec<i64> = places.map(|point| point as i64).collect();
        if points.is_empty() {
            // no list of points means all of them
            points.push(0);
        }
        let scaled = |c: f32| if scale == 1.0 { c } else { (f64::from(c) * scale) as f32 };
        let offset_of = |&point: &i64| target.offsets.get(point as usize).copied().unwrap_or_default();
        let offsets = points.iter().flat_map(|point| offset_of(point).map(scaled)).collect();
        let mut shape = Prim::new("BlendShape", name).display_name(&target.name);
        shape.set_uniform("vector3f[]", "offsets", Value::Floats(offsets));
        shape.set_uniform("int[]", "pointIndices", Value::Ints(points));
        prim.children.push(shape);
    }
    let resting = mesh.morph_targets.iter().map(|target| target.weight).collect();
    prim.sample(OWN_WEIGHTS, Track::Weights(number), Some(Value::Floats(resting))).mark_custom();
    prim.relate(OWN_TARGETS, paths);
}

/// A matrix as USD lists it, its translation in the file's unit.
fn matrix_rows(matrix: &glam::DMat4, scale: f64) -> [f64; 16] {
    let mut rows = matrix.to_cols_array();
    rows[12..15].iter_mut().for_each(|c| *c *= scale);
    rows
}

fn skeleton_prim(skeleton: &Skeleton, parent: &str, name: String, scale: f64) -> Prim {
    let mut taken = Names::default();
    let mut paths: Vec<String> = Vec::with_capacity(skeleton.joints.len());
    for joint in &skeleton.joints {
        let own = taken.take(&joint.name);
        paths.push(joint.parent.map_or(own.clone(), |parent| format!("{}/{own}", paths[parent])));
    }
    let names = skeleton.joints.iter().map(|joint| joint.name.clone()).collect();
    let worlds = skeleton.world_from_joints(&skeleton.rest_pose());
    let binds = worlds.iter().flat_map(|world| matrix_rows(&world.as_dmat4(), scale)).collect();
    let rests = skeleton
        .joints
        .iter()
        .flat_map(|joint| matrix_rows(&joint.rest.matrix().as_dmat4(), scale))
        .collect();

    let mut root = Prim::new("SkelRoot", name.clone());
    let path = format!("{parent}/{name}/Rig");
    let mut rig = Prim::new("Skeleton", "Rig");
    rig.api_schemas.push("SkelBindingAPI");
    rig.set_uniform("token[]", "joints", Value::Texts(paths.clone()));
    rig.set_uniform("token[]", "jointNames", Value::Texts(names));
    rig.set_uniform("matrix4d[]", "bindTransforms", Value::Doubles(binds));
    rig.set_uniform("matrix4d[]", "restTransforms", Value::Doubles(rests));
    rig.relate("skel:animationSource", vec![format!("{path}/Animation")]);
    let mut animation = Prim::new("SkelAnimation", "Animation");
    animation.set_uniform("token[]", "joints", Value::Texts(paths));
    animation.sample("translations", Track::Translations, None);
    animation.sample("rotations", Track::Rotations, None);
    animation.sample("scales", Track::Scales, None);
    rig.children.push(animation);
    root.children.push(rig);
    root
}

fn material_paths(clip: &Clip, scope: &str) -> Vec<String> {
    let mut names = Names::default();
    clip.materials.iter().map(|material| format!("{scope}/{}", names.take(&material.name))).collect()
}

/// One material for the mesh, or one for each part.
fn bind_materials(prim: &mut Prim, clip: &Clip, mesh: &Mesh, path: &str, material_paths: &[String]) {
    let material_of = |part: &crate::Part| part.material.filter(|&material| material < clip.materials.len());
    let used = || mesh.parts.iter().filter(|part| !part.faces.is_empty());
    let double_sided = used().any(|part| material_of(part).is_none_or(|m| clip.materials[m].double_sided));
    prim.set_uniform("bool", "doubleSided", Value::Ints(vec![i64::from(double_sided)]));
    let bind = |prim: &mut Prim, material: usize| {
        prim.api_schemas.push("MaterialBindingAPI");
        prim.relate("material:binding", vec![material_paths[material].clone()]);
    };
    let whole = used().count() == 1 && used().all(|part| part.faces == (0..mesh.faces.len()));
    if whole {
        if let Some(material) = used().next().and_then(material_of) {
            bind(prim, material);
        }
        return;
    }
    if used().next().is_some() {
        prim.api_schemas.push("MaterialBindingAPI");
        let family = "subsetFamily:materialBind:familyType";
        prim.set_uniform("token", family, Value::text("nonOverlapping"));
    }
    let mut names = Names::default();
    for part in used() {
        let wanted = material_of(part).map_or("part", |material| clip.materials[material].name.as_str());
        let mut subset = Prim::new("GeomSubset", names.take(wanted));
        subset.set_uniform("token", "elementType", Value::text("face"));
        subset.set_uniform("token", "familyName", Value::text("materialBind"));
        subset.set("int[]", "indices", Value::Ints(part.faces.clone().map(|face| face as i64).collect()));
        if let Some(material) = material_of(part) {
            bind(&mut subset, material);
        }
        prim.children.push(subset);
    }
    debug_assert!(path.starts_with('/'));
}

/// A UsdPreviewSurface, with its picture when there is one.
fn material_prim(material: &Material, path: &str, pictures: &PictureNames) -> Prim {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut prim = Prim::new("Material", name).display_name(&material.name);
    prim.connect("token", "outputs:surface", format!("{path}/Surface.outputs:surface"));
    let [r, g, b, a] = material.base_color;
    let mut surface = Prim::new("Shader", "Surface");
    surface.set_uniform("token", "info:id", Value::text("UsdPreviewSurface"));
    let picture = material.base_color_image.and_then(|image| pictures.get(image)?.clone());
    match &picture {
        Some(_) => surface.connect("color3f", "inputs:diffuseColor", format!("{path}/Picture.outputs:rgb")),
        None => {
            surface.set("color3f", "inputs:diffuseColor", Value::Floats(vec![r, g, b]));
        }
    }
    surface.set("float", "inputs:opacity", Value::Floats(vec![a]));
    let of_gltf = |key: &str, other: f32| {
        let value = material.gltf.as_ref().and_then(|gltf| gltf["pbrMetallicRoughness"][key].as_f64());
        value.map_or(if material.gltf.is_some() { 1.0 } else { other }, |value| value as f32)
    };
    surface.set("float", "inputs:metallic", Value::Floats(vec![of_gltf("metallicFactor", 0.0)]));
    surface.set("float", "inputs:roughness", Value::Floats(vec![of_gltf("roughnessFactor", 0.8)]));
    surface.declare("token", "outputs:surface");
    prim.children.push(surface);
    if let Some(file) = picture {
        let mut picture = Prim::new("Shader", "Picture");
        picture.set_uniform("token", "info:id", Value::text("UsdUVTexture"));
        picture.set("asset", "inputs:file", Value::text(file));
        picture.set("float4", "inputs:scale", Value::Floats(vec![r, g, b, 1.0]));
        picture.set("token", "inputs:sourceColorSpace", Value::text("sRGB"));
        picture.connect("float2", "inputs:st", format!("{path}/Coordinates.outputs:result"));
        picture.set("token", "inputs:wrapS", Value::text("repeat"));
        picture.set("token", "inputs:wrapT", Value::text("repeat"));
        picture.declare("float3", "outputs:rgb");
        let mut coordinates = Prim::new("Shader", "Coordinates");
        coordinates.set_uniform("token", "info:id", Value::text("UsdPrimvarReader_float2"));
        coordinates.set("string", "inputs:varname", Value::text("st"));
        coordinates.declare("float2", "outputs:result");
        prim.children.extend([picture, coordinates]);
    }
    prim
}
