//! Values of `wasi:http/types`.

use rustix::io::Errno;

use crate::wasi2::http::wire::{WireError, is_token};

crate::component_types! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Method {
        Get,
        Head,
        Post,
        Put,
        Delete,
        Connect,
        Options,
        Trace,
        Patch,
        Other(String),
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Scheme {
        Http,
        Https,
        Other(String),
    }

    #[derive(Clone, Debug)]
    pub struct DnsErrorPayload {
        rcode: Option<String>,
        info_code: Option<u16>,
    }

    #[derive(Clone, Debug)]
    pub struct TlsAlertReceivedPayload {
        pub alert_id: Option<u8>,
        pub alert_message: Option<String>,
    }

    #[derive(Clone, Debug)]
    pub struct FieldSizePayload {
        field_name: Option<String>,
        field_size: Option<u32>,
    }

    /// `error-code`
    #[derive(Clone, Debug)]
    pub enum ErrorCode {
        DnsTimeout,
        DnsError(DnsErrorPayload),
        DestinationNotFound,
        DestinationUnavailable,
        DestinationIpProhibited,
        DestinationIpUnroutable,
        ConnectionRefused,
        ConnectionTerminated,
        ConnectionTimeout,
        ConnectionReadTimeout,
        ConnectionWriteTimeout,
        ConnectionLimitReached,
        TlsProtocolError,
        TlsCertificateError,
        TlsAlertReceived(TlsAlertReceivedPayload),
        HttpRequestDenied,
        HttpRequestLengthRequired,
        HttpRequestBodySize(Option<u64>),
        HttpRequestMethodInvalid,
        HttpRequestUriInvalid,
        HttpRequestUriTooLong,
        HttpRequestHeaderSectionSize(Option<u32>),
        HttpRequestHeaderSize(Option<FieldSizePayload>),
        HttpRequestTrailerSectionSize(Option<u32>),
        HttpRequestTrailerSize(FieldSizePayload),
        HttpResponseIncomplete,
        HttpResponseHeaderSectionSize(Option<u32>),
        HttpResponseHeaderSize(FieldSizePayload),
        HttpResponseBodySize(Option<u64>),
        HttpResponseTrailerSectionSize(Option<u32>),
        HttpResponseTrailerSize(FieldSizePayload),
        HttpResponseTransferCoding(Option<String>),
        HttpResponseContentCoding(Option<String>),
        HttpResponseTimeout,
        HttpUpgradeFailed,
        HttpProtocolError,
        LoopDetected,
        ConfigurationError,
        InternalError(Option<String>),
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HeaderError {
        InvalidSyntax,
        Forbidden,
        Immutable,
    }
}

impl Method {
    pub fn name(&self) -> &str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Connect => "CONNECT",
            Method::Options => "OPTIONS",
            Method::Trace => "TRACE",
            Method::Patch => "PATCH",
            Method::Other(name) => name,
        }
    }

    pub fn named(name: &str) -> Method {
        let known = [
            Method::Get,
            Method::Head,
            Method::Post,
            Method::Put,
            Method::Delete,
            Method::Connect,
            Method::Options,
            Method::Trace,
            Method::Patch,
        ];
        let found = known.into_iter().find(|method| method.name() == name);
        found.unwrap_or_else(|| Method::Other(name.to_owned()))
    }

    pub fn is_valid(&self) -> bool {
        is_token(self.name().as_bytes())
    }
}

impl Scheme {
    pub fn name(&self) -> &str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Other(name) => name,
        }
    }

    pub fn named(name: &str) -> Scheme {
        match name {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => Scheme::Other(other.to_owned()),
        }
    }
}

/// Converts the error of a failed response to the program's error code.
impl From<WireError> for ErrorCode {
    fn from(error: WireError) -> ErrorCode {
        match error {
            WireError::Head(limit) => ErrorCode::HttpResponseHeaderSectionSize(u32::try_from(limit).ok()),
            WireError::Body(limit) => ErrorCode::HttpResponseBodySize(Some(limit as u64)),
            WireError::Coding => ErrorCode::HttpResponseTransferCoding(None),
            WireError::Incomplete => ErrorCode::HttpResponseIncomplete,
            WireError::Timeout => ErrorCode::ConnectionReadTimeout,
            WireError::Io(_) => ErrorCode::ConnectionTerminated,
            WireError::Malformed(_) | WireError::Version => ErrorCode::HttpProtocolError,
        }
    }
}

impl ErrorCode {
    /// Returns the error code for a request that did not arrive.
    pub fn of_request(error: WireError) -> ErrorCode {
        match error {
            WireError::Body(limit) => ErrorCode::HttpRequestBodySize(Some(limit as u64)),
            WireError::Incomplete | WireError::Io(_) => ErrorCode::ConnectionTerminated,
            error => error.into(),
        }
    }

    /// Returns the system's error with which a stream of a body fails.
    pub fn errno(&self) -> Errno {
        match self {
            ErrorCode::HttpRequestBodySize(_) | ErrorCode::HttpResponseBodySize(_) => Errno::FBIG,
            ErrorCode::ConnectionReadTimeout => Errno::TIMEDOUT,
            ErrorCode::HttpResponseIncomplete => Errno::CONNABORTED,
            ErrorCode::ConnectionTerminated => Errno::CONNRESET,
            _ => Errno::PROTO,
        }
    }

    /// Returns the error code for the failure of a stream, if it is that of a body.
    pub fn of_errno(errno: Errno) -> Option<ErrorCode> {
        match errno {
            Errno::FBIG | Errno::NOSPC => Some(ErrorCode::HttpResponseBodySize(None)),
            Errno::TIMEDOUT => Some(ErrorCode::ConnectionReadTimeout),
            Errno::CONNABORTED => Some(ErrorCode::HttpResponseIncomplete),
            Errno::CONNRESET | Errno::PIPE => Some(ErrorCode::ConnectionTerminated),
            Errno::PROTO => Some(ErrorCode::HttpProtocolError),
            _ => None,
        }
    }
}
