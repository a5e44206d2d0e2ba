import { el, failure, fill, fillChanged, sign } from './dom.js'
import { explainLink } from './explain.js'
import { createFlow } from './flow.js'
import { ago, count, plural, quantity } from './format.js'
import { ask } from './stream.js'

/**
 * @typedef {object} Endpoint
 * @property {string} name
 * @property {string} [node]
 * @property {string} [target]
 * @property {boolean} isUsed
 * @property {{ ready: boolean, serving: boolean, terminating: boolean }} conditions
 * @property {string} reason
 * @property {number} [connections] since the rules were written
 * @property {number} [perSecond]
 *
 * @typedef {object} Port
 * @property {string} servicePort
 * @property {string} protocol
 * @property {string[]} addresses
 * @property {Endpoint[]} endpoints
 * @property {string[]} refusals
 *
 * @typedef {object} Family
 * @property {string} family
 * @property {string[]} notes
 * @property {Port[]} ports
 * @property {number} [changedAtMs]
 */

const pollMs = 2_000
/** Rows of the table of endpoints; those that are out come first. */
const maxRows = 200

/**
 * One Service: a picture of where its connections go, and for each endpoint why it is in or out.
 *
 * @param {string} key
 * @param {{ canExplain: boolean, onClose: () => void }} options
 */
export function createServiceDetail(key, { canExplain, onClose }) {
  const content = el('div', { class: 'detail-content' }, el('p', { class: 'quiet' }, 'Loading …'))
  const element = el(
    'div',
    { class: 'detail', keydown: (event) => event.key === 'Escape' && onClose() },
    el(
      'header',
      { class: 'detail-head' },
      el('h2', {}, key),
      el('button', { type: 'button', class: 'plain', click: onClose, 'aria-label': 'Close' }, '✕'),
    ),
    content,
  )
  const ended = new AbortController()
  const rates = new Rates()
  const views = new FamilyViews(canExplain)
  let isAsking = false
  const refresh = async () => {
    if (isAsking || ended.signal.aborted) return
    isAsking = true
    try {
      const { families } = await ask('/service', { service: key }, ended.signal)
      rates.add(families)
      views.draw(families)
      if (views.element.parentElement !== content) fill(content, views.element)
    } catch (error) {
      if (!ended.signal.aborted) fill(content, failure(error instanceof Error ? error.message : String(error)))
    } finally {
      isAsking = false
    }
  }
  const timer = setInterval(() => document.visibilityState === 'visible' && void refresh(), pollMs)
  void refresh()
  return {
    element,
    refresh,
    close: () => {
      clearInterval(timer)
      ended.abort()
    },
  }
}

/** Connections by second of each endpoint, from two answers. */
class Rates {
  /** @type {Map<string, { connections: number, atMs: number, perSecond: number | undefined }>} */
  #last = new Map()

  /** @param {Family[]} families */
  add(families) {
    const nowMs = performance.now()
    for (const { servicePort, protocol, endpoints } of families.flatMap(({ ports }) => ports))
      for (const endpoint of endpoints)
        this.#addEndpoint(`${servicePort}/${protocol}/${endpoint.name}`, endpoint, nowMs)
  }

  /**
   * @param {string} id
   * @param {Endpoint} endpoint
   * @param {number} nowMs
   */
  #addEndpoint(id, endpoint, nowMs) {
    const { connections } = endpoint
    if (connections === undefined) return
    const before = this.#last.get(id)
    const isNewer = before !== undefined && nowMs - before.atMs >= 500 && connections >= before.connections
    const perSecond = isNewer ? ((connections - before.connections) / (nowMs - before.atMs)) * 1000 : before?.perSecond
    if (perSecond !== undefined) endpoint.perSecond = perSecond
    if (before === undefined || nowMs - before.atMs >= 500) this.#last.set(id, { connections, atMs: nowMs, perSecond })
  }
}

/** The part of the page about one port. It stays while answers come, so that nothing flickers. */
class PortView {
  #flow = createFlow()
  #head = el('h3', {})
  #refusals = el('div', {})
  #table = el('div', {})
  #canExplain
  element = el('section', { class: 'port' }, this.#head, this.#refusals, this.#flow.element, this.#table)

  /** @param {boolean} canExplain */
  constructor(canExplain) {
    this.#canExplain = canExplain
  }

  /** @param {Port} port */
  draw(port) {
    const used = port.endpoints.filter(({ isUsed }) => isUsed).length
    const summary = `${count(used)} of ${plural(port.endpoints.length, 'endpoint')} used`
    fillChanged(
      this.#head,
      `${port.servicePort}/${port.protocol} `,
      el('span', { class: 'quiet' }, summary),
      this.#canExplain && explainPort(port),
    )
    fillChanged(this.#refusals, ...port.refusals.map((text) => el('p', { class: 'refusal' }, text)))
    this.#flow.draw(port)
    fillChanged(this.#table, port.endpoints.length > 0 && endpointTable(port.endpoints))
  }
}

/** What is shown of a Service, by family and port. */
class FamilyViews {
  #notes = el('div', {})
  #ports = el('div', {})
  /** @type {Map<string, PortView>} */
  #views = new Map()
  #canExplain
  element = el('div', {}, this.#notes, this.#ports)

  /** @param {boolean} canExplain */
  constructor(canExplain) {
    this.#canExplain = canExplain
  }

  /** @param {Family[]} families */
  draw(families) {
    const isSingle = families.length === 1
    fillChanged(this.#notes, ...families.flatMap((family) => familyNotes(family, isSingle)))
    const wanted = families.flatMap(({ family, ports }) =>
      ports.map((port) => ({ id: `${family}/${port.servicePort}/${port.protocol}`, port })),
    )
    for (const { id, port } of wanted) {
      const view = this.#views.get(id) ?? new PortView(this.#canExplain)
      this.#views.set(id, view)
      view.draw(port)
      if (view.element.parentElement !== this.#ports) this.#ports.append(view.element)
    }
    const ids = new Set(wanted.map(({ id }) => id))
    for (const [id, view] of this.#views) {
      if (ids.has(id)) continue
      view.element.remove()
      this.#views.delete(id)
    }
  }
}

/**
 * A link to the form that explains a connection to the first address of a port.
 *
 * @param {Port} port
 */
function explainPort({ addresses, protocol }) {
  const [, inBrackets, plain, port] = /(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d+)/.exec(addresses[0] ?? '') ?? []
  const destination = inBrackets ?? plain
  if (destination === undefined || port === undefined) return undefined
  return el('a', { class: 'explain-link', href: explainLink({ destination, port, protocol }) }, 'Explain a connection')
}

/**
 * @param {Family} family
 * @param {boolean} isSingle
 */
function familyNotes({ family, notes, changedAtMs }, isSingle) {
  const changed = changedAtMs === undefined ? undefined : `changed ${ago(changedAtMs)}`
  const words = [isSingle ? undefined : family, changed].filter(Boolean).join(', ')
  return [
    ...(words === '' ? [] : [el('p', { class: 'quiet' }, words)]),
    ...notes.map((note) => el('p', { class: 'note-line' }, isSingle ? note : `${family}: ${note}`)),
  ]
}

/** @param {Endpoint[]} endpoints */
function endpointTable(endpoints) {
  const sorted = [...endpoints].sort((one, other) => Number(one.isUsed) - Number(other.isUsed))
  const shown = sorted.slice(0, maxRows)
  const hasCounts = endpoints.some(({ connections }) => connections !== undefined)
  return el(
    'div',
    { class: 'table-scroll' },
    el(
      'table',
      {},
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ...['Endpoint', 'Why'].map((text) => el('th', { scope: 'col' }, text)),
          hasCounts && el('th', { scope: 'col', class: 'number' }, 'Connections'),
        ),
      ),
      el('tbody', {}, ...shown.map((endpoint) => endpointRow(endpoint, hasCounts))),
    ),
    sorted.length > shown.length && el('p', { class: 'quiet' }, `and ${count(sorted.length - shown.length)} more`),
  )
}

/**
 * @param {Endpoint} endpoint
 * @param {boolean} hasCounts
 */
function endpointRow({ name, node, target, isUsed, conditions, reason, connections, perSecond }, hasCounts) {
  const where = [target, node && `on ${node}`].filter(Boolean).join(' ')
  const rate = perSecond === undefined ? '' : ` (${quantity(perSecond, 'per second')})`
  return el(
    'tr',
    {},
    el(
      'td',
      { class: 'endpoint' },
      sign(toneOf({ isUsed, conditions }), isUsed ? 'in' : 'out'),
      el('span', { class: 'mono' }, name),
      where !== '' && el('div', { class: 'quiet' }, where),
    ),
    el('td', {}, reason, el('span', { class: 'chips' }, ...conditionChips(conditions))),
    hasCounts && el('td', { class: 'number' }, connections === undefined ? '' : `${count(connections)}${rate}`),
  )
}

/** @param {Endpoint['conditions']} conditions */
function conditionChips({ ready, serving, terminating }) {
  return [
    el('span', { class: `chip ${ready ? 'good' : 'off'}` }, ready ? 'ready' : 'not ready'),
    el('span', { class: `chip ${serving ? 'good' : 'off'}` }, serving ? 'serving' : 'not serving'),
    ...(terminating ? [el('span', { class: 'chip warn' }, 'terminating')] : []),
  ]
}

/**
 * @param {Pick<Endpoint, 'isUsed' | 'conditions'>} endpoint
 * @returns {'good' | 'warn' | 'bad' | 'idle'}
 */
export function toneOf({ isUsed, conditions }) {
  if (isUsed) return conditions.terminating ? 'warn' : 'good'
  return conditions.ready ? 'idle' : conditions.terminating ? 'warn' : 'bad'
}
