//! Makes a value that may be sent to another thread, but not shared, a part of a type that may be shared.

/// A value that is accessible only through an exclusive reference to this wrapper.
#[derive(Default)]
pub struct Exclusive<T>(T);

// SAFETY: a shared reference to the wrapper gives no access to the value, so threads that share it share nothing.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// Returns the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
