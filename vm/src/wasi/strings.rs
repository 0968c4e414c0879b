//! Lists of strings that a program reads as a whole: its arguments and its environment.

use super::fail::Outcome;
use super::guest::Guest;
use crate::{Error, ErrorKind, Result};

/// A list of strings, each terminated by a zero byte.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    /// The offset of each string.
    starts: Vec<u32>,
}

impl Strings {
    /// Adds a string; `what` describes it in the error.
    ///
    /// # Errors
    /// Returns an error if it contains a zero byte, or all strings together are too long for a program's memory.
    pub fn push(&mut self, what: &str, string: &str) -> Result<()> {
        let refuse = |why: &str| Error::new(ErrorKind::System, format_args!("{what} {string:?}: {why}"));
        if string.contains('\0') {
            return Err(refuse("it contains a zero byte"));
        }
        let start = self.bytes.len();
        // The program's list of addresses takes four bytes per string.
        let needed = start as u64 + string.len() as u64 + 1 + 4 * (self.starts.len() as u64 + 1);
        let (Ok(start), true) = (u32::try_from(start), needed <= u32::MAX.into()) else {
            return Err(refuse("all of them are too long for 32 bits"));
        };
        self.starts.push(start);
        self.bytes.extend_from_slice(string.as_bytes());
        self.bytes.push(0);
        Ok(())
    }

    /// Returns all strings, without the zero bytes.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let from = |&start: &u32| self.bytes.get(start as usize..).unwrap_or_default();
        self.starts.iter().map(from).map(|rest| rest.split(|&byte| byte == 0).next().unwrap_or_default())
    }

    /// Writes the number of strings, and their total size in bytes, to the program's memory.
    ///
    /// # Errors
    /// Returns an error if a pointer of the program is invalid.
    pub fn write_sizes(&self, guest: &mut Guest<'_>, count: u32, size: u32) -> Outcome {
        guest.write_u32(count, self.starts.len() as u32)?;
        guest.write_u32(size, self.bytes.len() as u32)
    }

    /// Writes all strings, and the address of each, to the program's memory.
    ///
    /// # Errors
    /// Returns an error if a pointer of the program is invalid.
    pub fn write(&self, guest: &mut Guest<'_>, addresses: u32, bytes: u32) -> Outcome {
        let count = self.starts.len() as u32;
        guest.array(addresses, count, 4, 4)?;
        guest.put(bytes, &self.bytes)?;
        for (index, &start) in self.starts.iter().enumerate() {
            // Neither sum wraps around: both lists are in memory.
            guest.write_u32(addresses + 4 * index as u32, bytes + start)?;
        }
        Ok(())
    }
}
