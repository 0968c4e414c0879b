//! Programs that run under WASI: our own in `bench-wasm/programs`, and real ones that `bench-wasm/download.sh`
//! fetches, with their results as recorded under Wasmtime.

use std::path::{Path, PathBuf};

use crate::recorded::Recorded;
use sha2::{Digest, Sha256};
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Engine, Error, Instance, Linker, Module, Store};

/// The exit code that represents a trap.
const TRAPPED: i32 = 134;

/// A program with arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of the case.
    pub name: String,
    /// Its module.
    pub file: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Option<PathBuf>,
    /// Names of the files that it writes.
    outputs: Vec<String>,
    exit_code: i32,
    /// The folder of its inputs, mounted as `/in`.
    inputs: PathBuf,
    /// The folder of the recorded results.
    expected: PathBuf,
}

/// A program that has finished.
#[derive(Debug)]
pub struct Ended {
    /// Its store.
    pub store: Store<WasiCtx>,
    /// Its instance.
    pub instance: Instance,
    /// Its trace, if the engine traces.
    pub trace: Option<Vec<u8>>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit_code: i32,
}

fn bench_wasm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("bench-wasm")
}

/// Returns our own programs.
///
/// # Panics
/// Panics if the table is missing or malformed.
pub fn own() -> Vec<Program> {
    let folder = bench_wasm().join("programs");
    read(&folder.join("manifest.tsv"), &folder)
}

/// Returns the real programs, whether their files exist or not.
///
/// # Panics
/// Panics if the table is missing or malformed.
pub fn real() -> Vec<Program> {
    read(&bench_wasm().join("inputs/real.tsv"), &bench_wasm().join("downloads"))
}

fn read(table: &Path, modules: &Path) -> Vec<Program> {
    let text = std::fs::read_to_string(table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
    let expected = table.with_file_name("expected");
    let rows = text.lines().filter(|row| !row.starts_with('#')).skip(1);
    rows.map(|row| program(&row.split('\t').collect::<Vec<_>>(), modules, &expected)).collect()
}

/// Parses a row of a table: case, program, test args, bench args, exit code, what for, env, stdin, output files.
fn program(cells: &[&str], modules: &Path, expected: &Path) -> Program {
    let cell = |index: usize| cells.get(index).copied().filter(|&cell| cell != "-");
    let words = |index| cell(index).into_iter().flat_map(str::split_whitespace).map(str::to_string);
    let inputs = bench_wasm().join("inputs");
    let variable = |word: String| {
        word.split_once('=').map(|(name, value)| (name.to_string(), value.to_string())).expect("NAME=VALUE")
    };
    Program {
        name: cells[0].to_string(),
        file: modules.join(cells[1]).with_extension("wasm"),
        args: words(2).collect(),
        env: words(6).map(variable).collect(),
        stdin: cell(7).map(|name| inputs.join(name)),
        outputs: words(8).collect(),
        exit_code: cells[4].parse().expect("an exit code"),
        inputs,
        expected: expected.to_path_buf(),
    }
}

impl Program {
    /// Runs `wasm`, which is this program's module or an equivalent one, with the empty folder `out` mounted as
    /// `/out`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn run(&self, engine: &Engine, wasm: &[u8], out: &Path) -> Result<Ended, Error> {
        let (stdout, stderr) = (OutputPipe::new(), OutputPipe::new());
        let mut builder = WasiCtxBuilder::new();
        builder.arg(&self.argv0())?.args(&self.args)?;
        for (name, value) in &self.env {
            builder.env(name, value)?;
        }
        if let Some(file) = &self.stdin {
            builder.stdin_bytes(std::fs::read(file)?);
        }
        builder.stdout_pipe(&stdout).stderr_pipe(&stderr);
        builder.preopened_dir(&self.inputs, "/in")?.preopened_dir(out, "/out")?;
        let mut store = Store::new(engine, builder.build());
        let mut linker = Linker::new(engine);
        wasi::add_to_linker(&mut linker, |ctx| ctx)?;
        let module = Module::new(engine, wasm)?;
        let trace = Recorded::start(&mut store, &module).map_err(Error::msg)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let outcome = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());
        let exit_code = outcome.map_or_else(|e| e.i32_exit().unwrap_or(TRAPPED), |()| 0);
        let trace = trace.finish(&mut store).map_err(Error::msg)?;
        Ok(Ended { store, instance, trace, stdout: stdout.contents(), stderr: stderr.contents(), exit_code })
    }

    /// Returns the name under which it runs, without the folder, so that the consumed fuel does not depend on the
    /// folder.
    fn argv0(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Reports whether this is one of our own programs.
    pub fn is_own(&self) -> bool {
        self.file.starts_with(bench_wasm().join("programs"))
    }

    /// Reports whether the program is expected to trap.
    pub fn traps(&self) -> bool {
        self.exit_code == TRAPPED
    }

    /// Returns the fuel that the program consumes under Wasmtime, as recorded by `bench-wasm/fuel.sh`; `None` if the
    /// fuel differs between runs, or has not been recorded.
    ///
    /// # Panics
    /// Panics if the record cannot be read.
    pub fn fuel(&self) -> Option<u64> {
        let table = self.expected.join("fuel.tsv");
        let text = std::fs::read_to_string(&table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
        let mut rows = text.lines().filter_map(|row| row.split_once('\t'));
        rows.find(|(name, _)| *name == self.name).and_then(|(_, fuel)| fuel.parse().ok())
    }

    /// Checks that a run ended as recorded, with the same output.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn verify(&self, ended: &Ended, out: &Path) -> Result<(), String> {
        if ended.exit_code != self.exit_code {
            let errors = String::from_utf8_lossy(&ended.stderr);
            return Err(format!("exit code {} instead of {}\n{errors}", ended.exit_code, self.exit_code));
        }
        self.same("txt", &ended.stdout)?;
        for output in &self.outputs {
            let written = std::fs::read(out.join(output)).map_err(|e| format!("{output}: {e}"))?;
            self.same(output, &written)?;
        }
        Ok(())
    }

    /// Compares output with the record: the text itself, or the hash of long or binary output.
    fn same(&self, what: &str, found: &[u8]) -> Result<(), String> {
        let record = self.expected.join(format!("{}.{what}", self.name));
        let hash = format!("{}.sha256", record.display());
        let same = match std::fs::read_to_string(hash) {
            Ok(hash) => format!("{:x}", Sha256::digest(found)) == hash.trim(),
            Err(_) => std::fs::read(&record).is_ok_and(|expected| expected == found),
        };
        let text = String::from_utf8_lossy(&found[..found.len().min(4000)]);
        if same { Ok(()) } else { Err(format!("not as recorded in {}*: {text}", record.display())) }
    }
}
