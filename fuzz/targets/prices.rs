//! Price files, as TOML and as JSON: any text is laid over the built-in prices or is an error, and
//! then nothing has changed.

use std::sync::LazyLock;

use cachesim::simulate::pricing::PriceTable;

static BUILT_IN: LazyLock<PriceTable> = LazyLock::new(PriceTable::built_in);

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
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
