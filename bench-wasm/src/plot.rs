//! SVG plots for records: bars, and named points.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// Space for titles and figures on each side.
const MARGIN: f64 = 60.0;
/// Number of figures on an axis.
const TICKS: u32 = 5;

/// A range of figures along an axis, and the coordinates that it occupies.
struct Axis {
    figures: (f64, f64),
    places: (f64, f64),
}

impl Axis {
    /// Creates an axis for all figures, with some space at both ends.
    fn new(figures: impl Iterator<Item = f64>, places: (f64, f64)) -> Axis {
        let (least, most) =
            figures.fold((f64::MAX, f64::MIN), |(a, b), figure| (a.min(figure), b.max(figure)));
        let more = ((most - least) * 0.1).max(0.005);
        Axis { figures: (least - more, most + more), places }
    }

    fn place(&self, figure: f64) -> f64 {
        let share = (figure - self.figures.0) / (self.figures.1 - self.figures.0);
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (first, last) = self.figures;
        (0..=TICKS).map(move |tick| first + (last - first) * f64::from(tick) / f64::from(TICKS))
    }
}

/// Returns a plot of named bars that start at 1 and go up or down, as for ratios of times.
pub fn bars(title: &str, bars: &[(&str, f64)]) -> String {
    let figures = bars.iter().map(|bar| bar.1).chain([1.0]);
    let y = Axis::new(figures, (HEIGHT - MARGIN, MARGIN));
    let step = (WIDTH - 2.0 * MARGIN) / bars.len().max(1) as f64;
    let mut svg = head(title);
    y_axis(&mut svg, &y);
    for (index, (name, figure)) in bars.iter().enumerate() {
        let (left, top, base) = (MARGIN + step * index as f64, y.place(*figure), y.place(1.0));
        let (upper, height, middle) = (top.min(base), (top - base).abs(), left + step / 2.0);
        let _ = writeln!(
            svg,
            r##"<rect x="{left:.1}" y="{upper:.1}" width="{:.1}" height="{height:.1}" fill="#47a"/>"##,
            step * 0.8
        );
        text(&mut svg, (middle, HEIGHT - MARGIN / 2.0), "middle", name);
        text(&mut svg, (middle, upper - 4.0), "middle", &format!("{figure:.3}"));
    }
    svg + "</svg>\n"
}

/// Returns a plot of named points.
pub fn points(title: &str, (x_title, y_title): (&str, &str), points: &[(&str, f64, f64)]) -> String {
    let x = Axis::new(points.iter().map(|point| point.1), (MARGIN, WIDTH - MARGIN));
    let y = Axis::new(points.iter().map(|point| point.2), (HEIGHT - MARGIN, MARGIN));
    let mut svg = head(title);
    y_axis(&mut svg, &y);
    for figure in x.ticks() {
        text(&mut svg, (x.place(figure), HEIGHT - MARGIN / 2.0), "middle", &format!("{figure:.3}"));
    }
    text(&mut svg, (WIDTH / 2.0, HEIGHT - 8.0), "middle", x_title);
    text(&mut svg, (8.0, MARGIN - 16.0), "start", y_title);
    for (name, at, height) in points {
        let (left, top) = (x.place(*at), y.place(*height));
        let _ = writeln!(svg, r##"<circle cx="{left:.1}" cy="{top:.1}" r="4" fill="#47a"/>"##);
        text(&mut svg, (left + 6.0, top - 6.0), "start", name);
    }
    svg + "</svg>\n"
}

fn head(title: &str) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    text(&mut svg, (WIDTH / 2.0, 20.0), "middle", title);
    svg
}

fn y_axis(svg: &mut String, y: &Axis) {
    for figure in y.ticks() {
        let (at, right) = (y.place(figure), WIDTH - MARGIN);
        let _ =
            writeln!(svg, r##"<line x1="{MARGIN}" x2="{right}" y1="{at:.1}" y2="{at:.1}" stroke="#ddd"/>"##);
        text(svg, (MARGIN - 6.0, at + 4.0), "end", &format!("{figure:.3}"));
    }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_figures_stand_higher_and_names_are_text() {
        let svg = points("t", ("x", "y"), &[("a<b", 1.0, 0.5), ("c", 1.1, 0.9)]);
        let tops: Vec<f64> = svg
            .split("cy=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().and_then(|figure| figure.parse().ok()).expect("a number"))
            .collect();
        assert!(tops[0] > tops[1] && svg.contains("a&lt;b"), "{svg}");
        let svg = bars("t", &[("off", 1.0), ("on", 1.2), ("less", 0.9)]);
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(svg.contains(">1.200<") && svg.contains(">less<"), "{svg}");
    }
}
