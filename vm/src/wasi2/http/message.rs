//! Requests and responses, whole.

/// Fields of a message: names in small letters, and values, in the order in which they were sent.
pub type Headers = Vec<(String, Vec<u8>)>;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Such as `http`, if it is known.
    pub scheme: Option<String>,
    /// The host, with the port if one was named.
    pub authority: Option<String>,
    /// The path, with `?` and the query if there is one.
    pub path_with_query: Option<String>,
    /// Its fields.
    pub headers: Headers,
    /// Its body.
    pub body: Vec<u8>,
    /// Fields behind the body.
    pub trailers: Headers,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Such as 200.
    pub status: u16,
    /// Its fields.
    pub headers: Headers,
    /// Its body.
    pub body: Vec<u8>,
    /// Fields behind the body.
    pub trailers: Headers,
}

impl Response {
    /// One with a line of text.
    pub fn text(status: u16, text: &str) -> Response {
        let headers = vec![("content-type".to_owned(), b"text/plain; charset=utf-8".to_vec())];
        Response { status, headers, body: format!("{text}\n").into_bytes(), trailers: Headers::new() }
    }
}
