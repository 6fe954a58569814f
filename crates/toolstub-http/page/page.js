// Sessions, and their stubs beside the originals.
//
// What came from a tool is only ever put in as text, a page of it at a time.

/** How many characters of an original are shown at once. */
const PAGE = 20_000;
/** How many rows are added to a list at once. */
const ROWS = 100;
/** How many matches are asked for at once, and how many characters around each. */
const MATCHES = 50;
const AROUND = 60;
/** Up to how many bytes of an original all matches are counted. */
const COUNTED = 64 << 20;
/** How many characters of a text in a message are shown unasked. */
const LONG = 4_000;
/** How many tokens of messages are asked for at first. */
const BUDGET = 128_000;
/** Where the key is kept until the tab is closed. */
const KEY = 'toolstub-key';

const $ = (id) => document.getElementById(id);

function el(name, props, ...inner) {
  const node = Object.assign(document.createElement(name), props);
  node.append(...inner);
  return node;
}

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const number = (n) => whole.format(n);
const plural = (n, one) => `${number(n)} ${n === 1 ? one : one.endsWith('h') ? `${one}es` : `${one}s`}`;
const say = (text) => { $('status').textContent = text; };

/** How much less `stub` is than `original`. Never told as all of it. */
function less(original, stub) {
  const percent = 100 * (1 - stub / original);
  return `${percent > 99.9 ? '99.9' : percent.toFixed(1)} %`;
}

// ---- Text -----------------------------------------------------------------------------------

/** What has no shape of its own, or changes the direction of what stands around it. */
const UNSEEN = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\r(?!\n)/gu;
const C0 = 'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');
const OTHERS = new Map(Object.entries({
  '\x7f': 'DEL', '\x85': 'NEL', '\xad': 'SHY', '\u061c': 'ALM', '\u200b': 'ZWSP', '\u200e': 'LRM',
  '\u200f': 'RLM', '\u2028': 'LS', '\u2029': 'PS', '\u202a': 'LRE', '\u202b': 'RLE', '\u202c': 'PDF',
  '\u202d': 'LRO', '\u202e': 'RLO', '\u2060': 'WJ', '\u2066': 'LRI', '\u2067': 'RLI', '\u2068': 'FSI',
  '\u2069': 'PDI', '\ufeff': 'BOM',
}));

function nameOf(c) {
  const code = c.codePointAt(0);
  return C0[code] ?? OTHERS.get(c) ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Adds a text. What is unseen stays in it, and is shown by its name. */
function add(node, text) {
  let done = 0;
  for (const { 0: c, index } of text.matchAll(UNSEEN)) {
    if (index > done) node.append(text.slice(done, index));
    const shown = el('span', { className: 'unseen' }, c);
    shown.dataset.name = nameOf(c);
    node.append(shown);
    done = index + c.length;
  }
  if (done < text.length) node.append(text.slice(done));
}

/** Puts in a text in place of what was there. `marks` are `{start, end, isNow}`, in order. */
function put(node, text, marks = []) {
  const all = document.createDocumentFragment();
  let done = 0;
  for (const { start, end, isNow } of marks) {
    if (start < done) continue;
    add(all, text.slice(done, start));
    const mark = el('mark', { className: isNow ? 'now' : '' });
    add(mark, text.slice(start, end));
    all.append(mark);
    done = end;
  }
  add(all, text.slice(done));
  node.replaceChildren(all);
  return node;
}

const span = (className, text) => put(el('span', { className }), text);

/** The length of a text in characters. */
function points(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Where in a text its character number `count` begins. */
function index(text, count, from = 0) {
  let place = from;
  for (; count > 0 && place < text.length; count -= 1) place += text.codePointAt(place) > 0xffff ? 2 : 1;
  return place;
}

/** A text that may be long: its beginning, and the rest if asked for. */
function lengthy(text) {
  const pre = el('pre', {});
  if (text.length <= LONG) return put(pre, text);
  put(pre, text.slice(0, index(text, LONG / 2)));
  const all = el('button', { type: 'button' }, `Show all ${number(points(text))} characters`);
  all.onclick = () => { put(pre, text); all.remove(); };
  return el('div', {}, pre, all);
}

function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  for (const [unit, size] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (seconds >= 7 * 86400) break;
    if (seconds >= size) return format.format(-Math.floor(seconds / size), unit);
  }
  return seconds < 60 ? 'just now' : new Date(time).toLocaleDateString('en', { dateStyle: 'medium' });
}

function when(time) {
  if (!(Date.parse(time) > 0)) return '';
  return el('time', { dateTime: time, title: new Date(time).toLocaleString('en') }, ago(time));
}

// ---- The service ----------------------------------------------------------------------------

class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

let asking = null;

/** Asks for the key; many requests wait for one answer. */
function askForKey(message) {
  asking ??= new Promise((resolve) => {
    $('key-note').textContent = message;
    $('key-text').value = '';
    $('key').onclose = () => {
      const key = $('key-text').value.trim();
      asking = null;
      if (key) sessionStorage.setItem(KEY, key);
      $('forget').hidden = !sessionStorage.getItem(KEY);
      resolve(Boolean(key));
    };
    $('key').showModal();
  });
  return asking;
}

/** The answer of the service; a key is asked for where one is needed. */
async function answerOf(path, signal) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    let response;
    try {
      response = await fetch(`api/v1${path}`, { signal, headers: key ? { 'X-API-Key': key } : {} });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Failure('OFFLINE', 'It may have stopped, or the network is down.');
    }
    if (response.ok) return response;
    const told = await response.json().catch(() => ({}));
    const { code = 'UNKNOWN', message = `status ${response.status}` } = told.error ?? {};
    const isOfKey = response.status === 401 || (response.status === 403 && key);
    if (!isOfKey) throw new Failure(code, message);
    if (key === sessionStorage.getItem(KEY)) {
      sessionStorage.removeItem(KEY);
      const isGiven = await askForKey(key ? message : 'This service answers to those who have a key.');
      if (!isGiven) throw new Failure(code, 'A key is needed.');
    }
  }
}

async function ask(path, signal) {
  const response = await answerOf(path, signal);
  try {
    return (await response.json()).result;
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failure('BROKEN', 'The answer broke off.');
  }
}

const TITLES = {
  NOT_FOUND: 'There is no such thing', CORRUPT: 'This original is damaged',
  UNAVAILABLE: 'The store does not answer', OFFLINE: 'The service does not answer',
  UNAUTHENTICATED: 'A key is needed', DEADLINE_EXCEEDED: 'That took too long',
};

/** Says in place of a content why there is none. */
function note(node, title, text = '', ...more) {
  node.replaceChildren(put(el('h3', {}), title), put(el('p', {}), text), ...more);
  node.className = 'state';
  node.hidden = false;
}

function fail(node, error, again) {
  if (error.name === 'AbortError') return;
  const button = el('button', { type: 'button', onclick: again }, 'Try again');
  note(node, TITLES[error.code] ?? 'That did not work', error.message, button);
  node.classList.add('failed');
}

function wait(node, text) {
  note(node, '', text);
  node.classList.add('waiting');
}

// ---- Lists ----------------------------------------------------------------------------------

/** Fills a list as it is scrolled: `next` gives the rows that follow, and `null` after the last. */
function list(node, next) {
  const button = el('button', { type: 'button' }, 'More');
  const more = el('li', { className: 'more' }, button);
  let isBusy = false;
  const load = async () => {
    if (isBusy || !more.isConnected) return;
    isBusy = true;
    try {
      const rows = await next();
      if (!more.isConnected) return;
      if (!rows) return void more.remove();
      more.before(...rows);
      watch.unobserve(more);
      watch.observe(more);
    } catch (error) {
      if (error.name !== 'AbortError') button.textContent = `${error.message} Try again`;
      watch.disconnect();
    } finally {
      isBusy = false;
    }
  };
  const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && load(), { rootMargin: '800px' });
  button.onclick = load;
  node.replaceChildren(more);
  return load();
}

/** The rows of what is here already. */
function of(items, row) {
  let done = 0;
  return () => {
    if (done >= items.length) return null;
    done += ROWS;
    return items.slice(done - ROWS, done).map(row);
  };
}

// ---- Where we are ---------------------------------------------------------------------------

const PLACES = ['session', 'view', 'event', 'result', 'offset', 'q', 'regex', 'case', 'at'];
const NOWHERE = {};
/** The state that stands in the address. */
let at = NOWHERE;

function addressOf(place) {
  const given = PLACES.filter((name) => place[name] !== undefined && place[name] !== '');
  return `#${new URLSearchParams(given.map((name) => [name, place[name]]))}`;
}

function stay(changes) {
  at = { ...at, ...changes };
  history.replaceState(null, '', addressOf(at));
}

const inSession = (changes = {}) => addressOf({ session: at.session, view: at.view, ...changes });
const nameIn = (place) => `${place.event ?? ''}/${place.result ?? ''}`;

/** What a ref names within its session. */
function placeOf(ref) {
  const parts = ref.split('/');
  // …/events/EVENT/tool-results/RESULT; a session or a user may be called `events` as well.
  const event = parts.at(-4) === 'events' ? parts.at(-3) : '';
  return { event: decoded(event), result: decoded(parts.at(-1)) };
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

async function route() {
  const was = at;
  at = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  $('sessions').hidden = Boolean(at.session);
  $('session').hidden = !at.session;
  $('session').classList.toggle('open', Boolean(at.result));
  const crumbs = [['Sessions', '#'], [at.session, inSession()], [at.result, location.hash]].filter(([name]) => name);
  $('crumbs').replaceChildren(...crumbs.map(([name, href], nth) => {
    const link = put(el('a', { href }), name);
    if (nth === crumbs.length - 1) link.ariaCurrent = 'page';
    return el('li', {}, link);
  }));
  document.title = [at.result, at.session, 'toolstub'].filter(Boolean).join(' · ');
  if (!at.session) {
    closeResult();
    closeSession();
    return showSessions(was.session);
  }
  if (session?.id !== at.session) showSession(at.session);
  if (was.session !== at.session && !at.result && was !== NOWHERE) focusOn($('session-name'));
  showView();
  if (!at.result) {
    closeResult();
    note($('result-note'), 'Nothing is open', 'Open a stub to read its original here.');
    if (was.result && was.session === at.session) focusOn(rowOf(nameIn(was)) ?? $('session-name'));
  } else if (result?.name !== nameIn(at) || result.session !== at.session) {
    showResult();
  } else {
    moved(was);
  }
}

function focusOn(node) {
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: 'nearest' });
}

const rowOf = (name) => rowsHere().find((row) => row.dataset.name === name);

// ---- Sessions -------------------------------------------------------------------------------

let sessions = null;

async function showSessions(from) {
  try {
    if (!sessions) wait($('sessions-note'), 'Looking for sessions…');
    sessions = await ask('/sessions');
    await filterSessions();
    if (from) focusOn(rowOf(from) ?? $('sessions').querySelector('h1'));
  } catch (error) {
    fail($('sessions-note'), error, () => showSessions());
  }
}

function filterSessions() {
  const wanted = $('filter').value.trim().toLowerCase();
  const chosen = sessions.filter(({ session_id }) => session_id.toLowerCase().includes(wanted));
  $('sessions-sum').textContent = wanted
    ? `${number(chosen.length)} of ${plural(sessions.length, 'session')}` : plural(sessions.length, 'session');
  const listed = list($('session-rows'), of(chosen, ({ session_id, mod_time }) => {
    const row = el('a', { className: 'row', href: addressOf({ session: session_id }) }, span('name', session_id), when(mod_time));
    row.dataset.name = session_id;
    return el('li', {}, row);
  }));
  $('sessions-note').hidden = chosen.length > 0;
  if (sessions.length === 0) {
    const example = `curl -X POST ${location.origin}/api/v1/sessions/my-session/messages \\
  -H 'Content-Type: application/json' \\
  -d '{"role": "assistant", "parts": [{"type": "tool", "tool_id": "call_1",
       "tool_name": "bash", "tool_output": "…"}]}'`;
    note($('sessions-note'), 'No sessions yet', 'A session is made with its first message:', el('pre', {}, example));
  } else if (chosen.length === 0) {
    note($('sessions-note'), 'No session has that in its id');
  }
  return listed;
}

// ---- One session ----------------------------------------------------------------------------

let session = null;

function closeSession() {
  session?.stop.abort();
  session = null;
}

function showSession(id) {
  closeSession();
  session = {
    id, path: `/sessions/${encodeURIComponent(id)}`, stop: new AbortController(), budget: BUDGET,
    stubs: new Map(), records: new Map(), isWhole: false, current: [],
  };
  put($('session-name'), id);
  for (const name of ['session-facts', 'to-messages', 'to-results']) ($(name).querySelector('span') ?? $(name)).textContent = '';
  for (const name of ['saved', 'older']) $(name).hidden = true;
  for (const name of ['message-rows', 'result-rows']) $(name).replaceChildren();
  loadSession(session);
}

async function loadSession(mine) {
  const { path, stop: { signal } } = mine;
  try {
    wait($('session-note'), 'Reading the session…');
    const told = await ask(path, signal);
    const facts = [plural(told.message_count, 'message'), `${number(told.pending_tokens)} tokens`];
    $('session-facts').replaceChildren(`${facts.join(' · ')} · `, when(told.updated_at));
    $('to-messages').querySelector('span').textContent = number(told.message_count);
    await Promise.all([loadMessages(mine), loadResults(mine)]);
    if (!signal.aborted) showView();
  } catch (error) {
    if (error.code === 'NOT_FOUND') {
      note($('session-note'), 'There is no such session', error.message, el('a', { href: '#' }, 'All sessions'));
      $('session-note').classList.add('failed');
    } else fail($('session-note'), error, () => showSession(mine.id));
  }
}

async function loadMessages(mine) {
  const { messages, stats } = await ask(`${mine.path}/context?token_budget=${mine.budget}`, mine.stop.signal);
  mine.messages = messages;
  for (const part of messages.flatMap((message) => message.parts)) {
    if (!isStub(part)) continue;
    const sizes = { original: part.tool_output_original_chars ?? 0, stub: points(part.tool_output ?? '') };
    mine.stubs.set(nameIn(placeOf(part.tool_output_ref)), sizes);
  }
  const dropped = stats?.droppedMessages ?? 0;
  $('older').hidden = dropped === 0;
  $('older').querySelector('span').textContent = `${plural(dropped, 'older message')} not shown.`;
  $('older').querySelector('button').onclick = () => {
    mine.budget *= 4;
    loadMessages(mine).catch((error) => fail($('session-note'), error, () => showSession(mine.id)));
  };
  await list($('message-rows'), of(messages, messageRow));
  for (const name of mine.stubs.keys()) if (mine.records.has(name)) resultRow(mine, name);
  showCurrent();
  sums(mine);
}

const isStub = ({ type, tool_output_truncated: cut, tool_output_ref: ref }) =>
  type === 'tool' && cut === true && typeof ref === 'string' && ref.includes('/tool-results/');

function messageRow({ role, parts, created_at }) {
  const head = el('header', {}, span('role', role), when(created_at));
  return el('li', { className: `message ${role === 'user' ? 'user' : ''}` }, head, ...parts.map(partOf));
}

function partOf(part) {
  if (isStub(part)) return stubOf(part);
  if (part.type === 'tool') {
    const output = part.tool_output ?? '';
    const head = el('header', {}, span('name', part.tool_name ?? 'tool'), inputOf(part), span('sizes', plural(points(output), 'char')));
    const failed = part.tool_output_externalization_error ? [put(el('p', { className: 'notice' }), String(part.tool_output_externalization_error))] : [];
    return el('section', { className: 'tool' }, head, ...failed, lengthy(output));
  }
  if (part.type === 'text') return el('div', { className: 'said' }, lengthy(part.text ?? ''));
  return el('div', { className: 'said' }, lengthy(JSON.stringify(part, null, 1)));
}

function inputOf(part) {
  const input = part.tool_input === undefined || part.tool_input === null ? '' : JSON.stringify(part.tool_input);
  return span('input', input === '{}' ? '' : input.slice(0, 300));
}

function stubOf(part) {
  const stub = part.tool_output ?? '';
  const kind = /^kind: (\w+)$/m.exec(stub)?.[1] ?? '';
  const [original, left] = [part.tool_output_original_chars ?? 0, points(stub)];
  const place = placeOf(part.tool_output_ref);
  const row = el('a', { className: 'row', href: inSession(place) },
    span('name', part.tool_name ?? 'tool'), kindOf(kind), inputOf(part), sizesOf(original, left));
  row.dataset.name = nameIn(place);
  return el('section', { className: 'tool stub' }, row, bar(original, left), put(el('pre', {}), stub));
}

const kindOf = (kind) => (kind ? span('kind', kind) : '');

function sizesOf(original, stub) {
  const sizes = el('span', { className: 'sizes', title: `${number(original)} characters` }, short.format(original));
  if (stub === undefined) return sizes;
  sizes.title += `, ${number(stub)} in the stub`;
  sizes.append(' → ', el('b', {}, short.format(stub)), el('em', {}, ` −${less(original, stub)}`));
  return sizes;
}

/** The size of an original, as a length on a scale of logarithms, and how much of it the stub is. */
function bar(original, stub) {
  const node = el('div', { className: 'bar' });
  node.setAttribute('aria-hidden', 'true');
  node.style.setProperty('--whole', `${Math.min(100, (100 * Math.log10(original + 1)) / 9)}%`);
  node.style.setProperty('--stub', `${Math.min(100, (100 * (stub ?? 0)) / (original || 1))}%`);
  return node;
}

function loadResults(mine) {
  let cursor = '';
  let isOver = false;
  return list($('result-rows'), async () => {
    if (isOver) return null;
    const answer = await ask(`${mine.path}/tool-results?limit=${ROWS}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, mine.stop.signal);
    cursor = answer.next_cursor ?? '';
    isOver = cursor === '';
    mine.isWhole = isOver;
    const rows = answer.tool_results.map((record) => {
      const row = el('a', { className: 'row' });
      const place = placeOf(record.storage_uri);
      row.dataset.name = nameIn(place);
      row.href = addressOf({ session: mine.id, view: 'results', ...place });
      mine.records.set(row.dataset.name, { record, row });
      resultRow(mine, row.dataset.name);
      return el('li', {}, row);
    });
    sums(mine);
    showCurrent();
    return rows;
  });
}

function resultRow(mine, name) {
  const { record, row } = mine.records.get(name);
  const stub = mine.stubs.get(name)?.stub;
  row.replaceChildren(span('name', record.tool_name ?? 'tool'), kindOf(record.synopsis_kind),
    sizesOf(record.original_chars, stub), when(record.created_at), bar(record.original_chars, stub));
}

/** What the stubs in the messages shown save: of each result, and in sum. */
function sums(mine) {
  if (mine !== session) return;
  if (result?.isDescribed) describe(result);
  let [original, left] = [0, 0];
  for (const [name, sizes] of mine.stubs) {
    original += sizes.original;
    left += sizes.stub;
  }
  $('to-results').querySelector('span').textContent = `${number(mine.records.size)}${mine.isWhole ? '' : '+'}`;
  $('saved').hidden = original === 0;
  if (original === 0) return;
  $('saved-share').textContent = less(original, left);
  $('saved-sizes').textContent = `${number(original)} characters of results stand in the messages as ${number(left)}`;
  $('saved').querySelector('.bar').replaceWith(bar(1e9, left / original * 1e9));
  const others = mine.isWhole ? [...mine.records.keys()].filter((name) => !mine.stubs.has(name)).length : 0;
  const isPart = !$('older').hidden;
  $('saved-note').textContent = isPart ? `In the newest ${plural(mine.messages.length, 'message')}.`
    : others > 0 ? `${plural(others, 'result')} more without a stub in a message.` : '';
}

function showView() {
  const isOfResults = at.view === 'results';
  $('message-rows').hidden = isOfResults;
  $('result-rows').hidden = !isOfResults;
  $('session').classList.toggle('results', isOfResults);
  for (const [name, isHere, view] of [['to-messages', !isOfResults, ''], ['to-results', isOfResults, 'results']]) {
    $(name).href = addressOf({ ...at, view });
    $(name).ariaCurrent = isHere ? 'true' : null;
  }
  const isEmpty = isOfResults ? session.isWhole && session.records.size === 0 : session.messages?.length === 0;
  if (!isEmpty) $('session-note').hidden = Boolean(session.messages);
  else if (isOfResults) note($('session-note'), 'No results', 'Nothing that a tool returned was long enough to leave the messages.');
  else note($('session-note'), 'No messages', 'This session has none yet.');
  showCurrent();
}

/** Marks the rows of what is open. */
function showCurrent() {
  const name = at.result ? nameIn(at) : undefined;
  for (const row of session.current) row.ariaCurrent = null;
  const rows = name === undefined ? [] : $('near').querySelectorAll(`.row[data-name="${CSS.escape(name)}"]`);
  for (const row of rows) {
    // The stub of what was opened elsewhere comes into sight.
    if (!session.current.includes(row) && row !== document.activeElement) row.scrollIntoView({ block: 'center' });
    row.ariaCurrent = 'true';
  }
  session.current = [...rows];
}

// ---- One original ---------------------------------------------------------------------------

let result = null;

function closeResult() {
  result?.stop.abort();
  result = null;
  $('result').hidden = true;
}

function showResult() {
  closeResult();
  const event = at.event ? `event_id=${encodeURIComponent(at.event)}&` : '';
  const path = `/sessions/${encodeURIComponent(at.session)}/tool-results/${encodeURIComponent(at.result)}`;
  result = { session: at.session, name: nameIn(at), path, event, stop: new AbortController() };
  $('back').href = inSession();
  put($('back'), `‹ ${at.session}`);
  $('q').value = at.q ?? '';
  $('regex').checked = at.regex === '1';
  $('ignore-case').checked = at.case === '1';
  $('found').hidden = true;
  wait($('result-note'), 'Reading the original…');
  showCurrent();
  openResult(result);
}

async function openResult(mine) {
  try {
    await turn(Number(at.offset) || 0);
    if (mine !== result) return;
    $('result-note').hidden = true;
    $('result').hidden = false;
    if (document.activeElement === document.body || document.activeElement.matches('a.row')) focusOn($('text'));
    if (at.q) await search(at.at === undefined ? mine.page.begin : Number(at.at), at.at !== undefined);
  } catch (error) {
    if (mine !== result) return;
    $('result').hidden = true;
    fail($('result-note'), error, showResult);
  }
}

/** The address was changed by hand, or by going back. */
function moved(was) {
  showCurrent();
  const isOtherSearch = ['q', 'regex', 'case'].some((name) => (was[name] ?? '') !== (at[name] ?? ''));
  if (isOtherSearch) return showResult();
  if ((was.offset ?? '') !== (at.offset ?? '') || (was.at ?? '') !== (at.at ?? '')) {
    turn(Number(at.offset) || 0).catch(failedPage);
  }
}

function failedPage(error) {
  if (error.name === 'AbortError') return;
  put($('text'), '');
  fail($('result-note'), error, showResult);
}

/** Reads the page that begins at an offset, and shows it. */
async function turn(offset) {
  const mine = result;
  mine.turning?.abort();
  const stop = mine.turning = new AbortController();
  mine.stop.signal.addEventListener('abort', () => stop.abort());
  $('text').ariaBusy = 'true';
  const query = `${mine.event}offset=${Math.max(0, Math.trunc(offset))}&limit=${PAGE}&include_metadata=${!mine.record}`;
  const answer = await ask(`${mine.path}?${query}`, stop.signal);
  if (mine !== result) return;
  mine.record ??= answer.metadata;
  mine.total = answer.total_chars;
  if (answer.offset >= mine.total && mine.total > 0) return turn(lastPage());
  mine.page = { begin: answer.offset, end: answer.next_offset, text: answer.content, isLossy: answer.lossy };
  $('result-note').hidden = true;
  if (!mine.isDescribed) describe(mine);
  paint();
  $('text').scrollTo(0, 0);
  // On narrow screens all of it is scrolled.
  if ($('far').scrollTop > $('text').offsetTop) $('far').scrollTo(0, $('text').offsetTop);
  $('text').ariaBusy = 'false';
  say(`Characters ${$('range').textContent}`);
}

const lastPage = () => Math.max(0, Math.floor((result.total - 1) / PAGE) * PAGE);

function turnTo(offset) {
  const begin = Math.max(0, Math.min(offset, result.total - 1));
  stay({ offset: begin || '', at: undefined });
  turn(begin).catch(failedPage);
}

const nextPage = () => result.page.end < result.total && turnTo(result.page.end);
const previousPage = () => result.page.begin > 0 && turnTo(result.page.begin - PAGE);

/** Shows the page that was read, with the matches in it. */
function paint() {
  const { page, total, lengths } = result;
  const now = at.at === undefined ? -1 : Number(at.at);
  const marks = [];
  let [place, count] = [0, page.begin];
  for (const [offset, length] of [...lengths ?? []].sort(([one], [other]) => one - other)) {
    if (offset + length < page.begin || offset > page.end) continue;
    const from = Math.max(offset, page.begin);
    place = index(page.text, from - count, place);
    count = from;
    marks.push({ start: place, end: index(page.text, offset + length - from, place), isNow: offset === now });
  }
  put($('text'), page.text, marks);
  $('lossy').hidden = !page.isLossy;
  $('offset').value = page.begin;
  $('range').textContent = total === 0 ? 'nothing: it is empty' : `to ${number(page.end)} of ${number(total)} characters`;
  for (const name of ['first', 'previous']) $(name).disabled = page.begin === 0;
  for (const name of ['next', 'last']) $(name).disabled = page.end >= total;
  const part = (offset) => `${(100 * offset) / (total || 1)}%`;
  const ticks = [...lengths?.keys() ?? []].map((offset) => {
    const tick = el('b', { className: offset === now ? 'now' : '' });
    tick.style.setProperty('--at', part(offset));
    return tick;
  });
  const here = el('i', {});
  here.style.setProperty('--at', part(page.begin));
  here.style.setProperty('--long', part(page.end - page.begin));
  $('strip').replaceChildren(here, ...ticks);
}

function describe(mine) {
  mine.isDescribed = true;
  const { record } = mine;
  put($('tool'), record.tool_name ?? 'tool');
  put($('kind'), record.synopsis_kind ?? '');
  const stub = session?.stubs.get(mine.name)?.stub;
  const facts = [plural(record.original_chars, 'character'), plural(record.line_count, 'line'), `${short.format(record.original_bytes)}B`];
  if (stub !== undefined) facts.push(`${number(stub)} in the stub, ${less(record.original_chars, stub)} less`);
  if (record.not_stored_bytes > 0) facts.push(`${number(record.not_stored_bytes)} bytes more were not kept`);
  $('facts').replaceChildren(`${facts.join(' · ')} · `, when(record.created_at));
  put($('ref'), record.storage_uri);
  $('download').href = `api/v1${mine.path}/output.txt?${mine.event}`;
  const { title, summary, structure, notable_items, sample } = record.synopsis ?? {};
  const groups = [[title, summary], ['Structure', structure], ['Notable items', notable_items]];
  $('synopsis').replaceChildren(...groups.filter(([, lines]) => lines?.length).flatMap(([name, lines]) => [
    put(el('h3', {}), name ?? 'Summary'),
    el('ul', {}, ...lines.slice(0, ROWS).map((line) => put(el('li', {}), line))),
  ]), ...(sample ? [el('h3', {}, 'Sample'), put(el('pre', {}), sample)] : []));
}

async function copy() {
  const ref = $('ref').textContent;
  try {
    await navigator.clipboard.writeText(ref);
  } catch {
    // Only safe contexts have a clipboard: elsewhere the selection does.
    $('about').open = true;
    getSelection().selectAllChildren($('ref'));
    document.execCommand('copy');
  }
  say('The ref is copied.');
  $('copy').textContent = 'Copied';
  setTimeout(() => { $('copy').textContent = 'Copy the ref'; }, 1500);
}

/** A link carries no key: with one, the original is fetched and then saved. */
async function download(event) {
  if (!sessionStorage.getItem(KEY)) return;
  event.preventDefault();
  try {
    const response = await answerOf(`${result.path}/output.txt?${result.event}`, result.stop.signal);
    const href = URL.createObjectURL(await response.blob());
    el('a', { href, download: `${at.result}.txt` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  } catch (error) {
    if (error.name !== 'AbortError') say(error.message);
  }
}

// ---- The search -----------------------------------------------------------------------------

/** Finds the first matches, and those at an offset; goes to the first, or to the one there. */
async function search(wanted, isMatch = true) {
  const mine = result;
  mine.finding?.abort();
  mine.finding = new AbortController();
  Object.assign(mine, { matches: [], lengths: new Map(), next: 0, hasMore: true, count: undefined, isBroken: false });
  $('match-rows').replaceChildren();
  $('found').hidden = !at.q;
  if (!at.q) return paint();
  await findMore(mine);
  if (mine !== result || mine.finding.signal.aborted) return;
  if (wanted > mine.next && mine.hasMore) await findFrom(mine, wanted);
  const first = wanted ?? mine.matches[0]?.offset;
  if (first !== undefined && isMatch) await follow(first);
  else paint();
}

/** Asks for the matches from an offset on; those between are left out of the list. */
function findFrom(mine, offset) {
  mine.isBroken ||= offset > mine.next;
  mine.next = Math.max(mine.next, offset);
  return findMore(mine);
}

/** Asks for the matches that follow. */
async function findMore(mine) {
  const { signal } = mine.finding;
  $('found-sum').textContent = 'Searching… Esc stops.';
  const options = new URLSearchParams({ q: at.q, regex: at.regex === '1', ignore_case: at.case === '1' });
  const find = (more) => ask(`${mine.path}/search?${mine.event}${options}&${new URLSearchParams(more)}`, signal);
  const isFirst = mine.next === 0;
  const isCounted = isFirst && mine.record.original_bytes <= COUNTED;
  try {
    const answer = await find({ from: mine.next, limit: MATCHES, context_chars: AROUND, count: isCounted });
    const { matches } = answer;
    let length = () => points(at.q);
    if (matches.length > 0 && (options.get('regex') === 'true' || options.get('ignore_case') === 'true')) {
      // A snippet without anything around it is the match.
      const bare = await find({ from: matches[0].offset, limit: matches.length, context_chars: 0 });
      const lengths = new Map(bare.matches.map(({ offset, snippet }) => [offset, points(snippet)]));
      length = ({ offset }) => lengths.get(offset) ?? 0;
    }
    for (const match of matches) mine.lengths.set(match.offset, length(match));
    mine.matches.push(...matches);
    mine.next = answer.next_offset;
    mine.hasMore = answer.has_more;
    if (isFirst) mine.count = answer.total_matches ?? (mine.hasMore ? undefined : matches.length);
    $('match-rows').querySelector('.more')?.remove();
    $('match-rows').append(...matches.map((match) => matchRow(match, mine.lengths.get(match.offset))));
    if (mine.hasMore) {
      const button = el('button', { type: 'button', className: 'row' }, 'More matches');
      button.onclick = async () => {
        const before = mine.matches.length;
        await findMore(mine);
        paint();
        $('match-rows').querySelectorAll('.row')[before]?.focus();
      };
      $('match-rows').append(el('li', { className: 'more' }, button));
    }
    summed(mine);
  } catch (error) {
    if (mine !== result) return;
    const isStopped = error.name === 'AbortError';
    mine.hasMore = false;
    put($('found-sum'), isStopped ? 'Stopped.' : error.message);
  }
}

function summed(mine) {
  const nth = mine.isBroken ? 0 : mine.matches.findIndex(({ offset }) => offset === Number(at.at)) + 1;
  const all = mine.count === undefined ? `${number(mine.matches.length)}${mine.hasMore ? '+' : ''} matches` : plural(mine.count, 'match');
  const text = mine.matches.length === 0 ? 'No match.' : nth ? `${number(nth)} of ${all}` : all;
  $('found-sum').textContent = text;
  $('next-match').disabled = $('previous-match').disabled = mine.matches.length === 0;
}

function matchRow({ offset, line, snippet }, length) {
  const start = index(snippet, Math.min(AROUND, offset));
  const end = index(snippet, length, start);
  const text = put(el('code', {}), snippet, [{ start, end, isNow: false }]);
  const row = el('button', { type: 'button', className: 'row' }, span('line', number(line)), text);
  row.title = `Line ${number(line)}, character ${number(offset)}`;
  row.dataset.name = offset;
  row.onclick = () => follow(offset).catch(failedPage);
  return el('li', {}, row);
}

/** Shows the page that a match is on, and marks it. */
async function follow(offset) {
  const { page, lengths } = result;
  const end = offset + (lengths.get(offset) ?? 0);
  if (offset >= page.begin && end <= page.end) {
    stay({ at: offset });
    paint();
  } else {
    const grid = Math.floor(offset / PAGE) * PAGE;
    // A match that goes over the end of its page is shown from shortly before its begin.
    const begin = end > grid + PAGE ? Math.max(0, offset - 200) : grid;
    stay({ offset: begin || '', at: offset });
    await turn(begin);
  }
  for (const row of $('match-rows').querySelectorAll('.row')) {
    const isNow = row.dataset.name === String(offset);
    row.ariaCurrent = isNow ? 'true' : null;
    if (isNow) row.scrollIntoView({ block: 'nearest' });
  }
  summed(result);
  const mark = $('text').querySelector('mark.now');
  mark?.scrollIntoView({ block: 'center' });
  say(`${$('found-sum').textContent}, character ${number(offset)}`);
}

/** Goes to the next match, or the one before. */
async function step(forward) {
  if (!result?.matches?.length) return;
  const from = at.at === undefined ? (forward ? result.page.begin - 1 : result.page.begin) : Number(at.at);
  const offsets = () => result.matches.map(({ offset }) => offset);
  let next = forward ? offsets().find((offset) => offset > from) : offsets().findLast((offset) => offset < from);
  if (next === undefined && forward && result.hasMore) {
    await findFrom(result, from + 1);
    next = offsets().find((offset) => offset > from);
  }
  if (next === undefined) say(forward ? 'That was the last match.' : 'That was the first match.');
  else await follow(next);
}

function submitSearch(event) {
  event?.preventDefault();
  stay({ q: $('q').value, regex: $('regex').checked ? '1' : '', case: $('ignore-case').checked ? '1' : '', at: undefined });
  search().catch(failedPage);
}

function endSearch() {
  $('q').value = '';
  result.finding?.abort();
  submitSearch();
}

// ---- The keyboard ---------------------------------------------------------------------------

/** The rows that the arrows go through. */
function rowsHere() {
  const isInMatches = $('found').contains(document.activeElement) || document.activeElement === $('q');
  const here = !at.session ? $('session-rows') : isInMatches ? $('match-rows') : at.view === 'results' ? $('result-rows') : $('message-rows');
  return [...here.querySelectorAll('.row')];
}

function walk(by) {
  const rows = rowsHere();
  const here = rows.indexOf(document.activeElement);
  const current = rows.findIndex((row) => row.ariaCurrent === 'true');
  if (here === 0 && by < 0) return [$('filter'), $('q')].find((field) => field.offsetParent)?.focus();
  focusOn(rows[Math.max(0, Math.min(rows.length - 1, here < 0 ? Math.max(0, current) : here + by))] ?? document.body);
}

function back() {
  if (result && (at.q || document.activeElement === $('q'))) {
    const isSearching = result.finding && $('found-sum').textContent.startsWith('Searching');
    if (isSearching) return result.finding.abort();
    endSearch();
    return focusOn($('text'));
  }
  if (at.result) location.hash = inSession();
  else if (at.session) location.hash = '';
  else if ($('filter').value) {
    $('filter').value = '';
    filterSessions();
  }
}

const inOriginal = (act) => () => result?.page && act();
const ACTS = {
  ArrowDown: () => walk(1),
  ArrowUp: () => walk(-1),
  ArrowLeft: inOriginal(previousPage),
  ArrowRight: inOriginal(nextPage),
  Home: inOriginal(() => turnTo(0)),
  End: inOriginal(() => turnTo(lastPage())),
  Escape: back,
  '/': () => [$('filter'), $('q')].find((field) => field.offsetParent)?.select(),
  n: () => step(true).catch(failedPage),
  p: () => step(false).catch(failedPage),
  c: inOriginal(copy),
  t: () => { if (at.session) location.hash = addressOf({ ...at, view: at.view === 'results' ? '' : 'results' }); },
  '?': () => $('help').showModal(),
};

addEventListener('keydown', (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const isField = target.matches('input:not([type=checkbox])');
  if (isField && !(key === 'Escape' || (target.type === 'search' && key === 'ArrowDown'))) return;
  // What scrolls goes on scrolling by the arrows; sideways only where lines are not wrapped.
  if (target.matches('pre') && (key === 'ArrowUp' || key === 'ArrowDown')) return;
  if (target === $('text') && !$('wrap').checked && (key === 'ArrowLeft' || key === 'ArrowRight')) return;
  const act = Object.hasOwn(ACTS, key) && ACTS[key];
  if (!act) return;
  event.preventDefault();
  act();
});

// ---- The rest -------------------------------------------------------------------------------

$('filter').oninput = () => sessions && filterSessions();
$('show-help').hidden = false;
$('show-help').onclick = () => $('help').showModal();
$('forget').onclick = () => {
  sessionStorage.removeItem(KEY);
  location.reload();
};
$('copy').onclick = copy;
$('download').onclick = download;
$('search').onsubmit = submitSearch;
for (const name of ['regex', 'ignore-case']) $(name).onchange = () => $('q').value && submitSearch();
$('q').onsearch = () => !$('q').value && at.q && endSearch();
$('next-match').onclick = ACTS.n;
$('previous-match').onclick = ACTS.p;
$('first').onclick = ACTS.Home;
$('previous').onclick = ACTS.ArrowLeft;
$('next').onclick = ACTS.ArrowRight;
$('last').onclick = ACTS.End;
$('jump').onsubmit = (event) => {
  event.preventDefault();
  turnTo(Number($('offset').value.replace(/[^0-9]/g, '')));
};
$('wrap').onchange = () => $('text').classList.toggle('unwrapped', !$('wrap').checked);
$('forget').hidden = !sessionStorage.getItem(KEY);
addEventListener('hashchange', route);
route();
