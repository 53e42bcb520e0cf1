//! Fences in a program's own text: where a fence can be written, what the program then is, and
//! the text with the fences that were chosen. Everything else stays as it is, byte for byte.
//!
//! What a place in the text means is not derived a second time: a text with a fence in every place
//! is compiled as any other, and each of its fences is known by where it starts.

mod c;
mod edit;
mod litmus;
mod litmus_c;
mod memorax;
#[cfg(test)]
mod tests;
mod trencher;
mod weak;

use weakspot_core::{Fence, FencePlaces, PlacedFence, Program, Span};

use crate::{Diagnostic, Format, Setting, parse_with};
use edit::{Edit, Edited, apply};

/// A program text with the places where fences can be written.
#[derive(Clone, Debug)]
pub struct Patches {
    format: Format,
    words: Words,
    text: String,
    setting: Setting,
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

/// Finds the places of a text that [`parse`](crate::parse) accepts.
pub fn patches(format: Format, text: &str) -> Result<Patches, Diagnostic> {
    patches_with(format, text, &Setting::default())
}

/// Finds the places of a text that [`parse_with`] accepts.
pub fn patches_with(format: Format, text: &str, setting: &Setting) -> Result<Patches, Diagnostic> {
    let sites = match format {
        Format::Litmus => litmus::sites(text)?,
        Format::Weak => weak::sites(text)?,
        Format::Trencher => trencher::sites(text)?,
        Format::Memorax => memorax::sites(text)?,
        Format::C => c::sites(text, setting)?,
    };
    let words = Words::of(format, text);
    let compiled = |sites: &[Site]| compile((format, words), (text, setting), sites);
    // Should some place be none, the others still are.
    let good = |site: &Site| compiled(std::slice::from_ref(site)).is_ok();
    let sites = match compiled(&sites) {
        Ok(places) => useful(sites, &places),
        Err(_) => sites.into_iter().filter(good).collect(),
    };
    let places = compiled(&sites)?;
    Ok(Patches { format, words, text: text.to_owned(), setting: setting.clone(), sites, places })
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
        written(self.words, &self.text, &chosen).text
    }

    /// The program of the text with these fences.
    pub fn program(&self, fences: &[PlacedFence]) -> Result<Program, Diagnostic> {
        Ok(parse_with(self.format, &self.patched(fences), &self.setting)?.program)
    }
}

/// Whether a language has this kind of fence.
#[must_use]
pub fn has_fence(format: Format, kind: Fence) -> bool {
    Words::Of(format).word(kind).is_some()
}

fn compile(
    (format, words): (Format, Words),
    (text, setting): (&str, &Setting),
    sites: &[Site],
) -> Result<FencePlaces, Diagnostic> {
    let all: Vec<(&Site, Fence)> = sites.iter().map(|s| (s, Fence::Full)).collect();
    let edited = written(words, text, &all);
    let parsed = parse_with(format, &edited.text, setting)?;
    let mut places = FencePlaces::of_fences(parsed.program, &edited.starts);
    for point in places.program.threads.iter_mut().flat_map(|t| &mut t.points) {
        for edge in &mut point.edges {
            edge.span = edited.before(edge.span);
        }
    }
    Ok(places)
}

/// The text with these fences.
fn written(dialect: Words, text: &str, chosen: &[(&Site, Fence)]) -> Edited {
    let mut edits = Vec::new();
    let mut cells = Vec::new();
    let mut words = Vec::new();
    for (i, (site, kind)) in chosen.iter().enumerate() {
        words.push(dialect.word(*kind).or(dialect.word(Fence::Full)).unwrap_or_default());
        match &site.change {
            Change::Edits(own) => edits.extend(own.iter().map(|e| e.clone().of(i))),
            Change::Cell(cell) => cells.push((i, cell)),
        }
    }
    edits.extend(litmus::rows(text, &cells, &words));
    apply(text, edits, &words)
}

/// How fences are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// As usual in the language.
    Of(Format),
    /// In litmus tests for RISC-V.
    Riscv,
    /// In litmus tests in C, as the Linux kernel does.
    Kernel,
    /// In other litmus tests in C.
    C11,
}

impl Words {
    fn of(format: Format, text: &str) -> Words {
        if format == Format::Litmus { litmus::words(text) } else { Words::Of(format) }
    }

    /// The word for a fence; nothing if there is none.
    fn word(self, kind: Fence) -> Option<&'static str> {
        match (self, kind) {
            (Words::Of(Format::Litmus), Fence::Full) => Some("MFENCE"),
            (Words::Of(Format::Litmus), Fence::StoreStore) => Some("SFENCE"),
            (Words::Of(Format::Weak | Format::Memorax), Fence::Full) => Some("fence"),
            (Words::Of(Format::Weak), Fence::StoreStore) => Some("fence.ss"),
            (Words::Of(Format::Memorax), Fence::StoreStore) => Some("ssfence"),
            (Words::Of(Format::Trencher), Fence::Full) => Some("mfence"),
            (Words::Of(Format::Trencher), Fence::StoreStore) => None,
            (Words::Of(Format::C), Fence::Full) => Some("__sync_synchronize()"),
            (Words::Of(Format::C), Fence::StoreStore) => {
                Some("__atomic_thread_fence(__ATOMIC_RELEASE)")
            }
            (Words::Riscv, Fence::Full) => Some("fence rw,rw"),
            (Words::Riscv, Fence::StoreStore) => Some("fence w,w"),
            (Words::Kernel, Fence::Full) => Some("smp_mb()"),
            (Words::Kernel, Fence::StoreStore) => Some("smp_wmb()"),
            (Words::C11, Fence::Full) => Some("atomic_thread_fence(memory_order_seq_cst)"),
            (Words::C11, Fence::StoreStore) => Some("atomic_thread_fence(memory_order_release)"),
        }
    }
}
