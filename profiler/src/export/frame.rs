//! A function as it stands on a stack.

use super::CodeMap;
use crate::contexts::function_name;
use crate::{Callee, FunctionProfile, HostCalls, Profile};

/// A name and, if known, a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Name of the function.
    pub name: String,
    /// Source file, and line of its first instruction.
    pub place: Option<(String, u32)>,
}

impl Frame {
    fn new(name: String) -> Self {
        Self { name, place: None }
    }

    pub(super) fn of_program(profile: &Profile) -> Self {
        Self::new(if profile.program.is_empty() { "<program>".to_owned() } else { profile.program.clone() })
    }

    pub(super) fn of_host(calls: &HostCalls) -> Self {
        let (module, name) = (calls.module.clone(), calls.name.clone());
        Self::new(Callee::Host { module, name }.to_string())
    }

    pub(super) fn of_function(function: &FunctionProfile, code: &CodeMap) -> Self {
        let place = code.line_of(function).map(|line| (code.file(line).to_owned(), line.line));
        Self { name: function_name(function.index, function.name.as_deref()).into_owned(), place }
    }

    /// What a call record is of; functions that ran also have their place.
    pub(super) fn of_callee(callee: &Callee, profile: &Profile, code: &CodeMap) -> Self {
        let ran = match callee {
            Callee::Function { index, .. } => profile.function(*index),
            _ => None,
        };
        ran.map_or_else(|| Self::new(callee.to_string()), |function| Self::of_function(function, code))
    }
}
