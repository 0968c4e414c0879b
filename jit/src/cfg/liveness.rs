//! Which locals may still be read: what a frame need not take along when it goes on in another version.
//!
//! Input: a function. Output: for each block, a set of locals. Invariant: a local that is not in the set of a block is
//! written before it is read, on every way from there.
//! Source: the textbook's backward data flow, by sweeps against bytecode order until nothing changes.

use wasmparser::{BinaryReaderError, Operator};

use super::{Cfg, Operators, Target};
use crate::module::ModuleInfo;

/// Words of all sets together; a function that is larger is taken to need all its locals.
const MOST_WORDS: usize = 1 << 22;

/// Each sweep follows one more back edge on a way. A function that needs more is nested as no program is, and taken to need
/// all its locals.
const MOST_SWEEPS: usize = 32;

/// The live locals of a function, at the entry of each block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Words of one set.
    words: usize,
    /// By block; nothing if all are taken to be live.
    live: Vec<u64>,
}

impl Liveness {
    /// The live locals of the function with this graph.
    ///
    /// # Errors
    /// If the bytes are not those that were validated.
    pub fn new(info: &ModuleInfo, cfg: &Cfg) -> Result<Liveness, BinaryReaderError> {
        let words = cfg.locals.len().div_ceil(64);
        if words * cfg.blocks.len() > MOST_WORDS {
            return Ok(Liveness { words, live: Vec::new() });
        }
        let mut written = vec![0; words * cfg.blocks.len()];
        let mut live = vec![0; words * cfg.blocks.len()];
        for block in 0..cfg.blocks.len() {
            let range = block * words..(block + 1) * words;
            scan(info, cfg, block, &mut live[range.clone()], &mut written[range])?;
        }
        let mut liveness = Liveness { words, live };
        let is_done = (0..MOST_SWEEPS).any(|_| !liveness.sweep(cfg, &written));
        if !is_done {
            liveness.live.clear();
        }
        Ok(liveness)
    }

    /// Whether `local` may be read from the entry of `block` on.
    pub fn is_live(&self, block: u32, local: usize) -> bool {
        let word = self.live.get(block as usize * self.words + local / 64);
        word.is_none_or(|word| word >> (local % 64) & 1 == 1)
    }

    /// Makes all blocks take over what their successors read; whether anything changed.
    fn sweep(&mut self, cfg: &Cfg, written: &[u64]) -> bool {
        let mut changed = false;
        for (index, block) in cfg.blocks.iter().enumerate().rev() {
            for edge in &block.edges {
                let Target::Block(to) = edge.target else { continue };
                for word in 0..self.words {
                    let (from, to) = (index * self.words + word, to as usize * self.words + word);
                    let live = self.live[from] | self.live[to] & !written[from];
                    changed |= live != self.live[from];
                    self.live[from] = live;
                }
            }
        }
        changed
    }
}

/// What a block reads before it writes it, and what it writes.
fn scan(
    info: &ModuleInfo,
    cfg: &Cfg,
    block: usize,
    read: &mut [u64],
    written: &mut [u64],
) -> Result<(), BinaryReaderError> {
    let block = &cfg.blocks[block];
    let mut operators = Operators::new(info, block.start, block.limit);
    while let Some((op, _)) = operators.next()? {
        match op {
            Operator::LocalGet { local_index } => {
                let (word, bit) = (local_index as usize / 64, 1 << (local_index % 64));
                read[word] |= bit & !written[word];
            }
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                written[local_index as usize / 64] |= 1 << (local_index % 64);
            }
            _ => {}
        }
    }
    Ok(())
}
