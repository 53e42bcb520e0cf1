//! Fences in a program's own text: where a fence can be written, what the program then is, and
//! the text with the fences that were chosen. Everything else stays as it is, byte for byte.
//!
//! What a place in the text means is not derived a second time: a text with a fence in every place
//! is compiled as any other, and each of its fences is known by where it starts.

mod c;
mod edit;
mod litmus;
mod memorax;
#[cfg(test)]
mod tests;
mod trencher;
mod weak;

use weakspot_core::{Fence, FencePlaces, PlacedFence, Program, Span};

use crate::{Diagnostic, Format, parse};
use edit::{Edit, Edited, apply};

/// A program text with the places where fences can be written.
#[derive(Clone, Debug)]
pub struct Patches {
    format: Format,
    text: String,
    /// The places, in the order of the text.
    pub sites: Vec<Site>,
    /// What they are in the program: one place for each site. Its instructions stand where they
    /// stand in the text without fences.
    pub places: FencePlaces,
}

/// A place where a fence can be written.
#[derive(Clone, Debug)]
pub struct Site {
    /// What the fence comes after: a statement, an instruction, a label, the head of a loop.
    pub after: Span,
    /// What it comes before, if something follows in the same block.
    pub before: Option<Span>,
    change: Change,
}

/// What a fence changes in the text.
#[derive(Clone, Debug)]
enum Change {
    Edits(Vec<Edit>),
    /// A cell of a new row of a litmus test.
    Cell(litmus::Cell),
}

/// Finds the places of a text that [`parse`] accepts.
pub fn patches(format: Format, text: &str) -> Result<Patches, Diagnostic> {
    let sites = match format {
        Format::Litmus => litmus::sites(text)?,
        Format::Weak => weak::sites(text)?,
        Format::Trencher => trencher::sites(text)?,
        Format::Memorax => memorax::sites(text)?,
        Format::C => c::sites(text)?,
    };
    // Should some place be none, the others still are.
    let good = |site: &Site| compile(format, text, std::slice::from_ref(site)).is_ok();
    let sites = match compile(format, text, &sites) {
        Ok(places) => useful(sites, &places),
        Err(_) => sites.into_iter().filter(good).collect(),
    };
    let places = compile(format, text, &sites)?;
    Ok(Patches { format, text: text.to_owned(), sites, places })
}

/// The sites where a fence can make a difference.
fn useful(sites: Vec<Site>, places: &FencePlaces) -> Vec<Site> {
    let all = sites.into_iter().zip(&places.places);
    all.filter(|(_, edges)| !edges.is_empty()).map(|(site, _)| site).collect()
}

impl Patches {
    /// The text with these fences. A kind that the language does not have is written as a full
    /// fence.
    #[must_use]
    pub fn patched(&self, fences: &[PlacedFence]) -> String {
        let chosen: Vec<(&Site, Fence)> =
            fences.iter().filter_map(|f| Some((self.sites.get(f.place)?, f.kind))).collect();
        written(self.format, &self.text, &chosen).text
    }

    /// The program of the text with these fences.
    pub fn program(&self, fences: &[PlacedFence]) -> Result<Program, Diagnostic> {
        Ok(parse(self.format, &self.patched(fences))?.program)
    }
}

/// Whether a language has this kind of fence.
#[must_use]
pub fn has_fence(format: Format, kind: Fence) -> bool {
    word(format, kind).is_some()
}

fn compile(format: Format, text: &str, sites: &[Site]) -> Result<FencePlaces, Diagnostic> {
    let all: Vec<(&Site, Fence)> = sites.iter().map(|s| (s, Fence::Full)).collect();
    let edited = written(format, text, &all);
    let parsed = parse(format, &edited.text)?;
    let mut places = FencePlaces::of_fences(parsed.program, &edited.starts);
    for point in places.program.threads.iter_mut().flat_map(|t| &mut t.points) {
        for edge in &mut point.edges {
            edge.span = edited.before(edge.span);
        }
    }
    Ok(places)
}

/// The text with these fences.
fn written(format: Format, text: &str, chosen: &[(&Site, Fence)]) -> Edited {
    let mut edits = Vec::new();
    let mut cells = Vec::new();
    let mut words = Vec::new();
    for (i, (site, kind)) in chosen.iter().enumerate() {
        words.push(word(format, *kind).or(word(format, Fence::Full)).unwrap_or_default());
        match &site.change {
            Change::Edits(own) => edits.extend(own.iter().map(|e| e.clone().of(i))),
            Change::Cell(cell) => cells.push((i, cell)),
        }
    }
    edits.extend(litmus::rows(text, &cells));
    apply(text, edits, &words)
}

/// How a fence is written.
fn word(format: Format, kind: Fence) -> Option<&'static str> {
    match (format, kind) {
        (Format::Litmus, Fence::Full) => Some("MFENCE"),
        (Format::Litmus, Fence::StoreStore) => Some("SFENCE"),
        (Format::Weak | Format::Memorax, Fence::Full) => Some("fence"),
        (Format::Weak, Fence::StoreStore) => Some("fence.ss"),
        (Format::Memorax, Fence::StoreStore) => Some("ssfence"),
        (Format::Trencher, Fence::Full) => Some("mfence"),
        (Format::Trencher, Fence::StoreStore) => None,
        (Format::C, Fence::Full) => Some("__sync_synchronize()"),
        (Format::C, Fence::StoreStore) => Some("__atomic_thread_fence(__ATOMIC_RELEASE)"),
    }
}
