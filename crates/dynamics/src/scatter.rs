//! Parallel sums into shared arrays, the same bits on any number of threads.
//!
//! Elements are cut into chunks of neighbours; chunks that touch a common point get different colours; chunks of one
//! colour run side by side, colour after colour. Which chunk adds to a point before which other is thus decided by the
//! mesh alone. Chunks rather than single elements are coloured because neighbours share cache lines: one sweep over the
//! matrix instead of one per colour.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

/// Elements per chunk: some tens of microseconds of work, a few kilobytes of matrix.
const CHUNK: usize = 256;

/// Chunks of elements, by colour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    chunks: Vec<Range<usize>>,
    /// Indices of chunks; those of one colour touch no common point.
    colours: Vec<Vec<usize>>,
}

impl Schedule {
    pub(crate) fn new(stencils: &[impl AsRef<[u32]>]) -> Self {
        let chunks: Vec<Range<usize>> = (0..stencils.len())
            .step_by(CHUNK)
            .map(|start| start..(start + CHUNK).min(stencils.len()))
            .collect();
        let points = stencils.iter().flat_map(AsRef::as_ref).max().map_or(0, |&p| p as usize + 1);
        // the colours that chunks around a point already have
        let mut taken: Vec<Vec<usize>> = vec![Vec::new(); points];
        let mut colours: Vec<Vec<usize>> = Vec::new();
        for (index, chunk) in chunks.iter().enumerate() {
            let touched: Vec<usize> =
                stencils[chunk.clone()].iter().flat_map(AsRef::as_ref).map(|&p| p as usize).collect();
            let mut used = vec![false; colours.len() + 1];
            touched.iter().flat_map(|&p| &taken[p]).for_each(|&colour| used[colour] = true);
            let colour = used.iter().position(|used| !used).unwrap_or(colours.len());
            if colour == colours.len() {
                colours.push(Vec::new());
            }
            colours[colour].push(index);
            for p in touched {
                if taken[p].last() != Some(&colour) {
                    taken[p].push(colour);
                }
            }
        }
        Self { chunks, colours }
    }

    /// Calls `visit` for every element; calls that run at the same time touch no common point.
    pub(crate) fn for_each(&self, visit: impl Fn(usize) + Sync) {
        for colour in &self.colours {
            let run = |&chunk: &usize| self.chunks[chunk].clone().for_each(&visit);
            if colour.len() > 1 { colour.par_iter().for_each(run) } else { colour.iter().for_each(run) }
        }
    }

    /// Σ f(element), summed within chunks and then over chunks in order.
    pub(crate) fn sum(&self, f: impl Fn(usize) -> f64 + Sync) -> f64 {
        let of_chunk = |chunk: &Range<usize>| chunk.clone().map(&f).sum::<f64>();
        if self.chunks.len() > 1 {
            self.chunks.par_iter().map(of_chunk).collect::<Vec<f64>>().into_iter().sum()
        } else {
            self.chunks.iter().map(of_chunk).sum()
        }
    }
}

/// A slice that several threads may write to, each in its own places.
pub(crate) struct Scatter<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Scatter` hands out `&mut T` only through the unsafe `at`, whose caller promises that no place is used by two
// threads at a time; moving `T` between threads is fine by the bound.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Scatter<'_, T> {}

impl<'a, T> Scatter<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// # Safety
    /// No other reference to the same place may be alive: inside [`Schedule::for_each`], the place belongs to a point (or
    /// to a pair of points) of the element being visited.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(crate) unsafe fn at(&self, index: usize) -> &mut T {
        assert!(index < self.len);
        // SAFETY: in bounds of the borrowed slice; unaliased by the caller's promise
        unsafe { &mut *self.start.add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_colour_share_no_point() {
        let stencils: Vec<[u32; 2]> = (0..5000).map(|i| [i, (i * 7 + 3) % 5000]).collect();
        let schedule = Schedule::new(&stencils);
        for colour in &schedule.colours {
            let mut owner = vec![None; 5000];
            for &chunk in colour {
                for &p in stencils[schedule.chunks[chunk].clone()].iter().flatten() {
                    assert!(owner[p as usize].is_none_or(|other| other == chunk));
                    owner[p as usize] = Some(chunk);
                }
            }
        }
        let visited: usize =
            schedule.colours.iter().flatten().map(|&chunk| schedule.chunks[chunk].len()).sum();
        assert_eq!(visited, stencils.len());
    }

    #[test]
    fn a_strip_needs_two_colours() {
        let stencils: Vec<[u32; 2]> = (0..4000).map(|i| [i, i + 1]).collect();
        assert_eq!(Schedule::new(&stencils).colours.len(), 2);
    }
}
