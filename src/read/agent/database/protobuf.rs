//! Messages of Protocol Buffers, whose fields are found by their numbers: no schema is needed.

/// Message all of whose bytes are fields.
#[derive(Clone, Copy)]
pub(super) struct Message<'a>(&'a [u8]);

/// Value of a field.
#[derive(Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Value of a fixed size; none is read.
    Fixed,
}

impl<'a> Message<'a> {
    /// Message of these bytes; `None` if they are none.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            field(&mut rest)?;
        }
        Some(Self(bytes))
    }

    /// Number in a field; `None` also for zero where the writer leaves it out.
    pub(super) fn number(self, number: u64) -> Option<u64> {
        self.last(number, |value| if let Value::Number(value) = value { Some(value) } else { None })
    }

    /// Text in a field, unless it is empty.
    pub(super) fn text(self, number: u64) -> Option<&'a str> {
        self.last(number, bytes)
            .and_then(|text| str::from_utf8(text).ok())
            .filter(|text| !text.is_empty())
    }

    /// Message in a field.
    pub(super) fn message(self, number: u64) -> Option<Self> {
        self.last(number, bytes).and_then(Self::of)
    }

    /// Last value of a field, which counts if there are several.
    fn last<T>(self, number: u64, take: impl Fn(Value<'a>) -> Option<T>) -> Option<T> {
        let mut rest = self.0;
        let fields = std::iter::from_fn(move || field(&mut rest));
        fields.filter(|(one, _)| *one == number).filter_map(|(_, value)| take(value)).last()
    }
}

fn bytes(value: Value<'_>) -> Option<&[u8]> {
    if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
}

/// Takes a field off, with its number.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Value::Number(varint(rest)?),
        1 => taken(rest, 8).map(|_| Value::Fixed)?,
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Value::Bytes(taken(rest, length)?)
        }
        5 => taken(rest, 4).map(|_| Value::Fixed)?,
        // Groups are obsolete, and other types do not exist.
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn taken<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

/// Takes a number off: seven bits of it in each byte, the lowest first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_number_and_the_last_of_several_counts() {
        // 1: 150; 2: "ab"; 3: eight bytes; 2: "c"; 4: {1: 1}; 1: 2^64 - 1.
        let bytes =
            [
                &[
                    0x08, 0x96, 0x01, 0x12, 2, b'a', b'b', 0x19, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 1,
                    b'c',
                ][..],
                &[0x22, 2, 0x08, 1, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            ]
            .concat();
        let message = Message::of(&bytes).expect("a message");
        assert_eq!((message.number(1), message.text(2)), (Some(u64::MAX), Some("c")));
        assert_eq!(message.message(4).and_then(|inner| inner.number(1)), Some(1));
        let absent = [message.number(2), message.number(3), message.number(9)];
        assert!(absent.iter().all(Option::is_none) && message.message(2).is_none());
        for end in [1, 4, 12, bytes.len() - 1] {
            assert!(Message::of(&bytes[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        // A group, a length beyond the end and beyond memory, a number of eleven bytes.
        for bytes in [
            &[0x0b][..],
            &[0x12, 9, 1],
            &[0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        ] {
            assert!(Message::of(bytes).is_none(), "{bytes:?}");
        }
        assert!(Message::of(&[]).is_some());
    }
}
