"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE_ROWS = 500;
  const PAGE_SESSIONS = 20;
  const MOST_BARS = 300;
  // In the order in which they are stacked.
  const CLASSES = [
    ["read", "read"],
    ["write5m", "written 5m"],
    ["write1h", "written 1h"],
    ["input", "input"],
  ];

  const byId = (id) => document.getElementById(id);
  const parsed = (id) => {
    const block = byId(id);
    return block === null ? null : JSON.parse(block.textContent);
  };

  const data = parsed("sessions-data");
  const table = byId("sessions");
  const body = table.tBodies[0];
  const strategy = byId("strategy");
  const search = byId("session-search");
  const rows = new Map();
  for (const row of body.rows) {
    rows.set(Number(row.dataset.session), row);
  }
  const shown = { sort: "cost", descending: true, session: null, turns: null, rows: 0, page: 0 };

  // Numbers as the rest of the page writes them.

  const grouped = (number) => {
    const digits = String(Math.round(Math.abs(number)));
    const text = digits.replace(/\B(?=(\d{3})+$)/g, ",");
    return number < 0 ? `-${text}` : text;
  };

  const counted = (number, singular, plural) =>
    `${grouped(number)} ${number === 1 ? singular : plural}`;

  const dollars = (micro, sign = "") => {
    if (micro === null) {
      return "unknown";
    }
    const decimals = Math.abs(micro) < 999950 ? 4 : 2;
    const unit = 10 ** (6 - decimals);
    const rounded = Math.round(Math.abs(micro) / unit);
    const whole = Math.floor(rounded / 10 ** decimals);
    const fraction = String(rounded % 10 ** decimals).padStart(decimals, "0");
    const front = rounded === 0 ? "" : micro < 0 ? "-" : sign;
    return `${front}$${grouped(whole)}.${fraction}`;
  };

  const percent = (part, whole, decimals) => {
    if (whole === 0) {
      return "–";
    }
    const share = (part / whole) * 100;
    return `${decimals === 0 ? Math.floor(share) : share.toFixed(decimals)} %`;
  };

  const duration = (tenths) => {
    const seconds = Math.floor(tenths / 10);
    const two = (number) => String(number).padStart(2, "0");
    if (seconds < 60) {
      return `${seconds}.${tenths % 10}s`;
    }
    if (seconds < 3600) {
      return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
    }
    if (seconds < 86400) {
      return `${Math.floor(seconds / 3600)}h${two(Math.floor(seconds / 60) % 60)}m`;
    }
    return `${Math.floor(seconds / 86400)}d${two(Math.floor(seconds / 3600) % 24)}h`;
  };

  // How far the clocks of the report's time zone are ahead of UTC.
  const secondsAhead = (seconds) => {
    let found = 0;
    for (const [from, ahead] of data.offsets) {
      found = from <= seconds ? ahead : found;
    }
    return found;
  };

  const moment = (seconds) => {
    const date = new Date((seconds + secondsAhead(seconds)) * 1000);
    return Number.isNaN(date.getTime())
      ? "out of range"
      : date.toISOString().slice(0, 19).replace("T", " ");
  };

  const element = (name, properties, ...children) => {
    const made = document.createElement(name);
    Object.assign(made, properties);
    made.append(...children);
    return made;
  };

  const drawn = (name, attributes, ...children) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };

  // The table of sessions.

  const figures = (number) => {
    const session = data.sessions[number];
    const [prompt, read, cost, difference] = session.figures[strategy.selectedIndex];
    return {
      session: (session.title || session.id).toLowerCase(),
      project: session.project || null,
      began: session.began,
      requests: session.requests,
      prompt,
      hit: prompt === 0 ? null : read / prompt,
      cost,
      difference: strategy.selectedIndex === 0 ? null : difference,
      lost: session.lost,
      read,
    };
  };

  const fill = () => {
    for (const [number, row] of rows) {
      const of = figures(number);
      const difference = strategy.selectedIndex === 0 ? "–" : dollars(of.difference, "+");
      const texts = {
        prompt: grouped(of.prompt),
        hit: percent(of.read, of.prompt, 1),
        cost: dollars(of.cost),
        difference,
      };
      for (const cell of row.cells) {
        const text = texts[cell.dataset.column];
        if (text !== undefined && cell.textContent !== text) {
          cell.textContent = text;
        }
      }
    }
    // Nothing differs from itself.
    table.classList.toggle("base", strategy.selectedIndex === 0);
    byId("sessions-strategy").textContent = data.strategies[strategy.selectedIndex];
  };

  // Of the sessions found a page is on the screen; paper has them all.
  const turnTo = (page) => {
    const found = [...body.rows].filter((row) => !row.hidden);
    const last = Math.max(0, Math.ceil(found.length / PAGE_SESSIONS) - 1);
    shown.page = Math.min(page, last);
    const first = shown.page * PAGE_SESSIONS;
    const end = Math.min(first + PAGE_SESSIONS, found.length);
    found.forEach((row, place) => {
      row.classList.toggle("elsewhere", place < first || place >= end);
    });
    byId("session-pages").hidden = last === 0;
    byId("page-before").disabled = shown.page === 0;
    byId("page-after").disabled = shown.page === last;
    byId("session-page").textContent =
      `${grouped(first + 1)} to ${grouped(end)} of ${grouped(found.length)}`;
  };

  // What is unknown stands last, whichever way the rest is sorted; equals stay as they began.
  const compare = (left, right) => {
    const [a, b] = [left.key, right.key];
    if (a === null || b === null) {
      return (a === null) - (b === null) || left.number - right.number;
    }
    const order = a < b ? -1 : a > b ? 1 : 0;
    return (shown.descending ? -order : order) || left.number - right.number;
  };

  const sort = () => {
    const keyed = [...rows.keys()].map((number) => ({ number, key: figures(number)[shown.sort] }));
    keyed.sort(compare);
    body.append(...keyed.map(({ number }) => rows.get(number)));
    for (const button of table.querySelectorAll("button[data-sort]")) {
      const head = button.closest("th");
      if (button.dataset.sort === shown.sort) {
        head.setAttribute("aria-sort", shown.descending ? "descending" : "ascending");
      } else {
        head.removeAttribute("aria-sort");
      }
    }
    turnTo(0);
  };

  const sortBy = (name) => {
    const isText = ["session", "project", "began"].includes(name);
    shown.descending = shown.sort === name ? !shown.descending : !isText;
    shown.sort = name;
    sort();
  };

  const texts = data.sessions.map(({ id, title, files, project }) =>
    `${id}\n${title || ""}\n${files}\n${project || ""}`.toLowerCase(),
  );

  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let count = 0;
    for (const [number, row] of rows) {
      const isFound = words.every((word) => texts[number].includes(word));
      row.hidden = !isFound;
      count += isFound ? 1 : 0;
    }
    const all = counted(rows.size, "session", "sessions");
    byId("session-count").textContent = `${grouped(count)} of ${all}`;
    turnTo(0);
  };

  // The turns of the open session.

  const at = (column, place) => (Array.isArray(column) ? column[place] : column);
  const noted = (notes) => new Map(notes || []);

  // Everything that is shown of a session's turns, under the strategy chosen.
  const turnsOf = (columns) => {
    const own = columns.strategies[strategy.selectedIndex];
    const [words, refused, besides] = [columns.words, own.refused, own.besides].map(noted);
    const causes = noted(columns.breaks);
    const bounds = new Set(columns.bounds);
    const compactions = new Set(columns.compactions);
    const turns = [];
    let seconds = columns.start;
    for (let place = 0; place < columns.count; place += 1) {
      seconds += columns.step[place];
      const input = at(own.input, place);
      const isRefused = refused.has(place);
      const prompt = at(own.prompt === undefined ? columns.prompt : own.prompt, place);
      const [write5m, write1h] = [at(own.write_5m, place), at(own.write_1h, place)];
      const agent = at(columns.agent, place);
      turns.push({
        seconds,
        agent: agent === null ? "main" : columns.agents[agent],
        gap: at(columns.gap, place),
        prompt,
        isKnown: input !== null,
        input: input === null ? 0 : input,
        write5m,
        write1h,
        read: isRefused || input === null ? 0 : prompt - input - write5m - write1h,
        output: at(own.output === undefined ? columns.output : own.output, place),
        isBound: bounds.has(place),
        cost: at(own.cost, place),
        beside: data.beside.map((number) => at(columns.strategies[number].cost, place)),
        cause: causes.get(place),
        isCompaction: compactions.has(place),
        words: [
          isRefused ? `refused: ${refused.get(place)}` : undefined,
          words.get(place),
          besides.get(place),
        ].filter((text) => text !== undefined).join("; "),
      });
    }
    return turns;
  };

  const written = (turn) => {
    const names = [turn.write5m > 0 ? "5m" : "", turn.write1h > 0 ? "1h" : ""];
    const suffix = names.filter((name) => name !== "").join("+");
    return `${grouped(turn.write5m + turn.write1h)} ${suffix}`.trim();
  };

  const turnRow = (turn, place) => {
    const tokens = (count) => (turn.isKnown ? grouped(count) : "unknown");
    const output = turn.output === null ? "unknown" : grouped(turn.output);
    const sent = turn.read + turn.write5m + turn.write1h + turn.input;
    const cells = [
      ["number", grouped(place + 1)],
      ["name detail", moment(turn.seconds)],
      ["name detail", turn.agent.length > 12 ? turn.agent.slice(0, 8) : turn.agent],
      ["number detail", turn.gap === null ? "" : duration(turn.gap)],
      ["number detail", grouped(turn.prompt)],
      ["number detail", tokens(turn.read)],
      ["number detail", turn.isKnown ? written(turn) : "unknown"],
      ["number detail", tokens(turn.input)],
      ["number detail", turn.isBound && turn.output !== null ? `≥ ${output}` : output],
      ["number detail", percent(turn.read, sent, 0)],
      ["number detail own", dollars(turn.cost)],
      ...turn.beside.map((cost) => ["number", dollars(cost)]),
      ["words", turn.words],
    ];
    const made = cells.map(([className, textContent]) => element("td", { className, textContent }));
    return element("tr", {}, ...made);
  };

  const showMore = () => {
    const next = shown.turns.slice(shown.rows, shown.rows + PAGE_ROWS);
    const made = next.map((turn, index) => turnRow(turn, shown.rows + index));
    byId("turns").tBodies[0].append(...made);
    shown.rows += next.length;
    const left = shown.turns.length - shown.rows;
    const more = byId("more-turns");
    more.hidden = left === 0;
    more.textContent = `Show more (${grouped(left)} left)`;
    const all = counted(shown.turns.length, "turn", "turns");
    byId("turns").caption.textContent =
      left === 0 ? `All of ${all}` : `The first ${grouped(shown.rows)} of ${all}`;
  };

  // The chart of the turns.

  const unread = (turn) => turn.write5m + turn.write1h + turn.input;

  // Of several turns for a bar the one that sent or wrote most stands, as it is.
  const bars = (turns) => {
    const size = Math.max(1, Math.ceil(turns.length / MOST_BARS));
    const made = [];
    for (let first = 0; first < turns.length; first += size) {
      const part = turns.slice(first, first + size);
      const worst = part.reduce((most, turn) => (unread(turn) > unread(most) ? turn : most));
      made.push({
        first,
        count: part.length,
        values: CLASSES.map(([name]) => worst[name]),
        causes: part.filter((turn) => turn.cause !== undefined).map((turn) => turn.cause),
        compactions: part.filter((turn) => turn.isCompaction && turn.cause === undefined).length,
      });
    }
    return { size, bars: made };
  };

  // The least of 1, 2, 5 times a power of ten that makes four ticks enough.
  const tick = (most) => {
    const power = 10 ** Math.max(0, Math.floor(Math.log10(most / 4)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step * 4 >= most);
  };

  const short = (number) => {
    if (number >= 1e6) {
      return `${number / 1e6}M`;
    }
    return number >= 1e3 ? `${number / 1e3}k` : String(number);
  };

  const turnWords = (bar) =>
    bar.count === 1
      ? `Turn ${grouped(bar.first + 1)}`
      : `Turns ${grouped(bar.first + 1)} to ${grouped(bar.first + bar.count)}`;

  const barTitle = (bar) => {
    const parts = CLASSES.map(([, name], place) => `${name} ${grouped(bar.values[place])}`);
    return `${turnWords(bar)}: ${parts.join(", ")}`;
  };

  const alternative = (turns) => {
    const sum = (name) => turns.reduce((total, turn) => total + turn[name], 0);
    const totals = CLASSES.map(([name]) => sum(name));
    const all = totals.reduce((total, part) => total + part, 0);
    const shares = CLASSES.map(([, name], place) => `${name} ${percent(totals[place], all, 1)}`);
    const largest = turns.reduce((most, turn) => Math.max(most, turn.prompt), 0);
    const breaks = turns.filter((turn) => turn.cause !== undefined).length;
    const compactions = turns.filter((turn) => turn.isCompaction).length;
    return (
      `Prompt tokens of ${counted(turns.length, "turn", "turns")}: ${shares.join(", ")}; ` +
      `the largest prompt has ${grouped(largest)}; ${counted(breaks, "break", "breaks")}, ` +
      `${counted(compactions, "compaction", "compactions")}.`
    );
  };

  const LEFT = 56;
  const HEIGHT = 240;
  const LANE = 30;
  const MOST_CAUSES = 7;

  const axis = (width, step, scale) => {
    const group = drawn("g", {});
    for (let value = 0; value <= HEIGHT / scale + step / 1000; value += step) {
      const y = HEIGHT + 10 - value * scale;
      group.append(
        drawn("line", { x1: LEFT, x2: width, y1: y, y2: y }),
        drawn("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, short(value)),
      );
    }
    return group;
  };

  // The name stands above its marks, where narrow pages have room for it, too.
  const lane = ({ name, count, marked }, place, width, step) => {
    const y = HEIGHT + 48 + place * LANE;
    const words = `${grouped(count)} × ${name}`;
    const group = drawn(
      "g",
      { class: "lane" },
      drawn("text", { x: LEFT, y: y - 5 }, words),
      drawn("line", { x1: LEFT, x2: width, y1: y + 5, y2: y + 5 }),
    );
    for (const [position, title] of marked) {
      const x = LEFT + position * step;
      const mark = { x: x - Math.max(0, 3 - step) / 2, y, width: Math.max(step - 1, 3), height: 10 };
      group.append(drawn("rect", mark, drawn("title", {}, title)));
    }
    return group;
  };

  // A lane for each cause, the most frequent first, and one for compactions.
  const lanes = (made) => {
    const marked = (holds, words) =>
      made.flatMap((bar, place) => (holds(bar) ? [[place, `${turnWords(bar)}: ${words}`]] : []));
    const counts = new Map();
    for (const cause of made.flatMap((bar) => bar.causes)) {
      counts.set(cause, (counts.get(cause) || 0) + 1);
    }
    const causes = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    const named = causes.length > MOST_CAUSES ? causes.slice(0, MOST_CAUSES - 1) : causes;
    const all = named.map((name) => ({
      name,
      count: counts.get(name),
      marked: marked((bar) => bar.causes.includes(name), name),
    }));
    if (named.length < causes.length) {
      const isOther = (cause) => !named.includes(cause);
      const others = marked((bar) => bar.causes.some(isOther), "other causes");
      const count = causes.filter(isOther).reduce((sum, cause) => sum + counts.get(cause), 0);
      all.push({ name: "other causes", count, marked: others });
    }
    const compactions = marked((bar) => bar.compactions > 0, "compaction without a break");
    if (compactions.length > 0) {
      const count = made.reduce((sum, bar) => sum + bar.compactions, 0);
      all.push({ name: "compaction without a break", count, marked: compactions });
    }
    return all;
  };

  const stack = (bar, place, step, scale) => {
    const group = drawn("g", {}, drawn("title", {}, barTitle(bar)));
    let y = HEIGHT + 10;
    CLASSES.forEach(([name], index) => {
      const height = bar.values[index] * scale;
      y -= height;
      if (height > 0) {
        const x = LEFT + place * step;
        const width = Math.max(step > 3 ? step - 1 : step, 0.5);
        group.append(drawn("rect", { class: name, x, y, width, height }));
      }
    });
    return group;
  };

  const numbers = (made, turns, width, step) => {
    const y = HEIGHT + 24;
    const last = made.length - 1;
    const group = drawn("g", {});
    group.append(drawn("text", { x: LEFT, y }, "turn 1"));
    if (last > 0) {
      const x = Math.min(LEFT + made.length * step, width);
      group.append(drawn("text", { x, y, "text-anchor": "end" }, grouped(turns.length)));
    }
    return group;
  };

  const drawing = (turns, made) => {
    const width = Math.min(1100, Math.max(300, byId("session-chart").clientWidth));
    const marked = lanes(made);
    const height = HEIGHT + 34 + marked.length * LANE;
    const step = Math.min((width - LEFT) / Math.max(made.length, 1), 24);
    const sums = made.map((bar) => bar.values.reduce((sum, value) => sum + value, 0));
    const most = sums.reduce((largest, value) => Math.max(largest, value), 1);
    const scale = HEIGHT / most;
    const svg = drawn("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, width, height });
    svg.append(
      drawn("title", {}, alternative(turns)),
      axis(width, tick(most), scale),
      ...made.map((bar, place) => stack(bar, place, step, scale)),
      ...marked.map((one, place) => lane(one, place, width, step)),
      numbers(made, turns, width, step),
    );
    return svg;
  };

  const caption = (size) => {
    const what =
      size === 1
        ? "Prompt tokens of each turn"
        : `Prompt tokens; of each ${grouped(size)} turns the one that sent or wrote most`;
    const key = CLASSES.map(([name, words]) =>
      element("span", { className: "key" }, element("span", { className: `swatch ${name}` }), words),
    );
    const name = data.strategies[strategy.selectedIndex];
    return element("figcaption", {}, `${what}, under ${name}. `, ...key);
  };

  const draw = () => {
    const { size, bars: made } = bars(shown.turns);
    byId("session-chart").replaceChildren(caption(size), drawing(shown.turns, made));
  };

  const showTurns = () => {
    const columns = parsed(`turns-${shown.session}`);
    byId("session-turns").hidden = columns === null;
    if (columns === null) {
      shown.turns = null;
      return;
    }
    shown.turns = turnsOf(columns);
    shown.rows = 0;
    // The cost of a strategy that stands beside is there once.
    byId("turns").classList.toggle("once", data.beside.includes(strategy.selectedIndex));
    byId("turns").tBodies[0].replaceChildren();
    draw();
    showMore();
  };

  const summary = (session, of) => {
    const parts = [
      session.project || "",
      session.files,
      `began ${moment(Math.floor(session.began / 1000))} (${data.zone})`,
      counted(session.requests, "request", "requests"),
      `${dollars(of.cost)} under ${data.strategies[strategy.selectedIndex]}`,
    ];
    const isEmbedded = byId(`turns-${shown.session}`) !== null;
    const rest = isEmbedded ? "" : " Its turns are left out; “cachesim analyze FILE” shows them.";
    return `${parts.filter((part) => part !== "").join(" · ")}.${rest}`;
  };

  const showSession = () => {
    const session = data.sessions[shown.session];
    byId("session-title").textContent = `Session ${session.title || session.id}`;
    byId("session-summary").textContent = summary(session, figures(shown.session));
    for (const [number, row] of rows) {
      row.classList.toggle("open", number === shown.session);
    }
    showTurns();
  };

  // The part of the address after # says which session is open.
  const follow = () => {
    const match = /^#session-(\d+)$/.exec(location.hash);
    const number = match === null ? NaN : Number(match[1]);
    if (!rows.has(number)) {
      return;
    }
    shown.session = number;
    showSession();
    const title = byId("session-title");
    title.focus({ preventScroll: true });
    title.scrollIntoView();
  };

  const open = (number) => {
    const hash = `#session-${number}`;
    if (location.hash === hash) {
      follow();
    } else {
      location.hash = hash;
    }
  };

  // What is beyond the right edge of its frame fades out there.
  const fade = () => {
    for (const frame of document.querySelectorAll(".scroll")) {
      const beyond = frame.scrollWidth - frame.clientWidth - frame.scrollLeft;
      frame.classList.toggle("more", beyond > 1);
    }
  };

  body.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button !== null) {
      open(Number(button.closest("tr").dataset.session));
    }
  });
  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-sort]");
    if (button !== null) {
      sortBy(button.dataset.sort);
    }
  });
  strategy.addEventListener("change", () => {
    fill();
    sort();
    if (shown.session !== null) {
      showSession();
    }
    fade();
  });
  search.addEventListener("input", find);
  byId("page-before").addEventListener("click", () => turnTo(shown.page - 1));
  byId("page-after").addEventListener("click", () => turnTo(shown.page + 1));
  byId("more-turns").addEventListener("click", showMore);
  window.addEventListener("hashchange", () => {
    follow();
    fade();
  });
  window.addEventListener("resize", () => {
    if (shown.turns !== null) {
      draw();
    }
    fade();
  });
  for (const event of ["scroll", "toggle"]) {
    document.addEventListener(event, fade, { capture: true, passive: true });
  }

  // A browser may keep what was typed when the page is loaded again.
  strategy.selectedIndex = 0;
  search.value = "";
  document.querySelector(".controls").hidden = false;
  turnTo(0);
  if (rows.size === 1) {
    [shown.session] = rows.keys();
    showSession();
  }
  follow();
  fade();
})();
