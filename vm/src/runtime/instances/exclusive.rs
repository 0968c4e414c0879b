//! What may be sent to another thread but not be shared by threads, as a part of what may.

/// A value that is only reached by an exclusive reference to this.
#[derive(Default)]
pub struct Exclusive<T>(T);

// SAFETY: a shared reference to this gives no access to the value at all, so that threads which share it share nothing.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// Takes the value in.
    pub const fn new(value: T) -> Exclusive<T> {
        Exclusive(value)
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
