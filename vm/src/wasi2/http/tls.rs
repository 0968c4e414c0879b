//! Encrypted connections: TLS 1.2 and 1.3.
//!
//! The client's state is in memory; bytes go to and come from the socket without holding its lock, so that one thread can
//! read while another writes. Who may be trusted is what the system says: its certificates, or those in the file
//! that the variable `SSL_CERT_FILE` names.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::connection::{left, read_until};
use super::values::{ErrorCode, TlsAlertReceivedPayload};

/// The maximum number of encrypted bytes that are read at once.
const AT_ONCE: usize = 16 << 10;

/// The encryption of a connection.
pub struct Tls {
    client: Mutex<ClientConnection>,
    /// Encrypted bytes that have arrived and that the client has not taken.
    arrived: Mutex<VecDeque<u8>>,
    /// Held while encrypted bytes are sent: they have an order.
    sending: Mutex<()>,
}

impl Tls {
    /// Agrees with a server on encryption; the server must prove that it is `host`.
    ///
    /// # Errors
    /// Returns an error code if the server fails to, or not until the deadline.
    pub fn begin(host: &str, socket: &TcpStream, deadline: Instant) -> Result<Tls, ErrorCode> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| ErrorCode::HttpRequestUriInvalid)?;
        let mut client = ClientConnection::new(config()?, name).map_err(|error| of_tls(&error))?;
        agree(&mut client, socket, deadline).map_err(|error| of_handshake(&error))?;
        Ok(Tls { client: Mutex::new(client), arrived: Mutex::default(), sending: Mutex::default() })
    }

    /// Reads decrypted bytes; 0 after the server has said that there are no more.
    ///
    /// # Errors
    /// Returns an error if nothing comes until the deadline, however many encrypted bytes do, or the connection ends
    /// without a word.
    pub fn read(&self, socket: &TcpStream, to: &mut [u8], deadline: Instant) -> io::Result<usize> {
        let mut arrived = locked(&self.arrived);
        loop {
            {
                let mut client = locked(&self.client);
                match client.reader().read(to) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    read => return read,
                }
                if !arrived.is_empty() {
                    client.read_tls(&mut *arrived)?;
                    client.process_new_packets().map_err(io::Error::other)?;
                }
            }
            // A server may ask for new keys; if the other thread is sending, it sends the answer.
            if let Ok(sending) = self.sending.try_lock() {
                self.send(socket, &sending)?;
            }
            if arrived.is_empty() {
                self.receive(socket, &mut arrived, deadline)?;
            }
        }
    }

    /// Waits for more encrypted bytes.
    fn receive(&self, socket: &TcpStream, arrived: &mut VecDeque<u8>, deadline: Instant) -> io::Result<()> {
        let mut bytes = [0; AT_ONCE];
        match read_until(socket, &mut bytes, deadline)? {
            // The client learns that the connection has ended.
            0 => drop(locked(&self.client).read_tls(&mut io::empty())?),
            len => arrived.extend(&bytes[..len]),
        }
        Ok(())
    }

    /// Encrypts and sends some bytes; returns how many.
    ///
    /// # Errors
    /// Returns an error if the server does not take them in time, or is gone.
    pub fn write(&self, socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        let sending = locked(&self.sending);
        let len = locked(&self.client).writer().write(bytes)?;
        self.send(socket, &sending)?;
        Ok(len)
    }

    /// Sends what is encrypted.
    fn send(&self, mut socket: &TcpStream, _sending: &MutexGuard<'_, ()>) -> io::Result<()> {
        loop {
            let mut encrypted = Vec::new();
            {
                let mut client = locked(&self.client);
                while client.wants_write() {
                    client.write_tls(&mut encrypted)?;
                }
            }
            if encrypted.is_empty() {
                return Ok(());
            }
            socket.write_all(&encrypted)?;
        }
    }
}

/// Exchanges messages with the server until both have agreed.
fn agree(client: &mut ClientConnection, mut socket: &TcpStream, deadline: Instant) -> io::Result<()> {
    while client.is_handshaking() || client.wants_write() {
        let left = left(deadline).ok_or(ErrorKind::TimedOut)?;
        if client.wants_write() {
            socket.set_write_timeout(Some(left))?;
            client.write_tls(&mut socket)?;
            continue;
        }
        socket.set_read_timeout(Some(left))?;
        if client.read_tls(&mut socket)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = client.process_new_packets() {
            // The server learns why, if it is still there.
            let _ = client.write_tls(&mut socket);
            return Err(io::Error::other(error));
        }
    }
    Ok(())
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what all connections share: the certificates that are trusted are read once.
fn config() -> Result<Arc<ClientConfig>, ErrorCode> {
    static CONFIG: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    let new = || {
        let mut trusted = RootCertStore::empty();
        // Files that cannot be read, and certificates that are none, are left out: then nobody proves anything by them.
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = builder.ok()?.with_root_certificates(trusted).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Some(Arc::new(config))
    };
    CONFIG.get_or_init(new).clone().ok_or(ErrorCode::ConfigurationError)
}

fn of_handshake(error: &io::Error) -> ErrorCode {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match (inner, error.kind()) {
        (Some(error), _) => of_tls(error),
        (None, ErrorKind::WouldBlock | ErrorKind::TimedOut) => ErrorCode::ConnectionTimeout,
        (None, _) => ErrorCode::ConnectionTerminated,
    }
}

fn of_tls(error: &rustls::Error) -> ErrorCode {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            ErrorCode::TlsCertificateError
        }
        rustls::Error::AlertReceived(alert) => ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload {
            alert_id: Some(u8::from(*alert)),
            alert_message: alert.as_str().map(str::to_owned),
        }),
        _ => ErrorCode::TlsProtocolError,
    }
}
