//! Keys: what a bake is stored under. Equal keys mean equal frames.

use std::fmt;

/// A hash of everything that decides a layer's frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BakeKey(blake3::Hash);

impl BakeKey {
    /// The key of these parts; each is framed by its length, so that no two lists of parts run together.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize())
    }

    /// The key of these bytes, as a file holds them.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The first sixteen digits: enough to tell the bakes of one folder apart.
    pub fn short(&self) -> String {
        self.0.to_hex()[..16].to_owned()
    }
}

impl fmt::Display for BakeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for BakeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BakeKey({})", self.short())
    }
}

/// JSON with the keys of every object in alphabetical order, whatever the order in memory.
pub(crate) fn canonical(value: &serde_json::Value) -> String {
    use serde_json::Value::{Array, Object};
    match value {
        Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", serde_json::Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(BakeKey::of(&[b"ab", b"c"]), BakeKey::of(&[b"a", b"bc"]));
        assert_eq!(BakeKey::of(&[b"ab"]), BakeKey::of(&[b"ab"]));
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let a: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":{"d":[1.5],"c":"x"}}"#).unwrap();
        assert_eq!(canonical(&a), r#"{"a":{"c":"x","d":[1.5]},"b":1}"#);
    }
}
