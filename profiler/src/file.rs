//! The profile file.
//!
//! Input: a valid [`Profile`], or arbitrary bytes. Output: bytes, or the profile.
//! Invariant: a written file is read back equal; any other bytes yield a clear error and never a
//! panic, and cannot make the reader unpack more than the limits allow. Writing replaces the old file atomically or
//! leaves it unchanged.
//! Contents: `profile.rs`. Oracle: every truncation and every flipped byte, in `tests/it/file.rs`.
//!
//! Layout, integers little-endian:
//!
//! ```text
//! magic     8 bytes  77 70 72 6f 66 0d 0a 1a   "wprof", then bytes that text transfer would damage
//! major     u16      a reader refuses another major version
//! minor     u16      a newer minor version may add sections, which an older reader skips
//! sections  each: tag (4 bytes), unpacked length u64, stored length u64, stored bytes (zstd of postcard),
//!           FNV-64 of all of that
//! end       the section "END ", empty, whose checksum is of the whole file before it
//! ```
//!
//! Sections of version 1.0, each once and in any order: `HEAD` (program, module hash, runs, code figures), `FUNC`
//! (functions), `HOST` (host calls). Version 1.1 adds, if not empty: `EVNT` (totals of events), `BLCK` (the functions
//! with block counts only, each with its counts; a reader of version 1.0 must not see them, since it would take the
//! missing counts of their edges for zeros). Version 1.2 adds `CNTX` (calling contexts) and `PATH` (the paths of
//! functions whose paths were counted, by index). Version 1.3 adds `SLCT` (the functions of which only selected paths
//! were counted, each with these; an older reader must not take these for all executed paths), `METR` (metrics, and for
//! each function with paths, by index, the figures of each of its paths), `CMET` (metrics of calling contexts, and the
//! figures of each record in `CNTX`) and `FLOW` (the paths of each record). Version 1.4 adds `TARG` (callees of
//! indirect calls), `HTIM` (the time of each row in `HOST`) and `BRST` (the number of bursts behind samples). Version
//! 1.5 adds `CKND` (the kind of the figures of calling contexts, if not exact), `STOP` (the unfinished paths of each
//! record, with their figures) and `TIME` (the time line). Version 1.6 adds `GAIN` (the savings of versions on the time
//! line, by position). Version 1.7 adds `XTND` (extended paths). Version 1.8 adds `FILL`, which holds nothing: it makes
//! a file long enough to be unpacked (see [`ReadLimits`]). Version 1.9 adds `SMPL` (sampled time). Version 1.10 adds
//! `ALOC` (allocations) and `PRED` (mispredictions of a simulated branch predictor). Version 1.11 adds `CMRG`, which is
//! there if the call sites of calling contexts are merged, `SKIP` (bursts that were skipped) and `ACCU` (the expected
//! accuracy of a sample). Version 1.12 adds `SUPR` (paths across calls, with the original code of each block). Version 1.13
//! adds `THRD` (threads), `GARB` (the work of the garbage collector) and `SMPC`, which stands for `SMPL` where the
//! garbage collector was sampled, which older readers do not know. Version 1.14 adds `SMPW` (how unequal the times of samples
//! are: their sums of squares, of the whole run and by thread). Version 1.15 adds `MODS` (the core modules of a component).
//! A change to a section's content takes a new tag.

mod functions;
mod replace;
mod section;
mod squares;
mod threads;

use std::io::Read;
use std::path::{Path, PathBuf};

use functions::{FunctionRow, GraphRow, add_figures, add_paths, graph_row, supergraphs};
pub use replace::replace_file;
use section::{Reader, Tag, Writer};
use squares::Squares;
use threads::ThreadRow;

use crate::{
    Benefit, BlockCounts, Callee, CodeStats, ContextTree, FigureKind, FunctionProfile, HostCalls,
    InvalidProfile, Metric, PathCount, PathProfile, Profile, ReadLimits, Run, Supergraphs, TimeProfile,
    Timeline, UnfinishedExit, UnfinishedPath,
};

const MAGIC: [u8; 8] = *b"wprof\r\n\x1a";
const MAJOR: u16 = 1;
const MINOR: u16 = 15;

const HEAD: Tag = Tag(*b"HEAD");
const FUNC: Tag = Tag(*b"FUNC");
const HOST: Tag = Tag(*b"HOST");
const EVNT: Tag = Tag(*b"EVNT");
const BLCK: Tag = Tag(*b"BLCK");
const CNTX: Tag = Tag(*b"CNTX");
const PATH: Tag = Tag(*b"PATH");
const METR: Tag = Tag(*b"METR");
const CMET: Tag = Tag(*b"CMET");
const CKND: Tag = Tag(*b"CKND");
const ACCU: Tag = Tag(*b"ACCU");
const CMRG: Tag = Tag(*b"CMRG");
const FLOW: Tag = Tag(*b"FLOW");
const STOP: Tag = Tag(*b"STOP");
const SLCT: Tag = Tag(*b"SLCT");
const HTIM: Tag = Tag(*b"HTIM");
const BRST: Tag = Tag(*b"BRST");
const TARG: Tag = Tag(*b"TARG");
const TIME: Tag = Tag(*b"TIME");
const GAIN: Tag = Tag(*b"GAIN");
const XTND: Tag = Tag(*b"XTND");
const PRED: Tag = Tag(*b"PRED");
const ALOC: Tag = Tag(*b"ALOC");
const SMPL: Tag = Tag(*b"SMPL");
const SMPC: Tag = Tag(*b"SMPC");
const SMPW: Tag = Tag(*b"SMPW");
const THRD: Tag = Tag(*b"THRD");
const GARB: Tag = Tag(*b"GARB");
const SKIP: Tag = Tag(*b"SKIP");
const SUPR: Tag = Tag(*b"SUPR");
const MODS: Tag = Tag(*b"MODS");

/// The reason why a profile could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: std::io::Error,
    },
    /// The file does not begin like a profile.
    #[error("this is not a wprof profile: give a file that `wprof run -o` wrote")]
    Foreign,
    /// This version does not know the file's format.
    #[error("the profile has format {major}.{minor}, and this wprof reads {MAJOR}.x: {}", advice(*.major))]
    OtherVersion {
        /// Major version of the file.
        major: u16,
        /// Minor version of the file.
        minor: u16,
    },
    /// The file ends too early.
    #[error("the profile ends too early, at byte {0}: it was not copied whole, take it again")]
    Truncated(u64),
    /// A checksum fails, or the content makes no sense.
    #[error("the profile is damaged in {part}: take it again")]
    Damaged {
        /// Section, or part of the file.
        part: String,
    },
    /// The file has a section that its format version does not have.
    #[error("the profile has an unknown section {0:?}: it is damaged, take it again")]
    UnknownSection(String),
    /// A section is missing.
    #[error("the profile lacks the section {0:?}: it is damaged, take it again")]
    MissingSection(String),
    /// The profile exceeds the limits.
    #[error("the profile exceeds the limit of {limit} {what}: profile fewer functions or a shorter run")]
    TooLarge {
        /// The item that exceeds the limit.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Reading the file would take more memory than [`ReadLimits`] allow.
    #[error(
        "the profile unpacks to more than {limit} bytes, too many for a file of its length: if you trust \
             whoever made it, raise the limit of unpacked bytes"
    )]
    Expands {
        /// Maximum unpacked bytes of a file of its length.
        limit: u64,
    },
    /// The profile contradicts itself.
    #[error("the profile contradicts itself: {0}")]
    Invalid(#[from] InvalidProfile),
}

fn advice(major: u16) -> &'static str {
    if major > MAJOR { "use a newer wprof" } else { "use an older wprof" }
}

/// The section `HEAD`.
#[derive(serde::Serialize, serde::Deserialize)]
struct Head {
    program: String,
    module_hash: [u8; 32],
    runs: Vec<Run>,
    code: CodeStats,
}

impl Profile {
    /// Returns the content of a profile file.
    ///
    /// # Errors
    /// Fails if the profile is invalid or exceeds a limit.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FileError> {
        self.verify()?;
        let head = Head {
            program: self.program.clone(),
            module_hash: self.module_hash,
            runs: self.runs.clone(),
            code: self.code,
        };
        let mut writer = Writer::new(header(MAJOR, MINOR));
        writer.section(HEAD, &head)?;
        let (selected, whole): (Vec<_>, Vec<_>) =
            self.functions.iter().partition(|function| function.kind == FigureKind::Selected);
        let by_edges = whole.iter().filter(|function| function.has_edge_counts());
        writer.section(FUNC, &by_edges.map(|function| FunctionRow::new(function)).collect::<Vec<_>>())?;
        writer.section(HOST, &self.host_calls)?;
        if !self.parts.is_empty() {
            writer.section(MODS, &self.parts)?;
        }
        self.write_totals(&mut writer)?;
        self.write_measurements(&mut writer)?;
        let row = |function| Some((FunctionRow::new(function), function.counts.blocks()?));
        let by_blocks: Vec<(FunctionRow<'_>, &BlockCounts)> = self.functions.iter().filter_map(row).collect();
        if !by_blocks.is_empty() {
            writer.section(BLCK, &by_blocks)?;
        }
        if let Some(contexts) = &self.contexts {
            write_contexts(contexts, &mut writer)?;
        }
        let paths = whole.iter().filter_map(|function| Some((function.index, function.paths()?)));
        let paths: Vec<(u32, &PathProfile)> = paths.collect();
        if !paths.is_empty() {
            writer.section(PATH, &paths)?;
        }
        let selected =
            selected.into_iter().filter_map(|function| Some((FunctionRow::new(function), function.paths()?)));
        let selected: Vec<(FunctionRow<'_>, &PathProfile)> = selected.collect();
        if !selected.is_empty() {
            writer.section(SLCT, &selected)?;
        }
        if !self.metrics.is_empty() {
            let paths = self.functions.iter().filter_map(FunctionProfile::paths);
            let figures = paths.map(|paths| paths.figures().collect());
            writer.section(METR, &(&self.metrics, figures.collect::<Vec<Vec<&Vec<u64>>>>()))?;
        }
        writer.finish()
    }

    /// Writes figures of the whole run.
    fn write_totals(&self, writer: &mut Writer) -> Result<(), FileError> {
        let times: Vec<Option<u64>> = self.host_calls.iter().map(|calls| calls.time_ns).collect();
        if times.iter().any(Option::is_some) {
            writer.section(HTIM, &times)?;
        }
        if let Some(bursts) = self.bursts {
            writer.section(BRST, &bursts)?;
        }
        if let Some(skipped) = &self.skipped {
            writer.section(SKIP, skipped)?;
        }
        if let Some(accuracy) = self.accuracy {
            writer.section(ACCU, &accuracy)?;
        }
        if !self.events.is_empty() {
            writer.section(EVNT, &self.events)?;
        }
        if !self.call_targets.is_empty() {
            writer.section(TARG, &self.call_targets)?;
        }
        if let Some(extended) = &self.extended {
            writer.section(XTND, extended)?;
        }
        Ok(())
    }

    /// Writes sampled time, paths across calls, mispredictions, allocations and the time line.
    fn write_measurements(&self, writer: &mut Writer) -> Result<(), FileError> {
        if let Some(time) = &self.time {
            let has_collector = time.callees.contains(&Callee::Collector);
            writer.section(if has_collector { SMPC } else { SMPL }, time)?;
        }
        if !self.threads.is_empty() {
            writer.section(THRD, &self.threads.iter().map(ThreadRow::new).collect::<Vec<_>>())?;
        }
        let squares = Squares::new(self);
        if squares != Squares::default() {
            writer.section(SMPW, &squares)?;
        }
        if let Some(collector) = &self.collector {
            writer.section(GARB, collector)?;
        }
        if let Some(graphs) = &self.supergraphs {
            writer.section(SUPR, &(graphs, graphs.functions.iter().map(graph_row).collect::<Vec<_>>()))?;
        }
        if !self.branches.is_empty() {
            writer.section(PRED, &self.branches)?;
        }
        if let Some(allocations) = &self.allocations {
            writer.section(ALOC, allocations)?;
        }
        if let Some(timeline) = &self.timeline {
            writer.section(TIME, timeline)?;
            if let benefits @ [_, ..] = &*timeline.benefits() {
                writer.section(GAIN, &benefits)?;
            }
        }
        Ok(())
    }

    /// Reads the profile in the content of a file.
    ///
    /// # Errors
    /// Fails if the bytes are not a profile, damaged, of another major version, too large or contradictory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::from_bytes_within(bytes, &ReadLimits::default())
    }

    /// Reads the profile in the content of a file, within other limits.
    ///
    /// # Errors
    /// Fails as [`from_bytes`](Self::from_bytes) does.
    pub fn from_bytes_within(bytes: &[u8], limits: &ReadLimits) -> Result<Self, FileError> {
        let (minor, sections) = split_header(bytes, limits)?;
        let mut reader = Reader::new(bytes, sections, limits)?;
        let head: Head = reader.take(HEAD)?;
        let by_edges: Vec<FunctionRow<'_>> = reader.take(FUNC)?;
        let mut functions: Vec<_> = by_edges.into_iter().map(FunctionRow::by_edges).collect();
        let mut host_calls: Vec<HostCalls> = reader.take(HOST)?;
        if let Some(times) = reader.take_if_there(HTIM)? {
            add_times(&mut host_calls, times)?;
        }
        let bursts = reader.take_if_there(BRST)?;
        let skipped = reader.take_if_there(SKIP)?;
        let accuracy = reader.take_if_there(ACCU)?;
        let events = reader.take_if_there(EVNT)?.unwrap_or_default();
        let call_targets = reader.take_if_there(TARG)?.unwrap_or_default();
        let extended = reader.take_if_there(XTND)?;
        let mut time: Option<TimeProfile> = match reader.take_if_there(SMPC)? {
            None => reader.take_if_there(SMPL)?,
            time => time,
        };
        let threads: Vec<ThreadRow> = reader.take_if_there(THRD)?.unwrap_or_default();
        let mut threads = threads.into_iter().map(ThreadRow::into_thread).collect::<Result<Vec<_>, _>>()?;
        if let Some(squares) = reader.take_if_there::<Squares>(SMPW)? {
            squares.add_to(time.as_mut(), &mut threads);
        }
        let collector = reader.take_if_there(GARB)?;
        let branches = reader.take_if_there(PRED)?.unwrap_or_default();
        let allocations = reader.take_if_there(ALOC)?;
        let graphs: Option<(Supergraphs, Vec<GraphRow<'_>>)> = reader.take_if_there(SUPR)?;
        let supergraphs = graphs.map(supergraphs);
        let parts = reader.take_if_there(MODS)?.unwrap_or_default();
        let mut timeline = reader.take_if_there(TIME)?;
        add_benefits(timeline.as_mut(), reader.take_if_there(GAIN)?.unwrap_or_default())?;
        let by_blocks: Vec<(FunctionRow<'_>, BlockCounts)> = reader.take_if_there(BLCK)?.unwrap_or_default();
        let contexts = read_contexts(&mut reader)?;
        for (function, counts) in by_blocks {
            functions.push(function.by_blocks(counts)?);
        }
        let selected: Vec<(FunctionRow<'_>, PathProfile)> = reader.take_if_there(SLCT)?.unwrap_or_default();
        functions.extend(selected.into_iter().map(|(function, paths)| function.by_paths(paths)));
        functions.sort_by_key(|function| function.index);
        add_paths(&mut functions, reader.take_if_there(PATH)?.unwrap_or_default())?;
        let (metrics, figures): (Vec<Metric>, Vec<Vec<Vec<u64>>>) =
            reader.take_if_there(METR)?.unwrap_or_default();
        add_figures(&mut functions, figures)?;
        reader.finish(minor > MINOR)?;
        let Head { program, module_hash, runs, code } = head;
        let profile = Self {
            program,
            module_hash,
            runs,
            code,
            functions,
            host_calls,
            events,
            metrics,
            contexts,
            bursts,
            skipped,
            accuracy,
            call_targets,
            extended,
            time,
            threads,
            collector,
            allocations,
            branches,
            timeline,
            supergraphs,
            parts,
        };
        profile.verify()?;
        Ok(profile)
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// Fails as [`from_bytes`](Self::from_bytes) does, or if the system refuses.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::read_within(path, &ReadLimits::default())
    }

    /// Reads a profile file within other limits.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does.
    pub fn read_within(path: impl AsRef<Path>, limits: &ReadLimits) -> Result<Self, FileError> {
        let path = path.as_ref();
        let refused = |error| FileError::Io { action: "read the profile", path: path.to_owned(), error };
        let file = std::fs::File::open(path).map_err(refused)?;
        let mut bytes = Vec::new();
        file.take(limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(refused)?;
        Self::from_bytes_within(&bytes, limits)
    }

    /// Writes a profile file. An old file of that name is replaced atomically once the new one is safely on
    /// disk, and left unchanged if anything fails.
    ///
    /// # Errors
    /// Fails as [`to_bytes`](Self::to_bytes) does, or if the system refuses.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let (path, bytes) = (path.as_ref(), self.to_bytes()?);
        replace::replace(path, &bytes).map_err(|error| FileError::Io {
            action: "write the profile",
            path: path.to_owned(),
            error,
        })
    }
}

/// Writes calling contexts.
fn write_contexts(contexts: &ContextTree, writer: &mut Writer) -> Result<(), FileError> {
    writer.section(CNTX, contexts)?;
    if contexts.kind != FigureKind::Exact {
        writer.section(CKND, &contexts.kind)?;
    }
    if contexts.merges_sites {
        writer.section(CMRG, &true)?;
    }
    if !contexts.metrics.is_empty() {
        let figures: Vec<&Vec<u64>> = contexts.records.iter().map(|record| &record.metrics).collect();
        writer.section(CMET, &(&contexts.metrics, figures))?;
    }
    if contexts.has_paths {
        let paths = contexts.records.iter().map(|record| &record.paths);
        let rows = |paths: &Vec<PathCount>| -> Vec<PathRow> {
            paths.iter().map(|path| (path.id, path.count, path.metrics.clone())).collect()
        };
        writer.section(FLOW, &paths.map(rows).collect::<Vec<_>>())?;
        let stopped = contexts.records.iter().map(|record| &record.unfinished);
        let rows = |paths: &Vec<UnfinishedPath>| -> Vec<StopRow> {
            paths.iter().map(|path| (path.exit, path.prefix, path.metrics.clone())).collect()
        };
        writer.section(STOP, &stopped.map(rows).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Reads calling contexts, if there are any.
fn read_contexts(reader: &mut Reader<'_>) -> Result<Option<ContextTree>, FileError> {
    let mut contexts: Option<ContextTree> = reader.take_if_there(CNTX)?;
    if let Some(kind) = reader.take_if_there(CKND)? {
        let contexts = contexts.as_mut();
        contexts
            .ok_or_else(|| FileError::Damaged { part: "the kind of calling contexts".to_owned() })?
            .kind = kind;
    }
    if let Some(merges_sites) = reader.take_if_there(CMRG)? {
        let contexts = contexts.as_mut();
        let damaged = || FileError::Damaged { part: "the merged call sites of contexts".to_owned() };
        contexts.ok_or_else(damaged)?.merges_sites = merges_sites;
    }
    if let Some((metrics, figures)) = reader.take_if_there(CMET)? {
        add_context_figures(contexts.as_mut(), metrics, figures)?;
    }
    if let Some(paths) = reader.take_if_there(FLOW)? {
        add_context_paths(contexts.as_mut(), paths)?;
    }
    if let Some(paths) = reader.take_if_there(STOP)? {
        add_context_stops(contexts.as_mut(), paths)?;
    }
    Ok(contexts)
}

/// Adds the times of host functions.
fn add_times(host_calls: &mut [HostCalls], times: Vec<Option<u64>>) -> Result<(), FileError> {
    if host_calls.len() != times.len() {
        return Err(FileError::Damaged { part: "the times of host calls".to_owned() });
    }
    host_calls.iter_mut().zip(times).for_each(|(calls, time)| calls.time_ns = time);
    Ok(())
}

/// Adds the savings of versions on a time line.
fn add_benefits(timeline: Option<&mut Timeline>, benefits: Vec<(u32, Benefit)>) -> Result<(), FileError> {
    let versions = timeline.map_or(&mut [][..], |timeline| &mut timeline.versions);
    for (position, benefit) in benefits {
        let damaged = || FileError::Damaged { part: "what versions save".to_owned() };
        versions.get_mut(position as usize).ok_or_else(damaged)?.benefit = benefit;
    }
    Ok(())
}

/// Adds the metrics of a tree and the figures of its records.
fn add_context_figures(
    contexts: Option<&mut ContextTree>,
    metrics: Vec<Metric>,
    figures: Vec<Vec<u64>>,
) -> Result<(), FileError> {
    let contexts = contexts.filter(|contexts| contexts.records.len() == figures.len());
    let damaged = || FileError::Damaged { part: "the figures of calling contexts".to_owned() };
    let contexts = contexts.ok_or_else(damaged)?;
    contexts.metrics = metrics;
    contexts.records.iter_mut().zip(figures).for_each(|(record, figures)| record.metrics = figures);
    Ok(())
}

/// A path of a call record: number, count and figures.
type PathRow = (u64, u64, Vec<u64>);

/// Adds the paths of a tree's records.
fn add_context_paths(contexts: Option<&mut ContextTree>, paths: Vec<Vec<PathRow>>) -> Result<(), FileError> {
    let contexts = contexts.filter(|contexts| contexts.records.len() == paths.len());
    let damaged = || FileError::Damaged { part: "the paths of calling contexts".to_owned() };
    let contexts = contexts.ok_or_else(damaged)?;
    contexts.has_paths = true;
    for (record, rows) in contexts.records.iter_mut().zip(paths) {
        record.paths =
            rows.into_iter().map(|(id, count, metrics)| PathCount { id, count, metrics }).collect();
    }
    Ok(())
}

/// An unfinished path of a call record: exit, prefix and figures.
type StopRow = (UnfinishedExit, u64, Vec<u64>);

/// Adds the unfinished paths of a tree's records.
fn add_context_stops(contexts: Option<&mut ContextTree>, paths: Vec<Vec<StopRow>>) -> Result<(), FileError> {
    let contexts = contexts.filter(|contexts| contexts.records.len() == paths.len());
    let damaged = || FileError::Damaged { part: "the unfinished paths of calling contexts".to_owned() };
    for (record, rows) in contexts.ok_or_else(damaged)?.records.iter_mut().zip(paths) {
        let path = |(exit, prefix, metrics)| UnfinishedPath { exit, prefix, metrics };
        record.unfinished = rows.into_iter().map(path).collect();
    }
    Ok(())
}

fn header(major: u16, minor: u16) -> Vec<u8> {
    [&MAGIC[..], &major.to_le_bytes(), &minor.to_le_bytes()].concat()
}

/// Returns the minor version, and the position of the sections.
fn split_header(bytes: &[u8], limits: &ReadLimits) -> Result<(u16, usize), FileError> {
    if bytes.len() as u64 > limits.file_bytes {
        return Err(FileError::TooLarge { what: "bytes", limit: limits.file_bytes });
    }
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) || bytes.is_empty() {
        return Err(FileError::Foreign);
    }
    let Some([a, b, c, d]) = bytes.get(MAGIC.len()..MAGIC.len() + 4) else {
        return Err(FileError::Truncated(bytes.len() as u64));
    };
    let (major, minor) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
    if major != MAJOR {
        return Err(FileError::OtherVersion { major, minor });
    }
    Ok((minor, MAGIC.len() + 4))
}

#[cfg(test)]
mod tests;
