//! A process has a limited number of mappings: an operation that needs another one must do without it, or fail with an
//! error. The test has a process of its own, which has no mappings left for anyone else.

use std::io::Write;

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// Returns a store with so many memories that the process has no mappings left.
fn exhaust_mappings() -> std::result::Result<Store<()>, Error> {
    let limits = StoreLimits { memories: usize::MAX, ..StoreLimits::default() };
    let engine =
        Engine::new(Config::new().limits(limits).memory_reservation(1 << 16).memory_guard_size(1 << 16))?;
    let mut store = Store::new(&engine, ());
    // Two mappings each: an accessible part and an inaccessible one.
    let mut more = || Memory::new(&mut store, MemoryType::new(1, None));
    let error = (0..1_000_000).find_map(|_| more().err()).expect("there are only so many mappings");
    assert_eq!(error.kind(), ErrorKind::System, "{error}");
    Ok(store)
}

#[test]
fn data_comes_on_demand_where_there_are_no_more_mappings() -> Outcome {
    const LEN: u32 = 1 << 20;
    let most: usize = std::fs::read_to_string("/proc/sys/vm/max_map_count")?.trim().parse()?;
    if most > 200_000 {
        println!("skipped: this system allows {most} mappings, which take long to make");
        return Ok(());
    }
    let data: String = (0..LEN).map(|i| char::from(b'a' + (i / 100 % 26) as u8)).collect();
    let wat = format!(
        r#"(module (memory (export "memory") 17) (data (i32.const 0) "{data}")
            (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0))))"#
    );
    let engine = Engine::default();
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(&Module::new(&engine, wat)?.info().bytes)?;
    let module = Module::from_file(&engine, file.path())?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let load = instance.get_typed_func::<u32, u32>(&mut store, "load")?;
    let expected = |at: u32| u32::from(data.as_bytes()[at as usize]);
    assert_eq!(load.call(&mut store, 500_000)?, expected(500_000));
    let inaccessible = || -> std::io::Result<usize> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let sizes = maps.lines().filter(|line| line.contains(" ---p ")).filter_map(|line| {
            let (begin, end) = line.split(' ').next()?.split_once('-')?;
            Some(usize::from_str_radix(end, 16).ok()? - usize::from_str_radix(begin, 16).ok()?)
        });
        Ok(sizes.filter(|&size| size < LEN as usize && size % (64 << 10) == 0).sum())
    };
    let chunk = 64 << 10;
    assert!(inaccessible()? >= LEN as usize - chunk);
    let taken = exhaust_mappings()?;
    let (far, farther) = (load.call(&mut store, 100_000), load.call(&mut store, 900_000));
    drop(taken);
    assert_eq!((far?, farther?), (expected(100_000), expected(900_000)));
    assert!(inaccessible()? < LEN as usize - chunk, "all became accessible at once");
    assert!(
        instance.get_memory(&mut store, "memory").expect("exported").data(&store)[..LEN as usize]
            == *data.as_bytes()
    );
    Ok(())
}
