import { el, empty, setText, sign } from './dom.js'
import { count } from './format.js'
import { createServiceDetail } from './service-detail.js'
import { VirtualList } from './virtual-list.js'

/** @import { ServiceRow, ServiceState } from '../service-rows.ts' */
/** @import { Store } from './store.js' */

/** @type {Record<ServiceState, { tone: 'good' | 'warn' | 'bad' | 'idle', word: string }>} */
const states = {
  ok: { tone: 'good', word: 'all endpoints ready' },
  partly: { tone: 'warn', word: 'some endpoints or ports do not answer' },
  none: { tone: 'bad', word: 'no endpoint answers' },
  idle: { tone: 'idle', word: 'no address of its own' },
}

/** @type {Record<string, (row: ServiceRow) => boolean>} */
const choices = {
  All: () => true,
  Incomplete: ([, , , , , , state]) => state === 'partly' || state === 'none',
  'Not answering': ([, , , , , , state]) => state === 'none',
}

/**
 * The list of Services and, beside it, the one that is open.
 *
 * @param {Store} store
 * @param {{ selected: string | undefined, open: (key: string | undefined) => void }} route
 */
export function createServices(store, { selected, open }) {
  const view = new ServicesView(store, open)
  view.select(selected)
  const end = store.on('services', (/** @type {ServiceRow[] | undefined} */ rows) => view.update(rows ?? []))
  return {
    element: view.element,
    /** @param {string | undefined} key */
    select: (key) => {
      view.select(key)
      if (key === undefined) view.focusList()
    },
    close: () => {
      view.select(undefined)
      end()
    },
  }
}

class ServicesView {
  #store
  #open
  #sorted
  /** @type {string | undefined} */
  #selected
  /** @type {ReturnType<typeof createServiceDetail> | undefined} */
  #detail
  #search = el('input', {
    type: 'search',
    placeholder: 'Name, address, type …',
    'aria-label': 'Filter Services',
    autocomplete: 'off',
    spellcheck: 'false',
    input: () => this.#refresh(),
  })
  #choice = el(
    'select',
    { 'aria-label': 'Which Services', change: () => this.#refresh() },
    ...Object.keys(choices).map((name) => el('option', {}, name)),
  )
  #shown = el('output', { class: 'quiet' })
  #none = el('div', {})
  #list = new VirtualList({
    label: 'Services',
    rowHeight: 30,
    createRow,
    drawRow: (row, /** @type {ServiceRow} */ item) => this.#drawRow(row, item),
    onOpen: (/** @type {ServiceRow} */ [key]) => this.#open(key),
  })
  #detailPane = el('section', { class: 'panel detail-pane' })
  element = el(
    'div',
    { class: 'view services' },
    el(
      'section',
      { class: 'panel list-pane' },
      el('div', { class: 'toolbar' }, this.#search, this.#choice, this.#shown),
      el('div', { class: 'service-row service-head', 'aria-hidden': 'true' }, ...headings()),
      this.#list.element,
      this.#none,
    ),
    this.#detailPane,
  )

  /**
   * @param {Store} store
   * @param {(key: string | undefined) => void} open
   */
  constructor(store, open) {
    this.#store = store
    this.#open = open
    this.#sorted = keepSorted(store)
  }

  /** @param {string | undefined} key */
  select(key) {
    this.#detail?.close()
    this.#selected = key
    this.#detail =
      key === undefined
        ? undefined
        : createServiceDetail(key, {
            canExplain: this.#store.hello?.questions.includes('/explain/flow') === true,
            onClose: () => this.#open(undefined),
          })
    this.#detailPane.replaceChildren(...(this.#detail ? [this.#detail.element] : []))
    this.#detailPane.hidden = this.#detail === undefined
    this.element.classList.toggle('with-detail', this.#detail !== undefined)
    this.#refresh()
  }

  focusList() {
    this.#list.element.focus()
  }

  /** @param {readonly ServiceRow[]} rows that changed */
  update(rows) {
    this.#refresh()
    if (rows.some(([key]) => key === this.#selected)) void this.#detail?.refresh()
  }

  #refresh() {
    const { rows } = this.#store
    const found = chosenRows(this.#store, this.#sorted(), this.#search.value, this.#choice.value)
    this.#list.setItems(found)
    setText(
      this.#shown,
      found.length === rows.size ? count(rows.size) : `${count(found.length)} of ${count(rows.size)}`,
    )
    drawNone(this.#none, this.#store, found.length)
    this.#list.element.hidden = found.length === 0
  }

  /**
   * @param {HTMLElement} row
   * @param {ServiceRow} item
   */
  #drawRow(row, item) {
    drawRow(row, item)
    row.classList.toggle('open', item[0] === this.#selected)
  }
}

function headings() {
  return ['', 'Service', 'Type', 'Address', 'Ports', 'Endpoints', 'Notes'].map((text) => el('span', {}, text))
}

/**
 * Sorts the keys again only when the set of keys has changed.
 *
 * @param {Store} store
 */
function keepSorted(store) {
  let version = -1
  /** @type {string[]} */
  let keys = []
  return () => {
    if (version !== store.keysVersion) {
      version = store.keysVersion
      keys = [...store.rows.keys()].sort()
    }
    return keys
  }
}

/**
 * @param {Store} store
 * @param {readonly string[]} keys
 * @param {string} text
 * @param {string} choice
 */
function chosenRows({ rows }, keys, text, choice) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isChosen = choices[choice] ?? (() => true)
  /** @type {ServiceRow[]} */
  const found = []
  for (const key of keys) {
    const row = rows.get(key)
    if (row && isChosen(row) && words.every((word) => holds(row, word))) found.push(row)
  }
  return found
}

/**
 * @param {ServiceRow} row
 * @param {string} word
 */
function holds([key, type, address, ports, , , , notes], word) {
  return (
    key.includes(word) ||
    address.includes(word) ||
    type.toLowerCase().includes(word) ||
    ports.toLowerCase().includes(word) ||
    notes.toLowerCase().includes(word)
  )
}

/**
 * @param {HTMLElement} place
 * @param {Store} store
 * @param {number} found
 */
function drawNone(place, { complete, synced, rows }, found) {
  if (found > 0) return place.replaceChildren()
  if (!complete) return place.replaceChildren(empty('Loading …'))
  if (!synced) return place.replaceChildren(empty('Waiting for the first list', 'The API server has not answered yet.'))
  if (rows.size === 0) return place.replaceChildren(empty('No Services', 'The cluster has none yet.'))
  place.replaceChildren(empty('No Service fits', 'Shorten the filter or choose All.'))
}

function createRow() {
  const cells = headings().map(() => el('span', { role: 'gridcell' }))
  return el('div', { class: 'service-row', role: 'row' }, ...cells)
}

/**
 * @param {HTMLElement} row
 * @param {ServiceRow} item
 */
function drawRow(row, [key, type, address, ports, ready, total, state, notes]) {
  const { tone, word } = states[state]
  const [mark, ...cells] = row.children
  if (mark && mark.firstElementChild?.className !== `sign ${tone}`) mark.replaceChildren(sign(tone, word))
  const texts = [key, type, address, ports, total === 0 ? '–' : `${ready}/${total}`, notes]
  for (const [index, cell] of cells.entries()) setText(cell, texts[index] ?? '')
  const name = cells[0]
  if (name instanceof HTMLElement && name.title !== key) name.title = key
}
