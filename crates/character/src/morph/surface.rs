//! The skin as it is shown: displacements and detail summed, then skinned, sixteen points at a time.

use geometry::Vec3;
use glam::{Affine3A, Vec3A};

use crate::bytes::{Reader, Writer};

/// Points to a block.
const BLOCK: usize = 16;
/// Numbers to a block.
const WIDTH: usize = 3 * BLOCK;

/// A skin over a few coefficients.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surface {
    count: usize,
    columns: usize,
    /// For every block the rest places, and then what each coefficient adds: all x, all y, all z.
    blocks: Vec<f32>,
    /// Where each point's influences begin, and they themselves.
    starts: Vec<u32>,
    influences: Vec<(u32, f32)>,
}

impl Surface {
    /// `columns` has a displacement of all points for every coefficient.
    pub(crate) fn new(points: &[Vec3], influences: &[Vec<(u32, f64)>], columns: &[&[Vec3]]) -> Self {
        let count = points.len();
        let mut blocks = Vec::with_capacity(count.div_ceil(BLOCK) * (1 + columns.len()) * WIDTH);
        for first in (0..count).step_by(BLOCK) {
            for column in std::iter::once(points).chain(columns.iter().copied()) {
                for axis in 0..3 {
                    blocks.extend(
                        (first..first + BLOCK).map(|p| column.get(p).map_or(0.0, |v| v[axis] as f32)),
                    );
                }
            }
        }
        let mut starts = vec![0];
        let mut pairs = Vec::new();
        for row in influences {
            pairs.extend(row.iter().map(|&(joint, weight)| (joint, weight as f32)));
            starts.push(pairs.len() as u32);
        }
        Self { count, columns: columns.len(), blocks, starts, influences: pairs }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.count(self.count);
        out.singles(&self.blocks);
        out.list(&self.starts[1..], |out, end| out.count(*end as usize));
        out.list(&self.influences, |out, &(joint, weight)| {
            out.count(joint as usize);
            out.singles(&[weight]);
        });
    }

    /// The reverse, over so many coefficients and joints.
    pub(crate) fn read(input: &mut Reader, columns: usize, joints: usize) -> Option<Self> {
        let count = input.count()?;
        let blocks = input.singles(count.div_ceil(BLOCK).checked_mul((1 + columns) * WIDTH)?)?;
        let ends = input.list(|input| input.count().map(|end| end as u32))?;
        let influences =
            input.list(|input| Some((input.below(joints)? as u32, *input.singles(1)?.first()?)))?;
        let starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let sound = starts.len() == count + 1
            && starts.is_sorted()
            && starts.last().is_some_and(|&last| last as usize == influences.len());
        sound.then_some(Self { count, columns, blocks, starts, influences })
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// How far a coefficient moves a point.
    pub(crate) fn entry(&self, point: usize, column: usize) -> Vec3 {
        let block = &self.blocks[(point / BLOCK * (1 + self.columns) + 1 + column) * WIDTH..][..WIDTH];
        Vec3::from_array(std::array::from_fn(|axis| f64::from(block[axis * BLOCK + point % BLOCK])))
    }

    /// Joints and weights of a point.
    pub(crate) fn influences(&self, point: usize) -> &[(u32, f32)] {
        &self.influences[self.starts[point] as usize..self.starts[point + 1] as usize]
    }

    /// All points in the world.
    pub(crate) fn show(&self, coefficients: &[f32], world_from_rest: &[Affine3A], shown: &mut [[f32; 3]]) {
        let stride = (1 + self.columns) * WIDTH;
        let blocks = self.blocks.chunks_exact(stride);
        for (number, (block, shown)) in blocks.zip(shown[..self.count].chunks_mut(BLOCK)).enumerate() {
            let mut sum = [0.0_f32; WIDTH];
            sum.copy_from_slice(&block[..WIDTH]);
            for (column, c) in block[WIDTH..].chunks_exact(WIDTH).zip(coefficients) {
                for (sum, entry) in sum.iter_mut().zip(column) {
                    *sum += c * entry;
                }
            }
            for (k, place) in shown.iter_mut().enumerate() {
                let (x, y, z) = (sum[k], sum[BLOCK + k], sum[2 * BLOCK + k]);
                let mut columns = [Vec3A::ZERO; 4];
                for &(joint, weight) in self.influences(number * BLOCK + k) {
                    let own = &world_from_rest[joint as usize];
                    columns[0] += own.matrix3.x_axis * weight;
                    columns[1] += own.matrix3.y_axis * weight;
                    columns[2] += own.matrix3.z_axis * weight;
                    columns[3] += own.translation * weight;
                }
                *place = (columns[0] * x + columns[1] * y + columns[2] * z + columns[3]).to_array();
            }
        }
    }
}
