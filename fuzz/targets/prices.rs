//! Price files, as TOML and as JSON: any text is laid over the built-in prices or is an error, and
//! then nothing has changed. Of other programs' files it is also known what they would change.

use std::sync::LazyLock;

use cachesim::simulate::pricing::{PriceTable, PriceUpdate};

static BUILT_IN: LazyLock<PriceTable> = LazyLock::new(PriceTable::built_in);

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_update(text);
    let mut table = BUILT_IN.clone();
    let known = table.models().count();
    if let Err(error) = table.overlay(text, "fuzz") {
        assert!(error.to_string().starts_with("fuzz: "), "{error}");
        assert_eq!((table.models().count(), &table.id), (known, &BUILT_IN.id));
        return;
    }
    assert!(table.models().count() >= known && table.id.starts_with(&BUILT_IN.id));
    for model in table.models() {
        let found = table.find(&model.id).expect("a model is found by its id");
        assert_eq!(found.id, model.id);
    }
}

/// An update changes models that are known, and adds others.
fn check_update(text: &str) {
    let tables = [&*BUILT_IN, PriceTable::of_providers()];
    let day = jiff::civil::date(2026, 11, 25);
    let Ok(Some(update)) = PriceUpdate::new(&tables, text, "fuzz", day, |_| true) else { return };
    let is_known = |id: &str| tables.iter().any(|table| table.find(id).is_some());
    assert!(
        update.changed.iter().all(|(model, changes)| is_known(&model.id) && !changes.is_empty())
    );
    assert!(update.added.iter().all(|model| !is_known(&model.id)));
}
