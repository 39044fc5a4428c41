'use strict';
document.documentElement.classList.add('scripted');
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const tip = document.getElementById('tip'), short = x => +x.toPrecision(4);
function show(text, x, y, gap = 18) {
  tip.textContent = text; tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (y + gap + box.height > innerHeight ? y - box.height - 10 : y + gap) + 'px';
}
function hide() { tip.style.display = 'none'; }

// Words of the glossary: shown where they stand, by pointer and by keyboard; Escape takes them away.
const meaning = id => { const dd = document.getElementById(id); return dd.previousElementSibling.textContent + ': ' + dd.textContent; };
for (const term of all('.term')) {
  const explain = () => { const box = term.getBoundingClientRect(); show(meaning(term.hash.slice(1)), box.left - 14, box.bottom, 6); };
  term.onmouseenter = term.onfocus = explain;
  term.onmouseleave = term.onblur = hide;
}
addEventListener('keydown', event => event.key == 'Escape' && hide());

// A link into what is folded opens it.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let around = target; around; around = around.parentElement) if (around.tagName == 'DETAILS') around.open = true;
  target.scrollIntoView();
}
addEventListener('hashchange', unfold); unfold();

// What overflows can be reached by the keyboard.
function reachable() {
  for (const box of all('.scroll,.wide')) if (box.scrollWidth > box.clientWidth) {
    box.tabIndex = 0; box.setAttribute('role', 'group');
    box.ariaLabel ??= box.closest('figure')?.querySelector('h3').textContent ?? 'table';
  }
}
addEventListener('resize', reachable); reachable();

// The raw results: base64 of raw deflate, unpacked once when somebody asks for them.
const unpacked = {};
function unpack(id) { return unpacked[id] ??= inflate(id); }
async function inflate(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
}
const read = {};
function parsed(id) { return read[id] ??= unpack(id).then(JSON.parse); }
function save(text, type, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type })); link.download = name; link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A figure's data as rows of cells: its measurements, else its timeline or states, else the points of its curves.
const csv = rows => rows.map(row => row.map(cell => /[",\n\r]/.test(cell ?? '') ? `"${String(cell).replaceAll('"', '""')}"` : cell ?? '').join(',')).join('\r\n') + '\r\n';
const SUMMARY = ['n', 'min', 'mean', 'p50', 'p90', 'p99', 'max'];
function table(measurements) {
  const names = of => [...new Set(measurements.flatMap(m => Object.keys(m[of])))], labels = names('labels'), figures = names('figures');
  return [['id', ...labels, 'unit', ...SUMMARY, ...figures], ...measurements.map(m =>
    [m.id, ...labels.map(l => m.labels[l]), m.unit, ...SUMMARY.map(s => m.summary[s]), ...figures.map(f => m.figures[f])])];
}
async function rows(figure) {
  const { of, plan, states, timeline } = figure.dataset, results = await parsed(of), measurements = results.measurements;
  if (timeline) {
    const t = results.timelines.find(t => t.name == timeline), columns = ['from', 'to', 'asked_us', 'began_us', 'granted_us', 'left_us', 'arrived_us'];
    return [['what', ...columns], ...t.packets.map(p => [p.kind, ...columns.map(c => p[c])]), ...t.busy.map(b => [b.what, b.node, '', b.from_us, b.to_us])];
  }
  if (states) {
    const over = measurements.filter(m => m.labels.plan == states && m.labels.state);
    return [over.map(m => m.id), ...Array.from({ length: Math.max(...over.map(m => m.values.length)) }, (_, i) => over.map(m => m.values[i]))];
  }
  if (plan) return table(measurements.filter(m => m.labels.plan == plan && !m.labels.state));
  const numbers = [...new Set(all('[data-m]', figure).map(mark => +mark.dataset.m))].sort((a, b) => a - b);
  if (numbers.length) return table(numbers.map(number => measurements[number]));
  const points = g => all('[data-p]', g).flatMap(c => c.dataset.p.split(' ').map(p => [g.dataset.title, c.dataset.name, ...p.split(',')]));
  return [['panel', 'curve', 'x', 'y'], ...all('[data-axis]', figure).flatMap(points)];
}
// The chart by itself: colours by value as the page has none of them there, and as large as its coordinates.
function picture(chart) {
  const { width, height } = chart.viewBox.baseVal, copy = chart.cloneNode(true);
  copy.setAttribute('width', width); copy.setAttribute('height', height);
  for (const tag of [copy, ...all('*', copy)]) for (const name of tag.getAttributeNames()) if (/^(data-|class|tabindex|role|aria-pressed)/.test(name)) tag.removeAttribute(name);
  return copy.outerHTML.replace(/var\(--\w+,\s*([^)]*)\)/g, '$1');
}
for (const figure of all('figure')) {
  const tools = document.createElement('p'), chart = figure.querySelector('.chart'), title = chart.getAttribute('aria-label');
  const button = (text, work) => { const b = document.createElement('button'); b.textContent = text; b.ariaLabel = `${text}: ${title}`; b.onclick = work; tools.append(b); };
  tools.className = 'save';
  button('Save as SVG', () => save(picture(chart), 'image/svg+xml', figure.dataset.name + '.svg'));
  button('Save data as CSV', async () => save(csv(await rows(figure)), 'text/csv', figure.dataset.name + '.csv'));
  figure.querySelector('figcaption').append(tools);
}

// What a tip tells of a measurement; of cycles the time that they take.
function told(m, hz) {
  const us = m.unit == 'cycles' && hz > 0 ? 1e6 / hz : 1, unit = us == 1 ? m.unit : 'us', s = m.summary, figures = Object.entries(m.figures).map(([name, v]) => `${name.replaceAll('_', ' ')}: ${short(v)}`);
  const values = ['min', 'mean', 'p50', 'p99', 'max'].filter(k => s[k] != null).map(k => `${k} ${short(s[k] * us)}`).join('  ');
  return [m.id.split('/').slice(1).join(' \u00b7 '), `${m.what}, ${unit} (${s.n} values)`, values, ...figures].join('\n');
}
for (const chart of all('.chart')) {
  const plots = all('[data-axis]', chart).map(g => {
    const [scale, ...ends] = g.dataset.axis.split(' '), [low, high, left, right, top, bottom] = ends.map(Number);
    const curves = all('[data-p]', g).map(c => ({ c, points: c.dataset.p.split(' ').map(p => p.split(',').map(Number)) }));
    return { ...g.dataset, scale, low, high, left, right, top, bottom, curves, line: g.querySelector('.at') };
  });
  const words = all('.term', chart.closest('figure')).sort((a, b) => b.textContent.length - a.textContent.length);
  let over;
  const unmark = () => plots.forEach(p => p.line.setAttribute('visibility', 'hidden'));
  const leave = () => { over = null; hide(); unmark(); };
  chart.onmousemove = async event => {
    over = event.target.dataset.m;
    if (over) {
      const wanted = over, results = await parsed(chart.closest('figure').dataset.of);
      return over == wanted && show(told(results.measurements[wanted], results.provenance.clock_hz), event.clientX, event.clientY);
    }
    // A word in the chart is explained as below it.
    const word = event.target.tagName == 'text' && words.find(term => event.target.textContent.includes(term.textContent));
    if (word) return show(meaning(word.hash.slice(1)), event.clientX, event.clientY);
    const box = chart.getBoundingClientRect(), unit = chart.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * unit, y = (event.clientY - box.top) * unit;
    const plot = plots.find(p => x >= p.left && x <= p.right && y >= p.top && y <= p.bottom);
    const shown = plot ? plot.curves.filter(c => !c.c.classList.contains('off')) : [];
    if (!shown.length) return leave();
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
    show([plot.x.replace(' (log scale)', '') + ': ' + where, ...heights].join('\n'), event.clientX, event.clientY);
    unmark();
    plot.line.setAttribute('d', `M${at} ${top}V${bottom}`); plot.line.setAttribute('visibility', 'visible');
  };
  chart.onmouseleave = leave;
  // Names of a legend hide their series; a chart with such buttons is more than an image.
  const keys = all('.k', chart);
  if (keys.length) chart.setAttribute('role', 'graphics-document');
  for (const key of keys) {
    key.setAttribute('role', 'button'); key.setAttribute('tabindex', 0); key.setAttribute('aria-pressed', true);
    key.setAttribute('aria-label', key.textContent);
    key.onclick = key.onkeydown = event => {
      if (event.key && event.key != 'Enter' && event.key != ' ') return;
      event.preventDefault();
      const same = selector => all(selector, chart).filter(s => s.dataset.s == key.dataset.s);
      same('.s').forEach(s => s.classList.toggle('off'));
      same('.k').forEach(k => k.setAttribute('aria-pressed', !k.classList.toggle('off')));
    };
  }
}

// Claims by verdict and by words.
const filter = document.getElementById('filter');
function sift() {
  const wanted = all('input[type=checkbox]:checked', filter).map(box => box.value), words = filter.querySelector('[type=search]').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const group of all('.claims details')) {
    const rows = all('li', group), fits = wanted.includes(group.dataset.outcome);
    const hits = rows.filter(row => { const text = row.textContent.toLowerCase(); return !(row.hidden = !(fits && words.every(word => text.includes(word)))); });
    group.hidden = !hits.length; shown += hits.length;
    if (words.length && hits.length) group.open = true;
  }
  for (const paper of all('section.claims')) paper.hidden = !all('details', paper).some(group => !group.hidden);
  filter.querySelector('output').textContent = `${shown} shown`;
}
if (filter) { filter.oninput = sift; filter.onsubmit = event => event.preventDefault(); sift(); }

for (const button of all('button[data-for]')) button.onclick = async () =>
  save(await unpack(button.dataset.for), 'application/json', button.dataset.name);
const LISTED = 1000;
for (const details of all('details[data-for]')) details.addEventListener('toggle', async () => {
  const results = await parsed(details.dataset.for), table = document.createElement('table'), wide = details.querySelector('.wide');
  const row = (cells, kind) => { const tr = table.insertRow(); cells.forEach((text, i) => {
    const cell = document.createElement(kind); cell.textContent = text; if (i > 0 && i < 8) cell.className = 'n'; tr.append(cell); }); };
  row(['measurement', ...SUMMARY, 'unit', 'further figures'], 'th');
  for (const m of results.measurements.slice(0, LISTED)) {
    const figures = Object.entries(m.figures).map(([name, v]) => `${name} ${short(v)}`).join(', ');
    row([m.id, ...SUMMARY.map(s => m.summary[s] == null ? '' : short(m.summary[s])), m.unit, figures], 'td');
  }
  wide.append(table);
  if (results.measurements.length > LISTED) wide.append(`The first ${LISTED} of ${results.measurements.length}; the saved results have all.`);
}, { once: true });
