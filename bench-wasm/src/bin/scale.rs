//! `scale`: what many instances, concurrent calls and tenants cost in one process.
//!
//! Prints a table for each part: instances one after the other, live instances, concurrent calls of asynchronous host
//! functions on two threads, and tenants that each have a profile of their own, beside the same without profiles.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Parser;
use wprof::{Config, Engine, Error, Instance, Module, PoolingConfig, ProfilingConfig, Result, Store};
use wprof_bench::soak::Usage;
use wprof_bench::stats::Spread;

#[path = "../../../vm/examples/async_server.rs"]
mod async_server;
#[path = "../../../vm/examples/http_tenants.rs"]
mod http_tenants;

/// Options.
#[derive(Parser)]
struct Options {
    /// Number of instances that are made one after the other
    #[arg(long, default_value_t = 1_000_000)]
    instances: u64,
    /// Number of instances that live at once
    #[arg(long, default_value_t = 10_000)]
    live: usize,
    /// Number of calls that wait at once
    #[arg(long, default_value_t = 5000)]
    calls: i32,
    /// Rounds of requests of tenants, with and without profiles in turns
    #[arg(long, default_value_t = 15)]
    rounds: usize,
}

/// A module with a small memory that each instance writes to.
const SMALL: &str = r#"(module
    (memory 1 4)
    (data (i32.const 64) "data")
    (global $calls (mut i32) (i32.const 0))
    (func (export "run") (param i32) (result i32)
        (i32.store (i32.const 0) (local.get 0))
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (i32.add (i32.load (i32.const 64)) (i32.load (i32.const 0)))))"#;

/// `data` as a number.
const DATA: i32 = i32::from_le_bytes(*b"data");
/// Number of tenants.
const TENANTS: usize = 100;
/// How much a request does: some ten microseconds, a tenth of a millisecond, a millisecond, and ten.
const WORK: [u32; 4] = [2_000, 20_000, 200_000, 2_000_000];
/// Processor time of a round of requests, at least.
const ROUND: Duration = Duration::from_millis(250);

fn main() -> Result<()> {
    let options = Options::parse();
    one_after_the_other(options.instances)?;
    live(options.live)?;
    concurrent(options.calls)?;
    tenants(options.rounds)
}

/// Returns an engine with a pool of so many instances.
fn pooling(instances: usize) -> Result<Engine> {
    Engine::new(Config::new().pooling(Some(PoolingConfig::for_instances(instances))))
}

fn usage() -> Result<Usage> {
    Usage::now().map_err(Error::msg)
}

fn check(holds: bool, otherwise: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::msg(otherwise)) }
}

/// Calls the function of an instance once.
fn call(store: &mut Store<()>, instance: Instance, argument: i32) -> Result<()> {
    let run = instance.get_typed_func::<i32, i32>(&mut *store, "run")?;
    check(run.call(store, argument)? == DATA.wrapping_add(argument), "a wrong sum")
}

fn one_after_the_other(count: u64) -> Result<()> {
    let engine = pooling(8)?;
    let module = Module::new(&engine, SMALL)?;
    let one = |number: u64| -> Result<()> {
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        call(&mut store, instance, number as i32)
    };
    (0..count / 100).try_for_each(one)?;
    let (warm, begin) = (usage()?, Instant::now());
    (0..count).try_for_each(one)?;
    let (time, end) = (begin.elapsed(), usage()?);
    println!(
        "| instances one after the other, each called once | time of one | memory before | after | mappings before | after |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    println!(
        "| {count} | {:.2} µs | {} | {} | {} | {} |\n",
        time.as_secs_f64() * 1e6 / count as f64,
        megabytes(warm.resident),
        megabytes(end.resident),
        warm.mappings,
        end.mappings
    );
    Ok(())
}

fn live(count: usize) -> Result<()> {
    let engine = pooling(count)?;
    let module = Module::new(&engine, SMALL)?;
    let before = usage()?;
    let mut store = Store::new(&engine, ());
    let begin = Instant::now();
    let all = (0..count).map(|_| Instance::new(&mut store, &module, &[])).collect::<Result<Vec<_>>>()?;
    let made = begin.elapsed();
    for (&instance, number) in all.iter().zip(0..) {
        call(&mut store, instance, number)?;
    }
    let after = usage()?;
    println!("| live instances, each called once | time to make one | memory of one | mappings |");
    println!("|---|---:|---:|---:|");
    println!(
        "| {count} | {:.2} µs | {:.1} KiB | {} |\n",
        made.as_secs_f64() * 1e6 / count as f64,
        after.resident.saturating_sub(before.resident) as f64 / 1024.0 / count as f64,
        after.mappings - before.mappings
    );
    Ok(())
}

fn concurrent(calls: i32) -> Result<()> {
    let (before, begin) = (usage()?, Instant::now());
    let (sum, at_once) = async_server::serve(calls)?;
    let (time, after) = (begin.elapsed(), usage()?);
    let expected: i64 = (0..i64::from(calls)).map(|request| 2 * request + 1).sum();
    check(sum == expected, "the answers have another sum")?;
    println!("| asynchronous calls that wait at once, on two threads | time of all | memory that stays |");
    println!("|---|---:|---:|");
    let stays = after.resident.saturating_sub(before.resident);
    println!("| {at_once} | {:.1} ms | {} |\n", time.as_secs_f64() * 1e3, megabytes(stays));
    Ok(())
}

/// Answers requests of all tenants for some time; returns the processor time of one.
fn requests(server: &http_tenants::Server, work: u32) -> Result<f64> {
    let (begin, mut count) = (wprof_bench::runner::thread_time(), 0_u32);
    loop {
        for tenant in 0..TENANTS {
            let response = server.answer(&format!("/tenant{tenant}/render/{work}"), None)?;
            check(response.status == 200, "a request failed")?;
            black_box(response);
            count += 1;
        }
        // As a collector does, now and then.
        black_box(server.answer("/", None)?);
        let time = wprof_bench::runner::thread_time() - begin;
        if time >= ROUND {
            return Ok(time.as_secs_f64() / f64::from(count));
        }
    }
}

fn tenants(rounds: usize) -> Result<()> {
    println!(
        "| {TENANTS} tenants, a request of | processor time without profiles | with | ratio (least to greatest) |"
    );
    println!("|---|---:|---:|---:|");
    for work in WORK {
        let plain = http_tenants::Server::new(ProfilingConfig::Off)?;
        let profiled = http_tenants::Server::new(http_tenants::profiling())?;
        let (mut without, mut with) = (Vec::new(), Vec::new());
        // The first round of each compiles.
        for round in 0..=rounds {
            let (one, other) = (requests(&plain, work)?, requests(&profiled, work)?);
            if round > 0 {
                without.push(one);
                with.push(other);
            }
        }
        check(!with.is_empty(), "there must be a round")?;
        let ratio = Spread::of_ratios(&with, &without);
        println!(
            "| {work} steps | {:.1} µs | {:.1} µs | {:.3} ({:.3} to {:.3}) |",
            Spread::new(&without).median * 1e6,
            Spread::new(&with).median * 1e6,
            ratio.median,
            ratio.min,
            ratio.max
        );
        // Of few short requests there may be no sample.
        check(work < 200_000 || profiled.answer("/tenant0", None)?.status == 200, "there is no flame graph")?;
    }
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
