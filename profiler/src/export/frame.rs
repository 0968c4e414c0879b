//! A function as it appears on a stack.

use super::CodeMap;
use crate::contexts::function_name;
use crate::{Callee, FunctionProfile, HostCalls, Profile};

/// A function name and, if known, its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Name of the function.
    pub name: String,
    /// Source file, and line of its first instruction.
    pub place: Option<(String, u32)>,
    /// The full name, if it differs.
    pub full_name: Option<String>,
}

impl Frame {
    fn new(name: String) -> Self {
        Self { name, place: None, full_name: None }
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
        let name = function_name(function.index, function.name.as_deref()).into_owned();
        Self { name, place, full_name: code.full_names.get(&function.index).cloned() }
    }

    /// Returns the frame of a place on a sampled stack. A function without other information gets the place of its code
    /// there.
    pub(super) fn of_place(callee: &Callee, offset: u32, profile: &Profile, code: &CodeMap) -> Self {
        let known = Self::of_callee(callee, profile, code);
        let is_ours = matches!(callee, Callee::Function { .. });
        let line = code.first_line_of_function_at(offset).filter(|_| is_ours);
        let place = line.map(|line| (code.file(line).to_owned(), line.line));
        Self { place: known.place.or(place), ..known }
    }

    /// Returns the frame of a call record's subject; functions that ran also have their place.
    pub(super) fn of_callee(callee: &Callee, profile: &Profile, code: &CodeMap) -> Self {
        let ran = match callee {
            Callee::Function { index, .. } => profile.function(*index),
            _ => None,
        };
        let full_name = match callee {
            Callee::Function { index, .. } => code.full_names.get(index).cloned(),
            _ => None,
        };
        let other = || Self { full_name, ..Self::new(callee.to_string()) };
        ran.map_or_else(other, |function| Self::of_function(function, code))
    }

    /// Returns the full name.
    pub(super) fn full_name(&self) -> &str {
        self.full_name.as_ref().unwrap_or(&self.name)
    }
}
