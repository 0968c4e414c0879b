//! Whole requests and responses.

/// The fields of a message: names in lower case, and values, in the order of sending.
pub type Headers = Vec<(String, Vec<u8>)>;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The scheme, such as `http`, if known.
    pub scheme: Option<String>,
    /// The host, with the port if one was named.
    pub authority: Option<String>,
    /// The path, with `?` and the query if there is one.
    pub path_with_query: Option<String>,
    /// Its fields.
    pub headers: Headers,
    /// Its body.
    pub body: Vec<u8>,
    /// Trailers: the fields behind the body.
    pub trailers: Headers,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code, such as 200.
    pub status: u16,
    /// Its fields.
    pub headers: Headers,
    /// Its body.
    pub body: Vec<u8>,
    /// Trailers: the fields behind the body.
    pub trailers: Headers,
}

impl Response {
    /// Creates a response with a line of text.
    pub fn text(status: u16, text: &str) -> Response {
        let headers = vec![("content-type".to_owned(), b"text/plain; charset=utf-8".to_vec())];
        Response { status, headers, body: format!("{text}\n").into_bytes(), trailers: Headers::new() }
    }
}
