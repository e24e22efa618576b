//! Names of months and days by language (`lc_time_names`), and how numbers are written there (FORMAT).
//!
//! `locales.txt` has five lines for each language: how its countries write numbers, the months and their short names, the
//! days from Monday on and theirs:
//!
//! ```text
//! .,3=en_AU en_CA; .,2=en_IN        the point, what divides groups of digits, and how long the groups before the last are
//!   January|February|...
//! ```
//!
//! The names are those that MariaDB 10.11 gives.

use std::sync::LazyLock;

pub struct Locale {
    pub name: &'static str,
    pub months: [&'static str; 12],
    pub months_short: [&'static str; 12],
    /// From Monday on.
    pub days: [&'static str; 7],
    pub days_short: [&'static str; 7],
    pub point: u8,
    /// What divides groups of digits: the last one of three, those before it of so many.
    pub groups: Option<(u8, usize)>,
}

impl PartialEq for Locale {
    fn eq(&self, other: &Locale) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Locale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All, by their numbers, which a SET may give in their place.
#[rustfmt::skip]
pub const NAMES: [&str; 111] = [
    "en_US", "en_GB", "ja_JP", "sv_SE", "de_DE", "fr_FR", "ar_AE", "ar_BH", "ar_JO", "ar_SA", "ar_SY", "be_BY",
    "bg_BG", "ca_ES", "cs_CZ", "da_DK", "de_AT", "es_ES", "et_EE", "eu_ES", "fi_FI", "fo_FO", "gl_ES", "gu_IN",
    "he_IL", "hi_IN", "hr_HR", "hu_HU", "id_ID", "is_IS", "it_CH", "ko_KR", "lt_LT", "lv_LV", "mk_MK", "mn_MN",
    "ms_MY", "nb_NO", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "ro_RO", "ru_RU", "ru_UA", "sk_SK", "sl_SI", "sq_AL",
    "sr_RS", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK", "vi_VN", "zh_CN", "zh_TW", "ar_DZ", "ar_EG",
    "ar_IN", "ar_IQ", "ar_KW", "ar_LB", "ar_LY", "ar_MA", "ar_OM", "ar_QA", "ar_SD", "ar_TN", "ar_YE", "de_BE",
    "de_CH", "de_LU", "en_AU", "en_CA", "en_IN", "en_NZ", "en_PH", "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL",
    "es_CO", "es_CR", "es_DO", "es_EC", "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY",
    "es_SV", "es_US", "es_UY", "es_VE", "fr_BE", "fr_CA", "fr_CH", "fr_LU", "it_IT", "nl_BE", "no_NO", "sv_FI",
    "zh_HK", "el_GR", "rm_CH",
];

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    let mut all = Vec::new();
    let mut lines = include_str!("locales.txt").lines();
    while let Some(countries) = lines.next() {
        let [months, months_short] = std::array::from_fn(|_| names(lines.next()));
        let [days, days_short] = std::array::from_fn(|_| names(lines.next()));
        for (numbers, countries) in countries.split("; ").filter_map(|some| some.split_once('=')) {
            let groups = match numbers.as_bytes()[1..] {
                [divider, length] => Some((if divider == b'0' { 0 } else { divider }, usize::from(length - b'0'))),
                _ => None,
            };
            let point = numbers.as_bytes()[0];
            for name in countries.split(' ') {
                all.push(Locale { name, months, months_short, days, days_short, point, groups });
            }
        }
    }
    all.sort_by_key(|locale| NAMES.iter().position(|name| *name == locale.name));
    all
});

fn names<const N: usize>(line: Option<&'static str>) -> [&'static str; N] {
    let mut names = line.unwrap_or_default().trim_start().split('|');
    std::array::from_fn(|_| names.next().unwrap_or_default())
}

impl Locale {
    /// By its name, in any case.
    pub fn find(name: &str) -> Option<&'static Locale> {
        LOCALES.iter().find(|locale| locale.name.eq_ignore_ascii_case(name))
    }

    pub fn english() -> &'static Locale {
        static ENGLISH: LazyLock<&'static Locale> =
            LazyLock::new(|| Locale::find("en_US").expect("a locale that is built in"));
        &ENGLISH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_names() {
        assert!(LOCALES.iter().map(|locale| locale.name).eq(NAMES));
        for locale in LOCALES.iter() {
            let names = [&locale.months[..], &locale.months_short, &locale.days, &locale.days_short].concat();
            assert!(names.iter().all(|name| !name.is_empty()), "{}", locale.name);
        }
        let german = Locale::find("DE_de").expect("it is there");
        assert_eq!((german.months[2], german.days_short[6], german.point), ("März", "So", b','));
        assert_eq!(Locale::find("en_IN").expect("it is there").groups, Some((b',', 2)));
        assert!(Locale::find("xx").is_none());
    }
}
