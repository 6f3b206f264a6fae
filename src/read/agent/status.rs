//! Used share of a plan's limits, as Claude Code passes it to the command of a status line.
//!
//! The command receives an object with `rate_limits` after each answer, and transcripts do not keep it.
//! A line is such an object, or a part of it, with a `timestamp`: the output of
//! `jq -c '{timestamp: (now | todate), rate_limits}'`.

use super::{
    AgentFile, FirstObject, Layout, LimitReading, LineFormat, Percent, Rejected, Vendor, millis,
    open_until,
};
use crate::base::Millis;
use crate::read::input::{Count, Shape, Text, lenient, moment};

const HOUR: i64 = 60 * 60 * 1_000;

/// Format of such lines, which share no state.
#[derive(Default)]
pub(super) struct StatusLines;

impl LineFormat for StatusLines {
    type Line<'a> = Line<'a>;
    const FILE: &'static str = "a log of limits";
    const LAYOUT: Option<Layout> = Some(Layout::StatusLines);

    fn recognises(first: &FirstObject<'_>) -> bool {
        first.has("rate_limits") && first.text("timestamp").is_some() && !first.has_member("type")
    }

    fn line(&mut self, line: &Line<'_>, file: &mut AgentFile) -> Result<(), Rejected> {
        let Some((at, limits)) = moment(&line.timestamp).zip(line.rate_limits.0) else {
            return Ok(());
        };
        for (window, length) in [(limits.five_hour, 5 * HOUR), (limits.seven_day, 7 * 24 * HOUR)] {
            let Some(window) = window.0 else { continue };
            if let Some((used, ends)) = window.used.0.zip(window.end(length, at)) {
                // These limits have no names: their lengths distinguish them.
                let (vendor, limit, plan) = (Vendor::Anthropic, None, None);
                let line = file.line;
                let reading = LimitReading { at, line, vendor, limit, plan, length, used, ends };
                file.limits.push(reading);
            }
        }
        Ok(())
    }
}

lenient! {
    pub(super) struct Line<'a> {
        timestamp: Text<'a>,
        rate_limits: Shape<Limits>,
    }

    #[derive(Clone, Copy)]
    struct Limits {
        five_hour: Shape<Window>,
        seven_day: Shape<Window>,
    }

    #[derive(Clone, Copy)]
    struct Window {
        #[serde(rename = "used_percentage")]
        used: Percent,
        /// End of the window, in seconds since 1970.
        resets_at: Count,
    }
}

impl Window {
    fn end(&self, length: i64, told: Millis) -> Option<Millis> {
        open_until(millis(self.resets_at, 1_000)?, length, told)
    }
}

#[cfg(test)]
mod tests {
    use crate::read::agent::testing::read;

    #[test]
    fn limits_that_are_told_to_a_status_line_are_read() {
        // The second week ends more than a week later, and the last line has no time.
        let lines = [
            r#"{"timestamp":"2026-10-24T20:15:00Z","rate_limits":{"five_hour":{"used_percentage":23.5,"resets_at":1792890600},"seven_day":{"used_percentage":41,"resets_at":1793450000}}}"#,
            r#"{"timestamp":"2026-10-24T20:16:00Z","rate_limits":{"five_hour":null,"seven_day":{"used_percentage":42,"resets_at":1893450000}}}"#,
            r#"{"timestamp":"?","rate_limits":{"five_hour":{"used_percentage":24,"resets_at":1792890600}}}"#,
        ];
        let file = read(&lines.join("\n"));
        let told: Vec<(i64, u32, String)> = file
            .limits
            .iter()
            .map(|one| (one.length / 3_600_000, one.used, one.ends.to_string()))
            .collect();
        assert_eq!(
            told,
            [
                (5, 2_350, "2026-10-25T01:10:00.000Z".to_owned()),
                (168, 4_100, "2026-10-31T12:33:20.000Z".to_owned()),
            ]
        );
        assert!(file.requests.is_empty());
    }
}
