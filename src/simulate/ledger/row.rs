//! A row of the ledger.

use crate::base::basis::Basis;
use crate::base::units::{Millis, Picodollars};
use crate::requests::conversation::RequestIndex;
use crate::simulate::cache::Refusal;
use crate::simulate::pricing::{Billing, Charges};
use crate::simulate::strategy::Purpose;

/// One request under one strategy.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The strategy's name.
    pub strategy: &'a str,
    /// The request.
    pub request: RequestIndex,
    /// The model that is billed.
    pub model: &'a str,
    /// The tokens of each class.
    pub billing: Billing,
    /// Whether the output is known; where it is not, it is in neither the tokens nor the cost.
    pub is_output_known: bool,
    /// Why the service refuses the request, for a simulated row; all its figures are zero.
    pub refusal: Option<Refusal>,
    /// What the prompt's split rests on.
    pub basis: Basis,
    /// Which earlier sampling this is, for one that was billed apart; `None` for the request.
    pub iteration: Option<usize>,
    /// Why and when it is sent, for one that the strategy adds to those recorded.
    pub added: Option<(Purpose, Millis)>,
    /// What the tokens of each class cost; `None` where the model has no price.
    pub charges: Option<Charges>,
    /// The cost, web searches included; `None` where the model has no price.
    pub cost: Option<Picodollars>,
}
