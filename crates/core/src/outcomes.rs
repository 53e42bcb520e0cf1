//! Sets of final states, packed: each component is coded by its place among the values that it
//! takes, and the codes of one state share one word. A million states of twenty components take
//! 16 MB, and the order of the words is the order of the states.

use std::collections::{BTreeMap, BTreeSet};

use crate::Value;

/// A sorted set of observed final states, each one value per component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeSet {
    columns: Vec<Column>,
    rows: Rows,
}

/// The possible values of some components, independent of the others: one factor of a product.
#[derive(Clone, Debug)]
pub struct Factor<'a> {
    /// Which components.
    pub columns: &'a [usize],
    /// Their possible values, one entry per component in each row.
    pub rows: &'a [Vec<Value>],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    values: Vec<Value>,
    shift: u32,
    mask: u128,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rows {
    Packed(Vec<u128>),
    /// For states that do not fit 128 bits.
    Plain(Vec<Vec<Value>>),
}

impl OutcomeSet {
    /// The union of `products`, each a product of factors that together cover all components
    /// `0..width` once. The products differ in the rows of their factors only: the first factors
    /// are all about the same components, and so on.
    ///
    /// Each state is made once, however many products have it: row by row of the first factor,
    /// the products that have this row are narrowed down by the rows of the following factors.
    /// Cost: the number of states times the number of products over 64, and rarely as much.
    ///
    /// There can be far more states than fit anywhere: `go_on` hears now and then how many there
    /// are so far and how many bytes they take, and by returning false leaves the set as it is.
    #[must_use]
    pub fn union(
        width: usize,
        products: &[Vec<Factor<'_>>],
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> OutcomeSet {
        let (columns, bits) = columns(width, products);
        let depth = products.first().map_or(0, Vec::len);
        let levels: Vec<Level> = (0..depth).map(|d| Level::new(&columns, products, d)).collect();
        let all = Bits::all(products.len());
        let rows = match bits {
            129.. => {
                let mut rows = Vec::new();
                let mut state = vec![0; width];
                plain_rows(&levels, &all, &mut state, &mut rows, go_on);
                rows.sort_unstable();
                Rows::Plain(rows)
            }
            _ => {
                let mut rows = Vec::new();
                if !products.is_empty() {
                    packed_rows(&levels, &all, 0, &mut rows, go_on);
                }
                rows.sort_unstable();
                Rows::Packed(rows)
            }
        };
        OutcomeSet { columns, rows }
    }

    /// Keeps the first `n` states.
    pub fn truncate(&mut self, n: usize) {
        match &mut self.rows {
            Rows::Packed(rows) => rows.truncate(n),
            Rows::Plain(rows) => rows.truncate(n),
        }
    }

    /// The number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Packed(rows) => rows.len(),
            Rows::Plain(rows) => rows.len(),
        }
    }

    /// Whether there is no final state at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with each state, in rising order, until it returns false.
    pub fn for_each(&self, mut visit: impl FnMut(&[Value]) -> bool) {
        match &self.rows {
            Rows::Plain(rows) => {
                let _ = rows.iter().all(|row| visit(row));
            }
            Rows::Packed(rows) => {
                let mut state = vec![0; self.columns.len()];
                for &row in rows {
                    for (value, column) in state.iter_mut().zip(&self.columns) {
                        *value = column.values[((row >> column.shift) & column.mask) as usize];
                    }
                    if !visit(&state) {
                        return;
                    }
                }
            }
        }
    }

    /// The states as plain vectors: for tests and small sets.
    #[must_use]
    pub fn to_set(&self) -> BTreeSet<Vec<Value>> {
        let mut set = BTreeSet::new();
        self.for_each(|row| {
            set.insert(row.to_vec());
            true
        });
        set
    }
}

/// The code of each component, the first in the highest bits, and how many bits they take.
fn columns(width: usize, products: &[Vec<Factor<'_>>]) -> (Vec<Column>, u32) {
    let mut values: Vec<Vec<Value>> = vec![Vec::new(); width];
    for factor in products.iter().flatten() {
        for (i, &column) in factor.columns.iter().enumerate() {
            let known = &mut values[column];
            for row in factor.rows {
                if known.last() != Some(&row[i]) {
                    known.push(row[i]);
                }
            }
            if known.len() > 64 {
                known.sort_unstable();
                known.dedup();
            }
        }
    }
    let mut columns: Vec<Column> = values
        .into_iter()
        .map(|mut values| {
            values.sort_unstable();
            values.dedup();
            Column { values, shift: 0, mask: 0 }
        })
        .collect();
    let mut bits = 0;
    for column in columns.iter_mut().rev() {
        let own = column.values.len().next_power_of_two().trailing_zeros();
        column.shift = bits.min(127);
        column.mask = (1 << own) - 1;
        bits += own;
    }
    (columns, bits)
}

/// A set of products.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn none(n: usize) -> Bits {
        Bits(vec![0; n.div_ceil(64)])
    }

    fn all(n: usize) -> Bits {
        let mut bits = Bits::none(n);
        (0..n).for_each(|i| bits.0[i / 64] |= 1 << (i % 64));
        bits
    }

    fn meets(&self, other: &Bits) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn and(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }
}

/// The factors at one place of all products: each different row once, with its code and with the
/// products that have it.
struct Level<'a> {
    columns: &'a [usize],
    rows: Vec<(u128, &'a [Value], Bits)>,
}

impl<'a> Level<'a> {
    fn new(columns: &[Column], products: &'a [Vec<Factor<'a>>], depth: usize) -> Level<'a> {
        let mut rows: BTreeMap<&[Value], Bits> = BTreeMap::new();
        for (p, product) in products.iter().enumerate() {
            for row in product[depth].rows {
                let bits = rows.entry(row).or_insert_with(|| Bits::none(products.len()));
                bits.0[p / 64] |= 1 << (p % 64);
            }
        }
        let own = products[0][depth].columns;
        let code = |row: &[Value]| {
            own.iter().zip(row).fold(0, |code: u128, (&c, value)| {
                let place = columns[c].values.partition_point(|v| v < value) as u128;
                code | place.checked_shl(columns[c].shift).unwrap_or(0)
            })
        };
        let rows = rows.into_iter().map(|(row, bits)| (code(row), row, bits)).collect();
        Level { columns: own, rows }
    }
}

/// False if it was told to stop.
fn packed_rows(
    levels: &[Level<'_>],
    active: &Bits,
    prefix: u128,
    rows: &mut Vec<u128>,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> bool {
    match levels {
        [] => {
            rows.push(prefix);
            true
        }
        [last] => {
            let those = last.rows.iter().filter(|(_, _, bits)| bits.meets(active));
            rows.extend(those.map(|(code, _, _)| prefix | code));
            // A vector that grows is there twice for a moment.
            go_on(rows.len(), 2 * rows.capacity() * size_of::<u128>())
        }
        [first, rest @ ..] => {
            let mut those = first.rows.iter().filter(|(_, _, bits)| bits.meets(active));
            those.all(|(code, _, bits)| {
                packed_rows(rest, &active.and(bits), prefix | code, rows, go_on)
            })
        }
    }
}

/// False if it was told to stop.
fn plain_rows(
    levels: &[Level<'_>],
    active: &Bits,
    state: &mut Vec<Value>,
    rows: &mut Vec<Vec<Value>>,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> bool {
    let Some((first, rest)) = levels.split_first() else {
        rows.push(state.clone());
        return go_on(rows.len(), rows.len() * (state.len() * 8 + 64));
    };
    first.rows.iter().filter(|(_, _, bits)| bits.meets(active)).all(|(_, row, bits)| {
        for (&c, &value) in first.columns.iter().zip(*row) {
            state[c] = value;
        }
        plain_rows(rest, &active.and(bits), state, rows, go_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    fn by_definition(width: usize, products: &[Vec<Factor<'_>>]) -> BTreeSet<Vec<Value>> {
        let mut rows = BTreeSet::new();
        for product in products {
            let mut partial = vec![vec![0; width]];
            for factor in product {
                let mut longer = Vec::new();
                for state in &partial {
                    for row in factor.rows {
                        let mut state = state.clone();
                        for (&c, &value) in factor.columns.iter().zip(row) {
                            state[c] = value;
                        }
                        longer.push(state);
                    }
                }
                partial = longer;
            }
            rows.extend(partial);
        }
        rows
    }

    /// Packed and plain sets agree with the definition.
    #[test]
    fn union_of_products() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let width = 1 + rng.below(4) * if seed % 3 == 0 { 12 } else { 1 };
            let spread = [2, 5, 3000][seed as usize % 3];
            let columns: Vec<usize> = (0..width).rev().collect();
            let (left, right) = columns.split_at(rng.below(width + 1));
            let mut some_rows = |n: usize| -> Vec<Vec<Value>> {
                (0..1 + rng.below(8))
                    .map(|_| (0..n).map(|_| rng.below(spread) as Value - 1).collect())
                    .collect()
            };
            let rows: Vec<_> =
                (0..5).map(|_| (some_rows(left.len()), some_rows(right.len()))).collect();
            let products: Vec<Vec<Factor<'_>>> = rows
                .iter()
                .map(|(l, r)| {
                    vec![Factor { columns: left, rows: l }, Factor { columns: right, rows: r }]
                })
                .collect();
            let expected = by_definition(width, &products);
            let set = OutcomeSet::union(width, &products, &mut |_, _| true);
            let part = OutcomeSet::union(width, &products, &mut |n, _| n < 3);
            assert!(part.to_set().is_subset(&expected), "seed {seed}");
            assert_eq!(set.to_set(), expected, "seed {seed}");
            assert_eq!(set.len(), expected.len(), "seed {seed}");
        }
    }
}
