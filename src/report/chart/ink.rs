//! Colours of drawings, on light and on dark backgrounds.
//!
//! The first series have the colours of Okabe and Ito ("Color Universal Design", 2008), which most colour-blind readers
//! can distinguish. The classes of tokens differ in lightness, too. A test compares every two colours that occur
//! together, as such readers see them.

/// Role of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Background,
    Text,
    /// Less important text, and axes.
    Muted,
    /// Lines behind the data.
    Grid,
    /// Lines with a meaning.
    Rule,
    Read,
    Written5m,
    Written1h,
    Input,
    Output,
    Fees,
    /// Billed requests.
    Record,
    /// One of several series, by number.
    Series(usize),
    /// All series without a colour of their own.
    Others,
    /// Losses that follow from the user's actions.
    Expected,
    /// Losses that should not have happened.
    Unexpected,
    /// Possible savings.
    Saving,
}

/// Red, green and blue.
pub(super) type Rgb = (u8, u8, u8);

/// Colours of an ink on light and dark backgrounds. Light colours are unique, as a style sheet identifies inks by them.
struct ColourPair {
    light: Rgb,
    dark: Rgb,
}

const fn pair(light: u32, dark: u32) -> ColourPair {
    ColourPair { light: rgb(light), dark: rgb(dark) }
}

const fn rgb(hexadecimal: u32) -> Rgb {
    let [_, red, green, blue] = hexadecimal.to_be_bytes();
    (red, green, blue)
}

/// Number of series with colours of their own.
const SERIES_COLOURS: usize = 8;

const SERIES: [ColourPair; SERIES_COLOURS] = [
    pair(0x00_72_B2, 0x4F_A8_E0),
    pair(0xD5_5E_00, 0xF0_84_3C),
    pair(0x00_9E_73, 0x2F_C6_9A),
    pair(0xCC_79_A7, 0xE0_9A_C3),
    pair(0xE6_9F_00, 0xF2_BD_47),
    pair(0x56_B4_E9, 0x9A_D4_F7),
    pair(0x33_22_88, 0x90_40_E0),
    pair(0x6B_3A_12, 0x8A_5A_3C),
];

impl Ink {
    /// Every ink, each colour once.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let others = [
            Self::Background,
            Self::Text,
            Self::Muted,
            Self::Grid,
            Self::Rule,
            Self::Read,
            Self::Written5m,
            Self::Written1h,
            Self::Input,
            Self::Output,
            Self::Fees,
            Self::Record,
            Self::Others,
            Self::Expected,
            Self::Unexpected,
            Self::Saving,
        ];
        others.into_iter().chain((0..SERIES_COLOURS).map(Self::Series))
    }

    fn pair(self) -> &'static ColourPair {
        match self {
            Self::Background => &const { pair(0xFF_FF_FF, 0x0D_11_17) },
            Self::Text => &const { pair(0x1F_23_28, 0xE6_ED_F3) },
            Self::Muted => &const { pair(0x59_63_6E, 0x91_98_A1) },
            Self::Grid => &const { pair(0xE3_E7_EB, 0x26_2C_36) },
            Self::Rule => &const { pair(0x40_48_52, 0xC3_CB_D4) },
            Self::Read => &const { pair(0x8C_B9_E8, 0x5B_9B_D9) },
            Self::Written5m => &const { pair(0xF0_A3_3C, 0xF0_A3_3D) },
            Self::Written1h => &const { pair(0xC2_41_0C, 0xE0_5A_24) },
            Self::Input => &const { pair(0x4B_2E_83, 0xC9_B2_F0) },
            Self::Output => &const { pair(0x8A_8F_98, 0x8A_8F_99) },
            Self::Fees => &const { pair(0xC5_CA_D1, 0x5A_61_6B) },
            Self::Record => &const { pair(0x11_14_18, 0xF5_F8_FB) },
            Self::Others => &const { pair(0xCF_D4_DA, 0x4A_51_5B) },
            Self::Expected => &const { pair(0x5F_83_AB, 0x3F_6E_A5) },
            Self::Unexpected => &const { pair(0x8E_15_50, 0xFF_5F_A8) },
            Self::Saving => &const { pair(0x2B_A8_4A, 0x3F_B9_50) },
            Self::Series(number) => &SERIES[number % SERIES_COLOURS],
        }
    }

    pub(super) fn on_light(self) -> Rgb {
        self.pair().light
    }

    pub(super) fn on_dark(self) -> Rgb {
        self.pair().dark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A colour as linear light, from 0 to 1.
    fn linear((red, green, blue): Rgb) -> [f64; 3] {
        [red, green, blue].map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    type Matrix = [[f64; 3]; 3];

    fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(one, other)| one * other).sum())
    }

    /// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
    /// Deficiency" (2009), severity 1.0: protanopia, deuteranopia, tritanopia.
    const DEFICIENCIES: [Matrix; 3] = [
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    /// CIE L*a*b* under D65.
    fn lab(linear: [f64; 3]) -> [f64; 3] {
        const TO_XYZ: Matrix = [
            [0.412_456_4, 0.357_576_1, 0.180_437_5],
            [0.212_672_9, 0.715_152_2, 0.072_175],
            [0.019_333_9, 0.119_192, 0.950_304_1],
        ];
        const WHITE: [f64; 3] = [0.950_47, 1.0, 1.088_83];
        let xyz = times(&TO_XYZ, linear.map(|channel| channel.clamp(0.0, 1.0)));
        let curve = |value: f64| {
            if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 }
        };
        let [x, y, z] = [0, 1, 2].map(|at| curve(xyz[at] / WHITE[at]));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn distance(one: [f64; 3], other: [f64; 3]) -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
    }

    /// The smallest distance between two colours for any reader.
    fn least_distance(one: Rgb, other: Rgb) -> f64 {
        let (one, other) = (linear(one), linear(other));
        let seen = DEFICIENCIES
            .iter()
            .map(|matrix| distance(lab(times(matrix, one)), lab(times(matrix, other))));
        seen.fold(distance(lab(one), lab(other)), f64::min)
    }

    #[test]
    fn colours_that_occur_together_differ_for_every_reader() {
        let classes =
            [Ink::Read, Ink::Written5m, Ink::Written1h, Ink::Input, Ink::Output, Ink::Fees];
        let series = (0..SERIES_COLOURS).map(Ink::Series).chain([Ink::Record, Ink::Others]);
        let series: Vec<Ink> = series.collect();
        let turns = [Ink::Read, Ink::Written5m, Ink::Written1h, Ink::Input];
        let turns = [&turns[..], &[Ink::Expected, Ink::Unexpected]].concat();
        let waterfall = [Ink::Record, Ink::Others, Ink::Unexpected, Ink::Saving];
        for together in [&classes[..], &series, &turns, &waterfall] {
            for (place, one) in together.iter().enumerate() {
                for other in &together[..place] {
                    for ground in [Ink::on_light, Ink::on_dark] {
                        let least = least_distance(ground(*one), ground(*other));
                        assert!(least > 12.0, "{one:?} and {other:?}: {least:.1}");
                    }
                }
            }
        }
    }

    fn contrast(one: Rgb, other: Rgb) -> f64 {
        let luminance = |colour| {
            let [red, green, blue] = linear(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn text_can_be_read() {
        for ink in [Ink::Text, Ink::Muted] {
            for ground in [Ink::on_light, Ink::on_dark] {
                assert!(contrast(ground(ink), ground(Ink::Background)) > 4.5, "{ink:?}");
            }
        }
    }

    #[test]
    fn a_light_colour_names_its_ink() {
        let colours: Vec<Rgb> = Ink::all().map(Ink::on_light).collect();
        for (place, colour) in colours.iter().enumerate() {
            assert!(!colours[..place].contains(colour), "{colour:?} stands for two inks");
        }
    }
}
