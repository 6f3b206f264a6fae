//! Enums whose variants are words of options, files and outputs, with each word written once; lists of words.

/// List of words that are separated by spaces or line ends.
macro_rules! names {
    ($names:literal) => {{
        const NAMES: [&str; $crate::base::words::count($names)] =
            $crate::base::words::split($names);
        &NAMES
    }};
}

/// Defines an enum whose variants are words, with `ALL`, `name` and `by_name`. It serialises as its words. The method
/// declared after the enum returns a second text of each variant.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize)]
        $vis enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every variant, in order.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Word in options, files and outputs.
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// Variant of a word.
            $vis fn by_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal, $text:expr;)+
        }
        $(#[$of_text:meta])*
        $text_vis:vis fn $method:ident;
    ) => {
        $crate::base::words::words! {
            $(#[$meta])*
            $vis enum $name {
                $($(#[$of_variant])* $variant = $word;)+
            }
        }

        impl $name {
            $(#[$of_text])*
            $text_vis fn $method(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }
    };
}

pub(crate) use {names, words};

// Loops and no iterators: lists are split at compile time.
/// Number of names in a list.
pub(crate) const fn count(mut names: &str) -> usize {
    let mut count = 0;
    while !names.is_empty() {
        names = first(names).1;
        count += 1;
    }
    count
}

/// Names of a list.
pub(crate) const fn split<const N: usize>(names: &str) -> [&str; N] {
    let mut split = [""; N];
    let mut rest = names;
    let mut at = 0;
    while at < N {
        (split[at], rest) = first(rest);
        at += 1;
    }
    split
}

/// First name of a list, and the list of the others.
const fn first(names: &str) -> (&str, &str) {
    let mut end = 0;
    while end < names.len() && !names.as_bytes()[end].is_ascii_whitespace() {
        end += 1;
    }
    let (name, rest) = names.split_at(end);
    (name, rest.trim_ascii_start())
}

/// Name of all that is no identifier, as it may be anybody's text.
const UNNAMED: &str = "(no name)";

/// Longest identifier: about twice the longest known name.
const LONGEST_IDENTIFIER: usize = 64;

/// A name that a file gives, if it is an identifier, so that it may be shown.
pub(crate) fn identifier(name: &str) -> &str {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_short = (1..=LONGEST_IDENTIFIER).contains(&name.len());
    if is_short && name.bytes().all(is_part) { name } else { UNNAMED }
}

#[cfg(test)]
mod tests {
    words! {
        enum Size {
            Small = "small", "a small one";
            VeryLarge = "very-large", "a large one";
        }
        fn label;
    }

    #[test]
    fn a_word_is_named_found_and_written_the_same() {
        assert_eq!(Size::ALL.map(Size::name), ["small", "very-large"]);
        assert_eq!(Size::ALL.map(Size::label), ["a small one", "a large one"]);
        assert_eq!(Size::by_name("very-large"), Some(Size::VeryLarge));
        assert_eq!(Size::by_name("VeryLarge"), None);
        assert_eq!(serde_json::to_string(&Size::ALL).expect("JSON"), r#"["small","very-large"]"#);
    }
}
