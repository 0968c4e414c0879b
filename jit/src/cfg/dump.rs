//! The text form of a [`Cfg`], for people and for tests.

use std::fmt;

use super::{Cfg, Edge, End, Target};

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Block(b) => write!(f, "block{b}"),
            Target::Exit => f.write_str("exit"),
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)?;
        match self.arity {
            0 => Ok(()),
            n => write!(f, "({n} operands at {})", self.height),
        }
    }
}

impl fmt::Display for Cfg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {}: {} blocks, {} locals", self.func, self.blocks.len(), self.locals.len())?;
        for (index, block) in self.blocks.iter().enumerate() {
            let mark = if block.is_loop_header { " loop" } else { "" };
            write!(f, "block{index} {:#x}..{:#x} {} ops{mark}", block.start, block.limit, block.ops)?;
            let stack = self.stacks.types(block.stack);
            if !stack.is_empty() {
                write!(f, " stack {stack:?}")?;
            }
            let how = match &block.how {
                End::Jump => "jump",
                End::Branch => "branch",
                End::NullBranch => "branch on null",
                End::CastBranch => "branch on type",
                End::Switch(_) => "switch",
                End::TailCall => "tail call",
                End::Trap => "trap",
                End::Call(_) => "call",
                End::Throw(..) => "throw",
            };
            write!(f, "\n    {how}")?;
            for edge in &block.edges {
                write!(f, " {edge}")?;
            }
            if let End::Switch(table) = &block.how {
                write!(f, " by {table:?}")?;
            }
            for catch in block.how.catches().1 {
                match catch.tag {
                    Some(tag) => write!(f, " catch {tag}")?,
                    None => f.write_str(" catch all")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
