//! `fields` of `wasi:http/types`.
//!
//! Whatever a program keeps of heads and trailers is charged to its budget: programs choose how many messages they keep.

use super::message::Headers;
use super::values::HeaderError;
use super::wire::{is_token, is_value};
use crate::component::Resource;
use crate::wasi::budget::{Budget, Charge};
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi2::host::{Host, table};
use crate::wasi2::interface::{Context, Interface, drop_it};
use crate::{Error, ErrorKind, Result};

/// Maximum bytes of the names and values of one `fields`.
const MOST_BYTES: usize = 128 << 10;

/// Bytes of a field besides its name and its value, with what an allocator needs for both.
const PER_FIELD: usize = 96;

/// Fields about the connection, which programs may not set.
const FORBIDDEN: [&str; 9] = [
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// `fields`
pub struct Fields {
    pub list: Headers,
    /// The part of the budget of heads.
    pub charge: Charge,
    is_fixed: bool,
}

/// Fields that follow a body.
#[derive(Default)]
pub struct Trailers {
    pub list: Headers,
    /// The part of the budget of heads; none for those that the embedder sends, of which there is a body for each.
    charge: Option<Charge>,
}

type Handle = Resource<Fields>;
/// The result of changes to fields; the outer error ends the program.
type Changed<T = ()> = Outcome<std::result::Result<T, HeaderError>>;

impl Fields {
    /// # Errors
    /// Returns an error if the budget of heads is used up.
    fn new(budget: &Budget, list: Headers) -> Outcome<Fields> {
        let charge = charge_for(budget, cost(&list))?;
        Ok(Fields { list, charge, is_fixed: false })
    }

    /// Creates the fields of a message, which cannot be changed.
    ///
    /// # Errors
    /// Returns an error if the budget of heads is used up.
    pub fn fixed(budget: &Budget, list: Headers) -> Outcome<Fields> {
        Ok(Fields { is_fixed: true, ..Fields::new(budget, list)? })
    }

    fn check_size(&self) -> Outcome {
        let bytes: usize = self.list.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
        if bytes <= MOST_BYTES {
            return Ok(());
        }
        let message = format!("fields of HTTP take more than {MOST_BYTES} bytes, the most that is allowed");
        Err(Fail::End(Error::new(ErrorKind::Limit, message)))
    }
}

impl Trailers {
    /// Creates trailers that have arrived; `None` if the budget of heads is used up.
    pub fn arrived(budget: &Budget, list: Headers) -> Option<Trailers> {
        let charge = Some(budget.take(cost(&list))?);
        Some(Trailers { list, charge })
    }

    /// Creates trailers without a charge.
    pub fn uncharged(list: Headers) -> Trailers {
        Trailers { list, charge: None }
    }

    /// Returns the fields as a program reads them.
    ///
    /// # Errors
    /// Returns an error if the budget of heads is used up.
    pub fn into_fields(self, budget: &Budget) -> Outcome<Fields> {
        match self.charge {
            Some(charge) => Ok(Fields { list: self.list, charge, is_fixed: true }),
            None => Fields::fixed(budget, self.list),
        }
    }
}

impl From<Fields> for Trailers {
    fn from(fields: Fields) -> Trailers {
        Trailers { list: fields.list, charge: Some(fields.charge) }
    }
}

/// Returns the bytes that fields take.
pub fn cost(list: &Headers) -> usize {
    list.iter().map(|(name, value)| name.len() + value.len() + PER_FIELD).sum()
}

/// Charges bytes of a head.
///
/// # Errors
/// Returns an error if the budget of heads is used up.
pub fn charge_for(budget: &Budget, bytes: usize) -> Outcome<Charge> {
    budget.take(bytes).ok_or_else(|| too_much(budget))
}

/// Returns the error of a program that keeps too much.
pub fn too_much(budget: &Budget) -> Fail {
    let most = budget.most();
    let message = format!("the heads of HTTP messages take more than {most} bytes, the most that is allowed");
    Fail::End(Error::new(ErrorKind::Limit, message))
}

pub fn define<T: 'static, C: Context<T>>(types: &mut Interface<'_, T, C>) -> Result<()> {
    types.resource::<Fields>("fields", drop_it)?;
    types.func("[constructor]fields", |host, (): ()| {
        let fields = Fields::new(&host.system.heads, Headers::new())?;
        Ok(host.table().push(fields)?)
    })?;
    types.func("[static]fields.from-list", from_list)?;
    types.func("[method]fields.get", |host, (fields, name): (Handle, String)| {
        let name = name.to_ascii_lowercase();
        let all = host.table().get(&fields)?.list.iter();
        Ok(all.filter(|(found, _)| *found == name).map(|(_, value)| value.clone()).collect::<Vec<_>>())
    })?;
    types.func("[method]fields.has", |host, (fields, name): (Handle, String)| {
        let name = name.to_ascii_lowercase();
        Ok(host.table().get(&fields)?.list.iter().any(|(found, _)| *found == name))
    })?;
    types.func("[method]fields.set", |host, (fields, name, values): (Handle, String, Vec<Vec<u8>>)| {
        change(host, &fields, name, values, true)
    })?;
    types.func("[method]fields.delete", |host, (fields, name): (Handle, String)| {
        change(host, &fields, name, Vec::new(), true)
    })?;
    types.func("[method]fields.append", |host, (fields, name, value): (Handle, String, Vec<u8>)| {
        change(host, &fields, name, vec![value], false)
    })?;
    types.func("[method]fields.entries", |host, (fields,): (Handle,)| {
        Ok(host.table().get(&fields)?.list.clone())
    })?;
    types.func("[method]fields.clone", |host, (fields,): (Handle,)| {
        let list = host.table().get(&fields)?.list.clone();
        let fields = Fields::new(&host.system.heads, list)?;
        Ok(host.table().push(fields)?)
    })
}

/// Returns a field's name in lower case, if a program may use it.
fn checked(name: String, values: &[Vec<u8>]) -> std::result::Result<String, HeaderError> {
    let name = name.to_ascii_lowercase();
    if !is_token(name.as_bytes()) || !values.iter().all(|value| is_value(value)) {
        return Err(HeaderError::InvalidSyntax);
    }
    if FORBIDDEN.contains(&name.as_str()) { Err(HeaderError::Forbidden) } else { Ok(name) }
}

fn from_list(host: &mut Host<'_>, (list,): (Vec<(String, Vec<u8>)>,)) -> Changed<Handle> {
    let mut all = Headers::new();
    for (name, value) in list {
        match checked(name, std::slice::from_ref(&value)) {
            Ok(name) => all.push((name, value)),
            Err(error) => return Ok(Err(error)),
        }
    }
    let fields = Fields::new(&host.system.heads, all)?;
    fields.check_size()?;
    Ok(Ok(host.table().push(fields)?))
}

/// Adds values of a field, and removes the previous values if they are replaced.
fn change(
    host: &mut Host<'_>,
    fields: &Handle,
    name: String,
    values: Vec<Vec<u8>>,
    replaces: bool,
) -> Changed {
    let Host { system, .. } = host;
    let budget = system.heads.clone();
    let fields = table(system).get_mut(fields)?;
    if fields.is_fixed {
        return Ok(Err(HeaderError::Immutable));
    }
    let name = match checked(name, &values) {
        Ok(name) => name,
        Err(error) => return Ok(Err(error)),
    };
    if replaces {
        fields.list.retain(|(found, _)| *found != name);
    }
    fields.list.extend(values.into_iter().map(|value| (name.clone(), value)));
    fields.check_size()?;
    if !fields.charge.set(cost(&fields.list)) {
        return Err(too_much(&budget));
    }
    Ok(Ok(()))
}

/// Creates a copy of a message's fields that the program can read.
pub fn shown<R: 'static>(host: &mut Host<'_>, of: &Resource<R>, list: Headers) -> Outcome<Handle> {
    let fields = Fields::fixed(&host.system.heads, list)?;
    Ok(host.table().push_child(fields, of)?)
}
