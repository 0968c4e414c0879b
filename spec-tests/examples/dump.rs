//! Writes the module of a seed, or times runs.
use std::time::{Duration, Instant};
use wprof_spec_tests::engines::{ours, reference};
use wprof_spec_tests::mode::Mode;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seed = args[1].parse().expect("a seed");
    if args.len() > 2 {
        let t = std::thread::Builder::new().stack_size(512 << 20).spawn(move || times(seed, args[2].parse().unwrap())).unwrap();
        return t.join().unwrap();
    }
    let case = wprof_spec_tests::generate::case(seed);
    println!("{}", wasmprinter::print_bytes(&case.wasm).expect("valid"));
    println!(";; {:?}", case.drive);
}
fn times(from: u64, to: u64) {
    let r = reference::engine();
    let (off, exact) = (Mode::Off.engine(), Mode::Exact.engine());
    let mut sum = [[Duration::ZERO; 4]; 4];
    for seed in from..to {
        let mut t = Instant::now();
        let mut lap = |k: usize| { let n = Instant::now(); sum[(seed % 4) as usize][k] += n - t; t = n; n };
        let case = wprof_spec_tests::generate::case(seed);
        lap(0);
        let a = reference::run(&r, &case.wasm, &case.drive).unwrap();
        lap(1);
        let _ = ours::run(&off, &case.wasm, &case.drive).unwrap();
        lap(2);
        let b = Instant::now();
        let _ = ours::run(&exact, &case.wasm, &case.drive).unwrap();
        let d = lap(3) - b;
        if d > Duration::from_millis(200) {
            println!("seed {seed} {:?} exact {d:?} host calls {} stopped {} of {}", case.maker, a.outcome.host.0, a.outcome.stopped(), a.outcome.calls.len());
        }
    }
    println!("generate, reference, off, exact: {sum:?}");
}
