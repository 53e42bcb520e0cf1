//! The two searches of the buffers as one, with what they share.

use weakspot_core::{Model, Program};

use crate::buffers::explicit::Explicit;
use crate::buffers::space::{Ended, Space, Until};
use crate::buffers::turn::Turn;
use crate::buffers::write_order::WriteOrder;
use crate::keep::{In, Keep, NotKept};
use crate::meter::Meter;

/// A search, before its end or after it.
pub(crate) enum Search<'p> {
    WriteOrder(Box<WriteOrder<'p>>),
    Explicit(Box<Explicit<'p>>),
}

impl<'p> Search<'p> {
    pub(crate) fn space(&self) -> &Space<'p> {
        match self {
            Search::WriteOrder(s) => &s.space,
            Search::Explicit(s) => &s.space,
        }
    }

    /// Whether something forbidden was reached or an assertion failed.
    pub(crate) fn is_violated(&self) -> bool {
        self.space().assertion.is_some()
            || match self {
                Search::WriteOrder(s) => s.forbidden.is_some(),
                Search::Explicit(s) => s.forbidden.is_some(),
            }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Search::WriteOrder(s) => s.bytes(),
            Search::Explicit(s) => s.bytes(),
        }
    }

    /// A measure of how much was found, for comparison.
    pub(crate) fn found(&self) -> usize {
        match self {
            Search::WriteOrder(s) => s.products(),
            Search::Explicit(s) => s.rows(),
        }
    }

    /// The one whose turn it is, before its first state.
    pub(crate) fn new(
        (program, model): (&'p Program, Model),
        turn: &Turn<'_>,
        until: Until,
    ) -> Search<'p> {
        if turn.is_write_order {
            Search::WriteOrder(Box::new(WriteOrder::new(program, model, turn.buffer, until)))
        } else {
            Search::Explicit(Box::new(Explicit::new(program, model, turn.buffer, until)))
        }
    }

    /// Goes on until done, stopped, or `until` is met.
    pub(crate) fn search(&mut self, turn: &Turn<'_>, until: Until, meter: &mut Meter<'_>) -> Ended {
        match self {
            Search::WriteOrder(search) => search.search(turn, meter),
            Search::Explicit(search) => search.search(until, turn, meter),
        }
    }

    /// The one that was kept, if there is one, and its turn. Buffers may hold `most` entries.
    pub(crate) fn earlier<'k>(
        asked: (&'p Program, Model),
        place: Option<&'k dyn Keep>,
        (until, most): (impl Fn(&Turn<'_>) -> Until, usize),
        meter: &mut Meter<'_>,
    ) -> Result<Option<(Turn<'k>, Search<'p>)>, NotKept> {
        let Some(from) = place.and_then(Keep::earlier) else { return Ok(None) };
        let mut from = from.map_err(NotKept::Read)?;
        let mut from = In::new(&mut *from);
        let buffer = usize::try_from(from.number()?).map_err(|_| NotKept::Damaged)?;
        let (budget, is_write_order) = (from.number()?, from.at_most(1)? == 1);
        if buffer > most {
            return Err(NotKept::Damaged);
        }
        let turn = Turn { place, buffer, budget, is_write_order };
        meter.states = from.number()?;
        let mut search = Search::new(asked, &turn, until(&turn));
        match &mut search {
            Search::WriteOrder(search) => search.resume(&mut from, meter)?,
            Search::Explicit(search) => search.resume(&mut from, meter)?,
        }
        from.end()?;
        Ok(Some((turn, search)))
    }
}
