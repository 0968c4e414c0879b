//! The tables of benchmark programs: our own (`programs/manifest.tsv`) and the downloaded ones (`inputs/real.tsv`).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A program with its arguments for benches.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name in tables.
    pub name: String,
    /// The module.
    pub file: PathBuf,
    /// Its arguments in a measurement.
    pub args: Vec<String>,
    /// Its arguments in a quick run.
    pub quick_args: Vec<String>,
    /// Its arguments in a run of seconds; those of a measurement if the table has no others.
    pub long_args: Vec<String>,
    /// Folders for it: host path and guest name.
    pub dirs: Vec<(PathBuf, String)>,
    /// The exit code of success.
    pub exit_code: i32,
}

impl Program {
    /// Returns its arguments for a measurement, a quick run or a run of seconds.
    pub fn args_for(&self, quick: bool, long: bool) -> &[String] {
        match (quick, long) {
            (true, _) => &self.quick_args,
            (_, true) => &self.long_args,
            _ => &self.args,
        }
    }
}

/// Reports whether a name contains `only`, or one of its comma-separated parts.
pub fn is_among(name: &str, only: &str) -> bool {
    only.split(',').any(|part| name.contains(part))
}

/// Returns the folder of this package.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns our own programs that have arguments for benches.
///
/// # Errors
/// Returns an error if their table cannot be read.
pub fn own() -> Result<Vec<Program>> {
    let folder = home().join("programs");
    let mut programs = read(&folder.join("manifest.tsv"), &folder, &[])?;
    add_long_args(&mut programs, &folder)?;
    Ok(programs)
}

/// Adds the arguments for runs of seconds from a folder's table.
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

/// Splits text at blanks.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

/// Returns the downloaded programs that exist, writing to `out`.
fn real(out: &Path) -> Result<Vec<Program>> {
    let inputs = home().join("inputs");
    let dirs = [(inputs.clone(), "/in".to_string()), (out.to_path_buf(), "/out".to_string())];
    let mut programs = read(&inputs.join("real.tsv"), &home().join("downloads"), &dirs)?;
    add_long_args(&mut programs, &inputs)?;
    programs.retain(|p| p.file.exists());
    Ok(programs)
}

/// Calls `measure` with the programs among `only` (see [`is_among`]), including the downloaded ones if `real`, and a
/// temporary folder.
///
/// # Errors
/// Returns an error if a table cannot be read or the folder cannot be made, and the errors of `measure`.
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
