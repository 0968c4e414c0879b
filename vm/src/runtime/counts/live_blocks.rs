//! The live blocks of a store, by instance and address.
//!
//! Allocators align what they hand out, so a page of addresses has one number for each place where a block usually
//! begins; a block is found by two loads, where a hash table would need as many instructions as an allocator. Other
//! blocks, and those beyond the pages that may be kept, are in such a table.

use hashbrown::HashMap;

/// The alignment of the blocks in pages.
const ALIGNED: u64 = 8;

/// The addresses of a page, and those of them at which a block may begin.
const PAGE: u64 = 1 << 12;
const PLACES: usize = (PAGE / ALIGNED) as usize;

/// Maximum number of bytes that pages and the lists of them take in a store.
const MOST_BYTES: usize = if cfg!(test) { 1 << 18 } else { 1 << 28 };

/// An allocated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The number of its context.
    pub context: u32,
    pub bytes: u64,
    /// Bytes allocated before it.
    pub born: u64,
}

/// One more than the numbers of the blocks that begin in a page, by place; 0 for none.
type Page = Box<[u32; PLACES]>;

/// The live blocks of a store.
#[derive(Debug, Default)]
pub struct LiveBlocks {
    /// By number. Numbers in `free` are of no block.
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// By instance and page.
    pages: Vec<Vec<Option<Page>>>,
    /// Number of bytes that pages and the lists of them take.
    taken: usize,
    /// Blocks that no page has.
    others: HashMap<(u32, u64), Block>,
}

impl LiveBlocks {
    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len() - self.free.len() + self.others.len()
    }

    /// Adds a block at an address; returns the block that was there.
    pub fn insert(&mut self, instance: u32, address: u64, block: Block) -> Option<Block> {
        let Some((page, place)) = place(address).filter(|(page, _)| self.has_page(instance, *page)) else {
            return self.others.insert((instance, address), block);
        };
        let number = &mut self.pages[instance as usize][page].get_or_insert_with(no_blocks)[place];
        if *number != 0 {
            return Some(std::mem::replace(&mut self.blocks[*number as usize - 1], block));
        }
        *number = match self.free.pop() {
            Some(free) => {
                self.blocks[free as usize] = block;
                free + 1
            }
            None => {
                self.blocks.push(block);
                self.blocks.len() as u32
            }
        };
        None
    }

    /// Removes the block at an address.
    pub fn remove(&mut self, instance: u32, address: u64) -> Option<Block> {
        let Some((page, place)) = place(address) else { return self.others.remove(&(instance, address)) };
        let kept = self.pages.get_mut(instance as usize).and_then(|pages| pages.get_mut(page)?.as_mut());
        let number = kept.map_or(0, |kept| std::mem::take(&mut kept[place]));
        match number.checked_sub(1) {
            Some(number) => {
                self.free.push(number);
                Some(self.blocks[number as usize])
            }
            None if self.others.is_empty() => None,
            None => self.others.remove(&(instance, address)),
        }
    }

    /// Makes room for a page. Reports whether there is some.
    fn has_page(&mut self, instance: u32, page: usize) -> bool {
        let instance = instance as usize;
        let pages = self.pages.get(instance).map_or(&[][..], Vec::as_slice);
        if let Some(Some(_)) = pages.get(page) {
            return true;
        }
        // The list of an instance is as long as its last page is far behind, and there may be many instances.
        let longer = (page + 1).saturating_sub(pages.len());
        let needed = size_of::<[u32; PLACES]>() + longer * size_of::<Option<Page>>();
        if needed > MOST_BYTES - self.taken {
            return false;
        }
        self.taken += needed;
        if self.pages.len() <= instance {
            self.pages.resize_with(instance + 1, Vec::new);
        }
        let pages = &mut self.pages[instance];
        pages.resize_with(pages.len().max(page + 1), || None);
        true
    }
}

/// Returns the page of an address and the place in it, if a page may have such blocks.
fn place(address: u64) -> Option<(usize, usize)> {
    let is_usual = address.is_multiple_of(ALIGNED) && address >> u32::BITS == 0;
    is_usual.then_some(((address / PAGE) as usize, (address % PAGE / ALIGNED) as usize))
}

fn no_blocks() -> Page {
    Box::new([0; PLACES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_a_hash_table() {
        let (mut all, mut expected) = (LiveBlocks::default(), HashMap::new());
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for step in 0..20_000 {
            let key = (
                random(2) as u32,
                random(64) * [4, 8, 4096][random(3) as usize] + [0, 1 << 32][random(2) as usize],
            );
            let block = Block { context: step, bytes: random(100), born: 0 };
            match random(2) {
                0 => assert_eq!(all.insert(key.0, key.1, block), expected.insert(key, block)),
                _ => assert_eq!(all.remove(key.0, key.1), expected.remove(&key)),
            }
            assert_eq!(all.len(), expected.len());
        }
        assert!(all.taken > 50 * size_of::<[u32; PLACES]>() && all.len() > 50);
    }

    #[test]
    fn blocks_of_too_many_pages_are_kept_too() {
        let block = |number: u64| Block { context: number as u32, bytes: 1, born: 0 };
        let mut all = LiveBlocks::default();
        let fit = MOST_BYTES / (size_of::<[u32; PLACES]>() + size_of::<Option<Page>>());
        let most = fit as u64 + 100;
        (0..most).for_each(|number| assert_eq!(all.insert(0, number * PAGE, block(number)), None));
        assert_eq!((all.len(), all.others.len()), (most as usize, 100));
        (0..most).for_each(|number| assert_eq!(all.remove(0, number * PAGE), Some(block(number))));
        assert_eq!(all.len(), 0);
    }

    #[test]
    fn instances_with_a_block_far_behind_take_no_more_than_one_with_many() {
        let (block, far) = (Block { context: 0, bytes: 1, born: 0 }, 1000 * PAGE);
        let mut all = LiveBlocks::default();
        (0..100).for_each(|instance| assert_eq!(all.insert(instance, far, block), None));
        let lists: usize = all.pages.iter().map(Vec::len).sum();
        assert!((10_000..MOST_BYTES / size_of::<Option<Page>>()).contains(&lists), "{lists}");
        assert!(all.others.len() > 50, "{}", all.others.len());
        (0..100).for_each(|instance| assert_eq!(all.remove(instance, far), Some(block)));
    }
}
