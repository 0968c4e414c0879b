//! Names: which number that of a case or flag has, and what profiles show of others.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use hashbrown::HashTable;

/// The most names that are compared one by one.
const FEW: usize = 8;

/// The most characters that profiles show.
const SHOWN: usize = 250;

/// Returns the part of a name that profiles show. Names may be long, and many functions may have the same.
pub fn shown(name: &str) -> &str {
    name.char_indices().nth(SHOWN).map_or(name, |(end, _)| &name[..end])
}

/// An index of the names of a type, which is made when it is first needed. The type has the names.
#[derive(Default)]
pub struct Numbers(OnceLock<Index>);

struct Index {
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Numbers {
    /// Returns the number of a name among so many, which are different. They are always the same.
    pub fn find<'n>(&self, name: &str, count: usize, name_of: impl Fn(usize) -> &'n str) -> Option<usize> {
        if count <= FEW {
            return (0..count).find(|&number| name_of(number) == name);
        }
        let Index { numbers, hasher } = self.0.get_or_init(|| Index::new(count, &name_of));
        let is_it = |number: &u32| name_of(*number as usize) == name;
        numbers.find(hasher.hash_one(name), is_it).map(|&number| number as usize)
    }
}

impl Index {
    fn new<'n>(count: usize, name_of: impl Fn(usize) -> &'n str) -> Index {
        // Whoever chose the names must not know which of them have the same hash.
        let hasher = RandomState::new();
        let mut numbers = HashTable::with_capacity(count);
        let hash = |number: &u32| hasher.hash_one(name_of(*number as usize));
        for number in 0..count as u32 {
            numbers.insert_unique(hash(&number), number, hash);
        }
        Index { numbers, hasher }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shown("run"), "run");
        assert_eq!(shown(&"ü".repeat(SHOWN + 1)), "ü".repeat(SHOWN));
    }

    #[test]
    fn names_have_the_numbers_of_their_places() {
        for count in [0, 1, FEW, FEW + 1, 1000] {
            let names: Vec<String> = (0..count).map(|number| format!("name-{number}")).collect();
            let numbers = Numbers::default();
            let find = |name: &str| numbers.find(name, count, |number| &names[number]);
            assert!((0..count).all(|number| find(&names[number]) == Some(number)));
            assert_eq!([find("name-1000"), find("")], [None, None]);
        }
    }
}
