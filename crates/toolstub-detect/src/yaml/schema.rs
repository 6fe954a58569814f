//! The core schema: what a plain scalar means.

use super::ValueKind;

/// The kind of a plain scalar without a tag.
pub(super) fn kind_of_plain(scalar: &str) -> ValueKind {
    match scalar {
        "" | "~" | "null" | "Null" | "NULL" => ValueKind::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => ValueKind::Boolean,
        _ if is_number(scalar) => ValueKind::Number,
        _ => ValueKind::String,
    }
}

fn is_number(scalar: &str) -> bool {
    let unsigned = scalar.strip_prefix(['-', '+']).unwrap_or(scalar);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(scalar, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(digits) = scalar.strip_prefix("0x") {
        return is_all(digits, |byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = scalar.strip_prefix("0o") {
        return is_all(digits, |byte| matches!(byte, b'0'..=b'7'));
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
        }
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_mantissa = !(whole.is_empty() && fraction.is_empty());
    has_mantissa
        && digits(whole)
        && digits(fraction)
        && exponent.is_none_or(|exponent| is_all(exponent, |byte| byte.is_ascii_digit()))
}

/// Whether there is something, and every byte of it fits.
fn is_all(text: &str, fits: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_the_core_schemas_kinds() {
        for (kind, scalars) in [
            (ValueKind::Null, "~ null Null NULL"),
            (ValueKind::Boolean, "true True TRUE false False FALSE"),
            (
                ValueKind::Number,
                "0 -1 +12 1.5 .5 1. 1e3 -1.5E-3 0x1F 0o17 .inf -.INF .nan 1.10 007",
            ),
            (ValueKind::String, "yes NO on nul 1_000 1.2.3 - . e3 0xG 0o8 1e -.nan inf 12:30 0x"),
        ] {
            for scalar in scalars.split(' ') {
                assert_eq!(kind_of_plain(scalar), kind, "{scalar}");
            }
        }
        assert_eq!(kind_of_plain(""), ValueKind::Null);
    }
}
