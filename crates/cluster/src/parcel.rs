//! What crosses the wire: one message from one worker to another, as a container of timely's.

use std::io::Write;

use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};

/// What a parcel is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It belongs to a level.
    #[default]
    InLevel,
    /// It is for whoever gets it, at once.
    AtOnce,
    /// So many bytes were taken; not for the search.
    Taken,
}

/// A message from one worker to another. An empty one is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

/// Bytes before those of the message: from, to, kind, length.
const HEAD: usize = 16;

impl Accountable for Parcel {
    fn record_count(&self) -> i64 {
        i64::from(!self.bytes.is_empty())
    }
}

impl ContainerBytes for Parcel {
    fn from_bytes(bytes: Bytes) -> Parcel {
        let word = |i: usize| {
            let word = bytes.get(4 * i..4 * i + 4).and_then(|word| word.try_into().ok());
            word.map_or(0, u32::from_le_bytes)
        };
        let kind = match word(2) {
            0 => Kind::InLevel,
            1 => Kind::AtOnce,
            _ => Kind::Taken,
        };
        let end = (HEAD + word(3) as usize).min(bytes.len());
        let bytes = bytes.get(HEAD..end).unwrap_or_default().to_vec();
        Parcel { from: word(0), to: word(1), kind, bytes }
    }

    /// A multiple of 8, as timely has it.
    fn length_in_bytes(&self) -> usize {
        (HEAD + self.bytes.len()).next_multiple_of(8)
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        let kind = match self.kind {
            Kind::InLevel => 0,
            Kind::AtOnce => 1,
            Kind::Taken => 2,
        };
        let mut whole = Vec::with_capacity(self.length_in_bytes());
        for word in [self.from, self.to, kind, self.bytes.len() as u32] {
            whole.extend(word.to_le_bytes());
        }
        whole.extend_from_slice(&self.bytes);
        whole.resize(self.length_in_bytes(), 0);
        // A buffer of timely's, which is as long as was asked for.
        let _ = writer.write_all(&whole);
    }
}

/// Brings each parcel to the worker that it is for.
pub(crate) struct Carrier;

impl Distributor<Parcel> for Carrier {
    fn partition<T: Clone, P: Push<Message<T, Parcel>>>(
        &mut self,
        parcel: &mut Parcel,
        time: &T,
        pushers: &mut [P],
    ) {
        if let Some(pusher) = pushers.get_mut(parcel.to as usize) {
            Message::push_at(parcel, time.clone(), pusher);
        }
    }

    fn flush<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, _: &T, _: &mut [P]) {}
}
