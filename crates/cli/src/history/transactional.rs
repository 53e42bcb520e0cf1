//! `weakspot history` for histories of transactions.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use weakspot_core::{Certification, Limit, TxnModel, Verdict};
use weakspot_history::{TxnClassified, classify_transactions};
use weakspot_input::{Patience, hash_file, hint};
use weakspot_report::{
    AskedModel, TxnHistoryAnswer, TxnHistoryAnswers, TxnHistoryWitness, Unread, txn_model_name,
};
use weakspot_trace::{HistoryReader, LogError, RecordedTxns};

use crate::args::HistoryCheckArgs;
use weakspot_jobs::job::{self, Job, Written, is_unread, line_of};
use weakspot_jobs::pool::{self, Answer, Listener};

/// What a history came to under a model; `None` for bad input.
pub(crate) type Came = (AskedModel, Option<Verdict>);

/// One file on its way to answers.
pub(crate) struct Asked<'a> {
    path: &'a Path,
    job: Job<'a, Came, TxnModel>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(args: &'a HistoryCheckArgs, path: &'a Path) -> Asked<'a> {
        let file = path.display().to_string();
        Asked { path, job: Job::new(&args.shared, &args.txn_models, "history", file) }
    }

    /// Answers for the history of a file.
    pub(crate) fn answer_all(
        mut self,
        mut reader: HistoryReader,
        patience: &Arc<Patience>,
    ) -> Answer<Came> {
        if !reader.format().has_transactions() {
            let message = format!(
                "{} has no transactions; expected a file of dbcop, plume, awdit or edn",
                reader.format().key()
            );
            self.refuse(&message);
            return self.job.take();
        }
        reader.keep_transactions();
        patience.begin();
        for number in 1.. {
            let next = reader.next_transactions();
            if let Some(limit) = patience.reached() {
                self.say_unread(&limit, patience);
                break;
            }
            match next {
                _ if pool::interrupted() => self.say_unread(&Limit::Interrupted, patience),
                Ok(None) if number > 1 => {}
                Ok(None) => self.refuse("no history in it"),
                Ok(Some(read)) => {
                    self.answer(&read, number, patience);
                    continue;
                }
                Err(error) => {
                    let kind = if reader.has_ended() { "syntax" } else { "value" };
                    self.refuse_log(&error, Some(kind));
                    if reader.has_ended() && !self.job.shared.quiet {
                        self.job.answer.err += &hint(self.path, reader.format());
                    }
                }
            }
            break;
        }
        self.job.take()
    }

    /// Answers for a file that cannot be opened.
    pub(crate) fn unopened(mut self, error: &LogError) -> Answer<Came> {
        self.refuse_log(error, None);
        self.job.take()
    }

    fn answer(&mut self, read: &RecordedTxns, number: usize, patience: &Arc<Patience>) {
        let limits = patience.limits();
        let mut listener = Listener::new();
        let found = classify_transactions(&read.txns, self.job.models, &limits, &mut listener);
        let found = match found {
            Ok(found) => found,
            Err((model, rejected)) => {
                let message = job::defect(txn_model_name(model), &rejected);
                return self.refuse(&message);
            }
        };
        let answers: Vec<TxnHistoryAnswer<'_>> = found
            .iter()
            .map(|found| TxnHistoryAnswer {
                head: self.job.head(
                    found.model,
                    &found.answer.verdict,
                    found.time,
                    found.answer.certification(),
                ),
                id: read.id.as_deref(),
                number,
                history: &read.txns,
                names: &read.names,
                lines: &read.lines,
                notes: &read.notes,
                unchecked: &read.unchecked,
                evidence: found.answer.evidence.as_deref(),
                decided_by: found.answer.decided_by,
                implied_by: found.implied_by,
            })
            .collect();
        let written = self.job.written(&TxnHistoryAnswers { answers: &answers });
        self.job.write(&written);
        if self.job.shared.format.is_picture() && !self.job.shared.quiet {
            self.job.answer.err += &format!(
                "{}: transactions are not drawn as pictures; --format text shows cycles\n",
                self.job.file
            );
        }
        for found in &found {
            self.write_witness(found, number);
            let verdict = &found.answer.verdict;
            self.job.say(&Written::default(), verdict);
            let model = AskedModel::Transactions(found.model);
            self.job.answer.results.push((model, Some(verdict.clone())));
        }
    }

    fn write_witness(&mut self, found: &TxnClassified, number: usize) {
        let Some(evidence) = &found.answer.evidence else { return self.job.lack_witness() };
        let verdict = &found.answer.verdict;
        let path = self.path;
        self.job.write_witness(*verdict == Verdict::Violated, || {
            let input_hash = hash_file(path).context("failed to read it again for the witness")?;
            let (model, verdict) = (found.model, verdict.clone());
            let evidence = evidence.as_ref().clone();
            Ok(TxnHistoryWitness { input_hash, number, model, verdict, evidence }.to_json())
        });
    }

    fn say_unread(&mut self, limit: &Limit, patience: &Arc<Patience>) {
        let verdict = Verdict::Unknown(limit.clone());
        for &model in self.job.models {
            let time = patience.limits().elapsed();
            let head = self.job.head(model, &verdict, time, Certification::NotChecked);
            let written = self.job.written(&Unread { head });
            self.job.say(&written, &verdict);
            let model = AskedModel::Transactions(model);
            self.job.answer.results.push((model, Some(verdict.clone())));
        }
    }

    fn refuse_log(&mut self, error: &LogError, kind: Option<&str>) {
        let kind = kind.filter(|_| !is_unread(&error.message));
        self.job.refuse_place(None, &error.message, line_of(error), kind);
        self.count_refused();
    }

    fn refuse(&mut self, message: &str) {
        self.job.refuse_place(None, message, None, None);
        self.count_refused();
    }

    /// For the summary.
    fn count_refused(&mut self) {
        let models = self.job.models.iter().map(|&model| AskedModel::Transactions(model));
        self.job.answer.results.extend(models.map(|model| (model, None)));
    }
}
