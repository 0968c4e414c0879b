//! The text form of a [`BlockGraph`].

use std::fmt;

use super::{BlockGraph, Guard, Lacking};
use crate::plan::{Follow, PathCells, Probe, Probes};

fn probes(f: &mut fmt::Formatter<'_>, probes: &Probes) -> fmt::Result {
    for probe in probes {
        match probe {
            Probe::Count { counter, by: 1 } => write!(f, " count[{counter}]")?,
            Probe::Count { counter, by } => write!(f, " count[{counter}]+{by}")?,
            Probe::CountInRecord { offset, by } => write!(f, " count record[{offset} bytes]+{by}")?,
            Probe::Event { kind, amount } => write!(f, " events[{kind}]{amount:+}")?,
            Probe::Budget(kind) => write!(f, " budget[{kind}]")?,
            Probe::Poll => f.write_str(" poll")?,
            Probe::Follow(Follow { chase, stream }) => {
                write!(f, " follow local {} by stream[{stream}]", chase.local)?;
            }
            Probe::Check => f.write_str(" check")?,
            Probe::Heat(counter) => write!(f, " heat[{counter}]")?,
            Probe::PathStart(first) => write!(f, " path={first}")?,
            Probe::PathAdd(amount) => write!(f, " path{amount:+}")?,
            Probe::PathEnd { amount, cells: PathCells::Instance { first, .. } } => {
                write!(f, " count[{first}+path{amount:+}]")?;
            }
            Probe::PathEnd { amount, cells: PathCells::Record { .. } } => {
                write!(f, " count record[path{amount:+}]")?;
            }
            Probe::PathEnd { amount, cells: PathCells::Rows { first, in_record: None } } => {
                write!(f, " count row[{first}+path{amount:+}]")?;
            }
            Probe::PathEnd { amount, cells: PathCells::Rows { first, in_record: Some(_) } } => {
                write!(f, " count row[{first}+record+path{amount:+}]")?;
            }
            Probe::StartMetrics => f.write_str(" start")?,
            Probe::StopMetrics => f.write_str(" stop")?,
            Probe::ChargeRecord => f.write_str(" charge")?,
            Probe::PreferentialEnd { amount, counters: Some(first) } => {
                write!(f, " count[{first}+cell(path{amount:+})]")?;
            }
            Probe::PreferentialEnd { amount, counters: None } => {
                write!(f, " count path{amount:+} without cell")?
            }
            Probe::Emit { value, bits } => write!(f, " emit[{value:#x}:{bits}]")?,
            Probe::EnterAllocator(_) => write!(f, " enter-allocator")?,
            Probe::LeaveAllocator(_) => write!(f, " leave-allocator")?,
            Probe::FindRecord { sites } => write!(f, " record[{sites}]")?,
            Probe::PassSlot(slot) => write!(f, " slot[{slot}]")?,
            Probe::CountOps(ops) => write!(f, " ops+{ops}")?,
            Probe::CountTarget(cell) => write!(f, " target[{cell}]")?,
            Probe::RecordEntry => f.write_str(" record entry")?,
            Probe::RecordPath { amount, leaves } => {
                let end = if *leaves { "end" } else { "round" };
                write!(f, " record path{amount:+} {end}")?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for BlockGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.resumes {
            writeln!(f, "resumes at node0")?;
        }
        if let Some(first) = self.path_register.filter(|_| !self.resumes) {
            writeln!(f, "path={first}")?;
        }
        for (index, call) in self.inlined.iter().enumerate() {
            writeln!(f, "call{index} = function {} inlined at {:#x}", call.cfg.func, call.call)?;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            write!(f, "node{index} = block{}", node.block)?;
            if node.frame > 0 {
                write!(f, " of call{}", node.frame - 1)?;
            }
            if let Some(call) = &node.call {
                write!(f, " until the call at {:#x}", call.at)?;
            }
            if let Some(count) = node.count {
                write!(f, " ran {count}")?;
            }
            if node.rounds > 0 {
                write!(f, " round {}", node.rounds)?;
            }
            match node.guard {
                Some(Guard { when: Lacking::Budget { kind, most }, to }) => {
                    write!(f, " guard[{kind}]<{most}->node{to}")?;
                }
                Some(Guard { when: Lacking::Rounds { tests, .. }, to }) => {
                    write!(f, " guard tests<{tests}->node{to}")?;
                }
                None => {}
            }
            if node.strip.is_some() {
                f.write_str(" strip")?;
            }
            if node.is_landing {
                f.write_str(" landing")?;
            }
            if let Some(landing) = node.lands {
                write!(f, " lands at node{landing}")?;
            }
            match node.caught.map(|handler| handler.to) {
                Some(Some(to)) => write!(f, " throws to node{to}")?,
                Some(None) => f.write_str(" throws to exit")?,
                None => {}
            }
            if node.vectors.is_some() {
                f.write_str(" vectors")?;
            }
            probes(f, &node.probes)?;
            writeln!(f)?;
            for inner in &node.inner {
                for (when, all) in [("before", &inner.before), ("after", &inner.after)] {
                    if !all.is_empty() {
                        write!(f, "    {when} {:#x}", inner.offset)?;
                        probes(f, all)?;
                        writeln!(f)?;
                    }
                }
            }
            for (edge, wire) in node.wires.iter().enumerate() {
                write!(f, "    edge {edge} -> ")?;
                match wire.to {
                    Some(to) => write!(f, "node{to}")?,
                    None => f.write_str("exit")?,
                }
                probes(f, &wire.probes)?;
                if node.sure == Some(edge as u32) {
                    f.write_str(" surely")?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
