//! What somebody may have meant who wrote a name that does not exist.

/// The candidate that takes the fewest edits to get from a name, the first of several; `None`
/// where none is alike: more than a third of the name, and more than one character, differs.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let most = (length / 3).max(1);
    candidates
        .into_iter()
        // So many edits the lengths alone take; it keeps long text away from the comparison.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most)
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Words to put behind a name that does not exist; none where nothing is alike.
#[must_use]
pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["5m", "1h", "mixed", "last-two", "last-message"];
        assert_eq!(nearest("mixd", known), Some("mixed"));
        assert_eq!(nearest("imxed", known), Some("mixed"), "two letters changed places");
        assert_eq!(nearest("last_two", known), Some("last-two"));
        assert_eq!(nearest("2h", known), Some("1h"));
        assert_eq!(nearest("warm-everything", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
