//! Key of a run, and the pseudo-random choices that depend on it.
//!
//! The key is a `BLAKE2b` hash of everything the run reads: the same input gives the same output, and
//! nobody who lacks the input has the key. A choice depends on the key and on every character before
//! its own. It is a `SipHash`-2-4 over them, one word per character; its state can be finished after
//! each word.

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U32;

/// Number of permutations of letters, and of digits, in a key: one for each value of the byte that selects it.
const PERMUTATIONS: usize = 256;

/// Builds a [`Key`] from the bytes of a run's sources.
#[derive(Default)]
pub(super) struct KeyMaker {
    hash: Blake2b<U32>,
    bytes: u64,
}

impl KeyMaker {
    /// Hashes bytes of a source.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Marks the end of a source, so that moving bytes from one source to the next changes the key.
    pub(super) fn end_source(&mut self) {
        self.hash.update(self.bytes.to_le_bytes());
        self.bytes = 0;
    }

    pub(super) fn finish(self) -> Key {
        Key::new(self.hash.finalize().into())
    }
}

/// Permutations that replace characters, none with a fixed point, and the state that chooses one.
pub(super) struct Key {
    start: Prefix,
    /// Image of each letter, as a position in the alphabet.
    letters: Vec<[u8; 26]>,
    digits: Vec<[u8; 10]>,
}

/// Purpose of a choice. Strings of different purposes are replaced independently.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Text = 1,
    Number = 2,
    Identifier = 3,
    FileName = 4,
    Permutations = 5,
}

impl Key {
    fn new(hash: [u8; 32]) -> Self {
        let start = Prefix::new(hash);
        let mut source = RandomSource { prefix: start.of(Purpose::Permutations), count: 0 };
        let letters = (0..PERMUTATIONS).map(|_| source.derangement()).collect();
        let digits = (0..PERMUTATIONS).map(|_| source.derangement()).collect();
        Self { start, letters, digits }
    }

    /// Empty prefix of a string of this purpose.
    pub(super) fn prefix(&self, purpose: Purpose) -> Prefix {
        self.start.of(purpose)
    }

    /// Permutation of the alphabet for a choice.
    #[inline]
    pub(super) fn letters(&self, choice: u64) -> &[u8; 26] {
        &self.letters[index(choice)]
    }

    /// Permutation of the digits for a choice.
    #[inline]
    pub(super) fn digits(&self, choice: u64) -> &[u8; 10] {
        &self.digits[index(choice)]
    }

    /// All permutations of the alphabet, beginning with the one for a choice.
    pub(super) fn letters_from(&self, choice: u64) -> impl Iterator<Item = &[u8; 26]> {
        let (front, back) = self.letters.split_at(index(choice));
        back.iter().chain(front)
    }
}

#[inline]
fn index(choice: u64) -> usize {
    usize::from(choice.to_le_bytes()[0])
}

/// Characters before a position, as the state of a `SipHash` over them.
#[derive(Clone, Copy)]
pub(super) struct Prefix([u64; 4]);

impl Prefix {
    fn new(hash: [u8; 32]) -> Self {
        // The hash is uniform already, so it is the state itself, without the constants of SipHash.
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(hash.chunks_exact(8)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Self(state)
    }

    fn of(mut self, purpose: Purpose) -> Self {
        self.add(purpose as u64);
        self
    }

    /// Appends a character.
    #[inline]
    pub(super) fn add(&mut self, character: u64) {
        self.0[3] ^= character;
        self.round();
        self.round();
        self.0[0] ^= character;
    }

    /// Choice for the next character.
    #[inline]
    pub(super) fn choice(&self) -> u64 {
        // Rounds on a copy: the state has to accept the characters that follow.
        let mut end = *self;
        end.0[2] ^= 0xff;
        for _ in 0..4 {
            end.round();
        }
        end.0[0] ^ end.0[1] ^ end.0[2] ^ end.0[3]
    }

    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }
}

/// Stream of choices that permutations are drawn from.
struct RandomSource {
    prefix: Prefix,
    count: u64,
}

impl RandomSource {
    fn below(&mut self, bound: usize) -> usize {
        let mut at = self.prefix;
        at.add(self.count);
        self.count += 1;
        // The bias of the modulus is below 26 in 2⁶⁴.
        usize::try_from(at.choice() % bound as u64).unwrap_or(0)
    }

    /// Draws a permutation without a fixed point: Fisher-Yates shuffles until one has none.
    fn derangement<const N: usize>(&mut self) -> [u8; N] {
        loop {
            let mut images: [u8; N] = std::array::from_fn(|place| u8::try_from(place).unwrap_or(0));
            for last in (1..N).rev() {
                images.swap(last, self.below(last + 1));
            }
            if images.iter().enumerate().all(|(place, image)| place != usize::from(*image)) {
                return images;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_have_no_fixed_points() {
        let key = KeyMaker::default().finish();
        for choice in 0..256 {
            let mut images = *key.letters(choice);
            assert!(images.iter().enumerate().all(|(place, image)| place != usize::from(*image)));
            images.sort_unstable();
            assert!(images.iter().enumerate().all(|(place, image)| place == usize::from(*image)));
        }
    }

    /// Test vector of the `SipHash` paper (appendix A): 15 bytes in two words; the second ends with
    /// their number.
    #[test]
    fn the_rounds_are_those_of_siphash() {
        let (k0, k1) = (0x0706_0504_0302_0100_u64, 0x0f0e_0d0c_0b0a_0908_u64);
        let mut prefix = Prefix([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        prefix.add(0x0706_0504_0302_0100);
        prefix.add(0x0f0e_0d0c_0b0a_0908 & !(0xff << 56) | 15 << 56);
        assert_eq!(prefix.choice(), 0xa129_ca61_49be_45e5);
    }
}
