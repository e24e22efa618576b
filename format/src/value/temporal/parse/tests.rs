use super::*;

fn shown(text: &str) -> String {
    let parsed = parse_datetime(text.as_bytes());
    let flags = parsed.flags;
    let mut out = Vec::new();
    parsed.value.write(if parsed.value.micros > 0 { 6 } else { 0 }, &mut out);
    let mut shown = String::from_utf8(out).unwrap();
    for (flag, name) in [
        (flags.invalid, " invalid"),
        (flags.truncated, " truncated"),
        (flags.out_of_range, " out of range"),
        (flags.zero_date, " zero"),
        (flags.zero_in_date, " zero part"),
        (flags.invalid_day, " day"),
        (flags.rounded, " rounded"),
    ] {
        if flag {
            shown += name;
        }
    }
    shown
}

#[test]
fn forms_of_a_date_and_time() {
    for (text, value) in [
        ("2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678000"),
        ("  2024-1-2T3:4:5  ", "2024-01-02 03:04:05"),
        ("20240102030405", "2024-01-02 03:04:05"),
        ("20240102T030405.5", "2024-01-02 03:04:05.500000"),
        ("20240102", "2024-01-02 00:00:00"),
        ("240102", "2024-01-02 00:00:00"),
        ("700102", "1970-01-02 00:00:00"),
        ("240102030405", "2024-01-02 03:04:05"),
        ("24-1-2", "2024-01-02 00:00:00"),
        ("70/1/2", "1970-01-02 00:00:00"),
        ("024-1-2", "0024-01-02 00:00:00"),
        ("2024@01@02 03*04^05", "2024-01-02 03:04:05"),
        ("2024-01-02 03", "2024-01-02 03:00:00"),
        ("2024-01-02 03:04", "2024-01-02 03:04:00"),
        ("2024-01-02abc", "2024-01-02 00:00:00 truncated"),
        ("2024-01-02 03:04:05xyz", "2024-01-02 03:04:05 truncated"),
        ("0000-00-00", "0000-00-00 00:00:00 zero"),
        ("2024-00-10", "2024-00-10 00:00:00 zero part"),
        ("2023-02-29", "2023-02-29 00:00:00 day"),
        ("2024-13-01", "0000-00-00 00:00:00 invalid"),
        ("2024-01-32", "0000-00-00 00:00:00 invalid"),
        ("2024-01-01 24:00:00", "0000-00-00 00:00:00 invalid"),
        ("2024-01", "0000-00-00 00:00:00 invalid"),
        ("", "0000-00-00 00:00:00 invalid"),
        ("abc", "0000-00-00 00:00:00 invalid"),
        ("2024-01-02 03:04:05.1234564", "2024-01-02 03:04:05.123456 rounded"),
        ("2024-12-31 23:59:59.9999995", "2025-01-01 00:00:00 rounded"),
        ("9999-12-31 23:59:59.9999999", "0000-00-00 00:00:00 invalid out of range"),
    ] {
        assert_eq!(shown(text), value, "{text}");
    }
    assert!(parse_datetime(b"2024-01-02 03").flags.has_time);
    assert!(!parse_datetime(b"2024-01-02").flags.has_time);
    assert_eq!(parse_datetime(b"2024-01-02 03:04:05.12").flags.fraction_digits, 2);
}

#[test]
fn literals_with_a_zone() {
    let read = |text: &str| parse_datetime(text.as_bytes()).in_zone(Zone::Fixed(3600));
    let parsed = read("2024-01-02 03:04:05.5+05:30");
    assert_eq!(parsed.value, DateTime::new(Date::new(2024, 1, 1), 22, 34, 5, 500_000));
    assert!(!parsed.flags.truncated);
    assert_eq!(read("2024-01-02 03:04:05-08:00").value.hour, 12);
    assert!(parse_datetime(b"2024-01-02 03:04:05+05:30").flags.truncated);
    assert!(read("2024-01-02 03:04:05+15:00").flags.truncated);
    assert!(read("2024-00-02 03:04:05+05:30").flags.invalid);
}

#[test]
fn forms_of_a_time() {
    for (text, value) in [
        ("12:34:56.7", "12:34:56.700000"),
        ("-838:59:59", "-838:59:59.000000"),
        ("839:00:00", "838:59:59.000000 out of range"),
        ("1 10:11:12", "34:11:12.000000"),
        ("1 10", "34:00:00.000000"),
        ("1 10:11", "34:11:00.000000"),
        ("1 6", "00:00:01.000000 truncated"),
        ("12:34", "12:34:00.000000"),
        ("123456", "12:34:56.000000"),
        ("56", "00:00:56.000000"),
        ("1234.5", "00:12:34.500000"),
        ("2024-01-02 03:04:05", "03:04:05.000000"),
        ("20240102030405", "03:04:05.000000"),
        ("12:60:00", "00:00:00.000000 invalid"),
        ("1260", "00:00:00.000000 invalid"),
        ("12:34:56abc", "12:34:56.000000 truncated"),
        ("abc", "00:00:00.000000 invalid"),
        ("-0:0:0", "00:00:00.000000"),
        ("00:00:01.0000005", "00:00:01.000001"),
    ] {
        let parsed = parse_time(text.as_bytes());
        let mut out = Vec::new();
        parsed.value.write(6, &mut out);
        let mut shown = String::from_utf8(out).unwrap();
        for (flag, name) in [
            (parsed.flags.invalid, " invalid"),
            (parsed.flags.truncated, " truncated"),
            (parsed.flags.out_of_range, " out of range"),
        ] {
            if flag {
                shown += name;
            }
        }
        assert_eq!(shown, value, "{text}");
    }
}

#[test]
fn numbers() {
    let moment = |number| {
        let parsed = datetime_from_number(number, 0);
        (!parsed.flags.invalid).then(|| parsed.value.to_number())
    };
    for (number, value) in [
        (20_240_102, Some(20_240_102_000_000)),
        (240_102, Some(20_240_102_000_000)),
        (700_101, Some(19_700_101_000_000)),
        (101, Some(20_000_101_000_000)),
        (20_240_102_030_405, Some(20_240_102_030_405)),
        (240_102_030_405, Some(20_240_102_030_405)),
        (0, Some(0)),
        (100, None),
        (-20_240_102, None),
        (20_241_302, None),
        (100_000_101_000_000, None),
    ] {
        assert_eq!(moment(number), value, "{number}");
    }
    let decimal = |text: &str| Decimal::parse(text.as_bytes()).unwrap();
    let parsed = datetime_from_decimal(&decimal("20240102030405.6789"));
    assert_eq!(parsed.value.to_decimal(4).to_string(), "20240102030405.6789");
    assert_eq!(time_from_decimal(&decimal("-123456.5")).value.to_decimal(1).to_string(), "-123456.5");
    assert_eq!(time_from_decimal(&decimal("-0.5")).value.to_decimal(1).to_string(), "-0.5");
    assert_eq!(time_from_number(1259, 0).value.to_number(), 1259);
    assert!(time_from_number(1260, 0).flags.invalid);
    assert!(time_from_number(9_000_000, 0).flags.out_of_range);
}
