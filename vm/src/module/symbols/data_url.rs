//! `data:` URLs, which contain their own content.
//!
//! Source: RFC 2397. Base 64 is that of RFC 4648, with or without padding. An invalid URL has no content.

/// Returns the content of a `data:` URL; `None` for other URLs.
pub fn content(url: &str) -> Option<Vec<u8>> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    match head.ends_with(";base64") {
        true => base64(data),
        false => unescaped(data),
    }
}

/// Decodes base 64, six bits per letter.
fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | sextet(letter)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// Returns the number that a base 64 letter stands for; source maps use it too.
pub fn sextet(letter: u8) -> Option<u32> {
    let number = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(number.into())
}

/// Decodes bytes that stand for themselves or are escaped as `%` and two hexadecimal digits.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        for (url, expected) in [
            ("data:,", Some("")),
            ("data:application/json;base64,eyJ2Ijoz", Some("{\"v\":3")),
            ("data:;base64,eyJ2IjozfQ==", Some("{\"v\":3}")),
            ("data:;base64,eyJ2IjozfQ", Some("{\"v\":3}")),
            ("data:application/json;charset=utf-8,%7B%22v%22:3}", Some("{\"v\":3}")),
            ("data:;base64,ey*2", None),
            ("data:,%7", None),
            ("data:,%zz", None),
            ("data:base64", None),
            ("https://example.org/a.map", None),
        ] {
            assert_eq!(content(url).as_deref(), expected.map(str::as_bytes), "{url}");
        }
    }
}
