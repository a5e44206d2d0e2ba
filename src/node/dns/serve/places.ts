import { describeError } from '../../../model/errors.ts'
import type { ListenFailure } from '../threads/messages.ts'
import type { Responder } from './responder.ts'
import type { ListenPlace, OpenPlace } from './settings.ts'
import { TcpListener } from './tcp-listener.ts'
import { UdpListener } from './udp-listener.ts'

interface Opened {
  readonly place: OpenPlace
  readonly listeners: readonly { close(): Promise<void> }[]
}

/** The sockets of one thread. A new configuration opens and closes only what differs; the others never stop answering. */
export class Places {
  readonly #responder: Responder
  #opened: readonly Opened[] = []

  constructor(responder: Responder) {
    this.#responder = responder
  }

  /** What could not be opened is told; the rest serves. */
  async change(places: readonly ListenPlace[], maxConnections: number): Promise<readonly ListenFailure[]> {
    const kept: Opened[] = []
    const failures: ListenFailure[] = []
    for (const place of places) {
      const known = this.#opened.find((opened) => isSame(opened.place.current, place))
      if (known) known.place.current = place
      const result = known ?? (await this.#open(place, maxConnections))
      if ('message' in result) failures.push(result)
      else kept.push(result)
    }
    const gone = this.#opened.filter((opened) => !kept.includes(opened))
    this.#opened = kept
    await Promise.all(gone.map(close))
    return failures
  }

  /** The first place with that port. */
  find(port: number): OpenPlace | undefined {
    return this.#opened.find(({ place }) => place.current.port === port)?.place
  }

  async closeAll(): Promise<void> {
    const opened = this.#opened
    this.#opened = []
    await Promise.all(opened.map(close))
  }

  async #open(current: ListenPlace, maxConnections: number): Promise<Opened | ListenFailure> {
    const place = { current }
    const udp = new UdpListener(place, this.#responder)
    const tcp = new TcpListener(place, this.#responder, maxConnections)
    try {
      await udp.listen()
      await tcp.listen()
      return { place, listeners: [udp, tcp] }
    } catch (error) {
      await udp.close()
      return { address: current.address, port: current.port, message: describeError(error) }
    }
  }
}

function isSame(a: ListenPlace, b: ListenPlace): boolean {
  return a.address === b.address && a.port === b.port
}

async function close({ listeners }: Opened): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.close()))
}
