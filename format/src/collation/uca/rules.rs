//! How languages order their letters: the rules of MySQL's collations, in the notation of `tailoring.rs`.
//!
//! Behind the `;` of a rule of 9.0.0 stand the letters that the rules do not name and that are what they name with further
//! marks: such a letter weighs as its parts do. (Unicode's canonical decompositions; `ḉ` is `ç` and an acute accent.)
//!
//! Sources: the Unicode Common Locale Data Repository, version 30, "collation"; the MySQL manual, "Unicode Character Sets".

use super::tailoring::{Script, Tailoring};

/// Weights of Unicode 4.0.0.
pub(super) mod v4 {
    use super::Tailoring;

    pub const CROATIAN: Tailoring = Tailoring::of(
        "&C<č<<<Č<ć<<<Ć &D<dž=ǆ<<<dŽ<<<Dž=ǅ<<<DŽ=Ǆ<đ<<<Đ &L<lj=ǉ<<<lJ<<<Lj=ǈ<<<LJ=Ǉ &N<nj=ǌ<<<nJ<<<Nj=ǋ<<<NJ=Ǌ &S<š<<<Š \
            &Z<ž<<<Ž",
    );
    pub const CZECH: Tailoring = Tailoring::of("&C<č<<<Č &H<ch<<<Ch<<<CH &R<ř<<<Ř &S<š<<<Š &Z<ž<<<Ž");
    pub const DANISH: Tailoring =
        Tailoring::of("&Y<<ü<<<Ü<<ű<<<Ű &Z<æ<<<Æ<<ä<<<Ä<ø<<<Ø<<ö<<<Ö<<ő<<<Ő<å<<<Å<<aa<<<Aa<<<AA");
    pub const ESPERANTO: Tailoring = Tailoring::of("&C<ĉ<<<Ĉ &G<ĝ<<<Ĝ &H<ĥ<<<Ĥ &J<ĵ<<<Ĵ &S<ŝ<<<Ŝ &U<ŭ<<<Ŭ");
    pub const ESTONIAN: Tailoring = Tailoring::of("&S<š<<<Š<z<<<Z<ž<<<Ž &W<õ<<<Õ<ä<<<Ä<ö<<<Ö<ü<<<Ü");
    pub const GERMAN2: Tailoring = Tailoring::of("&AE<<æ<<<Æ<<ä<<<Ä &OE<<œ<<<Œ<<ö<<<Ö &UE<<ü<<<Ü");
    pub const HUNGARIAN: Tailoring = Tailoring::of("&O<ö<<<Ö<<ő<<<Ő &U<ü<<<Ü<<ű<<<Ű");
    pub const ICELANDIC: Tailoring = Tailoring::of(
        "&A<á<<<Á &D<ð<<<Ð &E<é<<<É &I<í<<<Í &O<ó<<<Ó &U<ú<<<Ú &Y<ý<<<Ý &Z<þ<<<Þ<æ<<<Æ<<ä<<<Ä<ö<<<Ö<<ø<<<Ø<å<<<Å",
    );
    pub const LATVIAN: Tailoring =
        Tailoring::of("&C<č<<<Č &G<ģ<<<Ģ &I<y<<<Y &K<ķ<<<Ķ &L<ļ<<<Ļ &N<ņ<<<Ņ &R<ŗ<<<Ŗ &S<š<<<Š &Z<ž<<<Ž");
    pub const LITHUANIAN: Tailoring =
        Tailoring::of("&C<<ch<<<Ch<<<CH<č<<<Č &E<<ę<<<Ę<<ė<<<Ė &I<<y<<<Y &S<š<<<Š &Z<ž<<<Ž");
    pub const PERSIAN: Tailoring = Tailoring::of(
        "&\u{66D}<\u{64E}<\u{FE76}<\u{FE77}<\u{650}<\u{FE7A}<\u{FE7B}<\u{64F}<\u{FE78}<\u{FE79} \
            <\u{64B}<\u{FE70}<\u{FE71}<\u{64D}<\u{FE74}<\u{64C}<\u{FE72} &\u{FE7F}<\u{653}<\u{654}<\u{655}<\u{670} \
            &\u{669}<\u{622}<\u{627}<\u{671}<\u{621}<\u{623}<\u{625}<\u{624}<\u{626} &\u{642}<\u{6A9}<\u{643} \
            &\u{648}<\u{647}<\u{629}<\u{6C0}<\u{6CC}<\u{649}<\u{64A} \
            &\u{FE80}<\u{FE81}<\u{FE82}<\u{FE8D}<\u{FE8E}<\u{FB50}<\u{FB51}<\u{FE80} \
            &\u{FE80}<\u{FE83}<\u{FE84}<\u{FE87}<\u{FE88}<\u{FE85}<\u{FE86}<\u{689}<\u{68A} &\u{FEAE}<\u{FDFC} \
            &\u{FED8}<\u{FB8E}<\u{FB8F}<\u{FB90}<\u{FB91}<\u{FED9}<\u{FEDA}<\u{FEDB}<\u{FEDC} \
            &\u{FEEE}<\u{FEE9}<\u{FEEA}<\u{FEEB}<\u{FEEC}<\u{FE93}<\u{FE94}<\u{FBA4}<\u{FBA5}<\u{FBFC} \
            <\u{FBFD}<\u{FBFE}<\u{FBFF}<\u{FEEF}<\u{FEF0}<\u{FEF1}<\u{FEF2}<\u{FEF3}<\u{FEF4}<\u{FEF5} \
            <\u{FEF6}<\u{FEF7}<\u{FEF8}<\u{FEF9}<\u{FEFA}<\u{FEFB}<\u{FEFC}",
    );
    pub const POLISH: Tailoring =
        Tailoring::of("&A<ą<<<Ą &C<ć<<<Ć &E<ę<<<Ę &L<ł<<<Ł &N<ń<<<Ń &O<ó<<<Ó &S<ś<<<Ś &Z<ź<<<Ź<ż<<<Ż");
    pub const ROMAN: Tailoring = Tailoring::of("&I<<j<<<J &V<<u<<<U");
    pub const ROMANIAN: Tailoring = Tailoring::of("&A<ă<<<Ă<â<<<Â &I<î<<<Î &S<ș<<<Ș<<ş<<<Ş &T<ț<<<Ț<<ţ<<<Ţ");
    pub const SINHALA: Tailoring = Tailoring::of(
        "&ඖ<\u{D82}<\u{D83}<ක<ඛ<ග<ඝ<ඞ<ඟ<ච<ඡ<ජ<ඣ<ඥ<ඤ<ඦ<ට<ඨ<ඩ<ඪ<ණ<ඬ<ත<ථ<ද<ධ<න<ඳ<ප<ඵ<බ<භ<ම<ඹ<ය<ර<ල<ව<ශ \
            <ෂ<ස<හ<ළ<ෆ<\u{DCF}<\u{DD0}<\u{DD1}<\u{DD2}<\u{DD3}<\u{DD4}<\u{DD6}<\u{DD8}<\u{DF2}<\u{DDF} \
            <\u{DF3}<\u{DD9}<\u{DDA}<\u{DDB}<\u{DDC}<\u{DDD}<\u{DDE}<\u{DCA}",
    );
    pub const SLOVAK: Tailoring = Tailoring::of("&A<ä<<<Ä &C<č<<<Č &H<ch<<<Ch<<<CH &O<ô<<<Ô &S<š<<<Š &Z<ž<<<Ž");
    pub const SLOVENIAN: Tailoring = Tailoring::of("&C<č<<<Č &S<š<<<Š &Z<ž<<<Ž");
    pub const SPANISH: Tailoring = Tailoring::of("&N<ñ<<<Ñ");
    pub const SPANISH2: Tailoring = Tailoring::of("&C<ch<<<Ch<<<CH &L<ll<<<Ll<<<LL &N<ñ<<<Ñ");
    pub const SWEDISH: Tailoring = Tailoring::of("&Y<<ü<<<Ü &Z<å<<<Å<ä<<<Ä<<æ<<<Æ<ö<<<Ö<<ø<<<Ø");
    pub const TURKISH: Tailoring = Tailoring::of("&C<ç<<<Ç &G<ğ<<<Ğ &H<ı<<<I &O<ö<<<Ö &S<ş<<<Ş &U<ü<<<Ü");
    pub const VIETNAMESE: Tailoring = Tailoring::of(
        "&A<<à<<<À<<ả<<<Ả<<ã<<<Ã<<á<<<Á<<ạ<<<Ạ<ă<<<Ă<<ằ<<<Ằ<<ẳ<<<Ẳ<<ẵ<<<Ẵ<<ắ<<<Ắ<<ặ<<<Ặ<â<<<Â<<ầ \
            <<<Ầ<<ẩ<<<Ẩ<<ẫ<<<Ẫ<<ấ<<<Ấ<<ậ<<<Ậ &D<đ<<<Đ \
            &E<<è<<<È<<ẻ<<<Ẻ<<ẽ<<<Ẽ<<é<<<É<<ẹ<<<Ẹ<ê<<<Ê<<ề<<<Ề<<ể<<<Ể<<ễ<<<Ễ<<ế<<<Ế<<ệ<<<Ệ \
            &I<<ì<<<Ì<<ỉ<<<Ỉ<<ĩ<<<Ĩ<<í<<<Í<<ị<<<Ị \
            &O<<ò<<<Ò<<ỏ<<<Ỏ<<õ<<<Õ<<ó<<<Ó<<ọ<<<Ọ<ô<<<Ô<<ồ<<<Ồ<<ổ<<<Ổ<<ỗ<<<Ỗ<<ố<<<Ố<<ộ<<<Ộ<ơ<<<Ơ<<ờ \
            <<<Ờ<<ở<<<Ở<<ỡ<<<Ỡ<<ớ<<<Ớ<<ợ<<<Ợ &U<<ù<<<Ù<<ủ<<<Ủ<<ũ<<<Ũ<<ú<<<Ú<<ụ<<<Ụ<ư<<<Ư<<ừ<<<Ừ<<ử<<<Ử<<ữ<<<Ữ<<ứ<<<Ứ<<ự<<<Ự \
            &Y<<ỳ<<<Ỳ<<ỷ<<<Ỷ<<ỹ<<<Ỹ<<ý<<<Ý<<ỵ<<<Ỵ",
    );
}

/// Weights of Unicode 9.0.0.
pub(super) mod v9 {
    use super::{Script, Tailoring};

    pub const CS: Tailoring =
        Tailoring::of("&C<č<<<Č &H<ch<<<cH<<<Ch<<<CH &R<ř<<<Ř &S<š<<<Š &Z<ž<<<Ž ; ṧš\u{307} ṦŠ\u{307}");
    pub const DA: Tailoring = Tailoring::of(
        "&D<<đ<<<Đ<<ð<<<Ð &t<<<þ/h &T<<<Þ/H &Y<<ü<<<Ü<<ű<<<Ű \
            &!ǀ<æ<<<Æ<<ä<<<Ä<ø<<<Ø<<ö<<<Ö<<ő<<<Ő<<œ<<<Œ<å<<<Å<<<aa<<<Aa<<<AA ; ǖü\u{304} ǘü\u{301} ǚü\u{30C} ǜü\u{300} \
            ǕÜ\u{304} ǗÜ\u{301} ǙÜ\u{30C} ǛÜ\u{300} ǣæ\u{304} ǽæ\u{301} ǢÆ\u{304} ǼÆ\u{301} ǟä\u{304} ǞÄ\u{304} ǿø\u{301} \
            ǾØ\u{301} ȫö\u{304} ȪÖ\u{304} ǻå\u{301} ǺÅ\u{301} ÅÅ",
    );
    pub const DE_PB: Tailoring = Tailoring::of(
        "&AE<<ä<<<Ä &OE<<ö<<<Ö &UE<<ü<<<Ü ; ǟä\u{304} ǞÄ\u{304} ȫö\u{304} ȪÖ\u{304} ǖü\u{304} ǘü\u{301} ǚü\u{30C} \
            ǜü\u{300} ǕÜ\u{304} ǗÜ\u{301} ǙÜ\u{30C} ǛÜ\u{300}",
    );
    pub const EO: Tailoring = Tailoring::of("&C<ĉ<<<Ĉ &G<ĝ<<<Ĝ &H<ĥ<<<Ĥ &J<ĵ<<<Ĵ &S<ŝ<<<Ŝ &U<ŭ<<<Ŭ");
    pub const ES: Tailoring = Tailoring::of("&N<ñ<<<Ñ");
    pub const ES_TRAD: Tailoring = Tailoring::of("&N<ñ<<<Ñ &C<ch<<<Ch<<<CH &l<ll<<<Ll<<<LL");
    pub const ET: Tailoring = Tailoring::of(
        "&!T<š<<<Š<z<<<Z<ž<<<Ž &!X<õ<<<Õ<ä<<<Ä<ö<<<Ö<ü<<<Ü ; ṧš\u{307} ṦŠ\u{307} źz\u{301} żz\u{307} ẑz\u{302} ẓz\u{323} \
            ẕz\u{331} ŹZ\u{301} ŻZ\u{307} ẐZ\u{302} ẒZ\u{323} ẔZ\u{331} ȭõ\u{304} ṍõ\u{301} ṏõ\u{308} ỡõ\u{31B} ȬÕ\u{304} \
            ṌÕ\u{301} ṎÕ\u{308} ỠÕ\u{31B} ǟä\u{304} ǞÄ\u{304} ȫö\u{304} ȪÖ\u{304} ǖü\u{304} ǘü\u{301} ǚü\u{30C} ǜü\u{300} \
            ǕÜ\u{304} ǗÜ\u{301} ǙÜ\u{30C} ǛÜ\u{300}",
    );
    pub const HR: Tailoring = Tailoring::of(
        "&C<č<<<Č<ć<<<Ć &D<dž<<<ǆ<<<Dž<<<ǅ<<<DŽ<<<Ǆ<đ<<<Đ &L<lj<<<ǉ<<<Lj<<<ǈ<<<LJ<<<Ǉ &N<nj<<<ǌ<<<Nj<<<ǋ<<<NJ<<<Ǌ \
            &S<š<<<Š &Z<ž<<<Ž ; ḉć\u{327} ḈĆ\u{327} ṧš\u{307} ṦŠ\u{307}",
    )
    .reordered(&[Script::Latin, Script::Cyrillic]);
    pub const HU: Tailoring = Tailoring::of(
        "&C<cs<<<Cs<<<CS &D<dz<<<Dz<<<DZ &DZ<dzs<<<Dzs<<<DZS &G<gy<<<Gy<<<GY &L<ly<<<Ly<<<LY &N<ny<<<Ny<<<NY \
            &S<sz<<<Sz<<<SZ &T<ty<<<Ty<<<TY &Z<zs<<<Zs<<<ZS &O<ö<<<Ö<<ő<<<Ő &U<ü<<<Ü<<ű<<<Ű &cs<<<ccs/cs &Cs<<<Ccs/cs \
            &CS<<<CCS/CS &dz<<<ddz/dz &Dz<<<Ddz/dz &DZ<<<DDZ/DZ &dzs<<<ddzs/dzs &Dzs<<<Ddzs/dzs &DZS<<<DDZS/DZS &gy<<<ggy/gy \
            &Gy<<<Ggy/gy &GY<<<GGY/GY &ly<<<lly/ly &Ly<<<Lly/ly &LY<<<LLY/LY &ny<<<nny/ny &Ny<<<Nny/ny &NY<<<NNY/NY \
            &sz<<<ssz/sz &Sz<<<Ssz/sz &SZ<<<SSZ/SZ &ty<<<tty/ty &Ty<<<Tty/ty &TY<<<TTY/TY &zs<<<zzs/zs &Zs<<<Zzs/zs \
            &ZS<<<ZZS/ZS ; ȫö\u{304} ȪÖ\u{304} ǖü\u{304} ǘü\u{301} ǚü\u{30C} ǜü\u{300} ǕÜ\u{304} ǗÜ\u{301} ǙÜ\u{30C} \
            ǛÜ\u{300}",
    );
    pub const IS: Tailoring = Tailoring::of(
        "&!b<á<<<Á &d<<đ<<<Đ<ð<<<Ð &!f<é<<<É &!j<í<<<Í &!p<ó<<<Ó &!v<ú<<<Ú &!z<ý<<<Ý &!ǀ<æ<<<Æ<<ä<<<Ä<ö<<<Ö<<ø<<<Ø<å<<<Å \
            ; ớó\u{31B} ỚÓ\u{31B} ứú\u{31B} ỨÚ\u{31B} ǣæ\u{304} ǽæ\u{301} ǢÆ\u{304} ǼÆ\u{301} ǟä\u{304} ǞÄ\u{304} ȫö\u{304} \
            ȪÖ\u{304} ǿø\u{301} ǾØ\u{301} ǻå\u{301} ǺÅ\u{301} ÅÅ",
    );
    pub const LA: Tailoring = Tailoring::of(
        "&I<<j<<<J &V<<u<<<U ; ĵj\u{302} ǰj\u{30C} ĴJ\u{302} ùu\u{300} úu\u{301} ûu\u{302} üu\u{308} ũu\u{303} ūu\u{304} \
            ŭu\u{306} ůu\u{30A} űu\u{30B} ųu\u{328} ưu\u{31B} ǔu\u{30C} ǖu\u{308}\u{304} ǘu\u{308}\u{301} ǚu\u{308}\u{30C} \
            ǜu\u{308}\u{300} ȕu\u{30F} ȗu\u{311} ṳu\u{324} ṵu\u{330} ṷu\u{32D} ṹu\u{303}\u{301} ṻu\u{304}\u{308} ụu\u{323} \
            ủu\u{309} ứu\u{31B}\u{301} ừu\u{31B}\u{300} ửu\u{31B}\u{309} ữu\u{31B}\u{303} ựu\u{31B}\u{323} ÙU\u{300} \
            ÚU\u{301} ÛU\u{302} ÜU\u{308} ŨU\u{303} ŪU\u{304} ŬU\u{306} ŮU\u{30A} ŰU\u{30B} ŲU\u{328} ƯU\u{31B} ǓU\u{30C} \
            ǕU\u{308}\u{304} ǗU\u{308}\u{301} ǙU\u{308}\u{30C} ǛU\u{308}\u{300} ȔU\u{30F} ȖU\u{311} ṲU\u{324} ṴU\u{330} \
            ṶU\u{32D} ṸU\u{303}\u{301} ṺU\u{304}\u{308} ỤU\u{323} ỦU\u{309} ỨU\u{31B}\u{301} ỪU\u{31B}\u{300} \
            ỬU\u{31B}\u{309} ỮU\u{31B}\u{303} ỰU\u{31B}\u{323}",
    );
    pub const LT: Tailoring = Tailoring::of(
        "&\u{300}=\u{307}\u{300} &\u{301}=\u{307}\u{301} &\u{303}=\u{307}\u{303} &A<<ą<<<Ą &C<č<<<Č &E<<ę<<<Ę<<ė<<<Ė \
            &I<<į<<<Į<<y<<<Y &S<š<<<Š &U<<ų<<<Ų<<ū<<<Ū &Z<ž<<<Ž ; ýy\u{301} ÿy\u{308} ŷy\u{302} ȳy\u{304} ẏy\u{307} \
            ẙy\u{30A} ỳy\u{300} ỵy\u{323} ỷy\u{309} ỹy\u{303} ÝY\u{301} ŶY\u{302} ŸY\u{308} ȲY\u{304} ẎY\u{307} ỲY\u{300} \
            ỴY\u{323} ỶY\u{309} ỸY\u{303} ṧš\u{307} ṦŠ\u{307} ṻū\u{308} ṺŪ\u{308}",
    );
    pub const LV: Tailoring = Tailoring::of(
        "&!D<č<<<Č &!H<ģ<<<Ģ &I<<y<<<Y &!L<ķ<<<Ķ &!M<ļ<<<Ļ &!O<ņ<<<Ņ &!S<ŗ<<<Ŗ &!T<š<<<Š &!Ʒ<ž<<<Ž ; ýy\u{301} ÿy\u{308} \
            ŷy\u{302} ȳy\u{304} ẏy\u{307} ẙy\u{30A} ỳy\u{300} ỵy\u{323} ỷy\u{309} ỹy\u{303} ÝY\u{301} ŶY\u{302} ŸY\u{308} \
            ȲY\u{304} ẎY\u{307} ỲY\u{300} ỴY\u{323} ỶY\u{309} ỸY\u{303} ṧš\u{307} ṦŠ\u{307}",
    );
    pub const PL: Tailoring = Tailoring::of(
        "&A<ą<<<Ą &C<ć<<<Ć &E<ę<<<Ę &L<ł<<<Ł &N<ń<<<Ń &O<ó<<<Ó &S<ś<<<Ś &Z<ź<<<Ź<ż<<<Ż ; ḉć\u{327} ḈĆ\u{327} ớó\u{31B} \
            ỚÓ\u{31B} ṥś\u{307} ṤŚ\u{307}",
    );
    pub const RO: Tailoring = Tailoring::of(
        "&A<ă<<<Ă<â<<<Â &I<î<<<Î &S<ş=ș<<<Ş=Ș &T<ţ=ț<<<Ţ=Ț ; ắă\u{301} ằă\u{300} ẳă\u{309} ẵă\u{303} ặă\u{323} ẮĂ\u{301} \
            ẰĂ\u{300} ẲĂ\u{309} ẴĂ\u{303} ẶĂ\u{323} ấâ\u{301} ầâ\u{300} ẩâ\u{309} ẫâ\u{303} ậâ\u{323} ẤÂ\u{301} ẦÂ\u{300} \
            ẨÂ\u{309} ẪÂ\u{303} ẬÂ\u{323}",
    );
    pub const SK: Tailoring = Tailoring::of(
        "&A<ä<<<Ä &C<č<<<Č &H<ch<<<cH<<<Ch<<<CH &O<ô<<<Ô &R<ř<<<Ř &S<š<<<Š &Z<ž<<<Ž ; ǟä\u{304} ǞÄ\u{304} ốô\u{301} \
            ồô\u{300} ổô\u{309} ỗô\u{303} ộô\u{323} ỐÔ\u{301} ỒÔ\u{300} ỔÔ\u{309} ỖÔ\u{303} ỘÔ\u{323} ṧš\u{307} ṦŠ\u{307}",
    );
    pub const SL: Tailoring =
        Tailoring::of("&C<č<<<Č<ć<<<Ć &D<đ<<<Đ &S<š<<<Š &Z<ž<<<Ž ; ḉć\u{327} ḈĆ\u{327} ṧš\u{307} ṦŠ\u{307}");
    pub const SV: Tailoring = Tailoring::of(
        "&D<<đ<<<Đ<<ð<<<Ð &t<<<þ/h &T<<<Þ/H &Y<<ü<<<Ü<<ű<<<Ű \
            &!ǀ<å<<<Å<ä<<<Ä<<æ<<<Æ<<ę<<<Ę<ö<<<Ö<<ø<<<Ø<<ő<<<Ő<<œ<<<Œ<<ô<<<Ô ; ǖü\u{304} ǘü\u{301} ǚü\u{30C} ǜü\u{300} \
            ǕÜ\u{304} ǗÜ\u{301} ǙÜ\u{30C} ǛÜ\u{300} ǻå\u{301} ǺÅ\u{301} ÅÅ ǟä\u{304} ǞÄ\u{304} ǣæ\u{304} ǽæ\u{301} ǢÆ\u{304} \
            ǼÆ\u{301} ȫö\u{304} ȪÖ\u{304} ǿø\u{301} ǾØ\u{301} ốô\u{301} ồô\u{300} ổô\u{309} ỗô\u{303} ộô\u{323} ỐÔ\u{301} \
            ỒÔ\u{300} ỔÔ\u{309} ỖÔ\u{303} ỘÔ\u{323}",
    );
    pub const TR: Tailoring = Tailoring::of(
        "&C<ç<<<Ç &G<ğ<<<Ğ &!i<ı<<<I &i<<<İ &O<ö<<<Ö &S<ş<<<Ş &U<ü<<<Ü ; ḉç\u{301} ḈÇ\u{301} ÌI\u{300} ÍI\u{301} \
            ÎI\u{302} ÏI\u{308} ĨI\u{303} ĪI\u{304} ĬI\u{306} ĮI\u{328} ǏI\u{30C} ȈI\u{30F} ȊI\u{311} ḬI\u{330} \
            ḮI\u{308}\u{301} ỈI\u{309} ỊI\u{323} ȫö\u{304} ȪÖ\u{304} ǖü\u{304} ǘü\u{301} ǚü\u{30C} ǜü\u{300} ǕÜ\u{304} \
            ǗÜ\u{301} ǙÜ\u{30C} ǛÜ\u{300}",
    );
    pub const VI: Tailoring = Tailoring::of(
        "&\u{300}<<\u{309}<<\u{303}<<\u{301}<<\u{323} &a<ă<<<Ă<â<<<Â &d<đ<<<Đ &e<ê<<<Ê &o<ô<<<Ô<ơ<<<Ơ &u<ư<<<Ư ; \
            \u{341}\u{301} ắă\u{301} ằă\u{300} ẳă\u{309} ẵă\u{303} ặă\u{323} ẮĂ\u{301} ẰĂ\u{300} ẲĂ\u{309} ẴĂ\u{303} \
            ẶĂ\u{323} ấâ\u{301} ầâ\u{300} ẩâ\u{309} ẫâ\u{303} ậâ\u{323} ẤÂ\u{301} ẦÂ\u{300} ẨÂ\u{309} ẪÂ\u{303} ẬÂ\u{323} \
            ếê\u{301} ềê\u{300} ểê\u{309} ễê\u{303} ệê\u{323} ẾÊ\u{301} ỀÊ\u{300} ỂÊ\u{309} ỄÊ\u{303} ỆÊ\u{323} ốô\u{301} \
            ồô\u{300} ổô\u{309} ỗô\u{303} ộô\u{323} ỐÔ\u{301} ỒÔ\u{300} ỔÔ\u{309} ỖÔ\u{303} ỘÔ\u{323} ớơ\u{301} ờơ\u{300} \
            ởơ\u{309} ỡơ\u{303} ợơ\u{323} ỚƠ\u{301} ỜƠ\u{300} ỞƠ\u{309} ỠƠ\u{303} ỢƠ\u{323} ứư\u{301} ừư\u{300} ửư\u{309} \
            ữư\u{303} ựư\u{323} ỨƯ\u{301} ỪƯ\u{300} ỬƯ\u{309} ỮƯ\u{303} ỰƯ\u{323} ÁA\u{301} ÃA\u{303} ÉE\u{301} ÍI\u{301} \
            ÑN\u{303} ÓO\u{301} ÕO\u{303} ÚU\u{301} ÝY\u{301} áa\u{301} ãa\u{303} ée\u{301} íi\u{301} ñn\u{303} óo\u{301} \
            õo\u{303} úu\u{301} ýy\u{301} ĆC\u{301} ćc\u{301} ĨI\u{303} ĩi\u{303} ĹL\u{301} ĺl\u{301} ŃN\u{301} ńn\u{301} \
            ŔR\u{301} ŕr\u{301} ŚS\u{301} śs\u{301} ŨU\u{303} ũu\u{303} ŹZ\u{301} źz\u{301} ǗU\u{308}\u{301} \
            ǘu\u{308}\u{301} ǴG\u{301} ǵg\u{301} ǺA\u{30A}\u{301} ǻa\u{30A}\u{301} ǼÆ\u{301} ǽæ\u{301} ǾØ\u{301} ǿø\u{301} \
            ȬO\u{303}\u{304} ȭo\u{303}\u{304} \u{344}\u{308}\u{301} ΅¨\u{301} ΆΑ\u{301} ΈΕ\u{301} ΉΗ\u{301} ΊΙ\u{301} \
            ΌΟ\u{301} ΎΥ\u{301} ΏΩ\u{301} ΐι\u{308}\u{301} άα\u{301} έε\u{301} ήη\u{301} ίι\u{301} ΰυ\u{308}\u{301} \
            όο\u{301} ύυ\u{301} ώω\u{301} ϓϒ\u{301} ЃГ\u{301} ЌК\u{301} ѓг\u{301} ќк\u{301} ḄB\u{323} ḅb\u{323} \
            ḈC\u{327}\u{301} ḉc\u{327}\u{301} ḌD\u{323} ḍd\u{323} ḖE\u{304}\u{301} ḗe\u{304}\u{301} ḤH\u{323} ḥh\u{323} \
            ḮI\u{308}\u{301} ḯi\u{308}\u{301} ḰK\u{301} ḱk\u{301} ḲK\u{323} ḳk\u{323} ḶL\u{323} ḷl\u{323} ḸL\u{323}\u{304} \
            ḹl\u{323}\u{304} ḾM\u{301} ḿm\u{301} ṂM\u{323} ṃm\u{323} ṆN\u{323} ṇn\u{323} ṌO\u{303}\u{301} ṍo\u{303}\u{301} \
            ṎO\u{303}\u{308} ṏo\u{303}\u{308} ṒO\u{304}\u{301} ṓo\u{304}\u{301} ṔP\u{301} ṕp\u{301} ṚR\u{323} ṛr\u{323} \
            ṜR\u{323}\u{304} ṝr\u{323}\u{304} ṢS\u{323} ṣs\u{323} ṤS\u{301}\u{307} ṥs\u{301}\u{307} ṨS\u{323}\u{307} \
            ṩs\u{323}\u{307} ṬT\u{323} ṭt\u{323} ṸU\u{303}\u{301} ṹu\u{303}\u{301} ṼV\u{303} ṽv\u{303} ṾV\u{323} ṿv\u{323} \
            ẂW\u{301} ẃw\u{301} ẈW\u{323} ẉw\u{323} ẒZ\u{323} ẓz\u{323} ẠA\u{323} ạa\u{323} ẢA\u{309} ảa\u{309} ẸE\u{323} \
            ẹe\u{323} ẺE\u{309} ẻe\u{309} ẼE\u{303} ẽe\u{303} ỈI\u{309} ỉi\u{309} ỊI\u{323} ịi\u{323} ỌO\u{323} ọo\u{323} \
            ỎO\u{309} ỏo\u{309} ỤU\u{323} ụu\u{323} ỦU\u{309} ủu\u{309} ỴY\u{323} ỵy\u{323} ỶY\u{309} ỷy\u{309} ỸY\u{303} \
            ỹy\u{303} ἄα\u{313}\u{301} ἅα\u{314}\u{301} ἌΑ\u{313}\u{301} ἍΑ\u{314}\u{301} ἔε\u{313}\u{301} ἕε\u{314}\u{301} \
            ἜΕ\u{313}\u{301} ἝΕ\u{314}\u{301} ἤη\u{313}\u{301} ἥη\u{314}\u{301} ἬΗ\u{313}\u{301} ἭΗ\u{314}\u{301} \
            ἴι\u{313}\u{301} ἵι\u{314}\u{301} ἼΙ\u{313}\u{301} ἽΙ\u{314}\u{301} ὄο\u{313}\u{301} ὅο\u{314}\u{301} \
            ὌΟ\u{313}\u{301} ὍΟ\u{314}\u{301} ὔυ\u{313}\u{301} ὕυ\u{314}\u{301} ὝΥ\u{314}\u{301} ὤω\u{313}\u{301} \
            ὥω\u{314}\u{301} ὬΩ\u{313}\u{301} ὭΩ\u{314}\u{301} άα\u{301} έε\u{301} ήη\u{301} ίι\u{301} όο\u{301} ύυ\u{301} \
            ώω\u{301} ᾄα\u{313}\u{301}\u{345} ᾅα\u{314}\u{301}\u{345} ᾌΑ\u{313}\u{301}\u{345} ᾍΑ\u{314}\u{301}\u{345} \
            ᾔη\u{313}\u{301}\u{345} ᾕη\u{314}\u{301}\u{345} ᾜΗ\u{313}\u{301}\u{345} ᾝΗ\u{314}\u{301}\u{345} \
            ᾤω\u{313}\u{301}\u{345} ᾥω\u{314}\u{301}\u{345} ᾬΩ\u{313}\u{301}\u{345} ᾭΩ\u{314}\u{301}\u{345} ᾴα\u{301}\u{345} \
            ΆΑ\u{301} ῄη\u{301}\u{345} ΈΕ\u{301} ΉΗ\u{301} ῎᾿\u{301} ΐι\u{308}\u{301} ΊΙ\u{301} ῞῾\u{301} ΰυ\u{308}\u{301} \
            ΎΥ\u{301} ΅¨\u{301} ῴω\u{301}\u{345} ΌΟ\u{301} ΏΩ\u{301}",
    );
    pub const CYRILLIC: Tailoring = Tailoring::of("").reordered(&[Script::Cyrillic]);
}
