import { el, empty, fill, sign } from './dom.js'
import { ago } from './format.js'

/** @import { Store } from './store.js' */

/**
 * The Nodes of the cluster and their health.
 *
 * @param {Store} store
 */
export function createNodes(store) {
  const place = el('section', { class: 'panel' })
  const draw = () => {
    /** @type {any[] | undefined} */
    const nodes = store.documents.get('nodes')
    if (nodes === undefined) return fill(place, empty('Loading …'))
    if (nodes.length === 0) return fill(place, empty('No Nodes', 'An agent registers its Node when it starts.'))
    const head = ['Node', 'Addresses', 'Pod networks', 'System', 'Version', 'Age'].map((text) =>
      el('th', { scope: 'col' }, text),
    )
    fill(
      place,
      el(
        'div',
        { class: 'table-scroll' },
        el(
          'table',
          { class: 'stack' },
          el('thead', {}, el('tr', {}, ...head)),
          el('tbody', {}, ...nodes.map(drawNode)),
        ),
      ),
    )
  }
  const end = store.on('document:nodes', draw)
  draw()
  return { element: el('div', { class: 'view' }, place), close: end }
}

/** @param {any} node */
function drawNode({
  name,
  isReady,
  isSchedulable,
  messages,
  addresses,
  podCidrs,
  taints,
  version,
  system,
  kernel,
  since,
}) {
  const notes = [...(isSchedulable ? [] : ['cordoned']), ...taints, ...messages]
  return el(
    'tr',
    {},
    el(
      'td',
      {},
      sign(isReady ? 'good' : 'bad', isReady ? 'ready' : 'not ready'),
      el('b', {}, name),
      ...notes.map((/** @type {string} */ note) => el('div', { class: 'quiet' }, note)),
    ),
    el('td', { class: 'mono', 'data-label': 'Addresses' }, addresses.join(', ')),
    el('td', { class: 'mono', 'data-label': 'Pod networks' }, podCidrs.join(', ')),
    el('td', { 'data-label': 'System' }, system, kernel && el('div', { class: 'quiet' }, `Linux ${kernel}`)),
    el('td', { 'data-label': 'Version' }, version),
    el('td', { 'data-label': 'Age' }, ago(since).replace(/ ago$/, '')),
  )
}
