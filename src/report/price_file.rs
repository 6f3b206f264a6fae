//! Models as a price file, as `--prices` reads it.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use jiff::civil::Date;

use super::prices::per_million;
use crate::simulate::pricing::{Factors, Hours, ModelPrices, Multiplier, Rate};

/// Beginning of a file that a later run may replace.
pub const WRITTEN_BY: &str = "# Written by `cachesim prices update`, which replaces this file.";

/// Writes models with all their rates, under the name and the day of the table that they are from.
///
/// # Errors
/// Writing fails.
pub fn write_price_file(
    id: &str,
    as_of: Date,
    models: &[&ModelPrices],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = format!(
        "{WRITTEN_BY}\n\nschema = \"cachesim.prices/v1\"\nid = {}\nas_of = \"{as_of}\"\n",
        quoted(id)
    );
    let hours = named_hours(models);
    for (id, hours) in &hours {
        add_hours(&mut text, id, hours);
    }
    for model in models {
        add_model(&mut text, model, &hours);
    }
    out.write_all(text.as_bytes())
}

/// All hours, each under a name of its own: updates of several days may call different ones the same.
fn named_hours<'m>(models: &[&'m ModelPrices]) -> Vec<(String, &'m Hours)> {
    let mut named: Vec<(String, &Hours)> = Vec::new();
    let rates = models.iter().flat_map(|model| &model.rates);
    for hours in rates.filter_map(|rate| rate.hours.as_deref()) {
        if named.iter().any(|(_, known)| known.are_same(hours)) {
            continue;
        }
        let is_free = |id: &String| named.iter().all(|(known, _)| known != id);
        let numbered = (2..).map(|number| format!("{}-{number}", hours.id));
        let id = std::iter::once(hours.id.clone()).chain(numbered).find(is_free);
        named.extend(id.map(|id| (id, hours)));
    }
    named
}

fn add_hours(text: &mut String, id: &str, hours: &Hours) {
    let windows: Vec<String> = hours.windows().map(|window| quoted(&window)).collect();
    let days: Vec<String> = hours.weekdays().map(quoted).collect();
    text.push_str("\n[[hours]]\n");
    add(text, "id", &quoted(id));
    add(text, "utc", &format!("[{}]", windows.join(", ")));
    add(text, "weekdays", &format!("[{}]", days.join(", ")));
    let except: Vec<String> = hours.except().iter().map(Date::to_string).collect();
    add(text, "except", &format!("[{}]", except.join(", ")));
}

fn add_model(text: &mut String, model: &ModelPrices, hours: &[(String, &Hours)]) {
    text.push_str("\n[[model]]\n");
    add(text, "id", &quoted(&model.id));
    // Models without an alias, a factor or a tier need no key for it.
    let aliases: Vec<String> = model.aliases.iter().map(|alias| quoted(alias)).collect();
    if !aliases.is_empty() {
        add(text, "aliases", &format!("[{}]", aliases.join(", ")));
    }
    for (key, factor) in [("us_only", model.us_only), ("regional", model.regional)] {
        if factor != Multiplier::ONE {
            add(text, key, &quoted(&factor.to_string()));
        }
    }
    for (tier, Factors { all, reads }) in &model.tiers {
        let value = if all == reads {
            quoted(&all.to_string())
        } else {
            format!("{{ times = \"{all}\", reads = \"{reads}\" }}")
        };
        add(text, tier.name(), &value);
    }
    for rate in &model.rates {
        add_rate(text, rate, hours);
    }
}

fn add_rate(text: &mut String, rate: &Rate, hours: &[(String, &Hours)]) {
    text.push_str("[[model.rate]]\n");
    let own = rate.hours.as_deref();
    let named = own.and_then(|own| hours.iter().find(|(_, one)| one.are_same(own)));
    let terms = [
        ("from", rate.from.map(|day| day.to_string())),
        ("until", rate.until.map(|day| day.to_string())),
        ("above", rate.above.map(|above| above.0.to_string())),
        ("tier", Some(quoted(rate.tier.name()))),
        ("hours", named.map(|(id, _)| quoted(id))),
    ];
    for (key, value) in terms {
        if let Some(value) = value {
            add(text, key, &value);
        }
    }
    let rates = &rate.rates;
    let prices = [
        ("input", Some(rates.input)),
        ("cache_write_5m", Some(rates.cache_write_5m)),
        ("cache_write_1h", Some(rates.cache_write_1h)),
        ("cache_write_12h", rates.cache_write_12h),
        ("cache_read", Some(rates.cache_read)),
        ("output", Some(rates.output)),
    ];
    for (key, price) in prices {
        if let Some(price) = price {
            add(text, key, &quoted(&per_million(price).to_string()));
        }
    }
}

fn add(text: &mut String, key: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{key} = {value}");
}

/// String of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
