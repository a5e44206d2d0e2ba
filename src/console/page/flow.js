import { svg } from './dom.js'
import { quantity } from './format.js'
import { toneOf } from './service-detail.js'

/** @import { Endpoint, Port } from './service-detail.js' */

/**
 * @typedef {{ x: number, y: number }} Place
 * @typedef {object} Layout
 * @property {number} height
 * @property {Place} hub
 * @property {Place[]} addresses where each text begins
 * @property {Place[]} endpoints
 * @property {boolean} isWide
 */

const rowHeight = 24
const addressWidth = 200
const endpointWidth = 190
/** Narrower pictures have the addresses above the endpoints. */
const leastWide = 500
/** Endpoints in the picture; the table has the others. */
const maxShown = 24

/**
 * The picture of one port: its addresses on the left, its endpoints on the right, a line for each endpoint, as wide as its share of new
 * connections. Dashes run where connections come in.
 */
export function createFlow() {
  const element = svg('svg', { class: 'flow', role: 'img', 'aria-label': 'Where connections go' })
  /** @type {Port | undefined} */
  let shown
  /** @param {Port} port */
  const draw = (port) => {
    shown = port
    drawPort(element, port)
  }
  let width = 0
  new ResizeObserver(() => {
    if (shown === undefined || element.clientWidth === width) return
    width = element.clientWidth
    drawPort(element, shown)
  }).observe(element)
  return { element, draw }
}

/**
 * @param {SVGElement} element
 * @param {Port} port
 */
function drawPort(element, port) {
  const addresses = port.addresses.slice(0, 6)
  const endpoints = chooseEndpoints(port.endpoints)
  const width = Math.max(element.clientWidth, 280)
  const layout = width < leastWide ? placeBelow(addresses, endpoints) : placeBeside(addresses, endpoints, width)
  element.setAttribute('viewBox', `0 0 ${width} ${layout.height}`)
  element.style.height = `${layout.height}px`
  const total = endpoints.reduce((sum, { perSecond = 0 }) => sum + perSecond, 0)
  element.replaceChildren(
    ...addresses.flatMap((address, index) => drawAddress(address, layout, index)),
    ...endpoints.map((endpoint, index) => drawEndpoint(endpoint, layout, index, total)),
    svg('circle', { class: 'flow-hub', cx: layout.hub.x, cy: layout.hub.y, r: 5 }),
    ...(endpoints.length === 0 ? [label('no endpoint', { x: layout.hub.x + 90, y: layout.hub.y }, 'flow-none')] : []),
  )
}

/**
 * @param {readonly unknown[]} addresses
 * @param {readonly unknown[]} endpoints
 * @param {number} width
 * @returns {Layout}
 */
function placeBeside(addresses, endpoints, width) {
  const height = Math.max(addresses.length, endpoints.length, 1) * rowHeight + 8
  const at = (/** @type {number} */ index, /** @type {number} */ length) => (height * (index + 0.5)) / length
  return {
    height,
    hub: { x: (addressWidth + width - endpointWidth) / 2, y: height / 2 },
    addresses: addresses.map((_, index) => ({ x: 0, y: at(index, addresses.length) })),
    endpoints: endpoints.map((_, index) => ({ x: width - endpointWidth, y: at(index, endpoints.length) })),
    isWide: true,
  }
}

/**
 * @param {readonly unknown[]} addresses
 * @param {readonly unknown[]} endpoints
 * @returns {Layout}
 */
function placeBelow(addresses, endpoints) {
  const top = addresses.length * 18
  const rows = Math.max(endpoints.length, 1)
  return {
    height: top + rows * rowHeight + 8,
    hub: { x: 8, y: top + (rows * rowHeight) / 2 },
    addresses: addresses.map((_, index) => ({ x: 0, y: 9 + 18 * index })),
    endpoints: endpoints.map((_, index) => ({ x: 90, y: top + rowHeight * (index + 0.5) })),
    isWide: false,
  }
}

/** @param {Endpoint[]} endpoints */
function chooseEndpoints(endpoints) {
  if (endpoints.length <= maxShown) return endpoints
  const busiest = (/** @type {Endpoint} */ { perSecond = 0, isUsed }) => perSecond + (isUsed ? 0 : 0.001)
  return [...endpoints].sort((one, other) => busiest(other) - busiest(one)).slice(0, maxShown)
}

/**
 * @param {string} address
 * @param {Layout} layout
 * @param {number} index
 */
function drawAddress(address, { addresses, hub, isWide }, index) {
  const place = addresses[index] ?? hub
  const text = label(address.replace(/ \(policy Cluster\)$/, ''), place, 'flow-address')
  return isWide ? [svg('path', { class: 'flow-line', d: curve({ x: addressWidth, y: place.y }, hub) }), text] : [text]
}

/**
 * @param {Endpoint} endpoint
 * @param {Layout} layout
 * @param {number} index
 * @param {number} total
 */
function drawEndpoint(endpoint, { endpoints, hub }, index, total) {
  const { name, isUsed, perSecond = 0 } = endpoint
  const place = endpoints[index] ?? hub
  const share = total > 0 ? perSecond / total : 0
  const classes = ['flow-line', toneOf(endpoint), isUsed ? 'used' : 'out', perSecond > 0 ? 'running' : '']
  const line = svg('path', { class: classes.join(' '), d: curve(hub, place) })
  line.style.strokeWidth = `${1.2 + 5 * share}px`
  const rate = perSecond > 0 ? ` ${quantity(perSecond, 'per second')}` : ''
  const text = label(name + rate, { x: place.x + 6, y: place.y }, isUsed ? 'flow-endpoint' : 'flow-endpoint out')
  return svg('g', {}, svg('title', {}, endpoint.reason), line, text)
}

/**
 * @param {Place} from
 * @param {Place} to
 */
function curve(from, to) {
  const bend = (from.x + to.x) / 2
  return `M${from.x} ${from.y}C${bend} ${from.y} ${bend} ${to.y} ${to.x} ${to.y}`
}

/**
 * @param {string} text
 * @param {Place} place
 * @param {string} className
 */
function label(text, { x, y }, className) {
  return svg('text', { class: className, x, y: y + 4 }, text)
}
