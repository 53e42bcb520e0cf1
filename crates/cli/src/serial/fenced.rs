//! Logs with a fence at the end of each transaction.

use weakspot_core::serial::Question;
use weakspot_core::{Limit, LogBatch, LogEvent, Model, Verdict};
use weakspot_monitor::{Algorithm, Form, Watch};
use weakspot_report::{SerialEvent, SerialFenced, SerialOf, SerialRole, monitor_news};
use weakspot_serial::fence_transactions;

use super::current::Current;
use super::{Asked, Said};

impl Asked<'_> {
    /// The answer about a log with the fences: under SC, whether a store can be overtaken, and for all
    /// executions of the trace.
    pub(super) fn answer_fenced(&mut self, current: &mut Current, remarks: Vec<String>) {
        let model = Model::Tso;
        if current.follow.has_commits() {
            let message = "fences change when stores reach memory, and this log says when they did; \
                           expected one without `com`";
            return self.refuse_message(Some(model), message);
        }
        let found = match self.show(current, Question::ScSerializable) {
            Ok(found) => found,
            Err(rejected) => return self.refuse_defect(model, &rejected),
        };
        let fenced = fence_transactions(&current.kept);
        let events = fenced.events.iter().map(|event| LogEvent { valued: false, ..*event });
        let batch = LogBatch { events: events.collect(), values: Vec::new() };
        let mut watch = Watch::new(&[model], Algorithm::Monitor(Form::All));
        if let Err(refused) = watch.follow(&batch, &current.tables) {
            return self.refuse_message(Some(model), &refused.to_string());
        }
        let incomplete = watch.is_coarse() || !current.is_whole();
        let limit = incomplete.then_some(Limit::Memory(self.args.shared.memory));
        let findings = match watch.answer(&current.tables, model, limit.as_ref()) {
            Ok(findings) => findings,
            Err(rejected) => return self.refuse_defect(model, &rejected),
        };
        let (robust, monitored) = (findings.verdict.clone(), findings.certification());
        let reports = &findings.reports;
        let after = fenced.after.iter().map(|&number| SerialEvent {
            log: current.kept[number as usize],
            number,
            role: SerialRole::Itself,
        });
        let overtaken = reports.iter().map(|shown| {
            let mut overtaking = shown.overtaking;
            overtaking.first = fenced.numbers[overtaking.first as usize];
            monitor_news(&current.tables, model, &overtaking).trim_end().to_owned()
        });
        let without = match self.without_fences(current) {
            Ok(verdict) => verdict,
            Err(rejected) => return self.refuse_defect(model, &rejected),
        };
        let (trace, checked) = match self.with_fences(current, &fenced.events) {
            Ok(found) => found,
            Err(rejected) => return self.refuse_defect(model, &rejected),
        };
        let mut remarks = remarks;
        let silent = [&found.verdict, &robust].iter().all(|verdict| **verdict == Verdict::Holds);
        if trace == Verdict::Violated && silent {
            remarks.push(
                "with the fences an execution of this trace is not serializable: `weakspot serial` \
                 on a log with them shows it"
                    .to_owned(),
            );
        }
        let fenced = SerialFenced {
            after: after.collect(),
            sc_serializable: found.verdict.clone(),
            without,
            robust: robust.clone(),
            overtaken: overtaken.collect(),
        };
        // Silence of the monitors is about this schedule, and stores may be late in others.
        let all = [(&found.verdict, found.certification), (&robust, monitored), (&trace, checked)];
        let worst = all.iter().find(|(verdict, _)| **verdict == Verdict::Violated);
        let worst = worst.or_else(|| all.iter().find(|(verdict, _)| **verdict != Verdict::Holds));
        let (verdict, certification) = match worst {
            Some((verdict, certification)) => ((*verdict).clone(), *certification),
            None => (Verdict::Holds, found.certification.and(monitored).and(checked)),
        };
        let said = Said {
            model,
            of: SerialOf::Execution,
            verdict,
            certification,
            shown: found.shown,
            sc_equivalent: None,
            fenced: Some(&fenced),
            others: &[],
            decided_by: Some("sc-and-monitor"),
            remarks,
        };
        self.say(current, &said);
    }
}
