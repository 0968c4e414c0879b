//! A protocol buffers message, encoded field by field.
//!
//! Source: the encoding of proto3: a key (field number and wire type), then the value. Fields that are 0 or empty are
//! omitted, as the encoding allows.

const VARINT: u64 = 0;
const FIXED: u64 = 1;
const BYTES: u64 = 2;

/// A message under construction.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Creates a message without fields.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a number, or a boolean as 0 or 1; negative numbers are in two's complement.
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        if value != 0 {
            self.key(field, VARINT).varint(value);
        }
        self
    }

    /// Adds an element of repeated messages, or a message.
    pub(super) fn message(&mut self, field: u64, value: &Message) -> &mut Self {
        self.key(field, BYTES).bytes(&value.0)
    }

    /// Adds an element of repeated strings, even if it is empty.
    pub(super) fn string(&mut self, field: u64, value: &str) -> &mut Self {
        self.key(field, BYTES).bytes(value.as_bytes())
    }

    /// Adds bytes.
    pub(super) fn data(&mut self, field: u64, value: &[u8]) -> &mut Self {
        self.key(field, BYTES).bytes(value)
    }

    /// Adds a 64-bit number of fixed length.
    pub(super) fn fixed(&mut self, field: u64, value: u64) -> &mut Self {
        if value != 0 {
            self.key(field, FIXED).0.extend_from_slice(&value.to_le_bytes());
        }
        self
    }

    /// Adds repeated numbers, packed.
    pub(super) fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut packed = Message::new();
        for value in values {
            packed.varint(value);
        }
        if packed.0.is_empty() { self } else { self.message(field, &packed) }
    }

    /// Returns the encoded message.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn key(&mut self, field: u64, wire: u64) -> &mut Self {
        self.varint(field << 3 | wire)
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }
}
