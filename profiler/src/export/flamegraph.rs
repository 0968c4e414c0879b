//! A flame graph: an SVG image that any browser shows, without scripts or anything to fetch.
//!
//! Stacks grow upwards; a frame is as wide as its weight with callees; the tooltip tells the figures. Frames narrower than
//! a tenth of a pixel are left out, so the image stays small; their weight remains visible in their callers.

use std::io::{self, Write};

use super::spans::{Span, spans};
use super::xml::Escaped;
use super::{Metric, Samples, TOOL};

const WIDTH: f64 = 1200.0;
const ROW: u64 = 16;
const MARGIN: u64 = 24;
/// Narrower frames are not drawn.
const NARROWEST: f64 = 0.1;
/// Width of a letter of the text in frames.
const LETTER: f64 = 6.6;

/// Writes one metric.
///
/// # Errors
/// If `out` refuses.
pub fn write_flamegraph(samples: &Samples, metric: &Metric, mut out: impl Write) -> io::Result<()> {
    let image = Image::new(samples, metric);
    let (height, middle) = (image.height, WIDTH / 2.0);
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="monospace" font-size="11">"#
    )?;
    writeln!(out, "<desc>{TOOL}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fffdf7\"/>")?;
    let (name, total) = (Escaped(&metric.name), image.total);
    writeln!(out, r#"<text x="{middle}" y="16" text-anchor="middle">{name}: {total} in all</text>"#)?;
    for span in &image.spans {
        image.write_frame(span, &mut out)?;
    }
    writeln!(out, "</svg>")
}

struct Image<'a> {
    samples: &'a Samples,
    spans: Vec<Span>,
    total: u64,
    scale: f64,
    height: u64,
}

impl<'a> Image<'a> {
    fn new(samples: &'a Samples, metric: &Metric) -> Self {
        let total = metric.total();
        let scale = WIDTH / total.max(1) as f64;
        let mut spans = spans(metric);
        spans.retain(|span| span.width as f64 * scale >= NARROWEST);
        let depth = spans.iter().map(|span| u64::from(span.depth) + 1).max().unwrap_or(0);
        Self { samples, spans, total, scale, height: 2 * MARGIN + ROW * depth }
    }

    fn write_frame(&self, span: &Span, mut out: impl Write) -> io::Result<()> {
        let name = &self.samples.frames[span.frame as usize].name;
        let (x, width) = (span.start as f64 * self.scale, span.width as f64 * self.scale);
        let y = self.height - MARGIN - ROW * (u64::from(span.depth) + 1);
        let share = 100.0 * span.width as f64 / self.total.max(1) as f64;
        writeln!(
            out,
            r#"<g><title>{}: {} ({share:.2}%)</title><rect x="{x:.2}" y="{y}" width="{width:.2}" height="{}" rx="1" fill="{}"/>"#,
            Escaped(name),
            span.width,
            ROW - 1,
            color(name),
        )?;
        let letters = ((width - 4.0) / LETTER).max(0.0) as usize;
        if letters >= 3 {
            let shown: String = name.chars().take(letters).collect();
            writeln!(out, r#"<text x="{:.2}" y="{}">{}</text>"#, x + 2.0, y + 11, Escaped(&shown))?;
        }
        writeln!(out, "</g>")
    }
}

/// A warm colour that depends on the name alone, so that two images of one program can be compared.
fn color(name: &str) -> String {
    let sum = name.bytes().fold(5381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
    let (green, blue) = (90 + sum % 130, 40 + sum / 131 % 40);
    format!("rgb(235,{green},{blue})")
}
