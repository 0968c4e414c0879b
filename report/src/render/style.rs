//! How text is laid out: its width, and whether it has colours.

/// How text is laid out. The default is for a file or a pipe: 120 columns, without colours, with short names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Style {
    /// The number of columns.
    pub width: usize,
    /// Whether longer lines are cut.
    pub cut: bool,
    /// Whether there is room for additional columns of tables.
    pub is_wide: bool,
    /// Whether there are colours, by the escape sequences of terminals.
    pub color: bool,
    /// Whether names of functions are shown in full, with return types, default arguments of templates and all that is
    /// left out of short ones.
    pub full_names: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 120, cut: true, is_wide: false, color: false, full_names: false }
    }
}
