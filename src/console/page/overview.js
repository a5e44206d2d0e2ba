import { createCharts } from './chart.js'
import { el, fillChanged, setText, sign } from './dom.js'
import { ago, count, plural } from './format.js'

/** @import { Store } from './store.js' */

/**
 * The state of the daemon: figures, health of its parts, problems, charts.
 *
 * @param {Store} store
 */
export function createOverview(store) {
  const tiles = el('dl', { class: 'tiles' })
  const parts = el('ul', { class: 'parts' })
  const healthy = el('span', { class: 'badge' })
  const problems = el('section', { class: 'panel problems' })
  const charts = createCharts(store.hello?.charts ?? [])
  const element = el(
    'div',
    { class: 'view overview' },
    tiles,
    el('div', { class: 'columns' }, el('section', { class: 'panel' }, el('h2', {}, 'Parts', healthy), parts), problems),
    charts.element,
  )
  const draw = () => {
    const status = store.documents.get('status')
    drawTiles(tiles, store, status)
    drawParts(parts, healthy, status)
    drawProblems(problems, status)
  }
  const ends = [
    store.on('document:status', draw),
    store.on('document:nodes', draw),
    store.on('services', draw),
    store.on('points', () => charts.draw(store.points)),
  ]
  const clock = setInterval(draw, 5_000)
  draw()
  charts.draw(store.points)
  return {
    element,
    close: () => {
      clearInterval(clock)
      for (const end of ends) end()
    },
  }
}

/**
 * @param {HTMLElement} tiles
 * @param {Store} store
 * @param {any} status
 */
function drawTiles(tiles, store, status) {
  const wanted = [...serviceTiles(store), ...nodeTiles(store), ...statusTiles(status)]
  while (tiles.children.length > wanted.length) tiles.lastElementChild?.remove()
  for (const [index, { label, value, note, tone, view }] of wanted.entries()) {
    const tile = tiles.children[index] ?? newTile(tiles)
    const [name, figure, more] = tile.children
    if (name && figure && more) {
      setText(name, label)
      fillChanged(figure, view === undefined ? value : el('a', { href: `#/${view}` }, value))
      setText(more, note)
    }
    tile.className = `tile ${tone ?? ''}`
  }
}

/** @param {HTMLElement} tiles */
function newTile(tiles) {
  const tile = el('div', { class: 'tile' }, el('dt', {}), el('dd', {}), el('dd', { class: 'note' }))
  tiles.append(tile)
  return tile
}

/**
 * @typedef {{ label: string, value: string, note: string, tone?: string, view?: string }} Tile
 * @param {Store} store
 * @returns {Tile[]}
 */
function serviceTiles({ rows, complete, synced }) {
  if (!complete || !synced) return [{ label: 'Services', value: '–', note: 'waiting for the first list' }]
  let [none, partly, ready, total] = [0, 0, 0, 0]
  for (const row of rows.values()) {
    if (row[6] === 'none') none += 1
    if (row[6] === 'partly') partly += 1
    ready += row[4]
    total += row[5]
  }
  return [
    {
      label: 'Services',
      value: count(rows.size),
      note: endpointsNote(none, partly),
      view: 'services',
      ...(none + partly > 0 && { tone: 'warn' }),
    },
    {
      label: 'Endpoints ready',
      value: count(ready),
      note: ready === total ? 'all' : `of ${count(total)}`,
      ...(ready < total && { tone: 'warn' }),
    },
  ]
}

/**
 * @param {number} none
 * @param {number} partly
 */
function endpointsNote(none, partly) {
  const notes = [none > 0 && `${count(none)} not answering`, partly > 0 && `${count(partly)} incomplete`]
  return notes.filter(Boolean).join(', ') || 'all answer'
}

/**
 * @param {Store} store
 * @returns {Tile[]}
 */
function nodeTiles({ documents }) {
  /** @type {{ isReady: boolean }[] | undefined} */
  const nodes = documents.get('nodes')
  if (nodes === undefined) return []
  const ready = nodes.filter(({ isReady }) => isReady).length
  const tone = ready < nodes.length ? { tone: 'bad' } : {}
  return [{ label: 'Nodes ready', value: count(ready), note: `of ${count(nodes.length)}`, view: 'nodes', ...tone }]
}

/**
 * @param {any} status
 * @returns {Tile[]}
 */
function statusTiles(status) {
  const proxy = status?.proxy ?? []
  const syncs = proxy.flatMap((/** @type {any} */ family) => family.lastSync ?? [])
  const last = syncs.sort((/** @type {any} */ a, /** @type {any} */ b) => b.atMs - a.atMs)[0]
  const aside = proxy.flatMap((/** @type {any} */ family) => family.setAside)
  const { policy, ingress } = status ?? {}
  return [
    ...(last
      ? [
          {
            label: 'Last sync',
            value: ago(last.atMs),
            note: `${last.kind}, ${Math.max(1, Math.round(last.durationMs))} ms`,
          },
        ]
      : []),
    ...(aside.length > 0
      ? [{ label: 'Set aside', value: count(aside.length), note: 'Services that the kernel refuses', tone: 'bad' }]
      : []),
    ...(policy ? [policyTile(policy)] : []),
    ...(ingress ? [ingressTile(ingress)] : []),
  ]
}

/** @param {any} policy */
function policyTile({ policies, obstacles, isolated, localPods }) {
  if (obstacles.length > 0)
    return { label: 'Network policies', value: count(policies), note: 'NOT enforced', tone: 'bad', view: 'policies' }
  const { ingress, egress } = isolated
  return {
    label: 'Network policies',
    value: count(policies),
    note: `${count(ingress)} in, ${count(egress)} out isolated of ${plural(localPods, 'pod')}`,
    view: 'policies',
  }
}

/** @param {any} ingress */
function ingressTile({ ingresses, hosts, backendsDown }) {
  return {
    label: 'Ingresses',
    value: count(ingresses.ours),
    note: backendsDown.length > 0 ? `${plural(backendsDown.length, 'backend')} down` : plural(hosts, 'host'),
    ...(backendsDown.length > 0 && { tone: 'warn' }),
  }
}

/** @type {Record<string, 'good' | 'warn' | 'bad' | 'idle'>} */
const tones = { ok: 'good', degraded: 'bad', unknown: 'warn', stopped: 'idle' }

/**
 * @param {HTMLElement} list
 * @param {HTMLElement} badge
 * @param {any} status
 */
function drawParts(list, badge, status) {
  const isOk = (/** @type {[string, any]} */ [, { level }]) => Number(level === 'ok')
  const components = Object.entries(status?.components ?? {}).sort((one, other) => isOk(one) - isOk(other))
  const good = components.filter(([, { level }]) => level === 'ok').length
  setText(badge, good === components.length ? `${good} ok` : `${good} of ${components.length} ok`)
  fillChanged(
    list,
    ...components.map(([name, health]) =>
      el(
        'li',
        {},
        sign(tones[health.level] ?? 'warn', health.level),
        el('span', { class: 'part-name' }, name),
        el(
          'span',
          { class: 'part-message' },
          health.level === 'ok' ? health.message : `${health.level}: ${health.message}`,
        ),
      ),
    ),
  )
}

/**
 * @param {HTMLElement} panel
 * @param {any} status
 */
function drawProblems(panel, status) {
  const { proxy = [], policy, ingress, problems = [] } = status ?? {}
  /** @type {string[]} */
  const lines = [
    ...problems,
    ...proxy.flatMap((/** @type {any} */ { family, setAside }) =>
      setAside.map((/** @type {any} */ { service, reason }) => `${service} (${family}) is set aside: ${reason}`),
    ),
    ...(policy?.obstacles ?? []).map((/** @type {string} */ text) => `Policies are not enforced: ${text}`),
    ...(policy?.problems ?? []).flatMap((/** @type {any} */ { policy: key, messages }) =>
      messages.map((/** @type {string} */ text) => `${key}: ${text}`),
    ),
    ...(ingress?.problems ?? []).map((/** @type {any} */ { ingress: key, message }) => `${key}: ${message}`),
    ...(ingress?.backendsDown ?? []).map((/** @type {string} */ key) => `Ingress backend ${key} has no endpoint (503)`),
  ]
  const shown = lines.slice(0, 100)
  fillChanged(
    panel,
    el('h2', {}, 'Problems', lines.length > 0 && el('span', { class: 'badge' }, count(lines.length))),
    shown.length === 0
      ? el('p', { class: 'quiet' }, 'None found.')
      : el('ul', { class: 'problem-list' }, ...shown.map((text) => el('li', {}, text))),
    lines.length > shown.length && el('p', { class: 'quiet' }, `and ${count(lines.length - shown.length)} more`),
  )
}
