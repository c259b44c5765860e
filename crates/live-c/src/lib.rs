//! The C door to [`live`]: `include/followthrough.h`.
//!
//! Pointers are looked at, everything is checked, codes come back; nothing unwinds into the caller. All `unsafe` here is the
//! reading of what a C program points to, and each function says what it trusts in.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use live::{Capsule, Error, Frame, LiveCloth, Operator, Plane, Transform, Wind};

/// All went well.
pub const FT_OK: c_int = 0;
/// A pointer that must not be null is.
pub const FT_NULL: c_int = 1;
/// Not an operator file.
pub const FT_FILE: c_int = 2;
/// A list of the wrong length.
pub const FT_COUNT: c_int = 3;
/// A number that is none, or makes no sense.
pub const FT_NUMBER: c_int = 4;
/// A mistake of ours.
pub const FT_INTERNAL: c_int = 5;

/// `ft_cloth`: a cloth with its own copy of the file.
pub struct FtCloth(LiveCloth<Vec<u8>>);

/// `ft_counts`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FtCounts {
    /// Simulated points.
    pub coarse: u32,
    /// Points that were shown last.
    pub fine: u32,
    /// Triangles of the mesh that was shown last.
    pub triangles: u32,
    /// Transforms that a frame needs.
    pub joints: u32,
}

/// `ft_capsule`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FtCapsule {
    /// Centres of the ends.
    pub ends: [[f32; 3]; 2],
    /// Radii there.
    pub radii: [f32; 2],
}

/// `ft_plane`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FtPlane {
    /// The way out.
    pub normal: [f32; 3],
    /// normal · x of the surface.
    pub offset: f32,
}

/// `ft_frame`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FtFrame {
    /// Since the last frame.
    pub seconds: f32,
    /// Three rows of four for each joint.
    pub skin: *const Transform,
    /// How many joints.
    pub joint_count: usize,
    /// m/s
    pub wind: [f32; 3],
    /// As a part of the wind.
    pub gusts: f32,
    /// Bodies besides those on bones.
    pub obstacles: *const FtCapsule,
    /// How many.
    pub obstacle_count: usize,
    /// Floors and walls.
    pub planes: *const FtPlane,
    /// How many.
    pub plane_count: usize,
    /// Whether everything was put elsewhere.
    pub teleported: c_int,
}

fn code(error: &Error) -> c_int {
    match error {
        Error::Count { .. } | Error::TooMany { .. } => FT_COUNT,
        Error::NotFinite { .. } | Error::OutOfRange { .. } => FT_NUMBER,
        _ => FT_FILE,
    }
}

/// Runs what must not unwind.
fn guarded(work: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(FT_INTERNAL)
}

/// A list of `count` things at a pointer; none where either is nothing.
///
/// # Safety
/// `pointer` leads to `count` values, or is null.
unsafe fn list<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as promised by the caller
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

/// Makes a cloth from the bytes of a file.
///
/// # Safety
/// `bytes` leads to `size` bytes and `cloth` to room for a pointer, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_create(bytes: *const u8, size: usize, cloth: *mut *mut FtCloth) -> c_int {
    guarded(|| {
        if bytes.is_null() || cloth.is_null() {
            return FT_NULL;
        }
        // SAFETY: neither is null, and the caller promised the rest
        let copy = unsafe { list(bytes, size) }.to_vec();
        match Operator::read(copy).and_then(LiveCloth::new) {
            Ok(made) => {
                // SAFETY: `cloth` is not null
                unsafe { cloth.write(Box::into_raw(Box::new(FtCloth(made)))) };
                FT_OK
            }
            // whatever is wrong inside of a file, the file is wrong
            Err(_) => FT_FILE,
        }
    })
}

/// Gives a cloth back.
///
/// # Safety
/// `cloth` came from `ft_cloth_create` and was not given back before, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_destroy(cloth: *mut FtCloth) {
    guarded(|| {
        if !cloth.is_null() {
            // SAFETY: it was made by `Box::into_raw`
            drop(unsafe { Box::from_raw(cloth) });
        }
        FT_OK
    });
}

/// How many of everything.
///
/// # Safety
/// `cloth` is a cloth or null, `counts` has room or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_counts(cloth: *const FtCloth, counts: *mut FtCounts) -> c_int {
    // SAFETY: as promised by the caller
    let (Some(cloth), Some(to)) = (unsafe { cloth.as_ref() }, unsafe { counts.as_mut() }) else {
        return FT_NULL;
    };
    let counts = cloth.0.operator().counts();
    *to = FtCounts {
        coarse: counts.coarse as u32,
        fine: cloth.0.points().len() as u32,
        triangles: cloth.0.triangles().len() as u32,
        joints: counts.joints as u32,
    };
    FT_OK
}

/// Copies the corners of the shown mesh's triangles.
///
/// # Safety
/// `cloth` is a cloth or null, `indices` has room for `count` numbers or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_triangles(cloth: *const FtCloth, indices: *mut u32, count: usize) -> c_int {
    // SAFETY: as promised by the caller
    let Some(cloth) = (unsafe { cloth.as_ref() }) else { return FT_NULL };
    if indices.is_null() {
        return FT_NULL;
    }
    let corners = cloth.0.triangles().as_flattened();
    if count != corners.len() {
        return FT_COUNT;
    }
    // SAFETY: `indices` has room for `count`, which is the length of `corners`
    unsafe { indices.copy_from_nonoverlapping(corners.as_ptr(), count) };
    FT_OK
}

/// How much of the folds is shown.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_set_detail(cloth: *mut FtCloth, detail: f32) -> c_int {
    // SAFETY: as promised by the caller
    let Some(cloth) = (unsafe { cloth.as_mut() }) else { return FT_NULL };
    if !detail.is_finite() {
        return FT_NUMBER;
    }
    cloth.0.detail.strength = detail;
    FT_OK
}

/// How many levels of detail there are; 0 without a cloth.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_levels(cloth: *const FtCloth) -> u32 {
    // SAFETY: as promised by the caller
    unsafe { cloth.as_ref() }.map_or(0, |cloth| cloth.0.level_count() as u32)
}

/// From the next frame on, another level of detail is shown.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_set_level(cloth: *mut FtCloth, level: u32) -> c_int {
    // SAFETY: as promised by the caller
    let Some(cloth) = (unsafe { cloth.as_mut() }) else { return FT_NULL };
    cloth.0.set_level(level as usize).map_or_else(|error| code(&error), |()| FT_OK)
}

/// The next frame begins where skinning has the cloth.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_reset(cloth: *mut FtCloth) -> c_int {
    // SAFETY: as promised by the caller
    let Some(cloth) = (unsafe { cloth.as_mut() }) else { return FT_NULL };
    guarded(|| {
        cloth.0.reset();
        FT_OK
    })
}

/// Simulates up to the next frame.
///
/// # Safety
/// `cloth` is a cloth or null, `frame` is a frame whose lists are as long as it says, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_advance(cloth: *mut FtCloth, frame: *const FtFrame) -> c_int {
    // SAFETY: as promised by the caller
    let (Some(cloth), Some(frame)) = (unsafe { cloth.as_mut() }, unsafe { frame.as_ref() }) else {
        return FT_NULL;
    };
    if frame.obstacle_count > live::MAX_OBSTACLES || frame.plane_count > live::MAX_PLANES {
        return FT_COUNT;
    }
    // a longer list than there are joints is refused before it is looked at
    if frame.joint_count != cloth.0.operator().counts().joints {
        return FT_COUNT;
    }
    guarded(|| {
        let mut obstacles = [Capsule { ends: [[0.0; 3]; 2], radii: [0.0; 2] }; live::MAX_OBSTACLES];
        let mut planes = [Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }; live::MAX_PLANES];
        // SAFETY: the lists are as long as the frame says
        let (skin, bodies, walls) = unsafe {
            (
                list(frame.skin, frame.joint_count),
                list(frame.obstacles, frame.obstacle_count),
                list(frame.planes, frame.plane_count),
            )
        };
        for (to, from) in obstacles.iter_mut().zip(bodies) {
            *to = Capsule { ends: from.ends, radii: from.radii };
        }
        for (to, from) in planes.iter_mut().zip(walls) {
            *to = Plane { normal: from.normal, offset: from.offset };
        }
        let frame = Frame {
            seconds: frame.seconds,
            skin,
            wind: Wind { velocity: frame.wind, gusts: frame.gusts },
            obstacles: &obstacles[..bodies.len()],
            planes: &planes[..walls.len()],
            teleported: frame.teleported != 0,
        };
        cloth.0.advance(&frame).map_or_else(|error| code(&error), |()| FT_OK)
    })
}

/// Three numbers for each shown point.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_points(cloth: *const FtCloth) -> *const f32 {
    // SAFETY: as promised by the caller
    unsafe { cloth.as_ref() }.map_or(std::ptr::null(), |cloth| cloth.0.points().as_ptr().cast())
}

/// Three numbers for each normal.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_normals(cloth: *const FtCloth) -> *const f32 {
    // SAFETY: as promised by the caller
    unsafe { cloth.as_ref() }.map_or(std::ptr::null(), |cloth| cloth.0.normals().as_ptr().cast())
}

/// Tangents for the caller's texture coordinates: four numbers for each of `count` shown points.
///
/// # Safety
/// `cloth` is a cloth or null; `texture` leads to twice `count` numbers and `tangents` to room for four times as many, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_tangents(
    cloth: *const FtCloth,
    texture: *const f32,
    tangents: *mut f32,
    count: usize,
) -> c_int {
    // SAFETY: as promised by the caller
    let Some(cloth) = (unsafe { cloth.as_ref() }) else { return FT_NULL };
    if texture.is_null() || tangents.is_null() {
        return FT_NULL;
    }
    // a longer list than there are points is refused before it is looked at
    if count != cloth.0.points().len() {
        return FT_COUNT;
    }
    guarded(|| {
        // SAFETY: neither is null, both are as long as the caller promised
        let (texture, tangents) = unsafe {
            (
                list(texture.cast::<[f32; 2]>(), count),
                std::slice::from_raw_parts_mut(tangents.cast::<[f32; 4]>(), count),
            )
        };
        cloth.0.tangents(texture, tangents).map_or_else(|error| code(&error), |()| FT_OK)
    })
}

/// How far from what was learnt the last frame was.
///
/// # Safety
/// `cloth` is a cloth or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ft_cloth_distance(cloth: *const FtCloth) -> f32 {
    // SAFETY: as promised by the caller
    unsafe { cloth.as_ref() }.map_or(0.0, |cloth| cloth.0.applied().distance)
}

/// A sentence for a code.
#[unsafe(no_mangle)]
pub extern "C" fn ft_message(code: c_int) -> *const c_char {
    let sentence = match code {
        FT_OK => c"all went well",
        FT_NULL => c"a pointer that must not be null is null",
        FT_FILE => c"not an operator file, or one that was cut, altered or written by another version: train it again",
        FT_COUNT => c"a list has the wrong length: ask ft_cloth_counts",
        FT_NUMBER => c"a number is not finite or makes no sense",
        FT_INTERNAL => c"a mistake inside of followthrough: please report it",
        _ => c"not a code of followthrough",
    };
    sentence.as_ptr()
}
