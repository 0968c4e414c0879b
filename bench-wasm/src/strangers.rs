//! Programs for which nobody tuned the engine: the programs in checkouts of public suites, compiled if they are
//! source.
//!
//! No part of them is in this repository.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::no_imports::without_harness;

/// The compiler for sources.
const CLANG: &str = "clang-19";

/// The workload of Embench programs as a multiple of that for a processor of 1 MHz: a tenth of a second on most
/// machines.
const EMBENCH_SCALE: &str = "-DGLOBAL_SCALE_FACTOR=100";

/// The board support that Embench needs.
const BOARD: &str =
    "void initialise_board(void) {}\nvoid start_trigger(void) {}\nvoid stop_trigger(void) {}\n";

/// A program.
#[derive(Clone, Debug)]
pub struct Stranger {
    /// The suite, and its name in the suite.
    pub name: String,
    /// The module.
    pub module: PathBuf,
    /// Its working folder, which it may use.
    pub folder: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// The first bytes of a module; components have another version.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Returns the modules of a checkout of Sightglass, with an empty harness. Components are omitted, and so are large
/// files of which the checkout has only a reference.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub fn sightglass(checkout: &Path, scratch: &Path) -> Result<Vec<Stranger>> {
    let benchmarks = checkout.join("benchmarks");
    let stranger = |file: &PathBuf| {
        let folder = file.parent().context("it is in a folder")?.to_owned();
        let within = folder.strip_prefix(&benchmarks)?.display().to_string();
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = if stem == "benchmark" { within } else { stem.into_owned() };
        let module = scratch.join(format!("sightglass-{name}.wasm"));
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        if !bytes.starts_with(MODULE) {
            return Ok(None);
        }
        fs::write(&module, without_harness(&bytes).with_context(|| file.display().to_string())?)?;
        Ok(Some(Stranger { name, module, folder, args: Vec::new() }))
    };
    files(&benchmarks, "wasm")?.iter().filter_map(|file| stranger(file).transpose()).collect()
}

/// Compiles the programs of a checkout of PolyBench/C.
///
/// # Errors
/// Returns an error if a program cannot be compiled.
pub fn polybench(checkout: &Path, scratch: &Path) -> Result<Vec<Stranger>> {
    let utilities = checkout.join("utilities");
    let folders = ["datamining", "linear-algebra", "medley", "stencils"].map(|name| checkout.join(name));
    let sources = folders.iter().map(|folder| files(folder, "c")).collect::<Result<Vec<_>>>()?.concat();
    let program = |source: &PathBuf| {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = source.parent().context("it is in a folder")?;
        let files = [source.clone(), utilities.join("polybench.c")];
        compiled(("polybench", &name), &files, &[&utilities, folder], &["-DLARGE_DATASET"], scratch)
    };
    // One program has an earlier version of itself beside it.
    sources.iter().filter(|source| !source.to_string_lossy().contains(".orig")).map(program).collect()
}

/// Compiles the programs of a checkout of Embench.
///
/// # Errors
/// Returns the errors of [`polybench`].
pub fn embench(checkout: &Path, scratch: &Path) -> Result<Vec<Stranger>> {
    let (support, board) = (checkout.join("support"), scratch.join("board.c"));
    fs::write(&board, BOARD)?;
    let program = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut sources = files(folder, "c")?;
        sources.extend([support.join("main.c"), support.join("beebsc.c"), board.clone()]);
        let defined = [EMBENCH_SCALE, "-DWARMUP_HEAT=1"];
        compiled(("embench", &name), &sources, &[&support, folder], &defined, scratch)
    };
    let mut folders = entries(&checkout.join("src"))?;
    folders.retain(|entry| entry.is_dir());
    folders.iter().map(program).collect()
}

/// Returns the commands in a file: each line has a name, a module and its arguments. They run in the file's folder,
/// where modules are searched, too. Lines that begin with `#` are comments.
///
/// # Errors
/// Returns an error if the file cannot be read, or a line has no module.
pub fn commands(list: &Path) -> Result<Vec<Stranger>> {
    let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let folder = fs::canonicalize(list)?.parent().context("it is in a folder")?.to_owned();
    let command = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, module, args @ ..] = &words[..] else {
            anyhow::bail!("{}: give a name and a module in {line:?}", list.display());
        };
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Ok(Stranger { name: (*name).to_owned(), module: folder.join(module), folder: folder.clone(), args })
    };
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(command).collect()
}

/// Compiles a program to wasm with the usual options: for speed, without vectors.
fn compiled(
    (suite, name): (&str, &str),
    sources: &[PathBuf],
    includes: &[&Path],
    options: &[&str],
    scratch: &Path,
) -> Result<Stranger> {
    let module = scratch.join(format!("{suite}-{name}.wasm"));
    let mut clang = Command::new(CLANG);
    clang.args([
        "--target=wasm32-wasi",
        "--sysroot=/usr",
        "-isystem",
        "/usr/include/wasm32-wasi",
        "-O2",
        "-w",
    ]);
    clang.args(["-D_WASI_EMULATED_PROCESS_CLOCKS", "-lwasi-emulated-process-clocks", "-lm"]);
    clang.arg("-Wl,-z,stack-size=8388608").args(options).args(sources).arg("-o").arg(&module);
    clang.args(includes.iter().flat_map(|folder| [OsStr::new("-I"), folder.as_os_str()]));
    let status = clang.status().with_context(|| format!("cannot run {CLANG}: scripts/setup installs it"))?;
    ensure!(status.success(), "{CLANG} could not compile {name} of {suite}");
    Ok(Stranger { name: name.to_owned(), module, folder: scratch.to_owned(), args: Vec::new() })
}

/// Returns the sorted files below a folder whose names end with `extension`.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        match entry.is_dir() {
            true => found.extend(files(&entry, extension)?),
            false if entry.extension() == Some(OsStr::new(extension)) => found.push(entry),
            false => {}
        }
    }
    Ok(found)
}

/// Returns the sorted entries of a folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}
