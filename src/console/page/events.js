import { el, empty, fill, sign } from './dom.js'
import { ago, count } from './format.js'

/** @import { Store } from './store.js' */

/**
 * The newest Events of the cluster.
 *
 * @param {Store} store
 */
export function createEvents(store) {
  const search = el('input', {
    type: 'search',
    placeholder: 'Object, reason, message …',
    'aria-label': 'Filter Events',
    input: () => draw(),
  })
  const warnings = el('input', { type: 'checkbox', change: () => draw() })
  const shown = el('output', { class: 'quiet' })
  const place = el('div', {})
  const draw = () => {
    /** @type {any[] | undefined} */
    const events = store.documents.get('events')
    if (events === undefined) return fill(place, empty('Loading …'))
    const word = search.value.toLowerCase()
    const chosen = events.filter(
      ({ type, subject, reason, message }) =>
        (!warnings.checked || type === 'Warning') && `${subject} ${reason} ${message}`.toLowerCase().includes(word),
    )
    shown.textContent = count(chosen.length)
    if (chosen.length === 0)
      return fill(place, empty('No Events', events.length === 0 ? 'Nothing was recorded lately.' : 'None fits.'))
    const head = ['When', 'Object', 'Reason', 'Message', 'Count'].map((text) => el('th', { scope: 'col' }, text))
    fill(
      place,
      el(
        'div',
        { class: 'table-scroll' },
        el(
          'table',
          { class: 'stack' },
          el('thead', {}, el('tr', {}, ...head)),
          el('tbody', {}, ...chosen.map(drawEvent)),
        ),
      ),
    )
  }
  const end = store.on('document:events', draw)
  const timer = setInterval(draw, 15_000)
  draw()
  const toolbar = el(
    'div',
    { class: 'toolbar' },
    search,
    el('label', { class: 'check' }, warnings, 'Warnings only'),
    shown,
  )
  return {
    element: el('div', { class: 'view' }, el('section', { class: 'panel' }, toolbar, place)),
    close: () => {
      clearInterval(timer)
      end()
    },
  }
}

/** @param {any} event */
function drawEvent({ type, at, subject, reason, message, count: times }) {
  const isWarning = type === 'Warning'
  return el(
    'tr',
    {},
    el('td', { class: 'nowrap', title: at }, sign(isWarning ? 'warn' : 'idle', type), ago(at)),
    el('td', {}, subject),
    el('td', { class: 'nowrap' }, reason),
    el('td', {}, message),
    el('td', { class: 'number', 'data-label': 'Count' }, times > 1 ? count(times) : ''),
  )
}
