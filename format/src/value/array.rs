//! Arrays of values of one type, as the hidden column of a multi-valued index holds them: the elements one behind the
//! other, each its length in bytes (LEB128) and its stored bytes. They have no order and may be equal; an index sorts
//! them.

use crate::error::{Error, Result};

/// Appends an element.
pub fn push(out: &mut Vec<u8>, element: &[u8]) {
    let mut length = element.len();
    while length > 0x7F {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(element);
}

/// An array of one element.
pub fn one(element: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out, element);
    out
}

/// The elements of an array. After an error it ends.
pub fn elements(mut bytes: &[u8]) -> impl Iterator<Item = Result<&[u8]>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let element = take(&mut bytes);
        if element.is_err() {
            bytes = &[];
        }
        Some(element)
    })
}

fn take<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    const ERROR: Error = Error::Malformed { what: "an array of values" };
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let (first, rest) = bytes.split_first().ok_or(ERROR)?;
        *bytes = rest;
        if shift > 28 {
            return Err(ERROR);
        }
        length |= usize::from(first & 0x7F) << shift;
        shift += 7;
        if first & 0x80 == 0 {
            break;
        }
    }
    let (element, rest) = bytes.split_at_checked(length).ok_or(ERROR)?;
    *bytes = rest;
    Ok(element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_come_back(list in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..5)) {
            let mut bytes = Vec::new();
            list.iter().for_each(|element| push(&mut bytes, element));
            let back: Result<Vec<&[u8]>> = elements(&bytes).collect();
            prop_assert_eq!(back.unwrap(), list);
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = elements(&bytes).count();
        }
    }
}
