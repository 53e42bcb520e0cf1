//! The terminal: keys in, screens out, and what it was before when all is over.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::model::Steps;
use crate::screen::{Press, View};

/// How often it is asked whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// Lets somebody step through a run in the terminal, until they quit or `stop` says so, with frames of
/// ASCII if that is asked for. The terminal
/// is put back as it was, also if something panics. A terminal that is closed ends it.
///
/// # Errors
///
/// The terminal cannot be read or drawn on.
pub fn step(run: &Steps, ascii: bool, stop: &dyn Fn() -> bool) -> io::Result<()> {
    // Sets a hook, too, that restores the terminal before a panic is printed.
    let mut terminal = ratatui::try_init()?;
    let mut view = View { run, done: 0, ascii };
    let events = events();
    let mut steps = || -> io::Result<()> {
        while !stop() {
            // Of a terminal that is closed, this is what fails.
            terminal.draw(|frame| view.draw(frame))?;
            let event = match events.recv_timeout(TICK) {
                // A new size is an event, after which all is drawn again.
                Ok(event) => event?,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if let Event::Key(key) = event
                && key.kind != KeyEventKind::Release
            {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                match asked(key.code, control) {
                    Some(Asked::Quit) => return Ok(()),
                    Some(Asked::Press(press)) => view.press(press),
                    None => {}
                }
            }
        }
        Ok(())
    };
    let stepped = steps();
    ratatui::try_restore()?;
    stepped
}

/// What happens in the terminal. A thread of its own reads it: crossterm reads a terminal that was closed
/// again and again and never returns, which must not keep the program from its end.
fn events() -> Receiver<io::Result<Event>> {
    let (sender, events) = sync_channel(0);
    std::thread::spawn(move || {
        loop {
            let event = event::read();
            let failed = event.is_err();
            if sender.send(event).is_err() || failed {
                return;
            }
        }
    });
    events
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Press(Press),
    Quit,
}

/// What a key asks for. In raw mode Ctrl-C is a key like others.
fn asked(code: KeyCode, control: bool) -> Option<Asked> {
    Some(match code {
        KeyCode::Char('c') if control => Asked::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Asked::Quit,
        KeyCode::Char('n' | ' ') | KeyCode::Right | KeyCode::Down => Asked::Press(Press::Next),
        KeyCode::Char('p') | KeyCode::Left | KeyCode::Up => Asked::Press(Press::Previous),
        KeyCode::Home => Asked::Press(Press::First),
        KeyCode::End => Asked::Press(Press::Last),
        KeyCode::Char('l') => Asked::Press(Press::Late),
        KeyCode::Char('m') => Asked::Press(Press::Reaches),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        assert_eq!(asked(KeyCode::Char('n'), false), Some(Asked::Press(Press::Next)));
        assert_eq!(asked(KeyCode::Left, false), Some(Asked::Press(Press::Previous)));
        assert_eq!(asked(KeyCode::Char('c'), true), Some(Asked::Quit));
        assert_eq!(asked(KeyCode::Char('c'), false), None);
    }
}
