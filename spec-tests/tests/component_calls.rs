//! Calls between components of random types do the same through adapters as through the host: results, the memories of
//! both, traps, and the order in which allocators are called. `second-engine` compares with Wasmtime.

use wprof::component::{Component, Linker};
use wprof::{Config, Engine, ErrorKind, Store};
use wprof_spec_tests::generate::component_calls::component;

/// What is seen of two calls: how they ended, and the memories.
#[derive(Debug, PartialEq)]
struct Seen {
    ended: [Option<(ErrorKind, String)>; 2],
    memories: Vec<Vec<u8>>,
}

fn seen(engine: &Engine, text: &str, is_fused: bool) -> Seen {
    let component = Component::new(engine, text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(component.adapters().count(), usize::from(is_fused), "{text}");
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &component).unwrap();
    let run = instance.get_func("run").unwrap();
    let ended = [(); 2].map(|()| {
        let error = run.call(&mut store, &[], &mut []).err()?;
        Some((error.kind(), error.root_cause().to_string()))
    });
    let core = instance.core_instances();
    let memories = core[..2].iter().map(|instance| {
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        memory.data(&store).to_vec()
    });
    Seen { ended, memories: memories.collect() }
}

#[test]
fn adapters_do_what_the_host_does() {
    let engine = |fuses| Engine::new(Config::new().fused_adapters(fuses)).unwrap();
    let (fused, other) = (engine(true), engine(false));
    let (mut failed, mut succeeded) = (0, 0);
    // `WPROF_CALLS` is a number of components to try.
    let seeds = std::env::var("WPROF_CALLS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(200);
    for seed in 0..seeds {
        let text = component(seed);
        let (found, expected) = (seen(&fused, &text, true), seen(&other, &text, false));
        let same = found.memories.iter().flatten().zip(expected.memories.iter().flatten());
        let first = same.enumerate().find(|(_, (a, b))| a != b);
        assert_eq!((found.ended, first), (expected.ended.clone(), None), "seed {seed}: {text}");
        *(if expected.ended[0].is_some() { &mut failed } else { &mut succeeded }) += 1;
    }
    assert!(failed > 30 && succeeded > 40, "{failed} failed, {succeeded} succeeded");
}
