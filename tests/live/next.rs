//! What the next message costs, said before it is sent, held against what it was billed.

use std::collections::BTreeSet;

use cachesim::base::units::Picodollars;
use cachesim::explain::breaks::Options;
use cachesim::explain::next::Standing;
use cachesim::requests::conversation::RequestIndex;
use cachesim::study::{Study, StudyOptions};

use crate::common::transcripts;

/// How many prices were said, and how many of them are within two per cent of the bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hits {
    said: u64,
    within: u64,
}

impl Hits {
    fn add(&mut self, said: Picodollars, billed: Picodollars) {
        self.said += 1;
        self.within += u64::from((said.0 - billed.0).abs() * 50 <= billed.0);
    }
}

/// Outside of breaks, and at them.
fn hits(corpus: &str) -> Option<[Hits; 2]> {
    let study = Study::read(&[transcripts(corpus)?], StudyOptions::default()).expect("a study");
    let findings = study.breaks(Options::default()).expect("breaks");
    let broken: BTreeSet<RequestIndex> = findings.list().iter().map(|one| one.request).collect();
    let mut hits = [Hits::default(); 2];
    for (index, request) in study.history.of_transcripts().iter().enumerate() {
        let index = RequestIndex::new(index);
        let Some(before) = request.predecessor else { continue };
        let Some(standing) = Standing::after(&findings.ledger, &study.steps, before) else {
            continue;
        };
        if request.model != study.history.request(before).model {
            continue;
        }
        let prompt = request.prompt_total();
        let is_warm = request.start < standing.warm_until();
        let split = if is_warm { standing.warm(prompt) } else { standing.cold(prompt) };
        let billed = standing.cost(request.recorded().prompt);
        let Some((said, billed)) = standing.cost(split).zip(billed) else { continue };
        hits[usize::from(broken.contains(&index))].add(said, billed);
    }
    Some(hits)
}

#[test]
fn the_price_is_that_of_the_bill() {
    for (corpus, said, least) in [("corpus", 9_072, 95), ("corpus-b", 3_923, 95)] {
        let Some([outside, at_breaks]) = hits(corpus) else { continue };
        println!("{corpus}: {outside:?}, at breaks {at_breaks:?}");
        assert_eq!(outside.said, said, "{corpus}");
        assert!(outside.within * 100 >= outside.said * least, "{corpus}: {outside:?}");
    }
}
