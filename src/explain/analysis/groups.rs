//! Groups of requests: the cost of each group under every strategy, and the cost of its breaks.
//!
//! Each row of the ledger is in exactly one group, so the groups add up to the total. Groups by time are
//! days, weeks, months and years of a time zone.

use std::cmp::Reverse;

use jiff::civil::Date;
use jiff::{Span, ToSpan};
use rustc_hash::FxHashMap;

use crate::base::{ByKey, Millis, Order as _, Symbol, Zone, words};
use crate::explain::breaks::{Break, Sum};
use crate::requests::conversation::{History, RequestIndex, project_names};
use crate::simulate::ledger::{Ledger, MAIN_AGENT, Selection, Totals};

/// Property that the requests of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Day, week or month of the answer, in the time zone of the history.
    Period(PeriodLength),
    /// The project.
    Project,
    /// The model that is billed.
    Model,
    /// The type of the agent.
    AgentType,
    /// The branch of the project's repository.
    Branch,
    /// The session.
    Session,
    /// The client's version.
    Client,
    /// The program that sent the request.
    Source,
}

impl Grouping {
    /// Every grouping.
    pub const ALL: [Self; 10] = [
        Self::Period(PeriodLength::Day),
        Self::Period(PeriodLength::Week),
        Self::Period(PeriodLength::Month),
        Self::Project,
        Self::Model,
        Self::AgentType,
        Self::Branch,
        Self::Session,
        Self::Client,
        Self::Source,
    ];

    /// Word of the grouping in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Period(length) => length.name(),
            Self::Project => "project",
            Self::Model => "model",
            Self::AgentType => "agent-type",
            Self::Branch => "branch",
            Self::Session => "session",
            Self::Client => "client",
            Self::Source => "source",
        }
    }
}

/// Some requests and their sums.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Value that the requests have in common, or `None` if unknown.
    pub name: Option<String>,
    /// Number of requests, including requests in sums.
    pub requests: u64,
    /// True if any request, or a row of one, is under the rules of markers.
    pub has_marked: bool,
    /// Totals of each strategy, in the order of the columns.
    pub by_strategy: Vec<Totals>,
    /// Breaks of the requests.
    pub lost: Sum,
}

impl Group {
    fn empty(columns: usize) -> Self {
        Self { by_strategy: vec![Totals::default(); columns], ..Self::default() }
    }

    /// Adds the sums of another group.
    pub fn absorb(&mut self, other: &Self) {
        self.requests += other.requests;
        self.has_marked |= other.has_marked;
        for (own, other) in self.by_strategy.iter_mut().zip(&other.by_strategy) {
            *own += *other;
        }
        self.lost += other.lost;
    }
}

/// The groups of a selection.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Property that the requests of each group have in common.
    pub grouping: Grouping,
    /// Periods in order of time; other groups most expensive first.
    pub list: Vec<Group>,
    /// Totals of all requests, summed independently of the groups.
    pub total: Group,
    /// Index of the column that orders the groups: the billed one if known for all requests, else the first
    /// known one.
    pub shown: usize,
}

/// Identity of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum GroupKey<'a> {
    Period(Period),
    Name(&'a str),
    Unknown,
}

impl GroupKey<'_> {
    fn name(self) -> Option<String> {
        match self {
            Self::Period(period) => Some(period.name()),
            Self::Name(name) => Some(name.to_owned()),
            Self::Unknown => None,
        }
    }
}

/// Groups the selected requests, with the breaks of the selection.
pub fn groups(
    ledger: &Ledger<'_>,
    selection: &Selection,
    breaks: &[Break],
    grouping: Grouping,
) -> Groups {
    let projects = project_names(ledger.history);
    let keys = Keys { history: ledger.history, projects: &projects, grouping };
    let mut sums =
        GroupSums { columns: ledger.columns.len(), places: FxHashMap::default(), list: vec![] };
    let mut total = Group::empty(ledger.columns.len());
    for index in selection.requests() {
        let key = keys.of(index);
        // A record that sums several requests counts as all of them.
        let requests = u64::from(ledger.history.request(index).sum_of);
        let is_marked = ledger.history.is_marked(index);
        let group = sums.of(key);
        group.requests += requests;
        group.has_marked |= is_marked;
        total.requests += requests;
        for (number, column) in ledger.columns.iter().enumerate() {
            let mut has_rows = false;
            for row in ledger.rows(column, index) {
                has_rows = true;
                let group = sums.of(keys.of_row(key, row.model));
                group.has_marked |= is_marked;
                group.by_strategy[number].add(&row);
                total.by_strategy[number].add(&row);
            }
            if !has_rows {
                sums.of(key).by_strategy[number].unrecorded += 1;
                total.by_strategy[number].unrecorded += 1;
            }
        }
    }
    for found in breaks {
        sums.of(keys.of(found.request)).lost.add(found);
        total.lost.add(found);
    }
    let shown = shown(ledger, &total);
    Groups { grouping, list: sums.ordered(shown), total, shown }
}

/// Index of the billed column if it is known for all requests, else of the first known one.
fn shown(ledger: &Ledger<'_>, total: &Group) -> usize {
    let is_known = |number: &usize| total.by_strategy[*number].unrecorded == 0;
    let billed = ledger.columns.iter().position(|column| column.strategy.is_record());
    let first = || (0..ledger.columns.len()).find(is_known);
    billed.filter(is_known).or_else(first).unwrap_or_default()
}

/// Keys of requests under a grouping.
struct Keys<'a> {
    history: &'a History,
    projects: &'a ByKey<Symbol, String>,
    grouping: Grouping,
}

impl<'a> Keys<'a> {
    fn of(&self, index: RequestIndex) -> GroupKey<'a> {
        let history = self.history;
        let request = history.request(index);
        let named = |symbol| history.text(symbol).map_or(GroupKey::Unknown, GroupKey::Name);
        match self.grouping {
            Grouping::Period(length) => Period::of(&history.zone, request.time(), length)
                .map_or(GroupKey::Unknown, GroupKey::Period),
            Grouping::Project => {
                let name = request.project.and_then(|project| self.projects.get(&project));
                name.map_or(GroupKey::Unknown, |name| GroupKey::Name(name))
            }
            Grouping::Model => named(Some(request.model)),
            Grouping::AgentType => match request.agent {
                None => GroupKey::Name(MAIN_AGENT),
                Some(agent) => named(history.agent_types.get(&agent).copied()),
            },
            Grouping::Branch => named(request.branch),
            Grouping::Session => named(Some(request.session)),
            Grouping::Client => named(request.client_version),
            Grouping::Source => GroupKey::Name(request.client.name()),
        }
    }

    /// Key of a row, whose model may differ from the request's.
    fn of_row(&self, request: GroupKey<'a>, model: &'a str) -> GroupKey<'a> {
        if self.grouping == Grouping::Model { GroupKey::Name(model) } else { request }
    }
}

/// Groups while they are summed.
struct GroupSums<'a> {
    columns: usize,
    places: FxHashMap<GroupKey<'a>, usize>,
    list: Vec<(GroupKey<'a>, Group)>,
}

impl<'a> GroupSums<'a> {
    fn of(&mut self, key: GroupKey<'a>) -> &mut Group {
        let place = *self.places.entry(key).or_insert_with(|| {
            self.list.push((key, Group::empty(self.columns)));
            self.list.len() - 1
        });
        &mut self.list[place].1
    }

    fn ordered(mut self, shown: usize) -> Vec<Group> {
        self.list.order_by_key(|(key, group)| match key {
            // Their cost is left out, so that the key orders periods by time.
            GroupKey::Period(_) => (Reverse(None), *key),
            _ => (Reverse(group.by_strategy.get(shown).and_then(Totals::cost)), *key),
        });
        let named = |(key, group): (GroupKey<'_>, Group)| Group { name: key.name(), ..group };
        self.list.into_iter().map(named).collect()
    }
}

words! {
    /// Length of a period.
    pub enum PeriodLength {
        /// A day.
        Day = "day";
        /// From Monday to Sunday.
        Week = "week";
        /// A month.
        Month = "month";
        /// A year.
        Year = "year";
    }
}

impl PeriodLength {
    /// Shortest period that is less than `most` times in the time between two moments, or a year.
    pub fn covering(first: Millis, last: Millis, most: i64) -> Self {
        const DAY: i64 = 86_400_000;
        let days = last.since(first) / DAY;
        [(Self::Day, 1), (Self::Week, 7), (Self::Month, 30)]
            .into_iter()
            .find(|(_, length)| days / length < most)
            .map_or(Self::Year, |(length, _)| length)
    }

    fn span(self) -> Span {
        match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        }
    }
}

/// A period, identified by its first day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period {
    first: Date,
    length: PeriodLength,
}

impl Period {
    /// Period of a moment, or `None` outside of the calendar.
    pub fn of(zone: &Zone, at: Millis, length: PeriodLength) -> Option<Self> {
        let day = zone.day(at)?;
        let first = match length {
            PeriodLength::Day => day,
            PeriodLength::Week => {
                let since_monday = i64::from(day.weekday().to_monday_zero_offset());
                day.checked_sub(since_monday.days()).ok()?
            }
            PeriodLength::Month => day.first_of_month(),
            PeriodLength::Year => day.first_of_year(),
        };
        Some(Self { first, length })
    }

    /// Name like `2026-11-02`, `2026-W45`, `2026-11` or `2026`.
    pub fn name(self) -> String {
        // The ISO year of a week may differ from the calendar year of its first day.
        let week = self.first.iso_week_date();
        match self.length {
            PeriodLength::Day => self.first.to_string(),
            PeriodLength::Week => format!("{:04}-W{:02}", week.year(), week.week()),
            PeriodLength::Month => self.first.strftime("%Y-%m").to_string(),
            PeriodLength::Year => self.first.strftime("%Y").to_string(),
        }
    }

    /// First day of the period.
    pub fn first_day(self) -> Date {
        self.first
    }

    /// This period and the later ones up to `last`.
    pub(crate) fn until(self, last: Self) -> impl Iterator<Item = Self> {
        let next = move |period: &Self| {
            let first = period.first.checked_add(self.length.span()).ok()?;
            Some(Self { first, ..*period })
        };
        std::iter::successors(Some(self), next).take_while(move |period| *period <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        let at: jiff::Timestamp = text.parse().expect("a moment");
        Millis::new(at.as_millisecond())
    }

    fn first_day(text: &str, length: PeriodLength) -> String {
        Period::of(&Zone::default(), at(text), length)
            .expect("in the calendar")
            .first_day()
            .to_string()
    }

    #[test]
    fn moments_are_in_the_periods_of_the_calendar() {
        // 2026-02-28 is a Saturday.
        let last = "2026-02-28T23:59:59.999Z";
        assert_eq!(first_day(last, PeriodLength::Day), "2026-02-28");
        assert_eq!(first_day(last, PeriodLength::Week), "2026-02-23");
        assert_eq!(first_day(last, PeriodLength::Month), "2026-02-01");
        assert_eq!(first_day("2026-03-01T00:00:00Z", PeriodLength::Month), "2026-03-01");
        assert_eq!(first_day("2026-03-01T00:00:00Z", PeriodLength::Week), "2026-02-23");
        assert_eq!(Period::of(&Zone::default(), Millis::new(i64::MAX), PeriodLength::Day), None);
    }

    #[test]
    fn no_period_between_two_is_left_out() {
        let zone = Zone::default();
        let period =
            |text| Period::of(&zone, at(text), PeriodLength::Month).expect("in the calendar");
        let months = period("2026-11-30T00:00:00Z").until(period("2027-02-01T00:00:00Z"));
        let months: Vec<String> = months.map(|month| month.first_day().to_string()).collect();
        assert_eq!(months, ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"]);
    }

    #[test]
    fn long_times_have_long_periods() {
        let length = |last| PeriodLength::covering(at("2026-01-01T00:00:00Z"), at(last), 63);
        assert_eq!(length("2026-01-01T00:00:00Z"), PeriodLength::Day);
        // Nine weeks are 63 days: the 30 after the first of January, the 28 of February and 5 of March.
        assert_eq!(length("2026-03-04T23:59:59.999Z"), PeriodLength::Day);
        assert_eq!(length("2026-03-05T00:00:00Z"), PeriodLength::Week);
        assert_eq!(length("2027-06-01T00:00:00Z"), PeriodLength::Month);
        assert_eq!(length("2036-01-01T00:00:00Z"), PeriodLength::Year);
    }
}
