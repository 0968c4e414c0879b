//! Demand paging: data of large files is read when it is touched, which is unobservable to everyone who touches it.

use std::io::Write;
use std::sync::Arc;

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The address of the data; its length follows.
const AT: u32 = 1000;
const LEN: u32 = 1_700_000;
/// The size of the memory in bytes.
const SIZE: u32 = 40 << 16;

struct Random(u32);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0) * u64::from(limit)) >> 32) as u32
    }
}

fn data() -> Vec<u8> {
    let mut random = Random(7);
    (0..LEN).map(|_| random.below(256) as u8).collect()
}

/// Returns a binary module with these bytes as its data.
fn module_of(engine: &Engine, contents: &str, data: &[u8]) -> Result<Arc<[u8]>> {
    let escaped: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text =
        format!(r#"(module {contents} (memory (export "memory") 40) (data (i32.const {AT}) "{escaped}"))"#);
    Ok(Module::new(engine, text)?.info().bytes.to_vec().into())
}

fn file_of(bytes: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Functions that touch memory in every way.
const TOUCH: &str = r#"
    (import "h" "hash" (func $hash (param i32 i32) (result i32)))
    (import "h" "write" (func $write (param i32 i32)))
    (func (export "load") (param i32 i32 i32) (result i64) (i64.load (local.get 0)))
    (func (export "vector") (param i32 i32 i32) (result i64)
        (i64x2.extract_lane 1 (v128.load (local.get 0))))
    (func (export "store") (param i32 i32 i32) (result i64)
        (i64.store (local.get 0) (i64.extend_i32_u (local.get 1))) (i64.const 0))
    (func (export "copy") (param i32 i32 i32) (result i64)
        (memory.copy (local.get 0) (local.get 1) (local.get 2)) (i64.const 0))
    (func (export "fill") (param i32 i32 i32) (result i64)
        (memory.fill (local.get 0) (local.get 1) (local.get 2)) (i64.const 0))
    (func (export "init") (param i32 i32 i32) (result i64)
        (memory.init $small (local.get 0) (i32.const 1) (i32.const 7)) (i64.const 0))
    (func (export "hash") (param i32 i32 i32) (result i64)
        (i64.extend_i32_u (call $hash (local.get 0) (local.get 2))))
    (func (export "write") (param i32 i32 i32) (result i64)
        (call $write (local.get 0) (local.get 1)) (i64.const 0))
    (func (export "sum") (param i32 i32 i32) (result i64) (local $sum i64)
        (loop $next
            (local.set $sum (i64.add (i64.rotl (local.get $sum) (i64.const 1)) (i64.load8_u (local.get 0))))
            (local.set 0 (i32.add (local.get 0) (i32.const 61)))
            (br_if $next (i32.gt_s (local.tee 2 (i32.sub (local.get 2) (i32.const 61))) (i32.const 0))))
        (local.get $sum))
    (data $small "0123456789")"#;

const WAYS: [&str; 9] = ["load", "vector", "store", "copy", "fill", "init", "hash", "write", "sum"];

/// An instance, and the operations that the test needs.
struct Program {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Program {
    fn new(module: &Module) -> Result<Program> {
        let mut linker: Linker<()> = Linker::new(module.engine());
        linker.func_wrap("h", "hash", |mut caller: Caller<'_, ()>, at: u32, len: u32| -> Result<u32> {
            let memory = caller.get_export("memory").and_then(Extern::into_memory).expect("it has a memory");
            let mut bytes = vec![0; len as usize];
            memory.read(&caller, at as usize, &mut bytes).map_err(Error::msg)?;
            Ok(bytes.iter().fold(0, |hash: u32, &byte| hash.rotate_left(5) ^ u32::from(byte)))
        })?;
        linker.func_wrap("h", "write", |mut caller: Caller<'_, ()>, at: u32, value: u32| -> Result<()> {
            let memory = caller.get_export("memory").and_then(Extern::into_memory).expect("it has a memory");
            memory.write(&mut caller, at as usize, &value.to_le_bytes()).map_err(Error::msg)
        })?;
        let mut store = Store::new(module.engine(), ());
        let instance = linker.instantiate(&mut store, module)?;
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        Ok(Program { store, instance, memory })
    }

    fn call(&mut self, way: &str, args: (u32, u32, u32)) -> Result<u64> {
        let func = self.instance.get_typed_func::<(u32, u32, u32), u64>(&mut self.store, way)?;
        func.call(&mut self.store, args)
    }
}

/// Checks that two programs behave the same under the same calls, traps included.
fn compare(program: &mut Program, other: &mut Program, calls: u32, seed: u32) {
    let mut random = Random(seed);
    for _ in 0..calls {
        let way = WAYS[random.below(9) as usize];
        let address = |random: &mut Random| match random.below(8) {
            // The ends of chunks, of the data and of the memory.
            0 => (random.below(40) << 16).wrapping_sub(random.below(16)),
            1 => AT + LEN - random.below(5000),
            2 => SIZE - random.below(40),
            _ => random.below(SIZE),
        };
        let args = match way {
            "fill" => (address(&mut random), random.below(256), random.below(3000)),
            "copy" => (address(&mut random), address(&mut random), random.below(150_000)),
            _ => (address(&mut random), random.below(u32::MAX), random.below(150_000)),
        };
        let [result, expected] =
            [program.call(way, args), other.call(way, args)].map(|result| result.map_err(|e| e.trap()));
        assert_eq!(result, expected, "{way} {args:?}");
    }
}

#[test]
fn however_memory_is_touched_it_holds_the_data() -> Outcome {
    let adaptive = ProfilingConfig::Adaptive(Adaptive::default());
    let exact = |collect| ProfilingConfig::Exact(collect);
    let bytes = module_of(&Engine::default(), TOUCH, &data())?;
    let file = file_of(&bytes)?;
    for (i, (profiling, reservation, promote)) in [
        (ProfilingConfig::Off, 4 << 30, 2),
        (ProfilingConfig::Off, 1 << 16, 1_000_000),
        (exact(Collect::Paths), 4 << 30, 3),
        (exact(Collect::Edges), 4 << 30, 1),
        (adaptive, 4 << 30, 5),
    ]
    .into_iter()
    .enumerate()
    {
        let mut config = Config::new();
        config.profiling(profiling).memory_reservation(reservation).promote_after(promote);
        let engine = Engine::new(&config)?;
        for seed in 0..3 {
            // Each module has a first instance.
            let module = Module::from_file(&engine, file.path())?;
            let (mut program, mut other) =
                (Program::new(&module)?, Program::new(&Module::new(&engine, &bytes)?)?);
            compare(&mut program, &mut other, 40, i as u32 * 10 + seed);
            let data = program.memory.data_mut(&mut program.store);
            assert!(data == other.memory.data(&other.store), "{i} {seed}");
        }
    }
    Ok(())
}

/// Returns a file that is changed after the module was loaded, and a program that has touched some of its data.
fn changed_file(change: impl Fn(&tempfile::NamedTempFile) -> std::io::Result<()>) -> Result<Program> {
    let engine = Engine::default();
    let bytes = module_of(&engine, TOUCH, &data())?;
    let file = file_of(&bytes)?;
    let module = Module::from_file(&engine, file.path())?;
    let mut program = Program::new(&module)?;
    program.call("load", (AT + 5000, 0, 0))?;
    change(&file)?;
    Ok(program)
}

fn write_again(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::OpenOptions::new().write(true).open(file.path())?.write_all(b"\0asm")
}

fn cut_off(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    file.as_file().set_len(1 << 20)
}

fn is_of_file(error: &Error) -> bool {
    error.kind() == ErrorKind::System
        && error.to_string().contains("the file has changed since the module was loaded")
}

/// A failed read ends the program, wherever it touches the data, and the program stays ended.
#[test]
fn data_of_files_that_change_is_not_used() -> Outcome {
    const FAR: u32 = 1_500_000;
    for change in [write_again, cut_off] {
        for way in WAYS {
            let mut program = changed_file(change)?;
            let result = program.call("load", (AT + 5000, 0, 0));
            assert!(result.is_ok(), "what is there stays there");
            let error = program.call(way, (FAR, FAR, 100)).expect_err(way);
            assert!(is_of_file(&error), "{way}: {error:?}");
            let frames = error.backtrace().expect("it was in wasm code").frames();
            assert_eq!(frames.len(), 1, "{way}");
            let error = program.call("load", (AT + 5000, 0, 0)).expect_err("the program has ended");
            assert!(is_of_file(&error), "{error:?}");
        }
        let mut program = changed_file(change)?;
        let (expected, there) = (data(), program.memory.data(&program.store));
        assert_eq!(there[AT as usize + 5000..][..8], expected[5000..][..8]);
        assert!(there[FAR as usize..][..1000].iter().all(|&byte| byte == 0));
        assert!(is_of_file(&program.call("load", (AT + 5000, 0, 0)).expect_err("some of it was lost")));
    }
    Ok(())
}

/// A trap of the program itself stays the same with demand paging.
#[test]
fn what_is_out_of_bounds_traps_as_ever() -> Outcome {
    let engine = Engine::default();
    let file = file_of(&module_of(&engine, TOUCH, &data())?)?;
    let mut program = Program::new(&Module::from_file(&engine, file.path())?)?;
    for (way, args) in [
        ("load", (SIZE - 7, 0, 0)),
        ("store", (u32::MAX, 0, 0)),
        ("vector", (SIZE - 15, 0, 0)),
        ("copy", (AT, SIZE - 10, 11)),
        ("sum", (SIZE - 100, 0, 200)),
    ] {
        let error = program.call(way, args).expect_err(way);
        assert_eq!(error.trap(), Some(Trap::MemoryOutOfBounds), "{way}");
    }
    assert!(program.memory.data(&program.store)[AT as usize..][..LEN as usize] == data());
    Ok(())
}

#[test]
fn threads_that_look_at_one_memory_see_all_of_it() -> Outcome {
    let engine = Engine::default();
    let (expected, file) = (data(), file_of(&module_of(&engine, TOUCH, &data())?)?);
    for _ in 0..20 {
        let module = Module::from_file(&engine, file.path())?;
        let mut program = Program::new(&module)?;
        program.call("load", (800_000, 0, 0))?;
        let Program { store, memory, .. } = &program;
        std::thread::scope(|scope| {
            for i in 0..4 {
                let expected = &expected;
                scope.spawn(move || {
                    let mut part = vec![0; 300_000];
                    memory.read(store, (AT + i * 400_000) as usize, &mut part).expect("in bounds");
                    assert!(part == expected[i as usize * 400_000..][..part.len()]);
                    assert!(memory.data(store)[AT as usize..][..LEN as usize] == expected[..]);
                });
            }
        });
    }
    Ok(())
}

#[test]
fn threads_run_one_module_whose_data_comes_on_demand() -> Outcome {
    let engine = Engine::default();
    let bytes = module_of(&engine, TOUCH, &data())?;
    let (file, eager) = (file_of(&bytes)?, Module::new(&engine, &bytes)?);
    let module = Module::from_file(&engine, file.path())?;
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (module, eager) = (&module, &eager);
            scope.spawn(move || {
                let mut program = Program::new(module).expect("instantiated");
                let mut other = Program::new(eager).expect("instantiated");
                compare(&mut program, &mut other, 60, 100 + seed);
            });
        }
    });
    Ok(())
}
