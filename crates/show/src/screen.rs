//! The screen: the source with the current line, memory and store buffers beside it, what the step did,
//! and the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};

use crate::model::Steps;
use crate::text::queue;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Press {
    Next,
    Previous,
    First,
    Last,
    /// To the next late store.
    Late,
    /// To where the late store that was shown last reaches memory.
    Reaches,
}

/// Where somebody is in a run.
pub(crate) struct View<'a> {
    pub(crate) run: &'a Steps,
    /// How many steps are done.
    pub(crate) done: usize,
    /// Whether frames are drawn in ASCII.
    pub(crate) ascii: bool,
}

const ASCII: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

const HELP: &str = " n/p next, previous  Home/End  l late store  m reaches memory  q quit";

impl View<'_> {
    pub(crate) fn press(&mut self, press: Press) {
        let last = self.run.steps.len();
        let late = &self.run.late;
        self.done = match press {
            Press::Next => (self.done + 1).min(last),
            Press::Previous => self.done.saturating_sub(1),
            Press::First => 0,
            Press::Last => last,
            // Places count from 0: behind the step at a place, one more is done.
            Press::Late => {
                let next =
                    late.iter().map(|(store, _)| store + 1).filter(|&to| to > self.done).min();
                let first = late.iter().map(|(store, _)| store + 1).min();
                next.or(first).unwrap_or(self.done)
            }
            Press::Reaches => {
                let shown = late.iter().filter(|(store, _)| store < &self.done).max();
                shown
                    .or(late.first())
                    .and_then(|(_, reaches)| *reaches)
                    .map_or(self.done, |at| at + 1)
            }
        };
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>) {
        let [title, middle, did, help] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(4),
            Constraint::Length(4),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let [source, state] =
            Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)])
                .areas(middle);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let all = self.run.steps.len();
        let at = format!("step {} of {all}", self.done);
        let room = (title.width as usize).saturating_sub(at.len() + 1);
        let name: String = self.run.title.chars().take(room).collect();
        let text = format!("{name:room$} {at}");
        frame.render_widget(Paragraph::new(Line::styled(text, bold)), title);
        self.draw_source(frame, source);
        self.draw_state(frame, state);
        self.draw_step(frame, did);
        frame.render_widget(Paragraph::new(Line::styled(HELP, Modifier::REVERSED)), help);
    }

    fn block(&self, title: String) -> Block<'static> {
        let set = if self.ascii { ASCII } else { border::PLAIN };
        Block::bordered().border_set(set).title(title)
    }

    /// The step that was done last, or that comes first.
    fn step(&self) -> Option<&crate::model::Step> {
        self.run.steps.get(self.done.saturating_sub(1))
    }

    fn draw_source(&self, frame: &mut Frame<'_>, area: Rect) {
        // A step without a place, such as a commit, is shown where its thread or the one before was.
        let before = self.run.steps[..self.done].iter().rev();
        let thread = self.step().map(|step| step.thread);
        let mine = before.clone().find(|s| Some(s.thread) == thread && s.line.is_some());
        let step = mine.or_else(|| self.run.steps.iter().find(|step| step.line.is_some()));
        let height = (area.height as usize).saturating_sub(2);
        let lines: Vec<Line<'_>> = match step.map(|step| (step, self.run.source(step))) {
            Some((step, source)) if !source.is_empty() => {
                let current = step.line.unwrap_or(1) - 1;
                let last = source.len().saturating_sub(height);
                let first = current.saturating_sub(height / 2).min(last);
                let lines = source.iter().enumerate().skip(first).take(height);
                let is_current = |i: usize| i == current && self.done > 0;
                lines
                    .map(|(i, text)| marked(is_current(i), format!("{:4} {text}", i + 1)))
                    .collect()
            }
            _ => self.list(height),
        };
        let title = step.map_or_else(|| "steps".to_owned(), |step| step.file.clone());
        frame.render_widget(Paragraph::new(lines).block(self.block(title)), area);
    }

    /// The steps themselves, where there is no source to show.
    fn list(&self, height: usize) -> Vec<Line<'_>> {
        let first = self.done.saturating_sub(height / 2 + 1);
        let steps = self.run.steps.iter().enumerate().skip(first).take(height);
        let line = |(i, step): (usize, &crate::model::Step)| {
            let text = if step.text.is_empty() { &step.did } else { &step.text };
            marked(i + 1 == self.done, format!("{:4} {} {text}", i + 1, self.run.thread(step)))
        };
        steps.map(line).collect()
    }

    fn draw_state(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(state) = self.run.states.get(self.done) else { return };
        let before = self.done.checked_sub(1).and_then(|before| self.run.states.get(before));
        let mut lines = Vec::new();
        for (location, value) in &state.memory {
            let is_new =
                before.is_some_and(|b| !b.memory.contains(&(location.clone(), value.clone())));
            lines.push(marked(is_new, format!("{location} = {value}")));
        }
        lines.push(Line::default());
        lines.push(Line::styled("store buffers, oldest first", Modifier::BOLD));
        for (i, (name, buffer)) in self.run.threads.iter().zip(&state.buffers).enumerate() {
            let is_new = before.is_some_and(|b| b.buffers.get(i) != Some(buffer));
            lines.push(marked(is_new, format!("{name}: {}", queue(buffer))));
        }
        let block = self.block("memory".to_owned());
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
    }

    fn draw_step(&self, frame: &mut Frame<'_>, area: Rect) {
        let text = match self.step().filter(|_| self.done > 0) {
            None => "before the first step".to_owned(),
            Some(step) => {
                let place =
                    step.line.map_or(String::new(), |line| format!("  {}:{line}", step.file));
                let end = (self.done == self.run.steps.len()).then_some(self.run.end.as_str());
                let first = format!("{}  {}{place}", self.run.thread(step), step.text);
                let rest = [step.did.as_str(), end.unwrap_or_default()];
                let rest: Vec<&str> = rest.into_iter().filter(|text| !text.is_empty()).collect();
                format!("{first}\n{}", rest.join(". "))
            }
        };
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), area);
    }
}

/// A line with a mark, which is not a colour alone.
fn marked(is_marked: bool, text: String) -> Line<'static> {
    match is_marked {
        true => Line::from(vec![Span::raw(">"), Span::raw(text)]).style(Modifier::BOLD),
        false => Line::from(format!(" {text}")),
    }
}

#[cfg(test)]
mod tests;
