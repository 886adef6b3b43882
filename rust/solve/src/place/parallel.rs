//! The same work on many items by several threads; results in the order of the items.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// How often the calling thread looks whether to stop.
const POLL: Duration = Duration::from_millis(5);

/// `work` on each item; only the calling thread asks `stop`, the others see a flag.
pub(crate) fn parallel_map<T: Sync, R: Send>(
    items: &[T],
    stop: &dyn Fn() -> bool,
    work: impl Fn(&T, &dyn Fn() -> bool) -> R + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(items.len());
    if threads < 2 {
        return items.iter().map(|item| work(item, stop)).collect();
    }
    let (flag, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut results: Vec<(usize, R)> = vec![];
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let sender = sender.clone();
            let (flag, next, work) = (&flag, &next, &work);
            scope.spawn(move || {
                let stopped = || flag.load(Ordering::Relaxed);
                while let Some((k, item)) = take(items, next) {
                    let _ = sender.send((k, work(item, &stopped)));
                }
            });
        }
        drop(sender);
        results = collect(&receiver, &flag, stop);
    });
    results.sort_by_key(|&(k, _)| k);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let k = next.fetch_add(1, Ordering::Relaxed);
    items.get(k).map(|item| (k, item))
}

fn collect<R>(receiver: &mpsc::Receiver<R>, flag: &AtomicBool, stop: &dyn Fn() -> bool) -> Vec<R> {
    let mut results = vec![];
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(result) => results.push(result),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if stop() {
                    flag.store(true, Ordering::Relaxed);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return results,
        }
    }
}
