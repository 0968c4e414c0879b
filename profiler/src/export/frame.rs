//! A function as it stands on a stack.

use super::CodeMap;
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
        Self::new(host_name(&calls.module, &calls.name))
    }

    pub(super) fn of_function(function: &FunctionProfile, code: &CodeMap) -> Self {
        let place = code.line_of(function).map(|line| (code.file(line).to_owned(), line.line));
        Self { name: function_name(function.index, function.name.as_deref()), place }
    }

    /// What a call record is of; functions that ran also have their place.
    pub(super) fn of_callee(callee: &Callee, profile: &Profile, code: &CodeMap) -> Self {
        match callee {
            Callee::Root => Self::new("<the host>".to_owned()),
            Callee::Function { index, name } => match profile.function(*index) {
                Some(function) => Self::of_function(function, code),
                None => Self::new(function_name(*index, name.as_deref())),
            },
            Callee::Elsewhere { instance, index, name } => {
                Self::new(format!("{} of instance {instance}", function_name(*index, name.as_deref())))
            }
            Callee::Host { module, name } => Self::new(host_name(module, name)),
            Callee::Beyond => Self::new("<contexts without memory>".to_owned()),
        }
    }
}

/// The name of a function, or its index in brackets.
pub(super) fn function_name(index: u32, name: Option<&str>) -> String {
    name.map_or_else(|| format!("<function {index}>"), str::to_owned)
}

/// The name of a function of the host, which may have been given none.
fn host_name(module: &str, name: &str) -> String {
    if module.is_empty() && name.is_empty() {
        "<host function>".to_owned()
    } else {
        format!("{module}::{name}")
    }
}
