//! Allocations by calling context equal those that a program logs itself, in every tier, whatever ends its allocators
//! early.

use std::collections::{BTreeMap, HashMap};

use wprof::profiler::{ALLOCATION_COLUMNS, Blocks, Callee, LIVES, Profile, life};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn engines() -> impl Iterator<Item = Engine> {
    let strategies = [Strategy::Optimized, Strategy::Baseline, Strategy::Tiered];
    let others = ["", "edges", "paths", "events", "metrics"];
    let kinds = strategies.into_iter().flat_map(move |strategy| others.map(|other| (strategy, other)));
    kinds.map(|(strategy, other)| {
        let mut config = Config::new();
        config.strategy(strategy).background_compilation(false).promote_after(20);
        config.count_contexts(true).count_allocations([("make".to_owned(), AllocatorKind::Malloc)]);
        match other {
            "edges" => config.profiling(ProfilingConfig::Exact(Collect::Edges)),
            "paths" => config.profiling(ProfilingConfig::Exact(Collect::Paths)).flow_contexts(true),
            "events" => config.count_events(EventModel::built_in("instructions")),
            "metrics" => config.measure([Metric::Cycles]),
            _ => &mut config,
        };
        Engine::new(&config).expect("this machine")
    })
}

/// The operations of call sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Malloc,
    Calloc,
    Realloc,
    Free,
    AlignedAlloc,
    PosixMemalign,
    Make,
    Grow,
    End,
}

const KINDS: [Kind; 7] = [
    Kind::Malloc,
    Kind::Calloc,
    Kind::Realloc,
    Kind::Free,
    Kind::AlignedAlloc,
    Kind::PosixMemalign,
    Kind::Make,
];

/// Sizes for which allocators throw, trap or fail.
const THROWS: u32 = 77_777;
const TRAPS: u32 = 66_666;
const FAILS: u32 = 55_555;

const SITES: u32 = 5;

/// The allocators change their arguments, call each other, and may return the block that was freed last.
fn program() -> String {
    let kinds = "
        (block $end (block $grow (block $make (block $posix (block $aligned (block $free (block $realloc (block $calloc (block $malloc
            (br_table $malloc $calloc $realloc $free $aligned $posix $make $grow $end (local.get $kind)))
            (return (call $malloc (local.get $a))))
            (return (call $calloc (local.get $a) (local.get $b))))
            (return (call $realloc (local.get $a) (local.get $b))))
            (call $free (local.get $a)) (return (i32.const 0)))
            (return (call $aligned_alloc (local.get $a) (local.get $b))))
            (if (call $posix_memalign (i32.const 8) (local.get $a) (local.get $b)) (then (return (i32.const 0))))
            (return (i32.load (i32.const 8))))
            (return (call $make (local.get $a) (i64.const 0))))
            (return (memory.grow (local.get $a))))
        (i32.const 0)";
    let site = |number: u32| {
        format!(
            "(func $site{number} (param $kind i32) (param $a i32) (param $b i32) (result i32) {kinds})
             (func $try{number} (param $kind i32) (param $a i32) (param $b i32) (result i32)
                (block $caught
                    (return (try_table (result i32) (catch_all $caught)
                        (call $site{number} (local.get $kind) (local.get $a) (local.get $b)))))
                (i32.const 0))"
        )
    };
    let sites: String = (0..SITES).map(site).collect();
    let targets: String = (0..SITES).map(|number| format!(" $s{number}")).collect();
    let blocks: String = (0..SITES).rev().map(|number| format!("(block $s{number} ")).collect();
    let calls: String = (0..SITES)
        .map(|number| {
            format!(") (return (call $try{number} (local.get $kind) (local.get $a) (local.get $b)))")
        })
        .collect();
    format!(
        r#"(module
        (import "host" "next" (func $next (result i32 i32 i32 i32)))
        (import "host" "log" (func $log (param i32)))
        (tag $full)
        (memory 1 300)
        (global $top (mut i32) (i32.const 16))
        (global $last (mut i32) (i32.const 0))
        (func $malloc (param $size i32) (result i32) (local $at i32)
            (if (i32.eq (local.get $size) (i32.const {THROWS})) (then (throw $full)))
            (if (i32.eq (local.get $size) (i32.const {TRAPS})) (then (unreachable)))
            (if (i32.eq (local.get $size) (i32.const {FAILS})) (then (return (i32.const 0))))
            (local.set $size (i32.const 3))
            (if (local.tee $at (global.get $last)) (then
                (global.set $last (i32.const 0)) (return (local.get $at))))
            (global.set $top (i32.add (global.get $top) (i32.const 8)))
            (global.get $top))
        (func $calloc (param $count i32) (param $size i32) (result i32)
            (local.set $size (i32.mul (local.get $count) (local.get $size)))
            (block $caught
                (return (try_table (result i32) (catch_all $caught) (call $malloc (local.get $size)))))
            (call $malloc (i32.const 8)))
        (func $realloc (param $old i32) (param $size i32) (result i32)
            (if (i32.eqz (local.tee $size (call $malloc (local.get $size)))) (then (return (i32.const 0))))
            (call $free (local.get $old))
            (local.get $size))
        (func $aligned_alloc (param i32 i32) (result i32) (call $malloc (local.get 1)))
        (func $posix_memalign (param $to i32) (param i32 i32) (result i32)
            (i32.store (local.get $to) (call $malloc (local.get 2)))
            (i32.mul (i32.eqz (i32.load (local.get $to))) (i32.const 12)))
        (func $make (param i32 i64) (result i32) (call $malloc (local.get 0)))
        (func $free (param $old i32)
            (if (local.get $old) (then (global.set $last (local.get $old)))))
        {sites}
        (func $step (param $site i32) (param $kind i32) (param $a i32) (param $b i32) (result i32)
            {blocks} (br_table {targets} (local.get $site)) {calls} (unreachable))
        (func (export "run") (local $site i32) (local $kind i32) (local $a i32) (local $b i32)
            (loop $again
                (call $next) (local.set $b) (local.set $a) (local.set $kind) (local.set $site)
                (if (i32.eq (local.get $kind) (i32.const {end})) (then (return)))
                (call $log (call $step (local.get $site) (local.get $kind) (local.get $a) (local.get $b)))
                (br $again))))"#,
        end = Kind::End as u32,
    )
}

/// The allocating function, and the operation.
type Key = (u32, Kind);

/// The figures of a context, computed in the simple way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    allocated: Blocks,
    freed: u64,
    lifetime: u64,
    live: Blocks,
    peak: Blocks,
}

/// The script of a run, and the contents of its log.
#[derive(Default)]
struct Host {
    random: u64,
    left: u32,
    asked: Option<(u32, Kind, u32, u32)>,
    /// Live blocks by address: the owner, the size, and how much was allocated before.
    live: BTreeMap<u32, (Key, u64, u64)>,
    figures: HashMap<Key, Figures>,
    all: Figures,
    lives: Vec<u64>,
    traps: u32,
    throws: u32,
    pages: u64,
}

impl Host {
    fn random(&mut self, below: u32) -> u32 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) as u32) % below
    }

    fn any_block(&mut self) -> u32 {
        let at = self.random(self.live.len().max(1) as u32) as usize;
        self.live.keys().nth(at).copied().unwrap_or(0)
    }

    fn next(&mut self) -> (u32, u32, u32, u32) {
        if self.left == 0 {
            return (0, Kind::End as u32, 0, 0);
        }
        self.left -= 1;
        let (site, kind) = (self.random(SITES), KINDS[self.random(KINDS.len() as u32) as usize]);
        let size = match self.random(40) {
            0 => FAILS,
            1 => THROWS,
            2 => TRAPS,
            _ => self.random(500),
        };
        self.throws += u32::from(size == THROWS && kind != Kind::Free);
        let (kind, a, b) = match kind {
            _ if self.random(60) == 0 => (Kind::Grow, 1, 0),
            Kind::Free => (kind, self.any_block(), 0),
            Kind::Realloc => (kind, self.any_block(), size),
            Kind::Calloc if size > 500 => (kind, 1, size),
            Kind::Calloc => (kind, self.random(9), size),
            Kind::AlignedAlloc | Kind::PosixMemalign => (kind, 16, size),
            _ => (kind, size, 0),
        };
        self.asked = Some((site, kind, a, b));
        (site, kind as u32, a, b)
    }

    fn log(&mut self, result: u32) {
        let (site, kind, a, b) = self.asked.take().expect("asked before");
        let size = match kind {
            Kind::Malloc | Kind::Make => u64::from(a),
            Kind::Calloc => u64::from(a) * u64::from(b),
            _ => u64::from(b),
        };
        match kind {
            Kind::Grow => self.pages += 1,
            Kind::Free => self.end(a),
            _ if result == 0 => {}
            _ => {
                if kind == Kind::Realloc {
                    self.end(a);
                }
                self.begin((site, kind), result, size);
            }
        }
    }

    fn end(&mut self, address: u32) {
        let Some((key, size, born)) = self.live.remove(&address) else { return };
        let lived = self.all.allocated.bytes - born - size;
        self.lives[life(lived)] += 1;
        for of in [&mut self.all, self.figures.get_mut(&key).expect("it has allocated")] {
            of.live = Blocks { blocks: of.live.blocks - 1, bytes: of.live.bytes - size };
            of.freed += 1;
            of.lifetime += lived;
        }
    }

    fn begin(&mut self, key: Key, address: u32, size: u64) {
        // The owner changes only if the block is free: these allocators never return a live block.
        let born = self.all.allocated.bytes;
        assert_eq!(self.live.insert(address, (key, size, born)), None);
        for of in [&mut self.all, self.figures.entry(key).or_default()] {
            of.allocated = of.allocated.plus(Blocks { blocks: 1, bytes: size });
            of.live = of.live.plus(Blocks { blocks: 1, bytes: size });
        }
        if self.all.live.bytes > self.all.peak.bytes {
            self.all.peak = self.all.live;
            self.figures.values_mut().for_each(|of| of.peak = of.live);
        }
    }
}

fn columns(of: &Figures) -> [u64; 8] {
    let Figures { allocated, freed, lifetime, live, peak } = *of;
    [allocated.bytes, allocated.blocks, freed, lifetime, live.blocks, live.bytes, peak.blocks, peak.bytes]
}

/// Returns the figures of the profile by site and allocator.
fn counted(profile: &Profile) -> HashMap<Key, [u64; 8]> {
    let tree = profile.contexts.as_ref().expect("counted");
    tree.verify().expect("valid");
    let column = |name: &&str| tree.metrics.iter().position(|metric| metric.name == **name);
    let columns: Vec<usize> = ALLOCATION_COLUMNS.iter().map(|name| column(name).expect("there")).collect();
    let name = |record: u32| match tree.callee(record) {
        Callee::Function { name, .. } => name.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let mut found = HashMap::new();
    for (record, number) in tree.records.iter().zip(0..) {
        let figures: Vec<u64> = columns.iter().map(|&column| record.metrics[column]).collect();
        if figures.iter().all(|&figure| figure == 0) {
            continue;
        }
        let site = name(record.parent).strip_prefix("site").and_then(|site| site.parse().ok());
        let kind = match name(number).as_str() {
            "malloc" => Kind::Malloc,
            "calloc" => Kind::Calloc,
            "realloc" => Kind::Realloc,
            "aligned_alloc" => Kind::AlignedAlloc,
            "posix_memalign" => Kind::PosixMemalign,
            "make" => Kind::Make,
            other => panic!("{other} allocates"),
        };
        let figures = figures.try_into().expect("eight columns");
        assert_eq!(found.insert((site.expect("only sites call allocators"), kind), figures), None);
    }
    found
}

#[test]
fn what_allocators_hand_out_is_what_the_program_logs() -> Outcome {
    let (mut traps, mut throws) = (0, 0);
    for (engine, seed) in engines().zip(1..) {
        let module = Module::new(&engine, program())?;
        let host = Host { random: seed, left: 3000, lives: vec![0; LIVES], pages: 1, ..Host::default() };
        let mut store = Store::new(&engine, host);
        let mut linker = Linker::new(&engine);
        linker.func_wrap("host", "next", |mut caller: Caller<'_, Host>| {
            let (site, kind, a, b) = caller.data_mut().next();
            (site as i32, kind as i32, a as i32, b as i32)
        })?;
        linker.func_wrap("host", "log", |mut caller: Caller<'_, Host>, result: i32| {
            caller.data_mut().log(result as u32);
        })?;
        let instance = linker.instantiate(&mut store, &module)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
        // After a trap the program goes on with its next operation.
        while run.call(&mut store, ()).is_err() {
            store.data_mut().traps += 1;
        }
        let profile = instance.profile(&store)?;
        assert_eq!(Profile::from_bytes(&profile.to_bytes()?)?, profile);
        let host = store.data();
        let expected: HashMap<Key, [u64; 8]> =
            host.figures.iter().map(|(key, of)| (*key, columns(of))).collect();
        assert_eq!(counted(&profile), expected, "{:?}", engine.config());
        let all = profile.allocations.as_ref().expect("counted");
        let Figures { allocated, freed, live, peak, .. } = host.all;
        assert_eq!((all.allocated, all.freed.blocks, all.live, all.peak), (allocated, freed, live, peak));
        assert_eq!((&all.lives, all.unknown_frees, all.untracked), (&host.lives, 0, 0));
        assert_eq!(all.memories.last().map(|size| size.pages), Some(host.pages));
        assert_eq!(all.memories.len() as u64, host.pages);
        traps += host.traps;
        throws += host.throws;
    }
    assert!(traps > 100 && throws > 100, "{traps} traps, {throws} throws");
    Ok(())
}

/// Objects are attributed to the functions that make them, over all contexts, and to their types.
#[test]
fn objects_are_counted_by_type_and_function() -> Outcome {
    let wat = r#"(module
        (type $pair (struct (field i32) (field i64)))
        (type $bytes (array (mut i8)))
        (data $text "some text")
        (func $pairs (param $n i32)
            (loop $again
                (drop (struct.new $pair (i32.const 1) (i64.const 2)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func $arrays (param $n i32)
            (loop $again
                (drop (array.new_default $bytes (local.get $n)))
                (drop (array.new_data $bytes $text (i32.const 0) (i32.const 9)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "run")
            (call $pairs (i32.const 100)) (call $arrays (i32.const 50)) (call $pairs (i32.const 30))))"#;
    for engine in engines() {
        let module = Module::new(&engine, wat)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
        let profile = instance.profile(&store)?;
        let all = profile.allocations.as_ref().expect("counted");
        let found: Vec<_> = all.objects.iter().map(|found| (found.function, found.ty, found.count)).collect();
        assert_eq!(found, [(0, 0, 130), (1, 1, 100)], "{:?}", engine.config());
        let statistics = store.gc_statistics().expect("objects were made");
        let objects = Blocks { blocks: statistics.objects, bytes: statistics.bytes };
        assert_eq!((all.objects(), all.allocated), (objects, Blocks::default()));
        let tree = profile.contexts.as_ref().expect("counted");
        let sum = |name: &str| {
            let column = tree.metrics.iter().position(|metric| metric.name == name).expect("there");
            tree.amounts(column).into_iter().sum::<u64>()
        };
        assert_eq!((sum("allocations"), sum("allocated-bytes")), (objects.blocks, objects.bytes));
        // Types are told apart in contexts, by their names.
        let bytes = |ty| all.objects.iter().filter(|of| of.ty == ty).map(|of| of.bytes).sum::<u64>();
        assert_eq!((sum("bytes-of-pair"), sum("bytes-of-bytes")), (bytes(0), bytes(1)));
        let column = tree.metrics.iter().position(|metric| metric.name == "bytes-of-pair").expect("there");
        let of_pairs = (0..).zip(tree.amounts(column)).filter(|(_, bytes)| *bytes > 0);
        let who: Vec<String> = of_pairs.map(|(record, _)| tree.callee(record).to_string()).collect();
        assert!(!who.is_empty() && who.iter().all(|name| name == "pairs"), "{who:?}");
    }
    Ok(())
}

/// Contexts identify the allocators that call others, and bursts do not record all blocks.
#[test]
fn allocations_need_exact_contexts() {
    let mut config = Config::new();
    config.count_allocations([]);
    assert!(Engine::new(&config).is_err());
    config.count_contexts(true);
    assert!(Engine::new(&config).is_ok());
    config.profiling(ProfilingConfig::Adaptive(Adaptive::default()));
    assert!(Engine::new(&config).is_err());
}
