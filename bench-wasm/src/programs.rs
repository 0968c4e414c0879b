//! The tables of benchmark programs: our own (`programs/manifest.tsv`) and the downloaded (`inputs/real.tsv`).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// One program with its arguments for benches.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is called in tables.
    pub name: String,
    /// The module.
    pub file: PathBuf,
    /// Its arguments when it is measured.
    pub args: Vec<String>,
    /// Its arguments in a quick run.
    pub quick_args: Vec<String>,
    /// Its arguments in a run of seconds; those for when it is measured, if there are no others.
    pub long_args: Vec<String>,
    /// Folders for it: host path and the name that it sees.
    pub dirs: Vec<(PathBuf, String)>,
    /// The exit code that says it did its work.
    pub exit_code: i32,
}

impl Program {
    /// Its arguments when it is measured, or those of a quick run or one of seconds.
    pub fn args_for(&self, quick: bool, long: bool) -> &[String] {
        match (quick, long) {
            (true, _) => &self.quick_args,
            (_, true) => &self.long_args,
            _ => &self.args,
        }
    }
}

/// Whether a name contains `only`, or one of its parts between commas.
pub fn is_among(name: &str, only: &str) -> bool {
    only.split(',').any(|part| name.contains(part))
}

/// The folder of this package.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Our own programs that have arguments for benches.
///
/// # Errors
/// If their table cannot be read.
pub fn own() -> Result<Vec<Program>> {
    let folder = home().join("programs");
    let mut programs = read(&folder.join("manifest.tsv"), &folder, &[])?;
    add_long_args(&mut programs, &folder)?;
    Ok(programs)
}

/// Arguments for runs of seconds, from a folder's table.
fn add_long_args(programs: &mut [Program], folder: &Path) -> Result<()> {
    let table = folder.join("long.tsv");
    let text = std::fs::read_to_string(&table).with_context(|| format!("cannot read {}", table.display()))?;
    let rows =
        text.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(|line| line.split_once('\t'));
    for (name, args) in rows {
        let program = programs.iter_mut().find(|program| program.name == name);
        program.with_context(|| format!("{}: no program {name}", table.display()))?.long_args = words(args);
    }
    Ok(())
}

/// Text at its blanks.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

/// The downloaded programs that are there, writing to `out`.
fn real(out: &Path) -> Result<Vec<Program>> {
    let inputs = home().join("inputs");
    let dirs = [(inputs.clone(), "/in".to_string()), (out.to_path_buf(), "/out".to_string())];
    let mut programs = read(&inputs.join("real.tsv"), &home().join("downloads"), &dirs)?;
    add_long_args(&mut programs, &inputs)?;
    programs.retain(|p| p.file.exists());
    Ok(programs)
}

/// Gives `measure` the programs that are among `only` (see [`is_among`]), the downloaded ones too if they are `real`, and
/// a folder that is there for as long.
///
/// # Errors
/// If a table cannot be read or the folder made, or those of `measure`.
pub fn with(real: bool, only: &str, measure: impl FnOnce(&[Program], &Path) -> Result<()>) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("wprof-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).context("cannot make a scratch folder")?;
    let result = chosen(real, only, &scratch).and_then(|programs| measure(&programs, &scratch));
    std::fs::remove_dir_all(&scratch).context("cannot remove the scratch folder")?;
    result
}

fn chosen(with_real: bool, only: &str, out: &Path) -> Result<Vec<Program>> {
    let mut programs = own()?;
    if with_real {
        programs.extend(real(out)?);
    }
    programs.retain(|program| is_among(&program.name, only));
    Ok(programs)
}

fn read(table: &Path, folder: &Path, dirs: &[(PathBuf, String)]) -> Result<Vec<Program>> {
    let text = std::fs::read_to_string(table).with_context(|| format!("cannot read {}", table.display()))?;
    let mut programs = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, program, quick, bench, code, ..] = fields[..] else {
            anyhow::bail!("{}: too few columns in {line:?}", table.display());
        };
        if bench == "-" {
            continue;
        }
        programs.push(Program {
            name: name.into(),
            file: folder.join(format!("{program}.wasm")),
            args: words(bench),
            quick_args: words(quick),
            long_args: words(bench),
            dirs: dirs.to_vec(),
            exit_code: code
                .parse()
                .with_context(|| format!("{}: bad exit code {code:?}", table.display()))?,
        });
    }
    Ok(programs)
}
