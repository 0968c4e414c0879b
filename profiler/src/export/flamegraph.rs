//! A flame graph: a self-contained SVG image that any browser shows.
//!
//! Stacks grow upwards; a frame is as wide as its inclusive weight; its tooltip shows the figures. Opened by itself the
//! image fits its window, a click zooms, `/` searches (`flamegraph.js`); inside a page it is a still image. Frames
//! narrower than a tenth of a pixel are omitted to keep the image small; their weight remains visible in their callers.
//! In a comparison with an earlier profile, frames have the widths of the later one, and are red for an increase and
//! blue for a decrease, more strongly for a larger change; frames that disappeared are not drawn.

use std::io::{self, Write};

use super::spans::{Span, spans};
use super::xml::Escaped;
use super::{Differential, Metric, Samples, TOOL, Unit};

const WIDTH: f64 = 1200.0;
const ROW: u64 = 16;
const MARGIN: u64 = 24;
/// Minimum width of a drawn frame.
const NARROWEST: f64 = 0.1;
/// Width of a letter in frames.
const LETTER: f64 = 6.6;

/// The script that zooms and searches.
const SCRIPT: &str = include_str!("flamegraph.js");

/// Writes one metric. `about`, the program and the time of its run, precedes the metric in the title.
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_flamegraph(samples: &Samples, metric: &Metric, about: &str, out: impl Write) -> io::Result<()> {
    let image = Image::new(samples, metric, None);
    let title = format!("{about} · {}: {} in all", metric.name, amount(metric.unit, image.total));
    image.write(&title, out)
}

/// Writes one metric in comparison with an earlier profile; `about` is as for [`write_flamegraph`].
///
/// # Errors
/// Fails if writing to `out` fails.
pub fn write_differential_flamegraph(changes: &Differential, about: &str, out: impl Write) -> io::Result<()> {
    let Some(metric) = changes.samples.metrics.first() else { return Ok(()) };
    let image = Image::new(&changes.samples, metric, Some(&changes.before));
    let before = changes.total_before();
    let [before, after] = [before as u64, image.total].map(|total| amount(metric.unit, total));
    let title = format!("{about} · {}: {before} in all before, {after} after", metric.name);
    image.write(&title, out)
}

struct Image<'a> {
    samples: &'a Samples,
    /// Earlier weights by node of the metric, if there is an earlier profile.
    before: Option<&'a [f64]>,
    unit: Unit,
    spans: Vec<Span>,
    total: u64,
    scale: f64,
    height: u64,
}

impl<'a> Image<'a> {
    fn new(samples: &'a Samples, metric: &Metric, before: Option<&'a [f64]>) -> Self {
        let total = metric.total();
        let scale = WIDTH / total.max(1) as f64;
        let mut spans = spans(metric);
        spans.retain(|span| span.width as f64 * scale >= NARROWEST);
        let depth = spans.iter().map(|span| u64::from(span.depth) + 1).max().unwrap_or(0);
        Self { samples, before, unit: metric.unit, spans, total, scale, height: 2 * MARGIN + ROW * depth }
    }

    fn write(&self, title: &str, mut out: impl Write) -> io::Result<()> {
        let (height, middle) = (self.height, WIDTH / 2.0);
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="100%" data-height="{height}" font-family="monospace" font-size="11">"#
        )?;
        writeln!(out, "<desc>{TOOL}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fffdf7\"/>")?;
        writeln!(
            out,
            r#"<text id="title" x="{middle}" y="16" text-anchor="middle">{}</text>"#,
            Escaped(title)
        )?;
        writeln!(out, r##"<text id="info" x="4" y="{}" fill="#666"></text>"##, height - 8)?;
        self.spans.iter().try_for_each(|span| self.write_frame(span, &mut out))?;
        writeln!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>")
    }

    fn write_frame(&self, span: &Span, mut out: impl Write) -> io::Result<()> {
        let frame = &self.samples.frames[span.frame as usize];
        let name = &frame.name;
        let (x, width) = (span.start as f64 * self.scale, span.width as f64 * self.scale);
        let y = self.height - MARGIN - ROW * (u64::from(span.depth) + 1);
        let share = 100.0 * span.width as f64 / self.total.max(1) as f64;
        let before = self.before.map(|before| before[span.node as usize]);
        let since = before
            .map_or_else(String::new, |before| format!(", before {}", amount(self.unit, before as u64)));
        let total = self.total.max(1) as f64;
        write!(
            out,
            r#"<g data-x="{:.6}" data-w="{:.6}" data-name="{}">"#,
            span.start as f64 / total,
            span.width as f64 / total,
            Escaped(name),
        )?;
        writeln!(
            out,
            r#"<title>{}: {} ({share:.2}%){since}</title><rect x="{x:.2}" y="{y}" width="{width:.2}" height="{}" rx="1" fill="{}"/>"#,
            Escaped(frame.full_name()),
            amount(self.unit, span.width),
            ROW - 1,
            before.map_or_else(|| color(name), |before| color_of_change(before, span.width as f64)),
        )?;
        let letters = ((width - 4.0) / LETTER).max(0.0) as usize;
        if letters >= 3 {
            let shown = fitting(name, letters);
            writeln!(out, r#"<text x="{:.2}" y="{}">{}</text>"#, x + 2.0, y + 11, Escaped(&shown))?;
        }
        writeln!(out, "</g>")
    }
}

/// Formats an amount of a metric with its unit.
fn amount(unit: Unit, amount: u64) -> String {
    match unit {
        Unit::Count | Unit::Bytes => amount.to_string(),
        Unit::Nanoseconds => format!("{:.1} ms", amount as f64 / 1e6),
    }
}

/// Truncates a name to so many letters; a truncated name ends in an ellipsis.
fn fitting(name: &str, letters: usize) -> String {
    match name.chars().count() <= letters {
        true => name.to_owned(),
        false => name.chars().take(letters - 1).chain(['…']).collect(),
    }
}

/// Returns a warm colour that depends only on the name, so that two images of one program can be compared.
fn color(name: &str) -> String {
    let sum = name.bytes().fold(5381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
    let (green, blue) = (90 + sum % 130, 40 + sum / 131 % 40);
    format!("rgb(235,{green},{blue})")
}

/// Returns red for an increase, blue for a decrease, stronger for a larger change.
fn color_of_change(before: f64, after: f64) -> String {
    let strength = ((after - before).abs() / before.max(after).max(1.0)).sqrt();
    let faded = (240.0 - 150.0 * strength) as u8;
    match after >= before {
        true => format!("rgb(240,{faded},{faded})"),
        false => format!("rgb({faded},{faded},240)"),
    }
}
