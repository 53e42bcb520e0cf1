//! Bytes as text: base 64 as of RFC 4648, with padding.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of some bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            text.push(match digit <= three.len() {
                true => char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]),
                false => '=',
            });
        }
    }
    text
}

/// The bytes of a text, which has no other form than that of [`base64`].
pub(crate) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.as_bytes().chunks(4) {
        let digits = four.iter().take_while(|&&c| c != b'=').count();
        let mut bits = 0;
        for &c in &four[..digits] {
            bits = bits << 6 | DIGITS.iter().position(|&d| d == c)? as u32;
        }
        bits <<= 6 * (4 - digits);
        if digits < 2 {
            return None;
        }
        bytes.extend(&bits.to_be_bytes()[1..digits]);
    }
    (base64(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let known =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in known {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        for n in 0..=255u8 {
            let bytes: Vec<u8> = (0..n).map(|i| i.wrapping_mul(n)).collect();
            assert_eq!(bytes_of(&base64(&bytes)), Some(bytes));
        }
    }

    #[test]
    fn other_texts() {
        for text in ["Z", "Zg", "Zg=", "Zh==", "=", "Zg==Zg==", "Zm9v\n", "Z m9", "Zm9vZ===", "Zé="]
        {
            assert_eq!(bytes_of(text), None, "{text}");
        }
    }
}
