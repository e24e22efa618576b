//! Weights and letter case of Unicode, as MySQL's general collations have them.
//!
//! These are facts observed on a running server, code point by code point, with `WEIGHT_STRING`, `UPPER` and `LOWER`.
//! They are old (Unicode 3), and they stay as they are: the order of texts is part of every index on disk. Only the
//! Basic Multilingual Plane has weights; all characters beyond it weigh the same, [`SUPPLEMENTARY_WEIGHT`], and have no
//! case. To the collations of 5.2.0 and 9.0.0 more letters have case.
//!
//! Most code points map to themselves. The others stand in eleven pages of 256, which are unfolded at compile time from
//! runs:
//!
//! ```text
//! (first, count, step, to, to_step)    first + i * step  ->  to + i * to_step, for i in 0..count
//! (0x0061, 26, 1, 0x0041, 1)           a..z -> A..Z
//! (0x00E0, 6, 1, 0x0041, 0)            six accented a -> A
//! ```

use std::ops::RangeInclusive;

/// A code point of no character.
pub const NO_CHARACTER: u32 = u32::MAX;

/// A run of code points that map regularly.
type Run = (u16, u8, u8, u16, u8);

/// The weight of every character beyond the Basic Multilingual Plane.
pub(super) const SUPPLEMENTARY_WEIGHT: u16 = 0xFFFD;

/// The high bytes of the pages in which some code point does not map to itself.
const PAGES: [u8; 11] = [0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x1E, 0x1F, 0x21, 0x24, 0xFF];

/// For each high byte its index in [`PAGES`], or this.
const NO_PAGE: u8 = 0xFF;
static PAGE_INDEX: [u8; 256] = page_index();

type Pages = [[u16; 256]; PAGES.len()];

static WEIGHT_PAGES: Pages = unfold(WEIGHTS);
static UPPER_PAGES: Pages = unfold(UPPER);
static LOWER_PAGES: Pages = unfold(LOWER);

const fn page_index() -> [u8; 256] {
    let mut index = [NO_PAGE; 256];
    let mut at = 0;
    while at < PAGES.len() {
        index[PAGES[at] as usize] = at as u8;
        at += 1;
    }
    index
}

const fn unfold(runs: &[Run]) -> Pages {
    let index = page_index();
    let mut pages = [[0; 256]; PAGES.len()];
    let mut at = 0;
    while at < PAGES.len() {
        let mut low = 0;
        while low < 256 {
            pages[at][low] = (PAGES[at] as u16) << 8 | low as u16;
            low += 1;
        }
        at += 1;
    }
    let mut run = 0;
    while run < runs.len() {
        let (first, count, step, to, to_step) = runs[run];
        let mut i = 0;
        while i < count as u16 {
            let from = first + i * step as u16;
            pages[index[(from >> 8) as usize] as usize][(from & 0xFF) as usize] = to + i * to_step as u16;
            i += 1;
        }
        run += 1;
    }
    pages
}

#[inline]
fn map(pages: &Pages, code_point: u16) -> u16 {
    match PAGE_INDEX[(code_point >> 8) as usize] {
        NO_PAGE => code_point,
        page => pages[page as usize][(code_point & 0xFF) as usize],
    }
}

/// The weight of a character in `utf8mb4_general_ci`.
#[inline]
pub(super) fn general_weight(code_point: u32) -> u16 {
    match u16::try_from(code_point) {
        Ok(code_point) => map(&WEIGHT_PAGES, code_point),
        Err(_) => SUPPLEMENTARY_WEIGHT,
    }
}

/// The weight in `ucs2_general_mysql500_ci`, in which ß is no s.
#[inline]
pub(super) fn old_weight(code_point: u32) -> u16 {
    if code_point == 0xDF { 0xDF } else { general_weight(code_point) }
}

/// The weight in `utf8mb3_tolower_ci`.
#[inline]
pub(super) fn small_weight(code_point: u32) -> u16 {
    u16::try_from(code_point).map_or(SUPPLEMENTARY_WEIGHT, |code_point| map(&LOWER_PAGES, code_point))
}

/// The weight of an ASCII character.
#[inline]
pub(super) fn ascii_weight(byte: u8) -> u16 {
    WEIGHT_PAGES[0][byte as usize]
}

#[inline]
pub(super) fn to_upper(code_point: u32) -> u32 {
    u16::try_from(code_point).map_or(code_point, |code_point| u32::from(map(&UPPER_PAGES, code_point)))
}

#[inline]
pub(super) fn to_lower(code_point: u32) -> u32 {
    u16::try_from(code_point).map_or(code_point, |code_point| u32::from(map(&LOWER_PAGES, code_point)))
}

/// The upper case of a version of Unicode, which knows letters that the older table does not.
pub(super) fn to_upper_of_unicode(code_point: u32, later: Later) -> u32 {
    match to_upper(code_point) {
        known if known != code_point || code_point < FIRST_LATER_LETTER => known,
        _ => single(code_point, char::to_uppercase, later),
    }
}

pub(super) fn to_lower_of_unicode(code_point: u32, later: Later) -> u32 {
    match to_lower(code_point) {
        known if known != code_point || code_point < FIRST_LATER_LETTER => known,
        _ => single(code_point, char::to_lowercase, later),
    }
}

/// The case of Unicode 14.0.0; what becomes several letters in full is mapped to the one of the older table.
pub(super) fn to_upper_of_14_0_0(code_point: u32) -> u32 {
    let becomes_several = char::from_u32(code_point).is_some_and(|letter| letter.to_uppercase().len() > 1);
    if becomes_several { to_upper(code_point) } else { single(code_point, char::to_uppercase, AFTER_14_0_0) }
}

pub(super) fn to_lower_of_14_0_0(code_point: u32) -> u32 {
    let becomes_several = char::from_u32(code_point).is_some_and(|letter| letter.to_lowercase().len() > 1);
    if becomes_several { to_lower(code_point) } else { single(code_point, char::to_lowercase, AFTER_14_0_0) }
}

/// The first letter whose case only newer versions of Unicode know.
const FIRST_LATER_LETTER: u32 = 0x180;

/// Letters that got their case after a version of Unicode.
pub(super) type Later = &'static [&'static [RangeInclusive<u32>]];

pub(super) const AFTER_5_2_0: Later = &[&FROM_6_0_0, &FROM_10_0_0];
pub(super) const AFTER_9_0_0: Later = &[&FROM_10_0_0];
const AFTER_14_0_0: Later = &[&FROM_16_0_0];

const FROM_6_0_0: [RangeInclusive<u32>; 21] = [
    0x37F..=0x37F,
    0x3F3..=0x3F3,
    0x526..=0x52F,
    0x10C7..=0x10C7,
    0x10CD..=0x10CD,
    0x13A0..=0x13FD,
    0x1C80..=0x1C88,
    0x2CF2..=0x2CF3,
    0x2D27..=0x2D27,
    0x2D2D..=0x2D2D,
    0xA660..=0xA661,
    0xA698..=0xA69B,
    0xA78D..=0xA78D,
    0xA790..=0xA7B7,
    0xAB53..=0xAB53,
    0xAB70..=0xABBF,
    0x104B0..=0x104FB,
    0x10C80..=0x10CB2,
    0x10CC0..=0x10CF2,
    0x118A0..=0x118DF,
    0x1E900..=0x1E943,
];

const FROM_10_0_0: [RangeInclusive<u32>; 9] = [
    0x1C89..=0x1C8A,
    0x1C90..=0x1CBF,
    0x2C2F..=0x2C2F,
    0x2C5F..=0x2C5F,
    0xA7B8..=0xA7F6,
    0x10570..=0x105BC,
    0x10D50..=0x10D85,
    0x16E40..=0x16E7F,
    0x16EA0..=0x16ED3,
];

const FROM_16_0_0: [RangeInclusive<u32>; 6] =
    [0x1C89..=0x1C8A, 0xA7CB..=0xA7CF, 0xA7D2..=0xA7D5, 0xA7DA..=0xA7DC, 0x10D50..=0x10D85, 0x16EA0..=0x16ED3];

/// The one letter that another becomes; what becomes several stays, as what has no case does.
fn single<M: Iterator<Item = char>>(code_point: u32, map: impl Fn(char) -> M, later: Later) -> u32 {
    let Some(letter) = char::from_u32(code_point) else { return code_point };
    let is_later = |letter: u32| later.iter().any(|ranges| ranges.iter().any(|range| range.contains(&letter)));
    let mut mapped = map(letter);
    match (mapped.next().map(u32::from), mapped.next()) {
        (Some(one), None) if !is_later(code_point) && !is_later(one) => one,
        _ => code_point,
    }
}

/// The capital of ı is I, that of i has a dot, too.
pub(super) fn to_upper_turkish(code_point: u32) -> u32 {
    if code_point == u32::from(b'i') { 0x130 } else { to_upper(code_point) }
}

pub(super) fn to_lower_turkish(code_point: u32) -> u32 {
    if code_point == u32::from(b'I') { 0x131 } else { to_lower(code_point) }
}

#[rustfmt::skip]
mod runs {
    use super::Run;

    /// Weights of `utf8mb4_general_ci`: letters weigh as their base letter, upper case.
    pub(super) const WEIGHTS: &[Run] = &[
        (0x0061, 26, 1, 0x0041, 1), (0x00B5, 1, 1, 0x039C, 0), (0x00C0, 6, 1, 0x0041, 0), (0x00C7, 2, 1, 0x0043, 2),
        (0x00C9, 3, 1, 0x0045, 0), (0x00CC, 4, 1, 0x0049, 0), (0x00D1, 2, 1, 0x004E, 1), (0x00D3, 4, 1, 0x004F, 0),
        (0x00D9, 4, 1, 0x0055, 0), (0x00DD, 1, 1, 0x0059, 0), (0x00DF, 1, 1, 0x0053, 0), (0x00E0, 6, 1, 0x0041, 0),
        (0x00E6, 1, 1, 0x00C6, 0), (0x00E7, 2, 1, 0x0043, 2), (0x00E9, 3, 1, 0x0045, 0), (0x00EC, 4, 1, 0x0049, 0),
        (0x00F0, 1, 1, 0x00D0, 0), (0x00F1, 2, 1, 0x004E, 1), (0x00F3, 4, 1, 0x004F, 0), (0x00F8, 1, 1, 0x00D8, 0),
        (0x00F9, 4, 1, 0x0055, 0), (0x00FD, 2, 2, 0x0059, 0), (0x00FE, 1, 1, 0x00DE, 0), (0x0100, 6, 1, 0x0041, 0),
        (0x0106, 8, 1, 0x0043, 0), (0x010E, 2, 1, 0x0044, 0), (0x0111, 1, 1, 0x0110, 0), (0x0112, 10, 1, 0x0045, 0),
        (0x011C, 8, 1, 0x0047, 0), (0x0124, 2, 1, 0x0048, 0), (0x0127, 1, 1, 0x0126, 0), (0x0128, 10, 1, 0x0049, 0),
        (0x0133, 1, 1, 0x0132, 0), (0x0134, 2, 1, 0x004A, 0), (0x0136, 2, 1, 0x004B, 0), (0x0139, 6, 1, 0x004C, 0),
        (0x0140, 2, 2, 0x013F, 2), (0x0143, 6, 1, 0x004E, 0), (0x014B, 1, 1, 0x014A, 0), (0x014C, 6, 1, 0x004F, 0),
        (0x0153, 1, 1, 0x0152, 0), (0x0154, 6, 1, 0x0052, 0), (0x015A, 8, 1, 0x0053, 0), (0x0162, 4, 1, 0x0054, 0),
        (0x0167, 1, 1, 0x0166, 0), (0x0168, 12, 1, 0x0055, 0), (0x0174, 2, 1, 0x0057, 0), (0x0176, 3, 1, 0x0059, 0),
        (0x0179, 6, 1, 0x005A, 0), (0x017F, 1, 1, 0x0053, 0), (0x0183, 2, 2, 0x0182, 2), (0x0188, 1, 1, 0x0187, 0),
        (0x018C, 1, 1, 0x018B, 0), (0x0192, 1, 1, 0x0191, 0), (0x0195, 1, 1, 0x01F6, 0), (0x0199, 1, 1, 0x0198, 0),
        (0x01A0, 2, 1, 0x004F, 0), (0x01A3, 2, 2, 0x01A2, 2), (0x01A8, 1, 1, 0x01A7, 0), (0x01AD, 1, 1, 0x01AC, 0),
        (0x01AF, 2, 1, 0x0055, 0), (0x01B4, 2, 2, 0x01B3, 2), (0x01B9, 1, 1, 0x01B8, 0), (0x01BD, 1, 1, 0x01BC, 0),
        (0x01BF, 1, 1, 0x01F7, 0), (0x01C5, 2, 1, 0x01C4, 0), (0x01C8, 2, 1, 0x01C7, 0), (0x01CB, 2, 1, 0x01CA, 0),
        (0x01CD, 2, 1, 0x0041, 0), (0x01CF, 2, 1, 0x0049, 0), (0x01D1, 2, 1, 0x004F, 0), (0x01D3, 10, 1, 0x0055, 0),
        (0x01DD, 1, 1, 0x018E, 0), (0x01DE, 4, 1, 0x0041, 0), (0x01E2, 2, 1, 0x00C6, 0), (0x01E5, 1, 1, 0x01E4, 0),
        (0x01E6, 2, 1, 0x0047, 0), (0x01E8, 2, 1, 0x004B, 0), (0x01EA, 4, 1, 0x004F, 0), (0x01EE, 2, 1, 0x01B7, 0),
        (0x01F0, 1, 1, 0x004A, 0), (0x01F2, 2, 1, 0x01F1, 0), (0x01F4, 2, 1, 0x0047, 0), (0x01F8, 2, 1, 0x004E, 0),
        (0x01FA, 2, 1, 0x0041, 0), (0x01FC, 2, 1, 0x00C6, 0), (0x01FE, 2, 1, 0x00D8, 0), (0x0200, 4, 1, 0x0041, 0),
        (0x0204, 4, 1, 0x0045, 0), (0x0208, 4, 1, 0x0049, 0), (0x020C, 4, 1, 0x004F, 0), (0x0210, 4, 1, 0x0052, 0),
        (0x0214, 4, 1, 0x0055, 0), (0x0218, 2, 1, 0x0053, 0), (0x021A, 2, 1, 0x0054, 0), (0x021D, 1, 1, 0x021C, 0),
        (0x021E, 2, 1, 0x0048, 0), (0x0223, 2, 2, 0x0222, 2), (0x0226, 2, 1, 0x0041, 0), (0x0228, 2, 1, 0x0045, 0),
        (0x022A, 8, 1, 0x004F, 0), (0x0232, 2, 1, 0x0059, 0), (0x0253, 1, 1, 0x0181, 0), (0x0254, 1, 1, 0x0186, 0),
        (0x0256, 2, 1, 0x0189, 1), (0x0259, 2, 2, 0x018F, 1), (0x0260, 1, 1, 0x0193, 0), (0x0263, 1, 1, 0x0194, 0),
        (0x0268, 1, 1, 0x0197, 0), (0x0269, 1, 1, 0x0196, 0), (0x026F, 1, 1, 0x019C, 0), (0x0272, 1, 1, 0x019D, 0),
        (0x0275, 1, 1, 0x019F, 0), (0x0280, 1, 1, 0x01A6, 0), (0x0283, 1, 1, 0x01A9, 0), (0x0288, 1, 1, 0x01AE, 0),
        (0x028A, 2, 1, 0x01B1, 1), (0x0292, 1, 1, 0x01B7, 0), (0x0345, 1, 1, 0x0399, 0), (0x0386, 1, 1, 0x0391, 0),
        (0x0388, 3, 1, 0x0395, 2), (0x038C, 1, 1, 0x039F, 0), (0x038E, 1, 1, 0x03A5, 0), (0x038F, 1, 1, 0x03A9, 0),
        (0x0390, 1, 1, 0x0399, 0), (0x03AA, 1, 1, 0x0399, 0), (0x03AB, 1, 1, 0x03A5, 0), (0x03AC, 1, 1, 0x0391, 0),
        (0x03AD, 3, 1, 0x0395, 2), (0x03B0, 1, 1, 0x03A5, 0), (0x03B1, 17, 1, 0x0391, 1), (0x03C2, 2, 1, 0x03A3, 0),
        (0x03C4, 6, 1, 0x03A4, 1), (0x03CA, 1, 1, 0x0399, 0), (0x03CB, 2, 2, 0x03A5, 0), (0x03CC, 1, 1, 0x039F, 0),
        (0x03CE, 1, 1, 0x03A9, 0), (0x03D0, 1, 1, 0x0392, 0), (0x03D1, 1, 1, 0x0398, 0), (0x03D3, 2, 1, 0x03D2, 0),
        (0x03D5, 1, 1, 0x03A6, 0), (0x03D6, 1, 1, 0x03A0, 0), (0x03DB, 11, 2, 0x03DA, 2), (0x03F0, 1, 1, 0x039A, 0),
        (0x03F1, 2, 1, 0x03A1, 2), (0x0400, 2, 1, 0x0415, 0), (0x0403, 1, 1, 0x0413, 0), (0x0407, 1, 1, 0x0406, 0),
        (0x040C, 1, 1, 0x041A, 0), (0x040D, 1, 1, 0x0418, 0), (0x040E, 1, 1, 0x0423, 0), (0x0430, 32, 1, 0x0410, 1),
        (0x0450, 2, 1, 0x0415, 0), (0x0452, 5, 2, 0x0402, 2), (0x0453, 1, 1, 0x0413, 0), (0x0455, 2, 2, 0x0405, 1),
        (0x0459, 2, 2, 0x0409, 2), (0x045C, 1, 1, 0x041A, 0), (0x045D, 1, 1, 0x0418, 0), (0x045E, 1, 1, 0x0423, 0),
        (0x045F, 1, 1, 0x040F, 0), (0x0461, 11, 2, 0x0460, 2), (0x0476, 2, 1, 0x0474, 0), (0x0479, 5, 2, 0x0478, 2),
        (0x048D, 26, 2, 0x048C, 2), (0x04C1, 2, 1, 0x0416, 0), (0x04C4, 1, 1, 0x04C3, 0), (0x04C8, 1, 1, 0x04C7, 0),
        (0x04CC, 1, 1, 0x04CB, 0), (0x04D0, 4, 1, 0x0410, 0), (0x04D5, 1, 1, 0x04D4, 0), (0x04D6, 2, 1, 0x0415, 0),
        (0x04D9, 3, 1, 0x04D8, 0), (0x04DC, 2, 1, 0x0416, 0), (0x04DE, 2, 1, 0x0417, 0), (0x04E1, 1, 1, 0x04E0, 0),
        (0x04E2, 4, 1, 0x0418, 0), (0x04E6, 2, 1, 0x041E, 0), (0x04E9, 3, 1, 0x04E8, 0), (0x04EC, 2, 1, 0x042D, 0),
        (0x04EE, 6, 1, 0x0423, 0), (0x04F4, 2, 1, 0x0427, 0), (0x04F8, 2, 1, 0x042B, 0), (0x0561, 38, 1, 0x0531, 1),
        (0x1E00, 2, 1, 0x0041, 0), (0x1E02, 6, 1, 0x0042, 0), (0x1E08, 2, 1, 0x0043, 0), (0x1E0A, 10, 1, 0x0044, 0),
        (0x1E14, 10, 1, 0x0045, 0), (0x1E1E, 3, 2, 0x0046, 1), (0x1E1F, 3, 2, 0x0046, 1), (0x1E24, 8, 1, 0x0048, 0),
        (0x1E2C, 4, 1, 0x0049, 0), (0x1E30, 6, 1, 0x004B, 0), (0x1E36, 8, 1, 0x004C, 0), (0x1E3E, 6, 1, 0x004D, 0),
        (0x1E44, 8, 1, 0x004E, 0), (0x1E4C, 8, 1, 0x004F, 0), (0x1E54, 4, 1, 0x0050, 0), (0x1E58, 8, 1, 0x0052, 0),
        (0x1E60, 10, 1, 0x0053, 0), (0x1E6A, 8, 1, 0x0054, 0), (0x1E72, 10, 1, 0x0055, 0), (0x1E7C, 4, 1, 0x0056, 0),
        (0x1E80, 10, 1, 0x0057, 0), (0x1E8A, 4, 1, 0x0058, 0), (0x1E8E, 2, 1, 0x0059, 0), (0x1E90, 6, 1, 0x005A, 0),
        (0x1E96, 1, 1, 0x0048, 0), (0x1E97, 1, 1, 0x0054, 0), (0x1E98, 2, 1, 0x0057, 2), (0x1E9B, 1, 1, 0x0053, 0),
        (0x1EA0, 24, 1, 0x0041, 0), (0x1EB8, 16, 1, 0x0045, 0), (0x1EC8, 4, 1, 0x0049, 0), (0x1ECC, 24, 1, 0x004F, 0),
        (0x1EE4, 14, 1, 0x0055, 0), (0x1EF2, 8, 1, 0x0059, 0), (0x1F00, 16, 1, 0x0391, 0), (0x1F10, 6, 1, 0x0395, 0),
        (0x1F18, 6, 1, 0x0395, 0), (0x1F20, 16, 1, 0x0397, 0), (0x1F30, 16, 1, 0x0399, 0), (0x1F40, 6, 1, 0x039F, 0),
        (0x1F48, 6, 1, 0x039F, 0), (0x1F50, 8, 1, 0x03A5, 0), (0x1F59, 4, 2, 0x03A5, 0), (0x1F60, 16, 1, 0x03A9, 0),
        (0x1F70, 1, 1, 0x0391, 0), (0x1F71, 1, 1, 0x1FBB, 0), (0x1F72, 3, 2, 0x0395, 2), (0x1F73, 2, 2, 0x1FC9, 2),
        (0x1F77, 1, 1, 0x1FDB, 0), (0x1F78, 1, 1, 0x039F, 0), (0x1F79, 1, 1, 0x1FF9, 0), (0x1F7A, 1, 1, 0x03A5, 0),
        (0x1F7B, 1, 1, 0x1FEB, 0), (0x1F7C, 1, 1, 0x03A9, 0), (0x1F7D, 1, 1, 0x1FFB, 0), (0x1F80, 16, 1, 0x0391, 0),
        (0x1F90, 16, 1, 0x0397, 0), (0x1FA0, 16, 1, 0x03A9, 0), (0x1FB0, 7, 2, 0x0391, 0), (0x1FB1, 2, 2, 0x0391, 0),
        (0x1FB7, 2, 2, 0x0391, 0), (0x1FBE, 1, 1, 0x0399, 0), (0x1FC2, 3, 1, 0x0397, 0), (0x1FC6, 2, 1, 0x0397, 0),
        (0x1FC8, 2, 2, 0x0395, 2), (0x1FCC, 1, 1, 0x0397, 0), (0x1FD0, 3, 1, 0x0399, 0), (0x1FD6, 5, 1, 0x0399, 0),
        (0x1FE0, 3, 1, 0x03A5, 0), (0x1FE4, 2, 1, 0x03A1, 0), (0x1FE6, 5, 1, 0x03A5, 0), (0x1FEC, 1, 1, 0x03A1, 0),
        (0x1FF2, 3, 1, 0x03A9, 0), (0x1FF6, 2, 1, 0x03A9, 0), (0x1FF8, 1, 1, 0x039F, 0), (0x1FFA, 2, 2, 0x03A9, 0),
        (0x2170, 16, 1, 0x2160, 1), (0x24D0, 26, 1, 0x24B6, 1), (0xFF41, 26, 1, 0xFF21, 1),
    ];

    /// Upper case.
    pub(super) const UPPER: &[Run] = &[
        (0x0061, 26, 1, 0x0041, 1), (0x00B5, 1, 1, 0x039C, 0), (0x00E0, 23, 1, 0x00C0, 1), (0x00F8, 7, 1, 0x00D8, 1),
        (0x00FF, 1, 1, 0x0178, 0), (0x0101, 24, 2, 0x0100, 2), (0x0131, 1, 1, 0x0049, 0), (0x0133, 3, 2, 0x0132, 2),
        (0x013A, 8, 2, 0x0139, 2), (0x014B, 23, 2, 0x014A, 2), (0x017A, 3, 2, 0x0179, 2), (0x017F, 1, 1, 0x0053, 0),
        (0x0183, 2, 2, 0x0182, 2), (0x0188, 1, 1, 0x0187, 0), (0x018C, 1, 1, 0x018B, 0), (0x0192, 1, 1, 0x0191, 0),
        (0x0195, 1, 1, 0x01F6, 0), (0x0199, 1, 1, 0x0198, 0), (0x01A1, 3, 2, 0x01A0, 2), (0x01A8, 1, 1, 0x01A7, 0),
        (0x01AD, 1, 1, 0x01AC, 0), (0x01B0, 1, 1, 0x01AF, 0), (0x01B4, 2, 2, 0x01B3, 2), (0x01B9, 1, 1, 0x01B8, 0),
        (0x01BD, 1, 1, 0x01BC, 0), (0x01BF, 1, 1, 0x01F7, 0), (0x01C5, 2, 1, 0x01C4, 0), (0x01C8, 2, 1, 0x01C7, 0),
        (0x01CB, 2, 1, 0x01CA, 0), (0x01CE, 8, 2, 0x01CD, 2), (0x01DD, 1, 1, 0x018E, 0), (0x01DF, 9, 2, 0x01DE, 2),
        (0x01F2, 2, 1, 0x01F1, 0), (0x01F5, 1, 1, 0x01F4, 0), (0x01F9, 20, 2, 0x01F8, 2), (0x0223, 9, 2, 0x0222, 2),
        (0x0253, 1, 1, 0x0181, 0), (0x0254, 1, 1, 0x0186, 0), (0x0256, 2, 1, 0x0189, 1), (0x0259, 2, 2, 0x018F, 1),
        (0x0260, 1, 1, 0x0193, 0), (0x0263, 1, 1, 0x0194, 0), (0x0268, 1, 1, 0x0197, 0), (0x0269, 1, 1, 0x0196, 0),
        (0x026F, 1, 1, 0x019C, 0), (0x0272, 1, 1, 0x019D, 0), (0x0275, 1, 1, 0x019F, 0), (0x0280, 1, 1, 0x01A6, 0),
        (0x0283, 1, 1, 0x01A9, 0), (0x0288, 1, 1, 0x01AE, 0), (0x028A, 2, 1, 0x01B1, 1), (0x0292, 1, 1, 0x01B7, 0),
        (0x0345, 1, 1, 0x0399, 0), (0x03AC, 2, 1, 0x0386, 2), (0x03AE, 2, 1, 0x0389, 1), (0x03B1, 17, 1, 0x0391, 1),
        (0x03C2, 2, 1, 0x03A3, 0), (0x03C4, 8, 1, 0x03A4, 1), (0x03CC, 2, 1, 0x038C, 2), (0x03CE, 1, 1, 0x038F, 0),
        (0x03D0, 1, 1, 0x0392, 0), (0x03D1, 1, 1, 0x0398, 0), (0x03D5, 1, 1, 0x03A6, 0), (0x03D6, 1, 1, 0x03A0, 0),
        (0x03DB, 11, 2, 0x03DA, 2), (0x03F0, 1, 1, 0x039A, 0), (0x03F1, 2, 1, 0x03A1, 2), (0x0430, 32, 1, 0x0410, 1),
        (0x0450, 16, 1, 0x0400, 1), (0x0461, 17, 2, 0x0460, 2), (0x048D, 26, 2, 0x048C, 2), (0x04C2, 2, 2, 0x04C1, 2),
        (0x04C8, 1, 1, 0x04C7, 0), (0x04CC, 1, 1, 0x04CB, 0), (0x04D1, 19, 2, 0x04D0, 2), (0x04F9, 1, 1, 0x04F8, 0),
        (0x0561, 38, 1, 0x0531, 1), (0x1E01, 75, 2, 0x1E00, 2), (0x1E9B, 1, 1, 0x1E60, 0), (0x1EA1, 45, 2, 0x1EA0, 2),
        (0x1F00, 8, 1, 0x1F08, 1), (0x1F10, 6, 1, 0x1F18, 1), (0x1F20, 8, 1, 0x1F28, 1), (0x1F30, 8, 1, 0x1F38, 1),
        (0x1F40, 6, 1, 0x1F48, 1), (0x1F51, 4, 2, 0x1F59, 2), (0x1F60, 8, 1, 0x1F68, 1), (0x1F70, 2, 1, 0x1FBA, 1),
        (0x1F72, 4, 1, 0x1FC8, 1), (0x1F76, 2, 1, 0x1FDA, 1), (0x1F78, 2, 1, 0x1FF8, 1), (0x1F7A, 2, 1, 0x1FEA, 1),
        (0x1F7C, 2, 1, 0x1FFA, 1), (0x1F80, 8, 1, 0x1F88, 1), (0x1F90, 8, 1, 0x1F98, 1), (0x1FA0, 8, 1, 0x1FA8, 1),
        (0x1FB0, 2, 1, 0x1FB8, 1), (0x1FB3, 1, 1, 0x1FBC, 0), (0x1FBE, 1, 1, 0x0399, 0), (0x1FC3, 1, 1, 0x1FCC, 0),
        (0x1FD0, 2, 1, 0x1FD8, 1), (0x1FE0, 2, 1, 0x1FE8, 1), (0x1FE5, 1, 1, 0x1FEC, 0), (0x1FF3, 1, 1, 0x1FFC, 0),
        (0x2170, 16, 1, 0x2160, 1), (0x24D0, 26, 1, 0x24B6, 1), (0xFF41, 26, 1, 0xFF21, 1),
    ];

    /// Lower case.
    pub(super) const LOWER: &[Run] = &[
        (0x0041, 26, 1, 0x0061, 1), (0x00C0, 23, 1, 0x00E0, 1), (0x00D8, 7, 1, 0x00F8, 1), (0x0100, 24, 2, 0x0101, 2),
        (0x0130, 1, 1, 0x0069, 0), (0x0132, 3, 2, 0x0133, 2), (0x0139, 8, 2, 0x013A, 2), (0x014A, 23, 2, 0x014B, 2),
        (0x0178, 1, 1, 0x00FF, 0), (0x0179, 3, 2, 0x017A, 2), (0x0181, 1, 1, 0x0253, 0), (0x0182, 2, 2, 0x0183, 2),
        (0x0186, 1, 1, 0x0254, 0), (0x0187, 1, 1, 0x0188, 0), (0x0189, 2, 1, 0x0256, 1), (0x018B, 1, 1, 0x018C, 0),
        (0x018E, 1, 1, 0x01DD, 0), (0x018F, 2, 1, 0x0259, 2), (0x0191, 1, 1, 0x0192, 0), (0x0193, 1, 1, 0x0260, 0),
        (0x0194, 1, 1, 0x0263, 0), (0x0196, 1, 1, 0x0269, 0), (0x0197, 1, 1, 0x0268, 0), (0x0198, 1, 1, 0x0199, 0),
        (0x019C, 1, 1, 0x026F, 0), (0x019D, 1, 1, 0x0272, 0), (0x019F, 1, 1, 0x0275, 0), (0x01A0, 3, 2, 0x01A1, 2),
        (0x01A6, 1, 1, 0x0280, 0), (0x01A7, 1, 1, 0x01A8, 0), (0x01A9, 1, 1, 0x0283, 0), (0x01AC, 1, 1, 0x01AD, 0),
        (0x01AE, 1, 1, 0x0288, 0), (0x01AF, 1, 1, 0x01B0, 0), (0x01B1, 2, 1, 0x028A, 1), (0x01B3, 2, 2, 0x01B4, 2),
        (0x01B7, 1, 1, 0x0292, 0), (0x01B8, 1, 1, 0x01B9, 0), (0x01BC, 1, 1, 0x01BD, 0), (0x01C4, 2, 1, 0x01C6, 0),
        (0x01C7, 2, 1, 0x01C9, 0), (0x01CA, 2, 1, 0x01CC, 0), (0x01CD, 8, 2, 0x01CE, 2), (0x01DE, 9, 2, 0x01DF, 2),
        (0x01F1, 2, 1, 0x01F3, 0), (0x01F4, 1, 1, 0x01F5, 0), (0x01F6, 1, 1, 0x0195, 0), (0x01F7, 1, 1, 0x01BF, 0),
        (0x01F8, 20, 2, 0x01F9, 2), (0x0222, 9, 2, 0x0223, 2), (0x0386, 2, 2, 0x03AC, 1), (0x0389, 2, 1, 0x03AE, 1),
        (0x038C, 2, 2, 0x03CC, 1), (0x038F, 1, 1, 0x03CE, 0), (0x0391, 17, 1, 0x03B1, 1), (0x03A3, 9, 1, 0x03C3, 1),
        (0x03DA, 11, 2, 0x03DB, 2), (0x0400, 16, 1, 0x0450, 1), (0x0410, 32, 1, 0x0430, 1), (0x0460, 17, 2, 0x0461, 2),
        (0x048C, 26, 2, 0x048D, 2), (0x04C1, 2, 2, 0x04C2, 2), (0x04C7, 1, 1, 0x04C8, 0), (0x04CB, 1, 1, 0x04CC, 0),
        (0x04D0, 19, 2, 0x04D1, 2), (0x04F8, 1, 1, 0x04F9, 0), (0x0531, 38, 1, 0x0561, 1), (0x1E00, 75, 2, 0x1E01, 2),
        (0x1EA0, 45, 2, 0x1EA1, 2), (0x1F08, 8, 1, 0x1F00, 1), (0x1F18, 6, 1, 0x1F10, 1), (0x1F28, 8, 1, 0x1F20, 1),
        (0x1F38, 8, 1, 0x1F30, 1), (0x1F48, 6, 1, 0x1F40, 1), (0x1F59, 4, 2, 0x1F51, 2), (0x1F68, 8, 1, 0x1F60, 1),
        (0x1F88, 8, 1, 0x1F80, 1), (0x1F98, 8, 1, 0x1F90, 1), (0x1FA8, 8, 1, 0x1FA0, 1), (0x1FB8, 2, 1, 0x1FB0, 1),
        (0x1FBA, 2, 1, 0x1F70, 1), (0x1FBC, 1, 1, 0x1FB3, 0), (0x1FC8, 4, 1, 0x1F72, 1), (0x1FCC, 1, 1, 0x1FC3, 0),
        (0x1FD8, 2, 1, 0x1FD0, 1), (0x1FDA, 2, 1, 0x1F76, 1), (0x1FE8, 2, 1, 0x1FE0, 1), (0x1FEA, 2, 1, 0x1F7A, 1),
        (0x1FEC, 1, 1, 0x1FE5, 0), (0x1FF8, 2, 1, 0x1F78, 1), (0x1FFA, 2, 1, 0x1F7C, 1), (0x1FFC, 1, 1, 0x1FF3, 0),
        (0x2126, 1, 1, 0x03C9, 0), (0x212A, 1, 1, 0x006B, 0), (0x212B, 1, 1, 0x00E5, 0), (0x2160, 16, 1, 0x2170, 1),
        (0x24B6, 26, 1, 0x24D0, 1), (0xFF21, 26, 1, 0xFF41, 1),
    ];
}

use runs::{LOWER, UPPER, WEIGHTS};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_weigh_as_their_base_letter() {
        for (letter, base) in
            [('a', 'A'), ('Z', 'Z'), ('é', 'E'), ('ß', 'S'), ('ı', 'I'), ('я', 'Я'), ('ａ', 'Ａ'), ('中', '中')]
        {
            assert_eq!(general_weight(letter as u32), base as u16, "{letter}");
        }
        assert_eq!(general_weight('😀' as u32), SUPPLEMENTARY_WEIGHT);
    }

    #[test]
    fn only_the_space_weighs_as_a_space() {
        // Stripping trailing spaces before hashing relies on it.
        assert!((0..0x1_0000).all(|code_point| (general_weight(code_point) == 0x20) == (code_point == 0x20)));
    }

    #[test]
    fn letters_of_both_cases_weigh_the_same() {
        for code_point in 0..0x1_0000 {
            if to_lower(to_upper(code_point)) == code_point {
                assert_eq!(general_weight(to_upper(code_point)), general_weight(code_point), "{code_point:#x}");
            }
        }
    }
}
