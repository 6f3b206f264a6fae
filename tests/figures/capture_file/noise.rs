//! What may differ between two writings of the same JSON: white space and escapes.

use crate::naive::Json;

/// Pseudo-random numbers from a seed. Those from the seed 0 are all 0, which stands for no noise
/// at all, so that a failing file shrinks to plain lines.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        if self.0 == 0 {
            return 0;
        }
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    /// True in so many of a thousand throws.
    pub(crate) fn chance(&mut self, of_a_thousand: usize) -> bool {
        self.below(1_000) >= 1_000 - of_a_thousand
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        if self.0 != 0 {
            for index in (1..items.len()).rev() {
                items.swap(index, self.below(index + 1));
            }
        }
    }
}

/// The value on one line, with white space and escapes here and there.
pub(crate) fn write(value: &Json, dice: &mut Dice) -> String {
    let mut line = String::new();
    // Most lines are written by one hand, dense or not.
    let spaces = [0, 0, 30, 300][dice.below(4)];
    let escapes = [0, 0, 2, 50][dice.below(4)];
    Writer { line: &mut line, dice, spaces, escapes }.value(value);
    line
}

struct Writer<'a> {
    line: &'a mut String,
    dice: &'a mut Dice,
    spaces: usize,
    escapes: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Json) {
        self.space();
        match value {
            Json::Text(text) => self.text(text),
            Json::List(items) => {
                self.line.push('[');
                for (number, item) in items.iter().enumerate() {
                    self.comma(number);
                    self.value(item);
                }
                self.space();
                self.line.push(']');
            }
            Json::Object(members) => {
                self.line.push('{');
                for (number, (name, value)) in members.iter().enumerate() {
                    self.comma(number);
                    self.space();
                    self.text(name);
                    self.space();
                    self.line.push(':');
                    self.value(value);
                }
                self.space();
                self.line.push('}');
            }
            word => self.line.push_str(&word.canonical()),
        }
        self.space();
    }

    fn comma(&mut self, number: usize) {
        if number > 0 {
            self.line.push(',');
        }
    }

    fn space(&mut self) {
        while self.dice.chance(self.spaces) {
            self.line.push_str([" ", "\t", "  ", " \t "][self.dice.below(4)]);
        }
    }

    fn text(&mut self, text: &str) {
        self.line.push('"');
        for character in text.chars() {
            if self.dice.chance(self.escapes) {
                self.escape(character);
            } else {
                let quoted = Json::Text(character.to_string()).canonical();
                self.line.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
        self.line.push('"');
    }

    /// A longer way to write a character.
    fn escape(&mut self, character: char) {
        if character == '/' && self.dice.chance(500) {
            self.line.push_str("\\/");
            return;
        }
        let has_capitals = self.dice.chance(500);
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            let digits = if has_capitals { format!("{unit:04X}") } else { format!("{unit:04x}") };
            self.line.push_str("\\u");
            self.line.push_str(&digits);
        }
    }
}

#[test]
fn noise_changes_no_value() {
    let written =
        r#"{"a":[1.0,-2E+5,true,null,{}],"cache_control":"é/\"\\\b\u001f😀 and more of it"}"#;
    let value = Json::parse(written);
    assert_eq!(write(&value, &mut Dice::new(0)), written);
    let noisy: Vec<String> = (1..200).map(|seed| write(&value, &mut Dice::new(seed))).collect();
    assert!(noisy.iter().any(|line| line.contains("\\u00E9") && line.contains(" \t")));
    for line in noisy {
        assert_eq!(Json::parse(&line), value, "{line}");
    }
}
