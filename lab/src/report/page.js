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
  const line = chart.querySelector('.at'), axis = (chart.dataset.axis || '').split(' ');
  const curves = all('[data-p]', chart).map(g => ({ g, points: g.dataset.p.split(' ').map(p => p.split(',').map(Number)) }));
  let over;
  const hide = () => { over = null; tip.style.display = 'none'; if (line) line.setAttribute('visibility', 'hidden'); };
  chart.onmousemove = async event => {
    over = event.target.dataset.m;
    if (over) {
      const wanted = over, results = await parsed(chart.closest('figure').dataset.of);
      return over == wanted && show(told(results.measurements[wanted]), event);
    }
    if (!line) return hide();
    const [low, high, left, right, top, bottom] = axis.slice(1).map(Number), box = chart.getBoundingClientRect();
    const x = (event.clientX - box.left) * chart.viewBox.baseVal.width / box.width;
    if (x < left || x > right) return hide();
    const into = v => axis[0] == 'log2' ? Math.log2(v) : axis[0] == 'log10' ? Math.log10(v) : v;
    const pixel = v => left + (into(v) - low) / (high - low) * (right - left);
    const shown = curves.filter(c => !c.g.classList.contains('off'));
    // Between points a step keeps its height; of other curves the nearest point counts.
    const steps = chart.dataset.steps == '1', near = p => Math.abs(pixel(p[0]) - x);
    const nearest = points => points.reduce((best, p) => near(p) < near(best) ? p : best);
    const height = points => steps ? points.findLast(p => pixel(p[0]) <= x)?.[1] ?? 0 : nearest(points)[1];
    const at = steps || !shown.length ? x : pixel(nearest(shown.flatMap(c => c.points))[0]);
    const scaled = low + (at - left) / (right - left) * (high - low);
    const value = axis[0] == 'log2' ? 2 ** scaled : axis[0] == 'log10' ? 10 ** scaled : scaled;
    const heights = shown.map(c => c.g.dataset.name + ': ' + short(height(c.points)));
    show([short(value) + ' ' + chart.dataset.x.replace(' (log scale)', ''), ...heights].join('\n'), event);
    line.setAttribute('d', `M${at} ${top}V${bottom}`); line.setAttribute('visibility', 'visible');
  };
  chart.onmouseleave = hide;
  for (const key of all('.k', chart)) key.onclick = key.onkeydown = event => {
    if (event.key && event.key != 'Enter' && event.key != ' ') return;
    event.preventDefault();
    key.setAttribute('aria-pressed', key.classList.toggle('off'));
    all('.s', chart).filter(s => s.dataset.s == key.dataset.s).forEach(s => s.classList.toggle('off'));
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
