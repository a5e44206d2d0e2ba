/** @import { Store } from './store.js' */

const firstRetryMs = 500
const lastRetryMs = 8_000

/**
 * Follows the stream and opens it again after it broke. A page whose files have changed loads itself again.
 *
 * @param {Store} store
 * @param {{ hash: string, reload: () => void }} page
 */
export function follow(store, { hash, reload }) {
  let retryMs = firstRetryMs
  const open = () => {
    const source = new EventSource('/console/api/stream')
    /**
     * @param {string} name
     * @param {(value: any) => void} take
     */
    const on = (name, take) =>
      source.addEventListener(name, (event) => take(JSON.parse(/** @type {MessageEvent} */ (event).data)))
    on('hello', (hello) => {
      if (hello.hash !== hash) return reload()
      retryMs = firstRetryMs
      store.takeHello(hello)
      store.setConnection('live')
    })
    on('document', (value) => store.takeDocument(value))
    on('points', (value) => store.takePoints(value))
    on('point', (value) => store.takePoint(value))
    on('services', (value) => store.takeServices(value))
    source.addEventListener('error', () => {
      source.close()
      store.setConnection('lost')
      setTimeout(open, retryMs)
      retryMs = Math.min(retryMs * 2, lastRetryMs)
    })
  }
  open()
}

/**
 * Asks the daemon a question. Rejects with an Error whose message is fit to be shown.
 *
 * @param {string} path below /console/api
 * @param {Record<string, string>} [query]
 * @param {AbortSignal} [signal]
 */
export async function ask(path, query = {}, signal) {
  const url = `/console/api${path}?${new URLSearchParams(query)}`
  const response = await fetch(url, { signal: signal ?? null }).catch((error) => {
    throw signal?.aborted ? error : new Error('The daemon does not answer.')
  })
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  if (!isJson) throw new Error((await response.text()).trim() || `The daemon answered ${response.status}.`)
  const body = await response.json()
  if (!response.ok)
    throw new Error(typeof body?.error === 'string' ? body.error : `The daemon answered ${response.status}.`)
  return body
}
