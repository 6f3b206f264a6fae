//! Check that no domains cut through a history.
//!
//! A request in two domains would be counted twice, and each domain would be read without the other's
//! knowledge of it.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use blake2::digest::consts::U12;
use blake2::{Blake2b, Digest};
use rustc_hash::FxHashMap;

use super::conversation::History;

/// Requests of all domains, each identified by the service's ids of the request and of its answer.
#[derive(Debug, Default)]
pub struct Seams {
    seen: FxHashMap<Identity, u32>,
    files: Vec<(Arc<str>, Arc<str>)>,
}

/// Digest of both ids: 96 bits, so that two requests of a run never share one.
type Identity = [u8; 12];

/// Ids of a request, with the file that holds it.
#[derive(Clone, Debug)]
pub struct Identified<'r> {
    /// Service's id of the answer.
    pub message: &'r str,
    /// Service's id of the request.
    pub request: &'r str,
    /// Label of the file.
    pub file: &'r str,
}

/// Request in two domains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "request {request} is in {} (domain {}) and in {} (domain {}): the domains cut through a history; \
     put both files into one domain", files[0].1, files[0].0, files[1].1, files[1].0
)]
pub struct Seam {
    /// Service's id of the request.
    pub request: String,
    /// Both domains, each as its name and the label of the file.
    pub files: [(Arc<str>, Arc<str>); 2],
}

impl Seams {
    /// Adds the requests of a domain whose ids are both known.
    ///
    /// # Errors
    /// The first request that an earlier domain already has.
    pub fn add(&mut self, domain: &str, history: &History) -> Result<(), Seam> {
        let mut adding = self.domain(domain);
        for request in &history.requests {
            let ids = history.text(request.message).zip(history.text(request.request));
            if let Some((message, request_id)) = ids {
                let file = &history.files[request.file].label;
                adding.add(&Identified { message, request: request_id, file })?;
            }
        }
        Ok(())
    }

    /// Begins a domain, whose requests are added one by one.
    pub fn domain(&mut self, name: &str) -> SeamsOfDomain<'_> {
        let first = self.files.len();
        SeamsOfDomain { name: name.into(), first, noted: FxHashMap::default(), seams: self }
    }
}

/// Requests of a domain that is being added.
#[derive(Debug)]
pub struct SeamsOfDomain<'s> {
    name: Arc<str>,
    /// Index of the domain's first file in `Seams::files`.
    first: usize,
    /// Indices of the files that are already listed, by label.
    noted: FxHashMap<Arc<str>, usize>,
    seams: &'s mut Seams,
}

impl SeamsOfDomain<'_> {
    /// Adds a request of the domain.
    ///
    /// # Errors
    /// A request that an earlier domain already has.
    pub fn add(&mut self, request: &Identified<'_>) -> Result<(), Seam> {
        let Seams { seen, files } = &mut *self.seams;
        let file = self.noted.get(request.file).copied().unwrap_or_else(|| {
            let label: Arc<str> = request.file.into();
            files.push((Arc::clone(&self.name), Arc::clone(&label)));
            self.noted.insert(label, files.len() - 1);
            files.len() - 1
        });
        match seen.entry(identity(request)) {
            Entry::Vacant(entry) => {
                entry.insert(u32::try_from(file).unwrap_or(u32::MAX));
            }
            // Captures and other agents' sessions may repeat the ids of a request of the same history.
            Entry::Occupied(entry) if (*entry.get() as usize) < self.first => {
                let earlier = files[*entry.get() as usize].clone();
                let files = [earlier, files[file].clone()];
                return Err(Seam { request: request.request.to_owned(), files });
            }
            Entry::Occupied(_) => {}
        }
        Ok(())
    }
}

fn identity(request: &Identified<'_>) -> Identity {
    let Identified { message, request, .. } = request;
    let digest = Blake2b::<U12>::new();
    // The zero byte separates the ids: without it, other ids could join to the same bytes.
    digest.chain_update(message).chain_update([0]).chain_update(request).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_in_two_domains_is_named_with_both_files() {
        let mut seams = Seams::default();
        let request = |message, file| Identified { message, request: "req_1", file };
        let mut one = seams.domain("ann");
        one.add(&request("msg_1", "ann/a.jsonl")).expect("new");
        one.add(&request("msg_1", "ann/b.jsonl")).expect("of the same domain");
        let mut other = seams.domain("bob");
        other.add(&request("msg_2", "bob/a.jsonl")).expect("another answer");
        let seam = other.add(&request("msg_1", "bob/a.jsonl")).expect_err("it is in two");
        assert_eq!(
            seam.to_string(),
            "request req_1 is in ann/a.jsonl (domain ann) and in bob/a.jsonl (domain bob): the domains cut \
             through a history; put both files into one domain"
        );
    }
}
