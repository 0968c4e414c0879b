//! Paths across calls, from a trace of the original module.
//!
//! Input: the trace, the original functions, and which calls are marked. Output: how often each sequence of blocks ran
//! from the beginning of a path to its end. A frame that a marked call began goes on with the path of its caller. Ends of
//! paths are found without the graph: blocks are in bytecode order, so one that does not come later begins another
//! iteration of a loop.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use wprof_jit::cfg;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::SplitCfg;
use wprof_profiler::{
    BlockId, BlockPart, CodeRange, FunctionProfile, Path, Profile, Supergraph, Supergraphs, TraceEvent,
    TraceReader,
};

/// A block of a function, in a frame of its supergraph.
pub type Place = (u32, u32);

/// A path: the supergraph's function, the blocks, and how it ends.
pub type Way = (u32, Vec<Place>, End);

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Exit,
    Next(Place),
    Stopped,
}

/// How often each path ran.
pub type Ways = BTreeMap<Way, u64>;

/// Returns the paths of a trace; none if a frame stopped in a block with a tail call. If that is of a host function, a
/// traced frame is still there, and another has left.
pub fn traced(info: &ModuleInfo, graphs: &Supergraphs, trace: &[u8]) -> Result<Option<Ways>, String> {
    let mut reader = TraceReader::open(Cursor::new(trace)).map_err(|e| e.to_string())?;
    let mut walk = Walk {
        info,
        graphs,
        splits: BTreeMap::new(),
        tail_calls: BTreeSet::new(),
        live: Vec::new(),
        ways: Ways::new(),
        is_unclear: false,
    };
    for event in reader.events_from(0) {
        walk.event(event.map_err(|e| e.to_string())?)?;
    }
    while !walk.live.is_empty() {
        walk.unwound();
    }
    Ok((!walk.is_unclear).then_some(walk.ways))
}

/// A frame of the original program.
struct Live {
    function: u32,
    /// The frame of the supergraph.
    frame: u32,
    /// The part of a block that it executes.
    part: Option<usize>,
    /// If it is the first frame of a supergraph: its path so far.
    path: Vec<Place>,
    /// Whether the frame of the machine has ended.
    has_ended: bool,
}

struct Walk<'a> {
    info: &'a ModuleInfo,
    graphs: &'a Supergraphs,
    splits: BTreeMap<u32, SplitCfg>,
    /// The blocks that end with a tail call, by function.
    tail_calls: BTreeSet<(u32, u32)>,
    live: Vec<Live>,
    ways: Ways,
    is_unclear: bool,
}

impl Walk<'_> {
    fn event(&mut self, event: TraceEvent) -> Result<(), String> {
        match event {
            TraceEvent::Enter(function) => self.enter(function),
            TraceEvent::Block(_, block) => self.block(block.index()),
            TraceEvent::Leave(_) => self.leave(),
            TraceEvent::Unwound { .. } => {
                self.unwound();
                Ok(())
            }
            TraceEvent::HostCall(..) | TraceEvent::HostReturn(..) => Ok(()),
        }
    }

    fn split(&mut self, function: u32) -> Result<&SplitCfg, String> {
        if !self.splits.contains_key(&function) {
            let cfg = cfg::build(self.info, function).map_err(|e| e.to_string())?;
            let leaving = cfg.blocks.iter().zip(0..).filter(|(block, _)| block.how == cfg::End::TailCall);
            self.tail_calls.extend(leaving.map(|(_, block)| (function, block)));
            let split = SplitCfg::new(self.info, &cfg).map_err(|e| e.to_string())?;
            self.splits.insert(function, split);
        }
        Ok(&self.splits[&function])
    }

    /// Returns the position of the first frame of the innermost supergraph.
    fn root(&self) -> usize {
        self.live.iter().rposition(|live| live.frame == 0).expect("the first frame is one")
    }

    fn enter(&mut self, function: u32) -> Result<(), String> {
        let frame = match self.live.last() {
            Some(&Live { function: caller, frame, part: Some(part), .. }) => {
                let root = self.live[self.root()].function;
                let site = self.split(caller)?.parts[part].call;
                let calls = self.graphs.calls(root).iter().zip(1..);
                let mut marked = calls.filter(|(call, _)| {
                    call.caller == frame && Some(call.site) == site && call.callee == function
                });
                marked.next().map_or(0, |(_, frame)| frame)
            }
            _ => 0,
        };
        self.live.push(Live { function, frame, part: None, path: Vec::new(), has_ended: false });
        Ok(())
    }

    fn block(&mut self, part: usize) -> Result<(), String> {
        let root = self.root();
        let Some(&Live { function, frame, part: before, .. }) = self.live.last() else {
            return Err("a block without a frame".to_owned());
        };
        let split = self.split(function)?;
        let here = split.parts[part];
        let before = before.map(|before| (split.parts[before], before));
        let goes_on = before
            .is_some_and(|(last, at)| last.call.is_some() && part == at + 1 && last.block == here.block);
        let place = (frame, here.block);
        let is_back = before.is_some_and(|(last, _)| here.block <= last.block);
        self.live.last_mut().expect("as above").part = Some(part);
        if goes_on {
            return Ok(());
        }
        if is_back {
            self.end(root, End::Next(place));
        }
        self.live[root].path.push(place);
        Ok(())
    }

    /// Counts the path of a frame, and begins the next.
    fn end(&mut self, root: usize, end: End) {
        let path = std::mem::take(&mut self.live[root].path);
        *self.ways.entry((self.live[root].function, path, end)).or_default() += 1;
    }

    fn leave(&mut self) -> Result<(), String> {
        let last = self.live.last().ok_or("no frame leaves")?;
        if last.frame == 0 {
            self.end(self.live.len() - 1, End::Exit);
        }
        self.live.pop();
        Ok(())
    }

    /// Ends the innermost frame; the first of a frame of the machine ends its path.
    fn unwound(&mut self) {
        let last = self.live.last().and_then(|live| Some((live.function, live.part?)));
        let block = last.map(|(function, part)| (function, self.splits[&function].parts[part].block));
        self.is_unclear |= block.is_some_and(|block| self.tail_calls.contains(&block));
        let root = self.root();
        if !std::mem::replace(&mut self.live[root].has_ended, true) {
            self.end(root, End::Stopped);
        }
        self.live.pop();
    }
}

/// Returns the paths of a profile.
pub fn profiled(info: &ModuleInfo, profile: &Profile) -> Result<Ways, String> {
    let graphs = profile.supergraphs.as_ref().ok_or("no supergraphs")?;
    let mut ways = Ways::new();
    for graph in &graphs.functions {
        let found = Found { info, graphs, graph };
        found.add_to(&mut ways)?;
    }
    Ok(ways)
}

struct Found<'a> {
    info: &'a ModuleInfo,
    graphs: &'a Supergraphs,
    graph: &'a Supergraph,
}

impl Found<'_> {
    fn add_to(&self, ways: &mut Ways) -> Result<(), String> {
        let function = &self.graph.function;
        let numbering = function.path_numbering().ok_or("no paths")?;
        let cfg = function.cfg().map_err(|e| e.to_string())?;
        let paths = function.paths().ok_or("no paths")?;
        for finished in &paths.finished {
            let path = numbering.path(finished.id).ok_or("an unknown path")?;
            let last = cfg.edge(*path.edges.last().ok_or("an empty path")?).to;
            let end = match last == cfg.exit() {
                true => End::Exit,
                false => End::Next(self.first_place(last)?),
            };
            let places = self.places(&path.blocks(&cfg))?;
            *ways.entry((function.index, places, end)).or_default() += finished.count;
        }
        for unfinished in &paths.unfinished {
            let exit = unfinished.exit;
            let path: Path = numbering.prefix(exit.block, unfinished.prefix).ok_or("an unknown prefix")?;
            let blocks = path.blocks_of_prefix(&cfg);
            let mut places = self.places(&blocks[..blocks.len() - 1])?;
            places.extend(self.begun(exit.block, exit.ops_executed)?);
            *ways.entry((function.index, places, End::Stopped)).or_default() += exit.count;
        }
        Ok(())
    }

    /// Returns the original block that a block begins with.
    fn first_place(&self, block: BlockId) -> Result<Place, String> {
        self.places(&[block])?.first().copied().ok_or_else(|| "a loop without a header".to_owned())
    }

    fn places(&self, blocks: &[BlockId]) -> Result<Vec<Place>, String> {
        let pieces = blocks.iter().flat_map(|block| &self.graph.pieces[block.index()]);
        let mut places = Vec::new();
        for piece in pieces {
            places.extend(self.begins(piece)?);
        }
        Ok(places)
    }

    /// Returns the original blocks of a block that began, if so many instructions of it did.
    fn begun(&self, block: BlockId, ops: u32) -> Result<Vec<Place>, String> {
        let (mut before, mut places) = (0, Vec::new());
        for (piece, index) in self.graph.pieces[block.index()].iter().zip(0..) {
            if index == 0 || before < ops {
                places.extend(self.begins(piece)?);
            }
            before += piece.ops;
        }
        Ok(places)
    }

    /// Returns the original block that a piece begins; none if it goes on with one behind a call.
    fn begins(&self, piece: &BlockPart) -> Result<Option<Place>, String> {
        let function = self.graphs.function_of(self.graph.function.index, piece.frame);
        let cfg = cfg::build(self.info, function).map_err(|e| e.to_string())?;
        let CodeRange { start, .. } = piece.code;
        let is_first = cfg.blocks[piece.block.index()].start == start;
        Ok(is_first.then_some((piece.frame, piece.block.0)))
    }
}

/// Returns a function of a profile.
pub fn function(profile: &Profile, function: u32) -> Option<&FunctionProfile> {
    profile.supergraphs.as_ref()?.supergraph(function).map(|graph| &graph.function)
}
