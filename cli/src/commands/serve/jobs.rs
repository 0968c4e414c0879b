//! Requests with the destinations of their responses, and the connections that put them into the queue and wait.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use wprof::wasi2::http::{Response, StreamedRequest, StreamedResponse};

use super::queue::Queue;
use crate::commands::web::connections::{self, Answer, Content, Limits, UnderWay};

/// The maximum time for writing the last responses when the server ends.
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
    queue: Arc<Queue<Job>>,
    /// The number of responses that are not written yet.
    under_way: Arc<AtomicUsize>,
}

impl Jobs {
    /// Starts to accept connections; at most so many requests are taken.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn open(listener: TcpListener, limits: Limits, most: u64) -> Result<Jobs> {
        let queue = Arc::new(Queue::new(most));
        let under_way: Arc<AtomicUsize> = Arc::default();
        let (of_queue, of_jobs) = (queue.clone(), under_way.clone());
        connections::open(listener, limits, move |request| {
            let (to, answered) = sync_channel(1);
            let job = Job { request: Some(request), to, under_way: of_jobs.clone() };
            let answer = of_queue.put(job).then(|| answered.recv().ok()).flatten();
            answer.unwrap_or_else(|| Answer { is_last: true, ..at_the_end().into() })
        })?;
        Ok(Jobs { queue, under_way })
    }

    /// Returns the queue of waiting requests.
    pub fn queue(&self) -> &Queue<Job> {
        &self.queue
    }

    /// Takes no further request, and refuses those that wait.
    pub fn end(&self) {
        self.queue.close().into_iter().for_each(|job| job.answer(at_the_end()));
    }

    /// Waits until the pending responses have been written, at most `FAREWELL`. No further request is taken.
    pub fn finish(&self) {
        self.end();
        let end = Instant::now() + FAREWELL;
        while self.under_way.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn at_the_end() -> Response {
    Response::text(503, "the server ends")
}
