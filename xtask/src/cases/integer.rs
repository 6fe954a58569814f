//! Offsets and limits: any integer that a case can write.

use serde_json::Value;

/// The integer that a value is, from below zero to 2^64 − 1.
pub(super) fn integer(value: &Value) -> Result<i128, String> {
    let signed = value.as_i64().map(i128::from);
    let integer = signed.or_else(|| value.as_u64().map(i128::from));
    integer.ok_or_else(|| format!("{value} is not an integer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn integers_are_read_from_below_zero_to_the_end_of_64_bits() {
        assert_eq!(integer(&json!(-5)), Ok(-5));
        assert_eq!(integer(&json!(u64::MAX)), Ok(i128::from(u64::MAX)));
        assert!(integer(&json!(1.5)).is_err());
        assert!(integer(&json!("7")).is_err());
    }
}
