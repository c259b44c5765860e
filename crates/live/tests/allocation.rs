//! After creation nothing is allocated.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use live::{Capsule, Format, Frame, LiveCloth, Operator, Plane, Wind};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts what a thread asks for.
struct Counting;

// SAFETY: everything is handed on to the system's allocator as it came.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn frames_allocate_nothing() {
    let bytes = common::cape(8, 24, Format::Eight).write().unwrap();
    let before_creation = COUNT.with(Cell::get);
    let mut cloth = LiveCloth::new(Operator::read(&bytes[..]).unwrap()).unwrap();
    let after_creation = COUNT.with(Cell::get);
    assert!(after_creation > before_creation, "the counter counts");
    let wind = Wind { velocity: [1.0, 0.0, 2.0], gusts: 0.3 };
    for index in 0..120 {
        let time = index as f32 / 60.0;
        let ball = Capsule { ends: [[time, -0.5, 0.3]; 2], radii: [0.1; 2] };
        // bodies come and go, and once everything is put elsewhere
        let frame = Frame {
            skin: &[common::walk(time)],
            wind,
            obstacles: &[ball; 3][..index % 4],
            planes: &[Plane { normal: [0.0, 1.0, 0.0], offset: -0.8 }],
            teleported: index == 60,
            ..Frame::new(1.0 / 60.0)
        };
        cloth.advance(&frame).unwrap();
        assert!(cloth.advance(&Frame::new(-1.0)).is_err());
    }
    assert_eq!(COUNT.with(Cell::get), after_creation);
}
