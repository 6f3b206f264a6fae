//! Places of the messages of opencode's sessions, in the order in which they were sent.
//!
//! Only the ids of rows and their times are held: sessions were moved into the database in any order,
//! and not every version has an index. A session that was moved from version 1 to version 2 is in the
//! tables of both, its messages with the same ids; the older tables have the data that was lost on the
//! way, and the totals.

use rustc_hash::FxHashMap;

use super::{Database, Failure, Row};
use crate::base::{EntryId, Symbol};
use crate::read::agent::AgentFile;
use crate::read::agent::opencode::Session;
use crate::read::input::Text;

/// Tables of sessions, that of version 2 first.
pub(super) const SESSIONS: [&str; 2] = ["session_v2", "session"];

/// Tables that hold a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    /// `message` and `part`.
    First,
    /// `session_message`.
    Second,
}

/// Place of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessagePlace {
    // The order of the fields is the sending order, which sorting relies on.
    pub(super) session: usize,
    pub(super) generation: Generation,
    /// Time of the message, or its number in the session.
    order: i64,
    key: u64,
    pub(super) rowid: i64,
    id: Option<EntryId>,
}

/// Place of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Index of the message among all.
    message: u32,
    key: u64,
    pub(super) rowid: i64,
}

/// Values of a session's row.
#[derive(Clone, Copy, Default)]
struct SessionRow {
    id: Option<Symbol>,
    is_started_by_other: bool,
    project: Option<Symbol>,
    client_version: Option<Symbol>,
    /// Time of the newest message of version 1.
    newest: Option<i64>,
}

/// Places of all messages and their parts.
#[derive(Default)]
pub(super) struct Places {
    sessions: Vec<SessionRow>,
    by_id: FxHashMap<EntryId, usize>,
    messages: Vec<MessagePlace>,
    parts: Vec<Place>,
}

impl Places {
    /// Scans the tables.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn of(database: &Database, file: &mut AgentFile) -> Result<Self, Failure> {
        let mut places = Self::default();
        for name in SESSIONS {
            let columns = ["id", "parent_id", "directory", "version"];
            let Some(mut table) = database.table(name, &columns)? else { continue };
            table.each(file, |row, file| places.add_session(row, file))?;
        }
        if let Some(mut table) = database.table("message", &["id", "session_id", "time_created"])? {
            table.each(file, |row, file| places.add_message(row, file))?;
        }
        let columns = ["id", "session_id", "time_created", "seq"];
        if let Some(mut table) = database.table("session_message", &columns)? {
            let ids: Vec<_> = places.messages.iter().filter_map(|place| place.id).collect();
            let ids = ids.into_iter().collect();
            table.each(file, |row, file| places.add_step(row, &ids, file))?;
        }
        places.messages.sort_unstable();
        places.add_parts(database, file)?;
        Ok(places)
    }

    fn add_session(&mut self, row: &Row<'_>, file: &mut AgentFile) {
        let session = self.session_of(&row.text("id"), file);
        let one = &mut self.sessions[session];
        one.is_started_by_other |= row.text("parent_id").as_str().is_some_and(|id| !id.is_empty());
        one.project = one.project.or_else(|| file.symbol(&row.text("directory")));
        one.client_version = one.client_version.or_else(|| file.symbol(&row.text("version")));
    }

    /// Index of the session with an id, which is added if no row had it.
    fn session_of(&mut self, id: &Text<'_>, file: &mut AgentFile) -> usize {
        let next = self.sessions.len();
        let place = *self.by_id.entry(EntryId::of(id.as_str().unwrap_or_default())).or_insert(next);
        if place == next {
            self.sessions.push(SessionRow { id: file.symbol(id), ..SessionRow::default() });
        }
        place
    }

    fn add_message(&mut self, row: &Row<'_>, file: &mut AgentFile) {
        let session = self.session_of(&row.text("session_id"), file);
        let order = row.integer("time_created").unwrap_or(0);
        if let Some(one) = self.sessions.get_mut(session) {
            one.newest = one.newest.max(Some(order));
        }
        self.add(row, session, Generation::First, order);
    }

    /// Adds a message of version 2, unless version 1 has it.
    fn add_step(
        &mut self,
        row: &Row<'_>,
        ids: &rustc_hash::FxHashSet<EntryId>,
        file: &mut AgentFile,
    ) {
        let session = self.session_of(&row.text("session_id"), file);
        let created = row.integer("time_created").unwrap_or(0);
        let newest = self.sessions.get(session).and_then(|one| one.newest);
        let is_copied = row.text("id").as_str().is_some_and(|id| ids.contains(&EntryId::of(id)));
        // Up to its newest message of version 1 a session was moved; later ones are version 2's own.
        if !is_copied && newest.is_none_or(|newest| created >= newest) {
            let order = row.integer("seq").unwrap_or(created);
            self.add(row, session, Generation::Second, order);
        }
    }

    fn add(&mut self, row: &Row<'_>, session: usize, generation: Generation, order: i64) {
        let id = row.text("id");
        self.messages.push(MessagePlace {
            session,
            generation,
            order,
            key: key(&id),
            rowid: row.rowid(),
            id: id.as_str().map(EntryId::of),
        });
    }

    fn add_parts(&mut self, database: &Database, file: &mut AgentFile) -> Result<(), Failure> {
        let Some(mut table) = database.table("part", &["id", "message_id"])? else { return Ok(()) };
        let first = |place: &&MessagePlace| place.generation == Generation::First;
        let numbered = (0_u32..).zip(&self.messages).filter(|(_, place)| first(place));
        let by_id: FxHashMap<EntryId, u32> =
            numbered.filter_map(|(number, place)| Some((place.id?, number))).collect();
        let parts = &mut self.parts;
        table.each(file, |row, _| {
            let message = row.text("message_id").as_str().map(EntryId::of);
            let Some(message) = message.and_then(|id| by_id.get(&id)).copied() else { return };
            parts.push(Place { message, key: key(&row.text("id")), rowid: row.rowid() });
        })?;
        parts.sort_unstable();
        Ok(())
    }

    /// All messages, session by session, in the order in which they were sent.
    pub(super) fn messages(&self) -> &[MessagePlace] {
        &self.messages
    }

    /// Parts of the message at an index, found by binary search.
    pub(super) fn parts(&self, message: usize) -> &[Place] {
        let message = u32::try_from(message).unwrap_or(u32::MAX);
        let start = self.parts.partition_point(|part| part.message < message);
        let rest = self.parts.get(start..).unwrap_or_default();
        let length = rest.partition_point(|part| part.message == message);
        rest.get(..length).unwrap_or_default()
    }

    /// State of a session before its first message.
    pub(super) fn session(&self, place: usize) -> Session {
        let row = self.sessions.get(place).copied().unwrap_or_default();
        let mut session = Session::default();
        session.id = row.id;
        session.agent = row.id.filter(|_| row.is_started_by_other);
        session.project = row.project;
        session.client_version = row.client_version;
        session
    }
}

/// Time in an id of opencode's: its twelve hexadecimal digits. Ids of one time follow their rows.
fn key(id: &Text<'_>) -> u64 {
    let digits = id.as_str().and_then(|id| id.split_once('_')?.1.get(..12));
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}
