//! `calls`: what embedders pay in wprof and in Wasmtime, in one process, batch by batch in turn.
//!
//! Prints two tables, of modules and of components: for each operation the median, and the least, of many batches, in
//! nanoseconds of this thread's processor time.

use std::hint::black_box;

#[path = "../../../src/component_calls.rs"]
mod component_calls;
#[path = "../../../src/embedding_calls.rs"]
mod embedding_calls;
use component_calls::{ABOUT, BY_THE_HOST, KINDS, Thing, component, component_calls};
use embedding_calls::{
    HOST_CALLS, OPERATIONS, Once, batch, embedding_calls, finish, now, our_embedding_calls, program,
};

our_embedding_calls!();
embedding_calls!(
    Theirs,
    wasmtime,
    |_: wasmtime::Caller<'_, ()>, (n,): (i32,)| Box::new(async move {
        Once(false).await;
        n
    }),
    |_| Ok(())
);
component_calls!(OurComponent, wprof, |store, params, results| store, params, results; |instance, store, name| {
    let _ = &store;
    instance.get_typed_func(name)
});
component_calls!(TheirComponent, wasmtime, |store, params, results| store, _, params, results;
    |instance, store, name| instance.get_typed_func(store, name));

type Error = Box<dyn std::error::Error>;

const BATCHES: usize = 101;
/// Calls of a component that a batch makes.
const CALLS: u32 = 20_000;

fn main() -> Result<(), Error> {
    let (mut ours, mut theirs) = (Ours::new(our_engine()?)?, Theirs::new(their_engine()?)?);
    head();
    for (operation, about) in OPERATIONS.iter().enumerate() {
        let of_ours = || Ok(ours.time(operation)?);
        row(about, of_ours, || Ok(theirs.time(operation)?))?;
    }
    let (mut ours, mut theirs) = (OurComponent::new(&our_engine()?)?, TheirComponent::new(&their_engine()?)?);
    println!();
    head();
    for (kind, about) in ABOUT.iter().chain(&[BY_THE_HOST]).enumerate() {
        let since = |before: f64| (now() - before) / f64::from(CALLS);
        let of_ours = || {
            let before = now();
            black_box(ours.run(kind, CALLS)?);
            Ok(since(before))
        };
        let of_theirs = || {
            let before = now();
            black_box(theirs.run(kind, CALLS)?);
            Ok(since(before))
        };
        row(about, of_ours, of_theirs)?;
    }
    Ok(())
}

/// An engine of ours as people get it, except that nothing is compiled later.
fn our_engine() -> wprof::Result<wprof::Engine> {
    let mut config = wprof::Config::new();
    config.strategy(wprof::Strategy::Optimized).pooling(Some(wprof::PoolingConfig::for_instances(4)));
    wprof::Engine::new(&config)
}

fn their_engine() -> wasmtime::Result<wasmtime::Engine> {
    let pool = wasmtime::PoolingAllocationConfig::default();
    let mut config = wasmtime::Config::new();
    config.allocation_strategy(wasmtime::InstanceAllocationStrategy::Pooling(pool));
    wasmtime::Engine::new(&config)
}

fn head() {
    println!("| operation | wprof, ns | least | Wasmtime, ns | least | ratio of medians |");
    println!("|---|---:|---:|---:|---:|---:|");
}

/// Prints the figures of one operation.
fn row(
    about: &str,
    mut ours: impl FnMut() -> Result<f64, Error>,
    mut theirs: impl FnMut() -> Result<f64, Error>,
) -> Result<(), Error> {
    // The first batch of each fills caches.
    ours()?;
    theirs()?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..BATCHES {
        times[0].push(ours()?);
        times[1].push(theirs()?);
    }
    let [ours, theirs] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[BATCHES / 2], times[0])
    });
    let ratio = ours.0 / theirs.0;
    println!("| {about} | {:.1} | {:.1} | {:.1} | {:.1} | {ratio:.2} |", ours.0, ours.1, theirs.0, theirs.1);
    Ok(())
}
