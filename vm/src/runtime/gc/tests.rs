//! Tests of the heap against a model graph of its contents.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::allocate::LARGE;
use super::*;

const PAIR: u32 = 0;
const WORDS: u32 = 1;
const BYTES: u32 = 2;
const HEAD: usize = 8;

fn heap(limit: usize) -> (Heap, Bump) {
    let mut heap = Heap::new(limit).expect("memory");
    heap.add_shape(PAIR, Shape::Struct { size: 32, references: [8, 16].into() });
    heap.add_shape(WORDS, Shape::Array { element: 8, are_references: true });
    heap.add_shape(BYTES, Shape::Array { element: 1, are_references: false });
    (heap, Bump::default())
}

/// Stores a reference in an object.
fn write(heap: &mut Heap, object: u64, at: usize, word: u64) {
    heap.bytes_mut(object, at..at + 8).copy_from_slice(&word.to_le_bytes());
}

/// Reports whether an object was kept by the last collection.
fn lives(heap: &Heap, object: u64) -> bool {
    heap.starts.get(heap.space.place(object).expect("here"))
}

/// A random number generator, as in Marsaglia's "Xorshift RNGs" (2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The expected contents of an object: its type, length, a unique number, and its references.
#[derive(Clone, Debug)]
struct Model {
    ty: u32,
    length: u32,
    number: u64,
    fields: Vec<u64>,
}

struct World {
    heap: Heap,
    bump: Bump,
    objects: BTreeMap<u64, Model>,
    roots: Vec<u64>,
    random: Random,
}

impl World {
    fn new(seed: u64, limit: usize) -> World {
        let (heap, bump) = heap(limit);
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        World { heap, bump, objects: BTreeMap::new(), roots: Vec::new(), random }
    }

    fn allocate(&mut self) {
        let ty = self.random.below(3) as u32;
        let length = match (ty, self.random.below(40)) {
            (PAIR, _) => 0,
            (_, 0) => self.random.below(4 * LARGE as u64) as u32 / if ty == WORDS { 8 } else { 1 },
            (_, 1..=4) => self.random.below(300) as u32,
            _ => self.random.below(10) as u32,
        };
        let Some(address) = self.heap.allocate(&mut self.bump, ty, length) else {
            self.collect();
            return;
        };
        let size = self.heap.shapes.get(ty).size(length);
        assert!(self.heap.bytes(address, HEAD..size).iter().all(|&b| b == 0), "new objects are zero");
        let number = self.random.below(u64::MAX);
        let fields = match ty {
            PAIR => vec![0; 2],
            WORDS => vec![0; length as usize],
            _ => Vec::new(),
        };
        match ty {
            PAIR => self.write(address, 24, number),
            BYTES => self.heap.bytes_mut(address, HEAD..HEAD + length as usize).fill(number as u8),
            _ => {}
        }
        let is_new = self.objects.insert(address, Model { ty, length, number, fields }).is_none();
        assert!(is_new, "no object takes the place of one that may live");
        self.roots.push(address);
    }

    fn write(&mut self, object: u64, at: usize, word: u64) {
        self.heap.bytes_mut(object, at..at + 8).copy_from_slice(&word.to_le_bytes());
    }

    fn any(&mut self) -> Option<u64> {
        let count = self.roots.len() as u64;
        (count > 0).then(|| self.roots[self.random.below(count) as usize])
    }

    fn connect(&mut self) {
        let (Some(from), Some(to)) = (self.any(), self.any()) else { return };
        let count = self.objects[&from].fields.len() as u64;
        if count == 0 {
            return;
        }
        let field = self.random.below(count) as usize;
        self.objects.get_mut(&from).expect("there").fields[field] = to;
        self.write(from, HEAD + 8 * field, to);
    }

    fn drop_root(&mut self) {
        if !self.roots.is_empty() {
            let index = self.random.below(self.roots.len() as u64) as usize;
            self.roots.swap_remove(index);
        }
    }

    fn reachable(&self) -> BTreeSet<u64> {
        let mut seen = BTreeSet::new();
        let mut pending = self.roots.clone();
        while let Some(object) = pending.pop() {
            if object != 0 && seen.insert(object) {
                pending.extend(&self.objects[&object].fields);
            }
        }
        seen
    }

    fn collect(&mut self) {
        let live = self.reachable();
        self.heap.begin_collection(&mut self.bump);
        for root in self.roots.clone() {
            // Some roots are derived addresses.
            let size = self.heap.size_at(self.heap.space.place(root).expect("of the heap"));
            let inside = self.random.below(size as u64);
            self.heap.mark_ambiguous(root + inside);
        }
        assert!(self.heap.trace(|| false, |other| panic!("{other:#x} is no reference that was stored")));
        self.heap.end_collection(true);
        self.objects.retain(|object, _| live.contains(object));
        for (&object, model) in &self.objects {
            self.check(object, model);
        }
        let starts: Vec<u64> = (0..self.heap.blocks.len() * BLOCK)
            .step_by(8)
            .filter(|&at| self.heap.starts.get(at))
            .map(|at| self.heap.space.address(at) as u64)
            .collect();
        assert!(starts.iter().eq(self.objects.keys()), "exactly what is reachable survives");
    }

    fn check(&self, object: u64, model: &Model) {
        assert_eq!(self.heap.head(object), (model.ty, model.length));
        for (&field, index) in model.fields.iter().zip(0..) {
            let at = HEAD + 8 * index;
            assert_eq!(self.heap.bytes(object, at..at + 8), field.to_le_bytes());
        }
        match model.ty {
            PAIR => assert_eq!(self.heap.bytes(object, 24..32), model.number.to_le_bytes()),
            BYTES => {
                let bytes = self.heap.bytes(object, HEAD..HEAD + model.length as usize);
                assert!(bytes.iter().all(|&byte| byte == model.number as u8));
            }
            _ => {}
        }
    }
}

#[test]
fn exactly_what_is_reachable_survives_with_all_that_is_in_it() {
    for seed in 1..=6 {
        let mut world = World::new(seed, 8 << 20);
        for _ in 0..20_000 {
            match world.random.below(1000) {
                0 => world.collect(),
                1..400 => world.allocate(),
                400..700 => world.connect(),
                _ => world.drop_root(),
            }
            let count = world.roots.len();
            if count > 2000 {
                world.roots.truncate(count / 4);
            }
        }
        world.collect();
        assert!(world.heap.statistics().collections > 5, "seed {seed}");
        let (objects, bytes) = (world.heap.statistics().objects, world.heap.statistics().bytes);
        let of_types = world.heap.statistics().by_type.iter();
        assert_eq!(of_types.fold((0, 0), |(o, b), more| (o + more.0, b + more.1)), (objects, bytes));
    }
}

#[test]
fn a_heap_is_as_large_as_it_may_be_and_what_dies_makes_room() {
    let (mut heap, mut bump) = heap(4 << 20);
    let fill = |heap: &mut Heap, bump: &mut Bump, length: u32| {
        let mut all = Vec::new();
        while let Some(object) = heap.allocate(bump, BYTES, length) {
            all.push(object);
        }
        all
    };
    for length in [8, 100, 1000, 20_000, 100_000] {
        let first = fill(&mut heap, &mut bump, length);
        let size = (length as usize + 8).next_multiple_of(8);
        let taken = if size > LARGE { size.next_multiple_of(BLOCK) } else { size };
        assert!(first.len() * taken > (4 << 20) * 9 / 10, "{} of {length}", first.len());
        heap.begin_collection(&mut bump);
        first.iter().for_each(|&object| heap.mark_ambiguous(object));
        assert!(heap.trace(|| false, |_| {}));
        heap.end_collection(true);
        assert!(fill(&mut heap, &mut bump, length).len() * taken < (4 << 20) / 10, "all of it lives");
        heap.begin_collection(&mut bump);
        heap.end_collection(true);
        assert_eq!(heap.statistics().live, 0);
        assert_eq!(fill(&mut heap, &mut bump, length).len(), first.len(), "nothing is lost");
        heap.begin_collection(&mut bump);
        heap.end_collection(true);
    }
    assert_eq!(heap.allocate(&mut bump, BYTES, u32::MAX), None);
}

#[test]
fn if_not_all_is_known_all_is_kept() {
    let (mut heap, mut bump) = heap(1 << 20);
    let objects: Vec<u64> =
        [1, 50, 3000, 40_000].map(|n| heap.allocate(&mut bump, BYTES, n).expect("room")).into();
    heap.begin_collection(&mut bump);
    heap.end_collection(false);
    let more = heap.allocate(&mut bump, BYTES, 50).expect("room");
    assert!(!objects.contains(&more));
    heap.begin_collection(&mut bump);
    objects.iter().for_each(|&object| assert!(heap.mark(object)));
    assert!(heap.trace(|| false, |_| {}));
    heap.end_collection(true);
    assert!(objects.iter().all(|&object| heap.starts.get(heap.space.place(object).expect("here"))));
}

#[test]
fn words_that_are_no_addresses_of_objects_keep_nothing() {
    let (mut heap, mut bump) = heap(1 << 20);
    let object = heap.allocate(&mut bump, PAIR, 0).expect("room");
    let large = heap.allocate(&mut bump, BYTES, 100_000).expect("room");
    heap.begin_collection(&mut bump);
    let end = heap.space.address(heap.space.len()) as u64;
    [0, 1, object - 1, object + 32, object + 5000, large + 100_008, end - 8, end, u64::MAX]
        .into_iter()
        .for_each(|word| heap.mark_ambiguous(word));
    assert!(heap.trace(|| false, |_| {}));
    heap.end_collection(true);
    assert_eq!(heap.statistics().live, 0);
}

/// Rings of all lengths around that of the queue of what is on its way from memory, each of whose objects is also found
/// in an array, often.
#[test]
fn what_is_found_again_and_again_is_marked_once() {
    for length in 1..70_u32 {
        let (mut heap, mut bump) = heap(4 << 20);
        let array = heap.allocate(&mut bump, WORDS, 10 * length).expect("room");
        let ring: Vec<u64> = (0..length).map(|_| heap.allocate(&mut bump, PAIR, 0).expect("room")).collect();
        let garbage = heap.allocate(&mut bump, WORDS, 3).expect("room");
        for (at, &object) in ring.iter().enumerate() {
            write(&mut heap, object, 8, ring[(at + 1) % ring.len()]);
            write(&mut heap, object, 16, array);
        }
        (0..10 * ring.len()).for_each(|at| write(&mut heap, array, HEAD + 8 * at, ring[at % ring.len()]));
        write(&mut heap, garbage, HEAD, ring[0]);
        heap.begin_collection(&mut bump);
        heap.mark_ambiguous(ring[0]);
        assert!(!heap.is_traced());
        assert!(heap.trace(|| false, |other| panic!("{other:#x} is no reference")));
        assert!(heap.is_traced());
        heap.end_collection(true);
        let lives = |object| lives(&heap, object);
        assert!(lives(array) && ring.iter().all(|&object| lives(object)) && !lives(garbage), "{length}");
    }
}

/// A list that fills the heap: who is stopped has not come to its last object.
#[test]
fn a_collection_that_is_stopped_keeps_all() {
    let (mut heap, mut bump) = heap(16 << 20);
    let first = heap.allocate(&mut bump, PAIR, 0).expect("room");
    let mut last = first;
    while let Some(next) = heap.allocate(&mut bump, PAIR, 0) {
        write(&mut heap, last, 8, next);
        last = next;
    }
    for looks_until_stop in [0, 3, 1000] {
        let looks = std::cell::Cell::new(0);
        heap.begin_collection(&mut bump);
        heap.mark_ambiguous(first);
        let stop = || looks.replace(looks.get() + 1) == looks_until_stop;
        let is_done = heap.trace(stop, |other| panic!("{other:#x} is no reference"));
        assert_eq!(is_done, looks_until_stop == 1000, "after {} looks", looks.get());
        assert!(heap.is_traced());
        heap.end_collection(is_done);
        assert!(lives(&heap, last));
    }
}

/// A tree of arrays, each with more elements than the stack of what was found has room for.
#[test]
fn what_the_stack_has_no_room_for_is_found_again() {
    const WIDTH: usize = 40;
    let (mut heap, mut bump) = heap(16 << 20);
    let root = heap.allocate(&mut bump, WORDS, WIDTH as u32).expect("room");
    let (mut all, mut arrays) = (vec![root], VecDeque::from([root]));
    while all.len() < 30_000 {
        let array = arrays.pop_front().expect("each has others");
        for index in 0..WIDTH {
            let is_array = index % 2 == 0;
            let (ty, length) = if is_array { (WORDS, WIDTH as u32) } else { (PAIR, 0) };
            let object = heap.allocate(&mut bump, ty, length).expect("room");
            write(&mut heap, array, HEAD + 8 * index, object);
            all.push(object);
            arrays.extend(is_array.then_some(object));
        }
    }
    heap.begin_collection(&mut bump);
    heap.mark_ambiguous(root);
    assert!(heap.trace(|| false, |other| panic!("{other:#x} is no reference")));
    heap.end_collection(true);
    assert!(all.iter().all(|&object| lives(&heap, object)));
}
