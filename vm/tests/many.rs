//! Many engines and many stores at once. The test has a process of its own, because it counts the process's threads
//! and descriptors.

use std::time::{Duration, Instant};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).expect("procfs").count()
}

#[test]
fn engines_and_stores_take_no_threads_or_descriptors_of_their_own() -> Outcome {
    let wat = r#"(module (func (export "f") (result i32) i32.const 7)
        (func (export "loop") (loop $again (br $again))))"#;
    let (threads, descriptors) = (entries("/proc/self/task"), entries("/proc/self/fd"));
    let mut all = Vec::new();
    // More engines than the code table once had rows.
    for _ in 0..600 {
        let engine = Engine::new(Config::new().background_compilation(false))?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &Module::new(&engine, wat)?, &[])?;
        all.push((store, instance));
    }
    for (store, instance) in &mut all {
        let f = instance.get_typed_func::<(), i32>(&mut *store, "f")?;
        assert_eq!(f.call(&mut *store, ())?, 7);
    }
    assert!(entries("/proc/self/fd") < descriptors + 10, "{} descriptors", entries("/proc/self/fd"));
    drop(all);

    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let module = Module::new(&engine, wat)?;
    let mut stores = Vec::new();
    for _ in 0..3000 {
        let mut store = Store::new(&engine, ());
        store.set_deadline(Some(Instant::now() + Duration::from_secs(3600)))?;
        let instance = Instance::new(&mut store, &module, &[])?;
        stores.push((store, instance));
    }
    assert!(entries("/proc/self/task") <= threads + 2, "{} threads", entries("/proc/self/task"));
    assert!(entries("/proc/self/fd") < descriptors + 10, "{} descriptors", entries("/proc/self/fd"));
    // Each store has its own deadline.
    for (store, instance) in stores.iter_mut().step_by(500) {
        store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        let looping = instance.get_typed_func::<(), ()>(&mut *store, "loop")?;
        assert_eq!(looping.call(&mut *store, ()).expect_err("it does not end").trap(), Some(Trap::Deadline));
    }
    let (store, instance) = &mut stores[1];
    let f = instance.get_typed_func::<(), i32>(&mut *store, "f")?;
    assert_eq!(f.call(&mut *store, ())?, 7, "its deadline is far");
    Ok(())
}
