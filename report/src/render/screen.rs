//! Properties of the output device: its width, and whether it shows colours.

/// An output device for text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// The number of columns.
    pub width: usize,
    /// Whether longer lines are cut.
    pub cut: bool,
    /// Whether there is room for additional columns of tables.
    pub is_wide: bool,
    /// Whether colours are shown.
    pub color: bool,
}
