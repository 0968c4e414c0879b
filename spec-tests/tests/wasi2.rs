//! Programs of preview 1 as commands of WASI 0.2, converted by an adapter, which is a core module.
//!
//! Input: the benchmark programs with their test arguments, and `wasi2/files.c`, which does to files everything that C
//! can. Oracle: the unconverted program on our preview 1: output, exit code, the resulting folder, and the block
//! counts.

#[path = "wasi2/embed.rs"]
mod embed;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER as ADAPTER,
};
use wit_component::ComponentEncoder;
use wprof::component::{self, Component};
use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{Collect, Engine, Error, Instance, Linker, Module, ProfilingConfig, Store, Trap, wasi2};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Block counts of functions, by function index and name.
type Counts = BTreeMap<(u32, String), Vec<u64>>;

/// Functions of the C library that behave differently in a command: those that repeat a partial write, because the
/// adapter writes one buffer at a time; and those that find memory which the adapter has taken.
const DIFFERENT: [&str; 6] =
    ["__wasi_fd_write", "writev", "__stdio_write", "dlmalloc", "dispose_chunk", "sbrk"];

/// The results of a run.
#[derive(Debug, PartialEq)]
struct Left {
    out: String,
    err: String,
    exit: Option<i32>,
    trap: Option<Trap>,
}

impl Left {
    /// Returns the results of a command: adapters report only success or failure.
    fn without_code(self) -> Left {
        Left { exit: self.exit.map(|code| code.min(1)), ..self }
    }
}

/// The environment in which programs run.
struct Setting {
    args: Vec<String>,
    input: &'static str,
    /// A writable folder and a read-only folder.
    folders: Option<(PathBuf, PathBuf)>,
}

impl Setting {
    fn of_args(args: impl IntoIterator<Item = impl Into<String>>) -> Setting {
        Setting { args: args.into_iter().map(Into::into).collect(), input: "", folders: None }
    }

    fn context(&self, out: &OutputPipe, err: &OutputPipe) -> Outcome<WasiCtx> {
        let mut builder = WasiCtxBuilder::new();
        builder.args(&self.args)?.env("COLOR", "red=blue")?.env("EMPTY", "")?;
        builder.stdin_bytes(self.input).stdout_pipe(out).stderr_pipe(err);
        if let Some((writable, read_only)) = &self.folders {
            builder.preopened_dir(writable, "/d")?.preopened_dir_read_only(read_only, "/r")?;
        }
        Ok(builder.build())
    }

    /// Runs a program with `start`, which returns the instance of its module and how it ended.
    fn run(
        &self,
        engine: &Engine,
        start: impl FnOnce(&mut Store<WasiCtx>) -> Outcome<(Instance, Result<(), Error>)>,
    ) -> Outcome<(Left, Counts)> {
        let (out, err) = (OutputPipe::new(), OutputPipe::new());
        let mut store = Store::new(engine, self.context(&out, &err)?);
        let (instance, ended) = start(&mut store)?;
        let (exit, trap) = match &ended {
            Ok(()) => (Some(0), None),
            Err(error) => (error.i32_exit(), error.trap()),
        };
        let text = |pipe: OutputPipe| String::from_utf8_lossy(&pipe.contents()).into_owned();
        let module = instance.module(&store);
        let name = |func| module.func_name(func).unwrap_or_default().to_owned();
        let counts = instance.block_counts(&store)?.into_iter();
        let counts = counts.map(|(func, counts)| ((func, name(func)), counts)).collect();
        Ok((Left { out: text(out), err: text(err), exit, trap }, counts))
    }

    fn as_module(&self, engine: &Engine, bytes: &[u8]) -> Outcome<(Left, Counts)> {
        self.run(engine, |store| {
            let mut linker: Linker<WasiCtx> = Linker::new(engine);
            wasi::add_to_linker(&mut linker, |wasi| wasi)?;
            let instance = linker.instantiate(&mut *store, &Module::new(engine, bytes)?)?;
            let start = instance.get_typed_func::<(), ()>(&mut *store, "_start")?;
            Ok((instance, start.call(store, ())))
        })
    }

    fn as_command(&self, engine: &Engine, bytes: &[u8]) -> Outcome<(Left, Counts)> {
        let component = Component::new(engine, command(bytes)?)?;
        self.run(engine, |store| {
            let mut linker = component::Linker::new(engine);
            wasi2::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi)?;
            let instance = linker.instantiate(&mut *store, &component)?;
            let ended = wasi2::run(&mut *store, &instance);
            // The program is the first module.
            let main = Instance::newest_of(&*store, &component.modules()[0]).ok_or("it has no instance")?;
            Ok((main, ended))
        })
    }
}

fn command(bytes: &[u8]) -> Outcome<Vec<u8>> {
    Ok(ComponentEncoder::default().module(bytes)?.adapter(ADAPTER_NAME, ADAPTER)?.encode()?)
}

fn engine() -> Outcome<Engine> {
    Ok(Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?)
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-wasm/programs")
}

#[test]
fn programs_of_preview_1_do_the_same_as_commands_of_wasi_0_2() -> Outcome {
    let engine = engine()?;
    let manifest = fs::read_to_string(programs().join("manifest.tsv"))?;
    let mut count = 0;
    for line in manifest.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [case, program, args, ..] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let bytes = fs::read(programs().join(program).with_extension("wasm"))?;
        let args = args.split(' ').filter(|arg| *arg != "-");
        let setting = Setting::of_args([program].into_iter().chain(args));
        let (module, counts) = setting.as_module(&engine, &bytes)?;
        let (command, counts_of_command) = setting.as_command(&engine, &bytes)?;
        assert_eq!(module.without_code(), command, "{case}");
        // A command has more frames below it on the stack.
        if command.trap != Some(Trap::StackOverflow) {
            assert_same_counts(case, &counts, &counts_of_command);
        }
        count += 1;
    }
    assert!(count > 20, "only {count} programs");
    Ok(())
}

fn assert_same_counts(case: &str, module: &Counts, command: &Counts) {
    assert!(module.keys().eq(command.keys()), "{case}: other functions ran");
    for (func, counts) in module {
        if !DIFFERENT.contains(&&*func.1) {
            assert_eq!(counts, &command[func], "{case}: {func:?}");
        }
    }
}

#[test]
fn files_and_folders_are_the_same_in_both() -> Outcome {
    let engine = engine()?;
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wasi2/files.wasm"))?;
    let run = |as_command: bool| -> Outcome<(Left, Vec<String>)> {
        let (writable, read_only) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::write(read_only.path().join("there"), "x")?;
        let folders = Some((writable.path().to_owned(), read_only.path().to_owned()));
        let args = ["files", "", "two words", "\u{e9}"].map(str::to_owned).into();
        let setting = Setting { args, input: "one\ntwo\nlast", folders };
        let (left, _) = match as_command {
            true => setting.as_command(&engine, &bytes)?,
            false => setting.as_module(&engine, &bytes)?,
        };
        let entry = |entry: std::io::Result<fs::DirEntry>| -> Outcome<String> {
            let entry = entry?;
            Ok(format!("{:?} {}", entry.file_name(), entry.metadata()?.len()))
        };
        let mut list = fs::read_dir(writable.path())?.map(entry).collect::<Outcome<Vec<_>>>()?;
        list.sort();
        Ok((left, list))
    };
    let ((module, left), (command, left_by_command)) = (run(false)?, run(true)?);
    let lines = |left: &Left| left.out.lines().map(str::to_owned).collect::<Vec<_>>();
    for (module, command) in lines(&module).iter().zip(lines(&command)) {
        assert_eq!(*module, command);
    }
    assert_eq!((module.exit, module.err.as_str()), (Some(7), "to standard error\n"));
    assert_eq!(module.without_code(), command);
    assert_eq!(left, left_by_command);
    Ok(())
}

/// A program of WASI 0.2 itself, in a folder.
fn paths(folder: &Path) -> Outcome<(Store<WasiCtx>, component::Instance)> {
    let engine = engine()?;
    let mut linker = component::Linker::new(&engine);
    wasi2::add_to_linker(&mut linker, |wasi: &mut WasiCtx| wasi)?;
    let mut store = Store::new(&engine, WasiCtxBuilder::new().preopened_dir(folder, "/")?.build());
    let instance = linker.instantiate(&mut store, &Component::new(&engine, embed::component("paths")?)?)?;
    Ok((store, instance))
}

/// The work on a path that leads nowhere grows with its length: a program cannot make that 10 MiB.
#[test]
fn long_paths_are_refused_by_all_functions() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (mut store, instance) = paths(folder.path())?;
    let codes = instance.get_typed_func::<(), (String,)>("long-paths")?.call(&mut store, ())?.0;
    assert_eq!(codes, "111111111111110");
    let left = fs::read_dir(folder.path())?.count();
    assert_eq!(left, 1, "the last path is not too long");
    Ok(())
}

#[test]
fn listings_of_many_files_are_whole() -> Outcome {
    let folder = tempfile::tempdir()?;
    (0..3000).try_for_each(|i| fs::write(folder.path().join(format!("a file with a long name {i}")), ""))?;
    let (mut store, instance) = paths(folder.path())?;
    let list = instance.get_typed_func::<(), (u32,)>("count-files")?;
    assert_eq!([list.call(&mut store, ())?.0, list.call(&mut store, ())?.0], [3000, 3000]);
    Ok(())
}
