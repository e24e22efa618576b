//! Writing the fields of a payload, appended to the caller's buffer.

/// Appends a length-encoded integer.
#[inline]
pub fn lenenc(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=0xFA => out.push(number as u8),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&number.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Appends a string behind its length-encoded length.
#[inline]
pub fn lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a string and a zero byte.
pub fn zero_terminated(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

/// Appends what `render` appends, behind its length-encoded length. The length is
/// not known before, so one byte is set aside, and the text moves up in the rare
/// case that this is too little.
#[inline]
pub fn lenenc_rendered(out: &mut Vec<u8>, render: impl FnOnce(&mut Vec<u8>)) {
    let length_at = out.len();
    out.push(0);
    render(out);
    let bytes = out.len() - length_at - 1;
    if bytes <= 0xFA {
        out[length_at] = bytes as u8;
        return;
    }
    let mut length = [0u8; 9];
    let extra = match bytes {
        0..=0xFFFF => {
            length[0] = 0xFC;
            2
        }
        0x1_0000..=0xFF_FFFF => {
            length[0] = 0xFD;
            3
        }
        _ => {
            length[0] = 0xFE;
            8
        }
    };
    length[1..9].copy_from_slice(&(bytes as u64).to_le_bytes());
    let end = out.len();
    out.resize(end + extra, 0);
    out.copy_within(length_at + 1..end, length_at + 1 + extra);
    out[length_at..length_at + 1 + extra].copy_from_slice(&length[..1 + extra]);
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    #[test]
    fn rendered_text_gets_the_length_it_needs() {
        for bytes in [0, 1, 250, 251, 65_535, 65_536, 1 << 24] {
            let text = vec![b'x'; bytes];
            let (mut rendered, mut direct) = (b"before".to_vec(), b"before".to_vec());
            lenenc_rendered(&mut rendered, |out| out.extend_from_slice(&text));
            lenenc_bytes(&mut direct, &text);
            assert!(rendered == direct, "{bytes}");
            assert_eq!(Reader::new(&rendered[6..]).lenenc_bytes("text").unwrap().len(), bytes);
        }
    }
}
