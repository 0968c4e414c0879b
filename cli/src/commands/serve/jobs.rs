//! The queue of requests: connections put them in and wait, the thread of the component answers one after the other.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use wprof::wasi2::http::{Response, StreamedRequest, StreamedResponse};

use crate::commands::web::connections::{self, Answer, Content, Limits, UnderWay};

/// The maximum number of requests that wait for the component.
const QUEUE: usize = 64;
/// How long the last responses may take to be written when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// A request, and the destination of its response.
pub struct Job {
    pub request: Option<StreamedRequest>,
    to: SyncSender<Answer>,
    under_way: Arc<AtomicUsize>,
}

impl Job {
    /// Answers with a whole response.
    pub fn answer(self, response: Response) {
        self.pass(Content::Whole(response));
    }

    /// Answers with a response that the component is still writing.
    pub fn stream(self, response: StreamedResponse) {
        self.pass(Content::Streamed(response));
    }

    fn pass(self, content: Content) {
        let under_way = Some(UnderWay::new(&self.under_way));
        // A connection that has ended needs no answer.
        let _ = self.to.send(Answer { under_way, ..content.into() });
    }
}

/// The requests of all connections of a server.
pub struct Jobs {
    jobs: Receiver<Job>,
    /// The number of responses that are not written yet.
    under_way: Arc<AtomicUsize>,
}

impl Jobs {
    /// Starts to accept connections.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn open(listener: TcpListener, limits: Limits) -> Result<Jobs> {
        let (sender, jobs) = sync_channel(QUEUE);
        let under_way: Arc<AtomicUsize> = Arc::default();
        let of_jobs = under_way.clone();
        connections::open(listener, limits, move |request| {
            let (to, answered) = sync_channel(1);
            let job = Job { request: Some(request), to, under_way: of_jobs.clone() };
            let answer = sender.send(job).ok().and_then(|()| answered.recv().ok());
            answer.unwrap_or_else(|| Answer { is_last: true, ..at_the_end().into() })
        })?;
        Ok(Jobs { jobs, under_way })
    }

    /// Returns the queue of waiting requests.
    pub fn queue(&self) -> &Receiver<Job> {
        &self.jobs
    }

    /// Waits until the pending responses have been written, at most `FAREWELL`.
    pub fn finish(&self) {
        let end = Instant::now() + FAREWELL;
        while self.under_way.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            match self.jobs.recv_timeout(Duration::from_millis(2)) {
                Ok(job) => job.answer(at_the_end()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}

fn at_the_end() -> Response {
    Response::text(503, "the server ends")
}
