//! Matrices stored for vectors of [`LANES`] rows: in a panel of so many rows, column after column.
//!
//! A lane is a row, so that each row is summed column by column, whatever the width of the processor's vectors.

use alloc::vec::Vec;

use crate::{half_from_single, single_from_half};

/// Rows of a panel.
pub const LANES: usize = 16;

/// How the numbers of a matrix are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Eight bits, times the scale of the row.
    Eight,
    /// Halves, times the scale of the row.
    Half,
    /// Single precision.
    Single,
}

impl Format {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Half => 2,
            Self::Single => 4,
        }
    }

    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Eight => 0,
            Self::Half => 1,
            Self::Single => 2,
        }
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        [Self::Eight, Self::Half, Self::Single].into_iter().find(|format| format.code() == code)
    }
}

/// x, y and z of the rows of a panel.
pub(crate) type Lanes = [[f32; LANES]; 3];

/// A number stored in so many bytes.
pub(crate) trait Decode<const BYTES: usize> {
    fn decode(bytes: [u8; BYTES]) -> f32;
}

pub(crate) struct Eight;
pub(crate) struct Half;
pub(crate) struct Single;

impl Decode<1> for Eight {
    #[inline(always)]
    fn decode(bytes: [u8; 1]) -> f32 {
        f32::from(bytes[0] as i8)
    }
}

impl Decode<2> for Half {
    #[inline(always)]
    fn decode(bytes: [u8; 2]) -> f32 {
        single_from_half(u16::from_le_bytes(bytes))
    }
}

impl Decode<4> for Single {
    #[inline(always)]
    fn decode(bytes: [u8; 4]) -> f32 {
        f32::from_le_bytes(bytes)
    }
}

/// One panel times lists of vectors: for each column, one of each list.
#[inline(always)]
pub(crate) fn panel_product<const BYTES: usize, D: Decode<BYTES>, const K: usize>(
    panel: &[u8],
    vectors: &[[[f32; 4]; K]],
) -> [Lanes; K] {
    let (numbers, _) = panel.as_chunks::<BYTES>();
    let (columns, _) = numbers.as_chunks::<LANES>();
    let mut sums = [[[0.0; LANES]; 3]; K];
    for (column, vectors) in columns.iter().zip(vectors) {
        let mut decoded = [0.0; LANES];
        for lane in 0..LANES {
            decoded[lane] = D::decode(column[lane]);
        }
        for (sum, vector) in sums.iter_mut().zip(vectors) {
            let [x, y, z] = sum;
            for lane in 0..LANES {
                let a = decoded[lane];
                x[lane] += a * vector[0];
                y[lane] += a * vector[1];
                z[lane] += a * vector[2];
            }
        }
    }
    sums
}

/// A matrix of rows and columns, row after row, as panels; and the scale of each row, of whole panels.
pub(crate) fn encode(rows: usize, columns: usize, values: &[f32], format: Format) -> (Vec<u8>, Vec<f32>) {
    let panels = rows.div_ceil(LANES);
    let mut scales = Vec::with_capacity(panels * LANES);
    let mut bytes = Vec::with_capacity(panels * LANES * columns * format.bytes());
    let at = |row: usize, column: usize| if row < rows { values[row * columns + column] } else { 0.0 };
    for row in 0..panels * LANES {
        let largest = (0..columns).fold(0.0_f32, |most, column| most.max(at(row, column).abs()));
        scales.push(match format {
            _ if largest == 0.0 => 1.0,
            Format::Eight => largest / 127.0,
            Format::Half => largest,
            Format::Single => 1.0,
        });
    }
    for panel in 0..panels {
        for column in 0..columns {
            for row in panel * LANES..(panel + 1) * LANES {
                let value = at(row, column) / scales[row];
                match format {
                    Format::Eight => bytes.push(libm::roundf(value) as i8 as u8),
                    Format::Half => bytes.extend(half_from_single(value).to_le_bytes()),
                    Format::Single => bytes.extend(value.to_le_bytes()),
                }
            }
        }
    }
    (bytes, scales)
}
