//! Token counts → exact money: dated price tables, the tiers that apply to a request, and the
//! cost of its parts.
//!
//! Prices are dated rows in `prices/*.toml`. A dollar for a million tokens is 10⁶ picodollars for
//! one, so every cost is a whole number of picodollars and no sum rounds.

mod cost;
mod litellm;
mod rate;
mod request_rates;
mod table;

pub use cost::{Billing, Charges, PriceContext};
pub use rate::{Multiplier, Rate, Rates, Speed};
pub use request_rates::{RequestRates, price_context};
pub use table::{ModelPrices, PriceError, PriceTable};
