//! LIKE, and finding a text in another.

use super::order::Alphabet;

const ANY_TEXT: u32 = b'%' as u32;
const ANY_CHARACTER: u32 = b'_' as u32;

/// Whether a text is like a pattern. Characters compare by weight; there is no padding.
///
/// Greedy with one way back: where the text does not go on as the pattern does, the last `%` takes one character more.
/// Earlier ones need not be tried again, since what they matched can only get longer.
pub(super) fn like<A: Alphabet>(alphabet: A, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
    let (mut text_at, mut pattern_at) = (0, 0);
    // Behind the last %, and the text that it has not taken.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let mut goes_on = false;
        if pattern_at < pattern.len() {
            let mut expected = alphabet.first(&pattern[pattern_at..]);
            let mut next = pattern_at + expected.bytes;
            // An escape character at the very end stands for itself.
            let is_escaped = escape == Some(expected.code) && next < pattern.len();
            if is_escaped {
                expected = alphabet.first(&pattern[next..]);
                next += expected.bytes;
            } else if expected.code == ANY_TEXT {
                if next == pattern.len() {
                    return true;
                }
                retry = Some((next, text_at));
                pattern_at = next;
                continue;
            }
            if text_at < text.len() {
                let found = alphabet.first(&text[text_at..]);
                if found.weight == expected.weight || (expected.code == ANY_CHARACTER && !is_escaped) {
                    text_at += found.bytes;
                    pattern_at = next;
                    goes_on = true;
                }
            }
        } else if text_at == text.len() {
            return true;
        }
        if goes_on {
            continue;
        }
        match retry {
            Some((behind, untaken)) if untaken < text.len() => {
                text_at = untaken + alphabet.first(&text[untaken..]).bytes;
                pattern_at = behind;
                retry = Some((behind, text_at));
            }
            _ => return false,
        }
    }
}

/// The byte offset of the first character at or behind `from` where as many bytes as `needle` has are the same as it.
/// So a letter is not found in one that weighs the same and is longer or shorter: `n` is not in `ñ`, as in MySQL.
pub(super) fn find<A: Alphabet>(alphabet: A, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    find_by(alphabet, text, needle, from, |mut rest, mut wanted| {
        while let (false, false) = (rest.is_empty(), wanted.is_empty()) {
            let (x, y) = (alphabet.first(rest), alphabet.first(wanted));
            if x.weight != y.weight {
                return false;
            }
            rest = &rest[x.bytes..];
            wanted = &wanted[y.bytes..];
        }
        rest.is_empty() && wanted.is_empty()
    })
}

/// As [`find`], where texts of one length are the same if `is_same` says so.
pub(super) fn find_by<A: Alphabet>(
    alphabet: A,
    text: &[u8],
    needle: &[u8],
    from: usize,
    is_same: impl Fn(&[u8], &[u8]) -> bool,
) -> Option<usize> {
    let mut start = from;
    while let Some(part) = text.get(start..start + needle.len()) {
        if is_same(part, needle) {
            return Some(start);
        }
        if start == text.len() {
            break;
        }
        start += alphabet.first(&text[start..]).bytes;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::order::{GeneralUtf8, PlainBytes, PlainUtf8};
    use super::*;
    use proptest::prelude::*;

    const BACKSLASH: Option<u32> = Some('\\' as u32);

    fn like_general(text: &str, pattern: &str) -> bool {
        like(GeneralUtf8, text.as_bytes(), pattern.as_bytes(), BACKSLASH)
    }

    #[test]
    fn patterns() {
        for (text, pattern, result) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "ABC", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("abc ", "abc", false),
            ("abc", "abc ", false),
            ("äbc", "Ab_", true),
            ("😀", "_", true),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("a_c", "a\\_c", true),
            ("abc", "a\\_c", false),
            ("a\\", "a\\", true),
            ("a\\c", "a\\\\c", true),
            ("abcabcabd", "%abc%abd", true),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%a%a%a%c", false),
            ("ab", "%%%b", true),
            ("ab", "b\\b", false),
        ] {
            assert_eq!(like_general(text, pattern), result, "{text:?} like {pattern:?}");
        }
        assert!(like(PlainUtf8, "äb".as_bytes(), "_b".as_bytes(), None));
        assert!(!like(PlainUtf8, b"ab", b"AB", None));
        assert!(!like(PlainBytes, "äb".as_bytes(), b"_b", None));
        assert!(like(PlainBytes, b"a|%", b"a||%", Some('|' as u32)));
    }

    #[test]
    fn finding() {
        let find = |text: &str, needle: &str, from| find(GeneralUtf8, text.as_bytes(), needle.as_bytes(), from);
        assert_eq!(find("äbcABC", "abc", 0), Some(4));
        assert_eq!(find("äbcABC", "abc", 2), Some(4));
        assert_eq!(find("abc", "", 3), Some(3));
        assert_eq!(find("abc", "", 4), None);
        assert_eq!(find("abc", "cd", 0), None);
    }

    /// The definition, by recursion.
    fn like_slowly(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|taken| like_slowly(&text[taken..], rest)),
            ['_', rest @ ..] => !text.is_empty() && like_slowly(&text[1..], rest),
            ['\\', first, rest @ ..] | [first, rest @ ..] => {
                text.first() == Some(first) && like_slowly(&text[1..], rest)
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(text in "[abä%_]{0,10}", pattern in "[abä%_\\\\]{0,8}") {
            let (letters, wanted) = (text.chars().collect::<Vec<_>>(), pattern.chars().collect::<Vec<_>>());
            prop_assert_eq!(
                like(PlainUtf8, text.as_bytes(), pattern.as_bytes(), BACKSLASH),
                like_slowly(&letters, &wanted)
            );
        }
    }
}
