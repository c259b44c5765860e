//! Flesh in frames of its own as bytes, in a kit.

use geometry::{Mat3, Prolongation};

use crate::bytes::{Reader, Writer};
use crate::region::Region;

use super::{Corotated, CorotatedTet};

impl Corotated {
    pub(crate) fn write(&self, out: &mut Writer) {
        self.region.write(out);
        out.list(&self.free, |out, &free| out.count(usize::from(free)));
        let rows: Vec<Vec<(u32, f64)>> =
            (0..self.points.fine_count()).map(|p| self.points.row(p).collect()).collect();
        out.list(&rows, |out, row| {
            out.list(row, |out, &(f, value)| {
                out.count(f as usize);
                out.numbers([value]);
            });
        });
        out.list(&self.places, |out, &p| out.count(p as usize));
        out.list(&self.tets, |out, tet| {
            tet.corners.iter().for_each(|&p| out.count(p as usize));
            out.numbers(tet.inverse.to_cols_array().into_iter().chain([tet.volume, tet.mu, tet.lambda]));
        });
        out.list(&self.springs, |out, &(f, k, joint)| {
            out.count(f as usize);
            out.numbers([k]);
            out.count(joint as usize);
        });
    }

    pub(crate) fn read(input: &mut Reader, joints: usize, functions: usize) -> Option<Self> {
        let region = Region::read(input, joints, functions)?;
        let free = input.list(|input| input.below(2).map(|free| free == 1))?;
        let functions = region.functions.len();
        let rows = input.list(|input| input.pairs(functions))?;
        let count = rows.len();
        let places = input.list(|input| Some(input.below(count)? as u32))?;
        let tets = input.list(|input| {
            let mut corners = [0; 4];
            for corner in &mut corners {
                *corner = input.below(count)? as u32;
            }
            let inverse = Mat3::from_cols_array(&input.numbers()?);
            let [volume, mu, lambda] = input.numbers()?;
            Some(CorotatedTet { corners, inverse, volume, mu, lambda })
        })?;
        let springs = input.list(|input| {
            let f = input.below(functions)? as u32;
            let [k] = input.numbers()?;
            Some((f, k, input.below(joints)? as u32))
        })?;
        (places.len() == functions && free.len() == functions).then(|| Self {
            region,
            free,
            points: Prolongation::new(functions, rows),
            places,
            tets,
            springs,
        })
    }
}
