//! A region as bytes, in a kit.

use std::sync::Arc;

use dynamics::Mass;
use geometry::Mat3;
use linear::{Matrix, Pattern};

use crate::bytes::{Reader, Writer};

use super::Region;

impl Region {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.count(self.joint as usize);
        out.list(&self.functions, |out, &f| out.count(f as usize));
        out.numbers(self.shares.iter().copied());
        out.numbers(self.mass.weights().iter().copied());
        let lower = |i: usize| self.mass.row(i).filter(move |(j, _)| *j as usize <= i);
        out.count(self.functions.len());
        for i in 0..self.functions.len() {
            out.list(&lower(i).collect::<Vec<_>>(), |out, &(k, value)| {
                out.count(k as usize);
                out.numbers([value]);
            });
        }
        let pattern = self.stiffness.pattern();
        let count = self.functions.len() as u32;
        let columns = |i: u32| (0..=i).filter_map(move |j| Some((j, pattern.slot(i, j)?)));
        for i in 0..count {
            let row: Vec<(u32, usize)> = columns(i).collect();
            out.list(&row, |out, &(j, slot)| {
                out.count(j as usize);
                out.numbers(self.stiffness.values()[slot].to_cols_array());
            });
        }
    }

    pub(crate) fn read(input: &mut Reader, joints: usize, functions: usize) -> Option<Self> {
        let joint = input.below(joints)? as u32;
        let functions = input.list(|input| Some(input.below(functions)? as u32))?;
        let count = functions.len();
        let (shares, weights) = (input.many(count)?, input.many(count)?);
        let rows = input.list(|input| input.pairs(count))?;
        if rows.len() != count {
            return None;
        }
        let entries =
            rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&(j, m)| (i as u32, j, m)));
        let mass = Mass::full(weights, entries.collect::<Vec<_>>());
        let mut blocks = Vec::new();
        for i in 0..count as u32 {
            let row = input
                .list(|input| Some((input.below(count)? as u32, Mat3::from_cols_array(&input.numbers()?))))?;
            blocks.extend(row.into_iter().map(|(j, block)| (i, j, block)));
        }
        let stencils: Vec<[u32; 2]> = blocks.iter().map(|&(i, j, _)| [i, j]).collect();
        let pattern = Pattern::from_stencils(count, stencils.iter().map(<[u32; 2]>::as_slice));
        let mut stiffness = Matrix::new(Arc::new(pattern));
        for (i, j, block) in blocks {
            stiffness.add(i, j, block);
        }
        Some(Self { joint, functions, shares, mass, stiffness })
    }
}
