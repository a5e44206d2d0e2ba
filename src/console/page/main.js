import { el, fill, setText } from './dom.js'
import { createEvents } from './events.js'
import { createExplain } from './explain.js'
import { clock } from './format.js'
import { createNodes } from './nodes.js'
import { createOverview } from './overview.js'
import { createPolicies } from './policies.js'
import { createServices } from './services.js'
import { Store } from './store.js'
import { follow } from './stream.js'

/**
 * @typedef {{ element: HTMLElement, close: () => void, select?: (key: string | undefined) => void, focus?: () => void }} View
 */

const store = new Store()
const main = /** @type {HTMLElement} */ (document.querySelector('#main'))
const navigation = /** @type {HTMLElement} */ (document.querySelector('#views'))

/** @type {{ name: string, label: string, scopes: string[], create: (selected: string | undefined) => View }[]} */
const views = [
  { name: 'overview', label: 'Overview', scopes: ['node', 'cluster'], create: () => createOverview(store) },
  { name: 'nodes', label: 'Nodes', scopes: ['cluster'], create: () => createNodes(store) },
  {
    name: 'services',
    label: 'Services',
    scopes: ['node', 'cluster'],
    create: (selected) => createServices(store, { selected, open: openService }),
  },
  {
    name: 'explain',
    label: 'Explain',
    scopes: ['node'],
    create: (question) => createExplain(store, question),
  },
  { name: 'policies', label: 'Policies', scopes: ['node', 'cluster'], create: () => createPolicies() },
  { name: 'events', label: 'Events', scopes: ['cluster'], create: () => createEvents(store) },
]

/** @type {{ name: string, view: View } | undefined} */
let current
/** The hello that the frame was drawn from: a new connection to the same daemon changes nothing. */
let drawnHello = ''

/** @param {string | undefined} key */
function openService(key) {
  location.hash = key === undefined ? '#/services' : `#/services/${encodeURIComponent(key)}`
}

function offered() {
  return views.filter(({ scopes }) => store.hello !== undefined && scopes.includes(store.hello.scope))
}

/** Shows the view that the address names; within Services only the selection changes. */
function show() {
  const [, name = '', selected] = location.hash.split('/')
  const chosen = offered().find((view) => view.name === name) ?? offered()[0]
  if (chosen === undefined) return
  const key = selected === undefined ? undefined : decode(selected)
  if (current?.name === chosen.name && current.view.select) current.view.select(key)
  else if (current?.name !== chosen.name) {
    current?.view.close()
    current = { name: chosen.name, view: chosen.create(key) }
    fill(main, current.view.element)
  }
  for (const link of navigation.querySelectorAll('a')) {
    if (link.dataset['name'] === chosen.name) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function drawFrame() {
  const { hello } = store
  const json = JSON.stringify(hello)
  if (hello === undefined || json === drawnHello) return
  drawnHello = json
  const title = /** @type {HTMLElement} */ (document.querySelector('#title'))
  fill(title, hello.scope === 'node' && el('span', { class: 'quiet' }, 'Node '), hello.title)
  title.title = `platnet ${hello.version}`
  document.title = `${hello.title} – platnet`
  fill(
    /** @type {HTMLElement} */ (document.querySelector('#links')),
    hello.links.map(({ label, port }) => el('a', { href: `http://${location.hostname}:${port}/console/` }, label)),
  )
  fill(
    navigation,
    offered().map(({ name, label }) => el('a', { href: `#/${name}`, 'data-name': name }, label)),
  )
  show()
}

function drawConnection() {
  const place = /** @type {HTMLElement} */ (document.querySelector('#connection'))
  place.className = `connection ${store.connection}`
  const lost = `Connection lost. The page shows ${clock(Date.now())} and tries again.`
  setText(place, { connecting: 'Connecting …', live: 'Live', lost }[store.connection])
}

/**
 * `/` goes to the filter, and Alt with a digit to a view.
 *
 * @param {KeyboardEvent} event
 */
function onKey(event) {
  const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea')
  if (event.key === '/' && !isTyping) {
    const search = main.querySelector('input[type=search]')
    if (search instanceof HTMLElement) {
      search.focus()
      event.preventDefault()
    }
  }
  const view = event.altKey ? offered()[Number(event.key) - 1] : undefined
  if (view === undefined) return
  location.hash = `#/${view.name}`
  event.preventDefault()
}

store.on('hello', drawFrame)
store.on('connection', drawConnection)
addEventListener('hashchange', show)
addEventListener('keydown', onKey)
drawConnection()
follow(store, { hash: document.documentElement.dataset['hash'] ?? '', reload: () => location.reload() })
