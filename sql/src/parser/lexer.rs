//! Bytes to tokens, the way MySQL cuts them.
//!
//! The text is in the client's character set, of which only the ASCII half means
//! anything here: bytes from 0x80 on are part of names and of string literals.
//! Tokens are ranges of the text; literals are unescaped when the parser wants
//! their value.
//!
//! Three kinds of comment vanish (`# ..`, `-- ..`, `/* .. */`); of the version
//! comments, `/*! .. */` and `/*!40101 .. */` up to our version are read as if
//! the brackets were not there, those of later versions and MariaDB's own
//! (`/*M! .. */`) are comments, and so are optimizer hints (`/*+ .. */`).
//!
//! A word may begin with a digit (`1st`), and behind a dot everything is a word
//! (`t.select`, `t.1a`), but `1e5` is a number. A minus sign is never part of a number.

use crate::types::SqlMode;

/// The newest version whose version comments are executed: that of our banner.
pub const VERSION: u32 = 80036;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword without quotes.
    Word,
    /// `name`, and "name" under ANSI_QUOTES.
    QuotedName,
    /// 'text', "text".
    Text,
    /// N'text'; the range includes the N.
    NationalText,
    Integer,
    Decimal,
    Float,
    /// 0x41 or x'41'
    Hex,
    /// 0b01 or b'01'
    Bit,
    /// `?`
    Parameter,
    /// `@name`, @'name', @`name`; the range includes the at sign.
    UserVariable,
    /// `@@`
    AtAt,
    /// `@` alone, as in 'user'@'host'.
    At,
    /// An operator or a punctuation mark of one to three characters.
    Symbol,
    /// `\N`
    NullEscape,
    /// Something that cannot begin a token, or a literal without an end.
    Bad,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
}

/// Cuts one token after the other.
pub struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    mode: SqlMode,
    /// Inside of a version comment that is being executed.
    in_version_comment: bool,
    /// The last token was a name's dot, directly in front of here.
    behind_dot: bool,
    /// The last token was a name, directly in front of here.
    behind_name: bool,
    /// Some version comment was met, executed or not.
    pub saw_version_comment: bool,
    /// Where the last `/*!` whose contents are read begins.
    version_comment_at: usize,
}

#[inline]
pub fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// What MySQL takes for white space.
#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

impl<'a> Lexer<'a> {
    pub fn new(sql: &'a [u8], start: usize, mode: SqlMode) -> Lexer<'a> {
        Lexer {
            sql,
            at: start,
            mode,
            in_version_comment: false,
            behind_dot: false,
            behind_name: false,
            saw_version_comment: false,
            version_comment_at: 0,
        }
    }

    #[inline]
    fn byte(&self, ahead: usize) -> u8 {
        // A zero byte means the end to all callers, and is not part of any token.
        self.sql.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips space and comments; false if a comment has no end.
    fn skip_space(&mut self) -> bool {
        loop {
            match self.byte(0) {
                byte if is_space(byte) => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.byte(1) == b'-' && (self.at + 2 >= self.sql.len() || self.byte(2) <= b' ') => {
                    self.skip_line()
                }
                b'/' if self.byte(1) == b'*' => {
                    if !self.skip_comment() {
                        return false;
                    }
                }
                b'*' if self.in_version_comment && self.byte(1) == b'/' => {
                    self.in_version_comment = false;
                    self.at += 2;
                }
                _ => return true,
            }
            self.behind_name = false;
            self.behind_dot = false;
        }
    }

    /// Where the comment begins whose contents the last token is.
    pub fn open_version_comment(&self) -> Option<usize> {
        self.in_version_comment.then_some(self.version_comment_at)
    }

    fn skip_line(&mut self) {
        while self.at < self.sql.len() && self.sql[self.at] != b'\n' {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) -> bool {
        if self.byte(2) == b'!' {
            self.saw_version_comment = true;
            let digits = self.sql[self.at + 3..].iter().take(6).take_while(|b| b.is_ascii_digit()).count();
            let number = &self.sql[self.at + 3..self.at + 3 + digits];
            // Five digits, or six of MariaDB's and of versions to come. Fewer are not a version but contents. No version
            // of six digits begins with more than 1: in `/*!506012*/` the last digit is what MySQL from 5.6.1 on reads.
            let digits = if digits == 6 && number[0] > b'1' { 5 } else { digits };
            let number = &number[..digits];
            let (version, digits) = match digits {
                5 | 6 => (number.iter().fold(0, |n, b| n * 10 + (b - b'0') as u32), digits),
                _ => (0, 0),
            };
            if version <= VERSION && !self.in_version_comment {
                self.in_version_comment = true;
                self.version_comment_at = self.at;
                self.at += 3 + digits;
                return true;
            }
        } else if self.byte(2) == b'M' && self.byte(3) == b'!' {
            self.saw_version_comment = true;
        }
        if self.byte(2) == b'!' && !self.in_version_comment {
            return self.skip_nesting();
        }
        match self.sql[self.at + 2..].windows(2).position(|pair| pair == b"*/") {
            Some(length) => {
                self.at += 2 + length + 2;
                true
            }
            None => false,
        }
    }

    /// A version comment that is not executed: plain comments nest inside of it.
    fn skip_nesting(&mut self) -> bool {
        self.at += 2;
        loop {
            match (self.byte(0), self.byte(1)) {
                _ if self.at >= self.sql.len() => return false,
                (b'*', b'/') => {
                    self.at += 2;
                    return true;
                }
                (b'/', b'*') => match self.sql[self.at + 2..].windows(2).position(|pair| pair == b"*/") {
                    Some(length) => self.at += 2 + length + 2,
                    None => return false,
                },
                _ => self.at += 1,
            }
        }
    }

    pub fn next_token(&mut self) -> Token {
        let closed = self.skip_space();
        let start = self.at;
        let (behind_dot, behind_name) = (self.behind_dot, self.behind_name);
        self.behind_dot = false;
        self.behind_name = false;
        if !closed {
            return self.token(Kind::Bad, start);
        }
        if self.at >= self.sql.len() {
            // A version comment without an end is a syntax error at the end.
            let kind = if self.in_version_comment { Kind::Bad } else { Kind::End };
            return self.token(kind, start);
        }
        let kind = match self.byte(0) {
            b'`' => self.quoted(b'`', Kind::QuotedName),
            b'"' if self.mode.has(SqlMode::ANSI_QUOTES) => self.quoted(b'"', Kind::QuotedName),
            quote @ (b'\'' | b'"') => self.quoted(quote, Kind::Text),
            b'.' if self.byte(1).is_ascii_digit() && !behind_name => self.number(),
            b'.' => {
                self.at += 1;
                self.behind_dot = true;
                return self.token(Kind::Symbol, start);
            }
            b'0'..=b'9' if behind_dot => self.word(),
            b'0'..=b'9' => self.number_or_word(),
            b'x' | b'X' if self.byte(1) == b'\'' && !behind_dot => self.quoted_digits(Kind::Hex),
            b'b' | b'B' if self.byte(1) == b'\'' && !behind_dot => self.quoted_digits(Kind::Bit),
            b'n' | b'N' if self.byte(1) == b'\'' && !behind_dot => {
                self.at += 1;
                self.quoted(b'\'', Kind::NationalText)
            }
            byte if is_word_byte(byte) => self.word(),
            b'?' => {
                self.at += 1;
                Kind::Parameter
            }
            b'@' => self.variable(),
            b'\\' if self.byte(1) == b'N' => {
                self.at += 2;
                Kind::NullEscape
            }
            _ => self.symbol(),
        };
        if matches!(kind, Kind::Word | Kind::QuotedName) {
            self.behind_name = true;
        }
        self.token(kind, start)
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, start: start as u32, end: self.at as u32 }
    }

    fn word(&mut self) -> Kind {
        while self.at < self.sql.len() && is_word_byte(self.sql[self.at]) {
            self.at += 1;
        }
        Kind::Word
    }

    /// A quoted token; the quote is doubled inside, or escaped by a backslash in texts.
    fn quoted(&mut self, quote: u8, kind: Kind) -> Kind {
        let escapes = kind != Kind::QuotedName && !self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        self.at += 1;
        while self.at < self.sql.len() {
            let byte = self.sql[self.at];
            if byte == quote {
                if self.byte(1) != quote {
                    self.at += 1;
                    return kind;
                }
                self.at += 2;
            } else if byte == b'\\' && escapes {
                self.at += 2;
            } else {
                self.at += 1;
            }
        }
        self.at = self.sql.len();
        Kind::Bad
    }

    /// x'41', b'01'
    fn quoted_digits(&mut self, kind: Kind) -> Kind {
        let start = self.at;
        self.at += 2;
        let is_digit =
            |byte: u8| if kind == Kind::Hex { byte.is_ascii_hexdigit() } else { byte == b'0' || byte == b'1' };
        let mut count = 0;
        while is_digit(self.byte(0)) {
            self.at += 1;
            count += 1;
        }
        if self.byte(0) == b'\'' && (kind == Kind::Bit || count % 2 == 0) {
            self.at += 1;
            return kind;
        }
        self.at = start;
        Kind::Bad
    }

    fn number_or_word(&mut self) -> Kind {
        let start = self.at;
        if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'b') {
            let kind = if self.byte(1) == b'x' { Kind::Hex } else { Kind::Bit };
            let is_digit = |b: u8| if kind == Kind::Hex { b.is_ascii_hexdigit() } else { b == b'0' || b == b'1' };
            self.at += 2;
            while is_digit(self.byte(0)) {
                self.at += 1;
            }
            if self.at > start + 2 && !is_word_byte(self.byte(0)) {
                return kind;
            }
            self.at = start;
            return self.word();
        }
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
        let is_exponent = matches!(self.byte(0), b'e' | b'E')
            && (self.byte(1).is_ascii_digit()
                || (matches!(self.byte(1), b'+' | b'-') && self.byte(2).is_ascii_digit()));
        if is_word_byte(self.byte(0)) && !is_exponent {
            return self.word();
        }
        self.at = start;
        self.number()
    }

    fn number(&mut self) -> Kind {
        let mut kind = Kind::Integer;
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
        if self.byte(0) == b'.' {
            kind = Kind::Decimal;
            self.at += 1;
            while self.byte(0).is_ascii_digit() {
                self.at += 1;
            }
        }
        if matches!(self.byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + sign).is_ascii_digit() {
                kind = Kind::Float;
                self.at += 1 + sign;
                while self.byte(0).is_ascii_digit() {
                    self.at += 1;
                }
            }
        }
        kind
    }

    fn variable(&mut self) -> Kind {
        self.at += 1;
        match self.byte(0) {
            b'@' => {
                self.at += 1;
                Kind::AtAt
            }
            quote @ (b'\'' | b'"' | b'`') => match self.quoted(quote, Kind::QuotedName) {
                Kind::Bad => Kind::Bad,
                _ => Kind::UserVariable,
            },
            byte if is_word_byte(byte) || byte == b'.' => {
                while is_word_byte(self.byte(0)) || self.byte(0) == b'.' {
                    self.at += 1;
                }
                Kind::UserVariable
            }
            _ => Kind::At,
        }
    }

    fn symbol(&mut self) -> Kind {
        const SYMBOLS: [&[u8]; 14] =
            [b"<=>", b"->>", b"<=", b">=", b"<>", b"!=", b"<<", b">>", b"&&", b"||", b":=", b"->", b"*", b"/"];
        let rest = &self.sql[self.at..];
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(symbol)) {
            self.at += symbol.len();
            return Kind::Symbol;
        }
        let known = b"<>=+-%&|^~!(),;:{}".contains(&rest[0]);
        self.at += 1;
        if known { Kind::Symbol } else { Kind::Bad }
    }
}

/// The value of a [`Kind::Text`] token, without quotes and escapes.
pub fn unescape(token: &[u8], mode: SqlMode, out: &mut Vec<u8>) {
    let quote = token[0];
    let inner = &token[1..token.len() - 1];
    let escapes = !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    let mut at = 0;
    while at < inner.len() {
        let byte = inner[at];
        at += 1;
        if byte == b'\\' && escapes && at < inner.len() {
            let escaped = inner[at];
            at += 1;
            match escaped {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                b'b' => out.push(8),
                b'0' => out.push(0),
                b'Z' => out.push(26),
                // The backslash stays, so that the pattern of a LIKE can escape them.
                b'%' | b'_' => out.extend([b'\\', escaped]),
                other => out.push(other),
            }
        } else {
            out.push(byte);
            if byte == quote {
                at += 1; // It was doubled.
            }
        }
    }
}

/// The name in a [`Kind::QuotedName`] token.
pub fn unquote(token: &[u8]) -> Vec<u8> {
    let quote = token[0];
    let mut out = Vec::with_capacity(token.len());
    let mut bytes = token[1..token.len() - 1].iter();
    while let Some(&byte) = bytes.next() {
        out.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    out
}

/// The bytes of a [`Kind::Hex`] token. An odd number of digits (0x1) has a leading zero.
pub fn hex_bytes(token: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits_of(token).iter().map(|b| (*b as char).to_digit(16).unwrap_or(0) as u8).collect();
    let mut out = Vec::with_capacity(digits.len() / 2 + 1);
    let (head, tail) = digits.split_at(digits.len() % 2);
    out.extend_from_slice(head);
    out.extend(tail.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
    out
}

/// The bytes of a [`Kind::Bit`] token: the number, without leading zero bytes but for the digits written.
pub fn bit_bytes(token: &[u8]) -> Vec<u8> {
    let digits = digits_of(token);
    let mut out = Vec::with_capacity(digits.len().div_ceil(8));
    let (head, tail) = digits.split_at(digits.len() % 8);
    let byte_of = |bits: &[u8]| bits.iter().fold(0u8, |byte, bit| byte << 1 | (bit - b'0'));
    if !head.is_empty() {
        out.push(byte_of(head));
    }
    out.extend(tail.chunks(8).map(byte_of));
    out
}

fn digits_of(token: &[u8]) -> &[u8] {
    if token[1] == b'\'' { &token[2..token.len() - 1] } else { &token[2..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(sql: &str) -> Vec<(Kind, &str)> {
        let mut lexer = Lexer::new(sql.as_bytes(), 0, SqlMode::DEFAULT);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                return tokens;
            }
            tokens.push((token.kind, &sql[token.start as usize..token.end as usize]));
            if token.kind == Kind::Bad {
                return tokens;
            }
        }
    }

    #[test]
    fn numbers_and_words_that_begin_with_digits() {
        let kinds: Vec<Kind> = cut("1 1.5 .5 5. 1e3 1e 1a 0x1F 0xZ 0b01 1.5e-3 t.1a t.5").iter().map(|t| t.0).collect();
        use Kind::*;
        let expected = [
            Integer, Decimal, Decimal, Decimal, Float, Word, Word, Hex, Word, Bit, Float, Word, Symbol, Word, Word,
            Symbol, Word,
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn version_comments_are_read_up_to_our_version() {
        let words = |sql| cut(sql).iter().map(|t| t.1.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(words("a /*!40101 b */ c"), "a b c");
        assert_eq!(words("a /*! b */ c"), "a b c");
        assert_eq!(words("a /*!99999 b */ c"), "a c");
        assert_eq!(words("a /*!100100 b */ c"), "a c");
        assert_eq!(words("a /*M!100100 b */ c"), "a c");
        assert_eq!(words("a /*+ HINT */ c -- d\n e # f"), "a c e");
        assert_eq!(words("5--1 --\t2"), "5 - - 1");
    }

    #[test]
    fn texts_unescape() {
        let mut out = Vec::new();
        unescape(br"'it''s \'q\' \n \% \x'", SqlMode::DEFAULT, &mut out);
        assert_eq!(out, b"it's 'q' \n \\% x");
        assert_eq!(unquote(b"`a``b`"), b"a`b");
        assert_eq!(hex_bytes(b"0x123"), [0x1, 0x23]);
        assert_eq!(bit_bytes(b"b'100000001'"), [1, 1]);
    }

    #[test]
    fn unclosed_things_are_bad() {
        for sql in ["'abc", "`abc", "\"abc\\\"", "/* abc", "/*! abc", "x'4'", "@'a"] {
            assert_eq!(cut(sql).last().unwrap().0, Kind::Bad, "{sql}");
        }
    }
}
