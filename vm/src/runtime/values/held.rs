//! The words of objects that the embedder holds, or has held.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The held words, each as long as its root is alive.
#[derive(Debug, Default)]
pub struct Held(Mutex<Words>);

#[derive(Debug, Default)]
struct Words {
    all: Vec<(u64, Weak<()>)>,
    /// Number of words after the most recent removal of released ones.
    known: usize,
}

impl Words {
    /// Number of words below which a search for released ones does not pay off.
    const FEW: usize = 1024;

    fn add(&mut self, word: u64, root: Weak<()>) {
        if self.all.len() >= 2 * self.known.max(Words::FEW) {
            self.drop_others();
        }
        self.all.push((word, root));
    }

    fn drop_others(&mut self) {
        self.all.retain(|(_, root)| root.strong_count() > 0);
        self.known = self.all.len();
    }
}

impl Held {
    /// Keeps the referent of a word alive as long as the result is alive.
    pub fn hold(&self, word: u64) -> Arc<()> {
        let root = Arc::new(());
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.add(word, Arc::downgrade(&root));
        root
    }

    /// Returns the words that the embedder still holds.
    pub fn words(&mut self) -> impl Iterator<Item = u64> + '_ {
        let words = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        words.drop_others();
        words.all.iter().map(|&(word, _)| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_any_more_takes_no_room() {
        let held = Held::default();
        let roots: Vec<Arc<()>> = (0..2000).map(|word| held.hold(word)).collect();
        (0..100_000).for_each(|word| drop(held.hold(word)));
        let mut held = held;
        let kept: Vec<u64> = held.words().collect();
        assert!(kept.iter().copied().eq(0..2000));
        let room = held.0.get_mut().expect("not poisoned").all.capacity();
        assert!(room < 20_000, "{room}");
        drop(roots);
        assert_eq!(held.words().count(), 0);
    }
}
