// What tools return: long, wide, and hostile.

/** Numbers that look like chance and are the same each time. */
export function chance(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = ['Ada', 'Björn', '美咲', 'Олег', 'Zoë', '민준', 'Amara', 'José'];

export function json() {
  const pick = chance(1);
  const users = Array.from({ length: 1500 }, (_, id) => ({
    id, name: NAMES[pick(NAMES.length)], email: `user${id}@example.com`, active: pick(3) > 0, score: pick(1000) / 10,
  }));
  return JSON.stringify({ total: users.length, users });
}

export function csv() {
  const pick = chance(2);
  const rows = Array.from({ length: 4000 }, (_, nth) => {
    const day = String(1 + (nth % 28)).padStart(2, '0');
    return `${10_000 + nth},2026-11-${day},${['EU', 'US', 'APAC'][pick(3)]},${pick(90_000) / 100},"${NAMES[pick(NAMES.length)]}, retail"`;
  });
  return `order,date,region,amount,customer\n${rows.join('\n')}\n`;
}

/** About 5 MB, of which many characters take three and four bytes. */
export function log() {
  const pick = chance(3);
  const said = ['接続を確立しました', '用户登录成功 ✅', 'cache miss 🐌', 'flushed 512 pages', '재시도 중… 🔁', 'deployed 🚀 to 北京'];
  const lines = [];
  for (let nth = 0; nth < 75_000; nth += 1) {
    const level = pick(150) === 0 ? 'ERROR' : 'INFO';
    const time = new Date(1_795_000_000_000 + nth * 137).toISOString();
    lines.push(`${time} ${level} worker-${pick(16)} ${said[pick(said.length)]} (${pick(5000)} ms)`);
  }
  lines[70_001] += ' needle-in-the-log 針';
  return lines.join('\n');
}

/** What would run, restyle or reorder a page that put it in as anything but text. */
export function hostile() {
  const block = [
    '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2"><svg onload="window.pwned = 3">',
    '</pre></article></main><style>* { display: none !important }</style><iframe srcdoc="<script>parent.pwned=4</script>">',
    '<a href="javascript:window.pwned=5" autofocus onfocus="window.pwned=6">click</a><meta http-equiv=refresh content="0;url=/health">',
    '\u001b[31mred\u001b[0m \u001b]8;;http://example.com\u0007link\u001b]8;;\u0007 \u001b[2J\u001b[H bell \u0007 back\b\b\b',
    'access \u202e\u2066// only admins\u2069 \u2066begin\u202c user.is_admin() \u200f\u200e',
    'nul \u0000 del \u007f nel \u0085 bom \ufeff zero\u200bwidth tags \u{e0041}\u{e0042} lines \u2028 \u2029 cr \r end\r',
    `zalgo ${'z̸̢̛'.repeat(40)} family 👩‍👩‍👧‍👦 flag 🇯🇵 astral 𝔘𝔫𝔦`,
    `${'x'.repeat(2000)}${'漢'.repeat(2000)}`,
  ].join('\n');
  return Array.from({ length: 8 }, (_, nth) => `# ${nth}\n${block}`).join('\n');
}

/** One line without a place to break it. */
export const oneLine = () => 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(6_000);

export const markup = '<b onclick="window.pwned = 7">bold</b> \u202eevil\u202c <script>window.pwned = 8</script>';
