//! Samples of our own programs are unbiased: see [`crate::unbiased`], whose programs are made to be hard.

use wprof::profiler::Profile;
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::*;

use crate::shares::{Judged, phases};
use crate::unbiased::{bursts, config};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-wasm/programs");

/// The programs that end soon, with arguments.
const SHORT: [(&str, &str); 14] = [
    ("fib", "22"),
    ("calls", "200000"),
    ("vcall", "8"),
    ("interp", "1200"),
    ("matmul", "64"),
    ("nbody", "8000"),
    ("mandelbrot", "120"),
    ("sieve", "1000000"),
    ("branchy", "10"),
    ("sort", "4000 2"),
    ("hash", "4000 2"),
    ("strings", "3000 2"),
    ("json", "200 4"),
    ("compress", "20000 2"),
];

fn profile(config: &Config, (program, args): (&str, &str)) -> Result<Profile> {
    let engine = Engine::new(config)?;
    let module = Module::from_file(&engine, format!("{PROGRAMS}/{program}.wasm"))?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut context = WasiCtxBuilder::new();
    context.stdout_pipe(&OutputPipe::new()).arg(program)?.args(args.split_whitespace())?;
    let mut store = Store::new(&engine, context.build());
    let instance = linker.instantiate(&mut store, &module)?;
    let ended = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());
    assert!(ended.map_or_else(|error| error.i32_exit() == Some(0), |()| true), "{program}");
    instance.profile(&store)
}

#[test]
fn shares_of_programs_lie_where_they_are_said_to() -> Outcome {
    let mut judged = Judged::default();
    for (program, args) in SHORT {
        let exact = config(ProfilingConfig::Exact(Collect::Paths)).flow_contexts(true).clone();
        let exact = profile(&exact, (program, args))?;
        for phase in 0..phases() {
            let sampled = profile(&config(bursts(911 + 13 * phase, 50, "default")), (program, args))?;
            judged.add(program, phase, &exact, &sampled);
        }
    }
    judged.hold(20 * phases() as usize)
}
