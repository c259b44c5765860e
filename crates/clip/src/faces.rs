//! Polygons of any number of sides, packed: quads stay quads from file to file.

/// A list of polygons over vertex indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faces {
    /// Where each polygon ends in `corners`.
    ends: Vec<u32>,
    corners: Vec<u32>,
}

impl Faces {
    /// From triangles.
    pub fn from_triangles(triangles: &[[u32; 3]]) -> Self {
        let mut faces = Self::default();
        triangles.iter().for_each(|t| faces.push(t));
        faces
    }

    /// Adds one polygon.
    pub fn push(&mut self, corners: &[u32]) {
        self.corners.extend_from_slice(corners);
        self.ends.push(self.corners.len() as u32);
    }

    /// How many polygons.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without polygons.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The polygon at `index`.
    pub fn get(&self, index: usize) -> &[u32] {
        &self.corners[self.corner_range(index)]
    }

    /// Where the polygon at `index` lies among all [`Faces::corners`].
    pub fn corner_range(&self, index: usize) -> std::ops::Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        start..self.ends[index] as usize
    }

    /// All polygons.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// All corners, polygon after polygon.
    pub fn corners(&self) -> &[u32] {
        &self.corners
    }

    /// Fans of triangles from each polygon's first corner; polygons with fewer than three corners give none.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.iter()
            .flat_map(|face| (1..face.len().saturating_sub(1)).map(|i| [face[0], face[i], face[i + 1]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_polygons_keep_their_sides() {
        let mut faces = Faces::default();
        faces.push(&[0, 1, 2, 3]);
        faces.push(&[3, 2, 4]);
        faces.push(&[5, 6]);
        assert_eq!(faces.len(), 3);
        assert_eq!(faces.get(1), &[3, 2, 4]);
        let triangles: Vec<_> = faces.triangles().collect();
        assert_eq!(triangles, vec![[0, 1, 2], [0, 2, 3], [3, 2, 4]]);
    }
}
