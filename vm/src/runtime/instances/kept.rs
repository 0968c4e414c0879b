//! Things that stores and instances leave for the next ones, because the system takes long to make them.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

/// A number of kept things, by shape: those of one shape replace each other.
#[derive(Debug)]
pub struct Kept<K, V> {
    shelf: Mutex<Shelf<K, V>>,
    most: usize,
}

#[derive(Debug)]
struct Shelf<K, V> {
    things: HashMap<K, Vec<V>>,
    count: usize,
}

impl<K: Copy + Eq + Hash, V> Kept<K, V> {
    /// Creates a place for at most so many.
    pub fn new(most: usize) -> Kept<K, V> {
        Kept { shelf: Mutex::new(Shelf { things: HashMap::new(), count: 0 }), most }
    }

    /// Takes one of this shape, if any is kept.
    pub fn take(&self, shape: K) -> Option<V> {
        self.lock().take(shape)
    }

    /// Keeps one. If there are enough, one is dropped instead, preferably of another shape.
    pub fn put(&self, shape: K, one: V) {
        let mut shelf = self.lock();
        let instead = match shelf.count < self.most {
            true => None,
            false => match shelf.things.keys().copied().find(|other| *other != shape) {
                Some(other) => shelf.take(other),
                None => {
                    drop(shelf);
                    drop(one);
                    return;
                }
            },
        };
        shelf.things.entry(shape).or_default().push(one);
        shelf.count += 1;
        // Dropping may take a system call, which others need not wait for.
        drop(shelf);
        drop(instead);
    }

    /// Returns how many are kept.
    pub fn len(&self) -> usize {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, Shelf<K, V>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash, V> Shelf<K, V> {
    fn take(&mut self, shape: K) -> Option<V> {
        let things = self.things.get_mut(&shape)?;
        let one = things.pop()?;
        if things.is_empty() {
            self.things.remove(&shape);
        }
        self.count -= 1;
        Some(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_kept() {
        let kept = Kept::new(2);
        (1..=3).for_each(|thing| kept.put((), thing));
        assert_eq!([(); 3].map(|()| kept.take(())), [Some(2), Some(1), None]);
    }

    #[test]
    fn other_shapes_are_dropped_first() {
        let kept = Kept::new(2);
        for (shape, thing) in [('a', 1), ('b', 2), ('b', 3), ('b', 4)] {
            kept.put(shape, thing);
        }
        assert_eq!(['a', 'b', 'b', 'b'].map(|shape| kept.take(shape)), [None, Some(3), Some(2), None]);
        assert_eq!((kept.len(), kept.lock().things.len()), (0, 0));
        let none = Kept::new(0);
        none.put((), 1);
        assert_eq!(none.take(()), None);
    }
}
