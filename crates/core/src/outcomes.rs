//! Sets of final states, packed: each component is coded by its place among the values that it
//! takes, and the codes of one state share one word. A million states of twenty components take
//! 16 MB, and the order of the words is the order of the states.

use std::collections::BTreeSet;

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

/// Up to this many bits per state, duplicates are found in a bitmap instead of by sorting.
const BITMAP_BITS: u32 = 26;

impl OutcomeSet {
    /// The union of `products`, each a product of factors that together cover all components
    /// `0..width` once.
    #[must_use]
    pub fn union(width: usize, products: &[Vec<Factor<'_>>]) -> OutcomeSet {
        let (columns, bits) = columns(width, products);
        let rows = match bits {
            129.. => Rows::Plain(plain_rows(width, products)),
            _ => Rows::Packed(packed_rows(&columns, bits, products)),
        };
        OutcomeSet { columns, rows }
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

fn packed_rows(columns: &[Column], bits: u32, products: &[Vec<Factor<'_>>]) -> Vec<u128> {
    let mut bitmap = match bits {
        0..=BITMAP_BITS => vec![0u64; 1 << bits.saturating_sub(6)],
        _ => Vec::new(),
    };
    let mut rows: Vec<u128> = Vec::new();
    let mut sorted = 0;
    let (mut partial, mut longer) = (Vec::new(), Vec::new());
    for product in products {
        partial.clear();
        partial.push(0);
        for factor in product {
            longer.clear();
            for row in factor.rows {
                let code = factor.columns.iter().zip(row).fold(0, |code, (&c, value)| {
                    let place = columns[c].values.partition_point(|v| v < value) as u128;
                    code | place << columns[c].shift
                });
                longer.extend(partial.iter().map(|&p: &u128| p | code));
            }
            std::mem::swap(&mut partial, &mut longer);
        }
        if bitmap.is_empty() {
            rows.extend_from_slice(&partial);
            // Duplicates go out whenever the list has doubled, so that it stays within a small
            // factor of the answer.
            if rows.len() > 2 * sorted + (1 << 16) {
                rows.sort_unstable();
                rows.dedup();
                sorted = rows.len();
            }
        } else {
            for &code in &partial {
                bitmap[(code >> 6) as usize] |= 1 << (code & 63);
            }
        }
    }
    for (i, &word) in bitmap.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            rows.push((i as u128) << 6 | u128::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
    if bitmap.is_empty() {
        rows.sort_unstable();
        rows.dedup();
    }
    rows
}

fn plain_rows(width: usize, products: &[Vec<Factor<'_>>]) -> Vec<Vec<Value>> {
    let mut rows = BTreeSet::new();
    for product in products {
        let mut partial = vec![vec![0; width]];
        for factor in product {
            partial = partial
                .iter()
                .flat_map(|state| {
                    factor.rows.iter().map(move |row| {
                        let mut state = state.clone();
                        for (&c, &value) in factor.columns.iter().zip(row) {
                            state[c] = value;
                        }
                        state
                    })
                })
                .collect();
        }
        rows.extend(partial);
    }
    rows.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Packed, with and without the bitmap, and plain agree with sets of vectors.
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
            let expected: BTreeSet<_> = plain_rows(width, &products).into_iter().collect();
            let set = OutcomeSet::union(width, &products);
            assert_eq!(set.to_set(), expected, "seed {seed}");
            assert_eq!(set.len(), expected.len(), "seed {seed}");
        }
    }
}
