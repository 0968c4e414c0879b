//! Predicts what a run will do next, as probabilities.
//!
//! Input: the place of a decision, the number of ways, and the way taken, which the coder writes or reads. Output:
//! the way, and a model that has learnt it.
//! Invariant: integer arithmetic only, so that every machine makes the same predictions.
//! Source: Vaswani 2007, section 4.1, finite context models. A decision is predicted in several contexts: its place
//! alone; its place with the last decisions at this place; its place with the last 4, 12 and 24 decisions anywhere;
//! and its place with a hash of the path that led there. The predictions are mixed by weights that learn (Mahoney,
//! *Adaptive Weighing of Context Models*, 2005). Ours: while a run repeats earlier decisions, one bit says that it
//! does so once more, which is faster and cheaper than mixing.

use super::coder::Coder;

/// Number of contexts of a decision.
const CONTEXTS: usize = 6;

/// Number of entries of a context's table.
const ENTRIES: usize = 1 << 18;

/// Number of decisions remembered, and size of the table that finds earlier decisions like the last ones.
const HISTORY: usize = 1 << 20;
const FOUND: usize = 1 << 18;

/// Number of rows of the tables by place.
const PLACES: usize = 1 << 12;

/// Number of repeated decisions after which one bit says that the next one is repeated, too.
const SURE_AFTER: u32 = 20;

/// Probability of 65536 below which the contexts are used instead.
const SURE: u16 = 60_000;

/// A probability that learns: 22 bits, and 10 bits that count the bits learnt.
#[derive(Clone, Copy)]
struct Adaptive(u32);

impl Adaptive {
    const NEW: Self = Self(1 << 31);

    /// Returns the probability in units of 1/4096.
    fn twelve_bits(self) -> i32 {
        (self.0 >> 20) as i32
    }

    /// Returns the probability in units of 1/65536.
    fn sixteen_bits(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Learns a bit: more slowly the more bits were learnt, but no more slowly than after `limit` bits.
    fn learn(&mut self, bit: bool, limit: u32) {
        let (probability, seen) = (i64::from(self.0 >> 10), self.0 & 0x3ff);
        let target = if bit { (1 << 22) - 1 } else { 0 };
        let next = probability + (((target - probability) * RATES[seen as usize & 255]) >> 16);
        self.0 = (next as u32) << 10 | (seen + 1).min(limit);
    }
}

/// By number of bits learnt: the share of the difference to learn, in units of 1/65536.
const RATES: [i64; 256] = {
    let mut rates = [0; 256];
    let mut seen = 0;
    while seen < rates.len() {
        rates[seen] = 2 * 65_536 / (2 * seen as i64 + 3);
        seen += 1;
    }
    rates
};

/// A model that predicts decisions, and learns them.
pub(super) struct Model {
    logistic: Logistic,
    tables: Vec<Vec<Adaptive>>,
    /// By place: the weight of each context, and of a constant.
    weights: Vec<[i32; CONTEXTS + 1]>,
    /// By place and mixed prediction: the refined prediction.
    refined: Vec<Adaptive>,
    /// By place: the last decisions made there.
    local: Vec<u32>,
    /// The last decisions anywhere, the latest in the lowest bit.
    recent: u64,
    /// Hash of the places and ways of the last decisions.
    path: u64,
    history: History,
}

/// The latest decisions.
struct History {
    /// Ring buffer of places and ways.
    decisions: Vec<(u32, u32)>,
    next: usize,
    /// By hash of the last decisions: the position in the ring after their last occurrence.
    found: Vec<u32>,
    /// Position of the decision that is expected to be repeated next.
    repeated: Option<usize>,
    /// Number of decisions repeated so far.
    length: u32,
    /// By place and length of the repetition: the probability that it continues.
    goes_on: Vec<Adaptive>,
}

/// Returns the hash of a decision's place: the block and its function.
pub(super) fn place(function: usize, block: u32) -> u32 {
    let both = (function as u64) << 32 | u64::from(block);
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

impl Model {
    pub fn new() -> Self {
        Self {
            logistic: Logistic::new(),
            tables: (0..CONTEXTS).map(|_| vec![Adaptive::NEW; ENTRIES]).collect(),
            weights: vec![[20_000; CONTEXTS + 1]; PLACES],
            refined: (0..PLACES).flat_map(|_| (0..33).map(Logistic::bucket)).collect(),
            local: vec![0; PLACES],
            recent: 0,
            path: 0,
            history: History::new(),
        }
    }

    /// Codes the choice of one of `ways` ways (at least one) at a place; `way` is the choice if it is known.
    pub fn choose(&mut self, coder: &mut impl Coder, place: u32, ways: u32, way: u32) -> u32 {
        if ways < 2 {
            return 0;
        }
        let taken = match self.history.expected(place).filter(|&expected| expected < ways) {
            Some(expected) => match self.history.code_repetition(coder, place, way == expected) {
                Some(true) => expected,
                _ => self.code(coder, place, ways, way),
            },
            None => self.code(coder, place, ways, way),
        };
        self.remember(place, taken);
        taken
    }

    /// Codes a number of 32 bits without any prediction.
    pub fn number(&mut self, coder: &mut impl Coder, number: u32) -> u32 {
        (0..32).fold(0, |read, bit| read | u32::from(coder.code(1 << 15, number >> bit & 1 == 1)) << bit)
    }

    /// Codes a way bit by bit, the highest first, each bit in all contexts.
    fn code(&mut self, coder: &mut impl Coder, place: u32, ways: u32, way: u32) -> u32 {
        let width = 32 - (ways - 1).leading_zeros();
        let contexts = self.contexts(place);
        let mut read = 1_u32;
        for bit in (0..width).rev() {
            let entries = contexts.map(|context| entry(context, read));
            let bit = self.code_bit(coder, place, entries, way >> bit & 1 == 1);
            read = read << 1 | u32::from(bit);
        }
        (read & !(1 << width)).min(ways - 1)
    }

    fn contexts(&self, place: u32) -> [u64; CONTEXTS] {
        let local = self.local[place as usize % PLACES];
        let known = [
            0,
            u64::from(local & 0xffff) | 1 << 32,
            self.recent & 0xf | 2 << 32,
            self.recent & 0xfff | 3 << 32,
            self.recent & 0xff_ffff | 4 << 32,
            self.path,
        ];
        known.map(|known| (known ^ u64::from(place) << 34).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn code_bit(
        &mut self,
        coder: &mut impl Coder,
        place: u32,
        entries: [usize; CONTEXTS],
        bit: bool,
    ) -> bool {
        let row = place as usize % PLACES;
        let mut inputs = [256; CONTEXTS + 1];
        for ((input, table), &entry) in inputs.iter_mut().zip(&self.tables).zip(&entries) {
            *input = self.logistic.stretch(table[entry].twelve_bits());
        }
        let weights = &mut self.weights[row];
        let sum: i64 =
            inputs.iter().zip(&*weights).map(|(&input, &weight)| i64::from(input) * i64::from(weight)).sum();
        let mixed = (sum >> 16).clamp(-2047, 2047) as i32;
        let probability = Logistic::squash(mixed);
        let refined = &mut self.refined[row * 33 + ((mixed + 2048 + 64) >> 7).clamp(0, 32) as usize];
        let one = (3 * u32::from(refined.sixteen_bits()) + (probability as u32) * 16) / 4;
        let bit = coder.code(one.clamp(16, 65_520) as u16, bit);
        refined.learn(bit, 127);
        let error = ((i32::from(bit) << 12) - probability) * 6;
        for (weight, input) in weights.iter_mut().zip(inputs) {
            *weight = (*weight + ((input * error + 0x8000) >> 16)).clamp(-(1 << 20), 1 << 20);
        }
        for (table, entry) in self.tables.iter_mut().zip(entries) {
            table[entry].learn(bit, 250);
        }
        bit
    }

    fn remember(&mut self, place: u32, way: u32) {
        let local = &mut self.local[place as usize % PLACES];
        *local = *local << 1 ^ way;
        self.recent = self.recent << 1 ^ u64::from(way);
        let decision = u64::from(place) << 5 ^ u64::from(way + 1);
        self.path = (self.path << 4) ^ (decision.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30);
        self.history.remember((place, way), self.path);
    }
}

fn entry(context: u64, read: u32) -> usize {
    let mixed = (context ^ u64::from(read)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize % ENTRIES
}

impl History {
    fn new() -> Self {
        Self {
            decisions: vec![(0, u32::MAX); HISTORY],
            next: 0,
            found: vec![u32::MAX; FOUND],
            repeated: None,
            length: 0,
            goes_on: vec![Adaptive::NEW; PLACES * 16],
        }
    }

    /// Returns the way taken before, if the decision to be repeated was made at this place.
    fn expected(&self, place: u32) -> Option<u32> {
        let (at, way) = self.decisions[self.repeated.filter(|_| self.length >= SURE_AFTER)?];
        (at == place).then_some(way)
    }

    fn row(&self, place: u32) -> usize {
        let length = self.length / SURE_AFTER;
        place as usize % PLACES * 16 + (32 - length.leading_zeros()).min(15) as usize
    }

    /// Codes whether the expected way is taken, if that is nearly certain; otherwise returns `None`.
    fn code_repetition(&mut self, coder: &mut impl Coder, place: u32, is_expected: bool) -> Option<bool> {
        let row = self.row(place);
        let likely = self.goes_on[row].sixteen_bits();
        if likely < SURE {
            return None;
        }
        Some(coder.code(likely.min(65_530), is_expected))
    }

    /// Adds a decision; `path` is the hash of this and the previous decisions.
    fn remember(&mut self, decision: (u32, u32), path: u64) {
        match self.repeated {
            Some(at) if self.decisions[at].0 == decision.0 => {
                let is_expected = self.decisions[at] == decision;
                if self.length >= SURE_AFTER {
                    let row = self.row(decision.0);
                    self.goes_on[row].learn(is_expected, 250);
                }
                self.length = if is_expected { self.length.saturating_add(1) } else { 0 };
                self.repeated = is_expected.then_some((at + 1) % HISTORY);
            }
            _ => (self.repeated, self.length) = (None, 0),
        }
        self.decisions[self.next] = decision;
        self.next = (self.next + 1) % HISTORY;
        let found = &mut self.found[(path.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % FOUND];
        if self.repeated.is_none() && *found != u32::MAX {
            self.repeated = Some(*found as usize);
        }
        *found = self.next as u32;
    }
}

/// The logistic function and its inverse, as tables.
struct Logistic {
    stretched: Vec<i16>,
}

impl Logistic {
    fn new() -> Self {
        let mut stretched = vec![0; 4096];
        let mut next = 0;
        for value in -2047..=2047 {
            let probability = Self::squash(value) as usize;
            stretched[next.min(probability + 1)..=probability].fill(value as i16);
            next = next.max(probability + 1);
        }
        stretched[next..].fill(2047);
        Self { stretched }
    }

    /// Returns ln(p / (1 - p)) of p / 4096, times 256.
    fn stretch(&self, probability: i32) -> i32 {
        self.stretched[probability as usize & 4095].into()
    }

    /// Computes the inverse of [`stretch`](Self::stretch).
    fn squash(value: i32) -> i32 {
        const VALUES: [i32; 33] = [
            1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348,
            3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094,
        ];
        let value = value.clamp(-2047, 2047);
        let (part, place) = (value & 127, ((value >> 7) + 16) as usize);
        (VALUES[place] * (128 - part) + VALUES[place + 1] * part + 64) >> 7
    }

    /// Returns the probability at the centre of one of 33 buckets.
    fn bucket(bucket: i32) -> Adaptive {
        Adaptive((Self::squash((bucket - 16) * 128) as u32) << 20 | 6)
    }
}
