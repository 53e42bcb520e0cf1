//! What memory holds.

use crate::Value;

/// What memory holds, by address. A program has few locations, and states are copied and compared all the
/// time: so these are pairs in one piece, in the order of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory(Vec<(Value, Value)>);

impl Memory {
    fn find(&self, addr: Value) -> Result<usize, usize> {
        self.0.binary_search_by_key(&addr, |&(addr, _)| addr)
    }

    /// The value at an address, if there is one.
    #[must_use]
    pub fn get(&self, addr: &Value) -> Option<&Value> {
        self.find(*addr).ok().map(|at| &self.0[at].1)
    }

    /// Puts a value at an address.
    pub fn insert(&mut self, addr: Value, value: Value) {
        match self.find(addr) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (addr, value)),
        }
    }

    /// All addresses with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.0.iter().map(|(addr, value)| (addr, value))
    }

    /// The same, to change values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Value, &mut Value)> {
        self.0.iter_mut().map(|(addr, value)| (&*addr, value))
    }
}

impl std::ops::Index<&Value> for Memory {
    type Output = Value;

    fn index(&self, addr: &Value) -> &Value {
        self.get(addr).expect("an address that memory has")
    }
}

impl Extend<(Value, Value)> for Memory {
    fn extend<T: IntoIterator<Item = (Value, Value)>>(&mut self, values: T) {
        values.into_iter().for_each(|(addr, value)| self.insert(addr, value));
    }
}

impl FromIterator<(Value, Value)> for Memory {
    fn from_iter<T: IntoIterator<Item = (Value, Value)>>(values: T) -> Memory {
        let mut memory = Memory::default();
        memory.extend(values);
        memory
    }
}
