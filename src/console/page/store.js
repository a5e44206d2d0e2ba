/**
 * @import { ServiceRow } from '../service-rows.ts'
 * @import { TimedPoint } from '../sampler.ts'
 */

/**
 * @typedef {object} Chart
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {{ label: string, tone: string }[]} series
 *
 * @typedef {object} Hello
 * @property {'node' | 'cluster'} scope
 * @property {string} title
 * @property {string} version
 * @property {{ label: string, port: number }[]} links
 * @property {string} hash
 * @property {Chart[]} charts
 * @property {string[]} questions
 *
 * @typedef {'hello' | 'services' | 'points' | 'connection' | `document:${string}`} Topic
 *
 * @typedef {object} ServicesMessage
 * @property {number} [reset] how many rows follow
 * @property {boolean} [complete]
 * @property {boolean} [synced]
 * @property {ServiceRow[]} [rows]
 * @property {string[]} [gone]
 */

/** Points that a chart shows: a quarter of an hour. */
export const maxPoints = 180

/** What the stream has brought, and who wants to know when it changes. */
export class Store {
  /** @type {Hello | undefined} */
  hello
  /** @type {Map<string, ServiceRow>} */
  rows = new Map()
  /** @type {TimedPoint[]} */
  points = []
  /** @type {Map<string, any>} */
  documents = new Map()
  /** @type {'connecting' | 'live' | 'lost'} */
  connection = 'connecting'
  /** Whether the daemon has the first list of Services. */
  synced = false
  /** Whether all rows have come. */
  complete = false
  /** Counts the changes of the set of keys. */
  keysVersion = 0
  /** @type {Map<string, ServiceRow> | undefined} */
  #coming
  /** @type {Map<Topic, Set<(detail?: any) => void>>} */
  #listeners = new Map()

  /**
   * @param {Topic} topic
   * @param {(detail?: any) => void} listener
   * @returns {() => void} ends it
   */
  on(topic, listener) {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /**
   * @param {Topic} topic
   * @param {any} [detail]
   */
  tell(topic, detail) {
    for (const listener of this.#listeners.get(topic) ?? []) listener(detail)
  }

  /** @param {'connecting' | 'live' | 'lost'} connection */
  setConnection(connection) {
    if (this.connection === connection) return
    this.connection = connection
    this.tell('connection')
  }

  /** @param {Hello} hello */
  takeHello(hello) {
    this.hello = hello
    this.tell('hello')
  }

  /** @param {{ name: string, value: unknown }} document */
  takeDocument({ name, value }) {
    this.documents.set(name, value)
    this.tell(`document:${name}`)
  }

  /** @param {TimedPoint[]} points */
  takePoints(points) {
    this.points = [...points]
    this.tell('points')
  }

  /** @param {TimedPoint} point */
  takePoint(point) {
    this.points = [...this.points, point].slice(-maxPoints)
    this.tell('points')
  }

  /**
   * The rows of a new connection are gathered beside the old ones, which stay on the page until all have come.
   *
   * @param {ServicesMessage} message
   */
  takeServices({ reset, complete, synced, rows = [], gone = [] }) {
    if (synced !== undefined) this.synced = synced
    if (reset !== undefined) this.#coming = new Map()
    const target = this.#coming ?? this.rows
    const before = target.size
    for (const row of rows) target.set(row[0], row)
    let isSmaller = false
    for (const key of gone) isSmaller = target.delete(key) || isSmaller
    if (this.#coming === undefined && (target.size !== before || isSmaller)) this.keysVersion += 1
    if (this.#coming !== undefined && !complete) return
    if (this.#coming !== undefined) this.#swap(this.#coming)
    this.tell('services', rows)
  }

  /** @param {Map<string, ServiceRow>} rows */
  #swap(rows) {
    this.rows = rows
    this.#coming = undefined
    this.complete = true
    this.keysVersion += 1
  }
}
