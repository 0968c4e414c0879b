//! Encryption of a build without the feature `https`: there is none.

use std::io;
use std::net::TcpStream;
use std::time::Instant;

use super::values::ErrorCode;

/// The encryption of a connection.
pub enum Tls {}

impl Tls {
    /// Refuses to agree on encryption.
    ///
    /// # Errors
    /// Returns an error code always.
    pub fn begin(_: &str, _: &TcpStream, _: Instant) -> Result<Tls, ErrorCode> {
        Err(ErrorCode::TlsProtocolError)
    }

    pub fn read(&self, _: &TcpStream, _: &mut [u8], _: Instant) -> io::Result<usize> {
        match *self {}
    }

    pub fn write(&self, _: &TcpStream, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }
}
