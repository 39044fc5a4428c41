'use strict';
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const tip = document.getElementById('tip'), short = x => +x.toPrecision(4);
function show(text, event) {
  tip.textContent = text; tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + 'px';
}
// The raw results: base64 of raw deflate, unpacked once when somebody asks for them.
const unpacked = {};
function unpack(id) { return unpacked[id] ??= inflate(id); }
async function inflate(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
}
const read = {};
function parsed(id) { return read[id] ??= unpack(id).then(JSON.parse); }
// What a tip tells of a measurement.
function told(m) {
  const s = m.summary, figures = Object.entries(m.figures).map(([name, v]) => `${name.replaceAll('_', ' ')}: ${short(v)}`);
  const values = ['min', 'mean', 'p50', 'p99', 'max'].filter(k => s[k] != null).map(k => `${k} ${short(s[k])}`).join('  ');
  return [m.id.split('/').slice(1).join(' \u00b7 '), `${m.what}, ${m.unit} (${s.n} values)`, values, ...figures].join('\n');
}
for (const chart of all('.chart')) {
  const plots = all('[data-axis]', chart).map(g => {
    const [scale, ...ends] = g.dataset.axis.split(' '), [low, high, left, right, top, bottom] = ends.map(Number);
    const curves = all('[data-p]', g).map(c => ({ c, points: c.dataset.p.split(' ').map(p => p.split(',').map(Number)) }));
    return { ...g.dataset, scale, low, high, left, right, top, bottom, curves, line: g.querySelector('.at') };
  });
  let over;
  const unmark = () => plots.forEach(p => p.line.setAttribute('visibility', 'hidden'));
  const hide = () => { over = null; tip.style.display = 'none'; unmark(); };
  chart.onmousemove = async event => {
    over = event.target.dataset.m;
    if (over) {
      const wanted = over, results = await parsed(chart.closest('figure').dataset.of);
      return over == wanted && show(told(results.measurements[wanted]), event);
    }
    const box = chart.getBoundingClientRect(), unit = chart.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * unit, y = (event.clientY - box.top) * unit;
    const plot = plots.find(p => x >= p.left && x <= p.right && y >= p.top && y <= p.bottom);
    const shown = plot ? plot.curves.filter(c => !c.c.classList.contains('off')) : [];
    if (!shown.length) return hide();
    const { scale, low, high, left, right, top, bottom } = plot;
    const into = v => scale == 'log2' ? Math.log2(v) : scale == 'log10' ? Math.log10(v) : v;
    const pixel = v => left + (into(v) - low) / (high - low) * (right - left);
    // Between points a step keeps its height; of other curves the nearest point counts.
    const steps = plot.steps == '1', near = p => Math.abs(pixel(p[0]) - x);
    const nearest = points => points.reduce((best, p) => near(p) < near(best) ? p : best);
    const height = points => steps ? points.findLast(p => pixel(p[0]) <= x)?.[1] ?? 0 : nearest(points)[1];
    const at = steps ? x : pixel(nearest(shown.flatMap(c => c.points))[0]);
    const scaled = low + (at - left) / (right - left) * (high - low);
    const value = scale == 'log2' ? 2 ** scaled : scale == 'log10' ? 10 ** scaled : scaled;
    const where = plot.names ? plot.names.split('\n')[Math.round(value)] : short(value);
    const heights = shown.map(c => (c.c.dataset.name ? c.c.dataset.name + ': ' : '') + short(height(c.points)));
    show([plot.x.replace(' (log scale)', '') + ': ' + where, ...heights].join('\n'), event);
    unmark();
    plot.line.setAttribute('d', `M${at} ${top}V${bottom}`); plot.line.setAttribute('visibility', 'visible');
  };
  chart.onmouseleave = hide;
  for (const key of all('.k', chart)) key.onclick = key.onkeydown = event => {
    if (event.key && event.key != 'Enter' && event.key != ' ') return;
    event.preventDefault();
    const same = selector => all(selector, chart).filter(s => s.dataset.s == key.dataset.s);
    same('.s').forEach(s => s.classList.toggle('off'));
    same('.k').forEach(k => k.setAttribute('aria-pressed', k.classList.toggle('off')));
  };
}
for (const button of all('button[data-for]')) button.onclick = async () => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([await unpack(button.dataset.for)], { type: 'application/json' }));
  link.download = button.dataset.name; link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
for (const details of all('details[data-for]')) details.addEventListener('toggle', async () => {
  const results = await parsed(details.dataset.for), table = document.createElement('table');
  const row = (cells, kind) => { const tr = table.insertRow(); cells.forEach((text, i) => {
    const cell = document.createElement(kind); cell.textContent = text; if (i > 0 && i < 8) cell.className = 'n'; tr.append(cell); }); };
  row(['measurement', 'n', 'min', 'mean', 'p50', 'p90', 'p99', 'max', 'unit', 'further figures'], 'th');
  for (const m of results.measurements) {
    const s = m.summary, figures = Object.entries(m.figures).map(([name, v]) => `${name} ${short(v)}`).join(', ');
    row([m.id, ...[s.n, s.min, s.mean, s.p50, s.p90, s.p99, s.max].map(v => v == null ? '' : short(v)), m.unit, figures], 'td');
  }
  details.querySelector('.wide').append(table);
}, { once: true });
