//! Enums whose variants are words of options, files and outputs, with each word written once.

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
            #[must_use]
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// Variant of a word.
            #[must_use]
            $vis fn by_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal, $text:literal;)+
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
            #[must_use]
            $text_vis fn $method(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }
    };
}

pub(crate) use words;

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
