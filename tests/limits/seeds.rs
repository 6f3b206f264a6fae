//! What the fuzz targets check, on the seeds that they start from.

use std::fs;

use crate::common::{entries, project};
use crate::fuzz_targets::ALL;

#[test]
fn every_target_holds_on_its_seeds() {
    for (name, check) in ALL {
        let seeds = entries(project("fuzz/seeds").join(name));
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for path in seeds {
            println!("{}", path.display());
            check(&fs::read(&path).expect("a seed"));
        }
    }
}

/// Found by the target `agent`.
#[test]
fn a_report_has_no_more_reasoning_than_output() {
    let reported = r#"{"input_tokens":20000,"cached_input_tokens":9088,"output_tokens":300,"reasoning_output_tokens":697}"#;
    let lines = [
        r#"{"timestamp":"2026-10-01T00:00:00Z","type":"turn_context","payload":{"model":"gpt-5.5"}}"#.to_owned(),
        r#"{"timestamp":"2026-10-01T00:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"x"}}"#.to_owned(),
        format!(
            r#"{{"timestamp":"2026-10-01T00:00:05Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{reported},"last_token_usage":{reported}}}}}}}"#
        ),
    ];
    let (_, check) = ALL.into_iter().find(|(name, _)| *name == "agent").expect("the target");
    check(&[b"\0", lines.join("\n").as_bytes(), b"\n"].concat());
}

/// A target without seeds, or one that is not called here, would be forgotten.
#[test]
fn every_target_is_known() {
    let mut programs: Vec<String> = entries(project("fuzz/fuzz_targets"))
        .iter()
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        // It is made of files that are no public item of the library, whose own tests compare the same.
        .filter(|name| name != "line")
        .collect();
    programs.sort();
    let mut known = ALL.map(|(name, _)| name);
    known.sort_unstable();
    assert_eq!(programs, known);
}
