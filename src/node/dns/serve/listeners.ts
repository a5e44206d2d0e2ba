import type { DatagramSweep } from '../../../host/datagrams/index.ts'
import { describeError } from '../../../model/errors.ts'
import type { ListenAddress, Listener } from '../plugins/client.ts'
import { type DatagramPlace, type GiveCopy, type HandedDatagrams, isSamePlace, placeOf } from '../resolver/batches.ts'
import type { Responder } from './responder.ts'
import { TcpServer } from './tcp-server.ts'
import { type Forward, UdpServer } from './udp-server.ts'

/** An address on which a thread could not listen. */
export interface ListenFailure {
  readonly address: string
  readonly port: number
  readonly message: string
}

interface OpenListener {
  readonly listener: Listener
  readonly udp: UdpServer
  readonly tcp: TcpServer
}

/** The sockets of one thread. A new configuration opens and closes only the sockets that differ; the others never stop answering. */
export class Listeners {
  readonly #responder: Responder
  readonly #forward: Forward
  readonly #sweep: DatagramSweep | undefined
  #open: readonly OpenListener[] = []
  /** The addresses of the last change, in effect or not. */
  #wanted: readonly ListenAddress[] = []
  /** The change in progress. One begins when the one before has ended: two that open sockets side by side would end as the first one wanted it. */
  #changing: Promise<unknown> = Promise.resolve()

  /** `sweep` reads the sockets of this thread. */
  constructor(responder: Responder, forward: Forward, sweep?: DatagramSweep) {
    this.#responder = responder
    this.#forward = forward
    this.#sweep = sweep
  }

  /**
   * Listens on exactly these addresses. Returns those on which it cannot listen; the others serve. Sockets that are open have their new blocks when
   * the call returns, before its promise is settled: an address names its blocks by number, and the numbers change with the configuration.
   */
  change(addresses: readonly ListenAddress[], maxConnections: number): Promise<readonly ListenFailure[]> {
    this.#wanted = addresses
    for (const open of this.#open) this.#reconfigure(open)
    return this.#inTurn(() => this.#change(addresses, maxConnections))
  }

  async #change(addresses: readonly ListenAddress[], maxConnections: number): Promise<readonly ListenFailure[]> {
    const next: OpenListener[] = []
    const failures: ListenFailure[] = []
    for (const address of addresses) {
      const known = this.#open.find(({ listener }) => isSamePlace(listener.current, address))
      const result = known ?? (await this.#listen(address, maxConnections))
      if ('message' in result) failures.push(result)
      else next.push(result)
    }
    const removed = this.#open.filter((open) => !next.includes(open))
    this.#open = next
    // Another change may have come meanwhile.
    for (const open of next) this.#reconfigure(open)
    await Promise.all(removed.map(close))
    return failures
  }

  /** Gives an open listener its blocks; none where it is about to be closed. */
  #reconfigure({ listener, udp }: OpenListener): void {
    const { current } = listener
    const next = this.#wanted.find((address) => isSamePlace(current, address)) ?? { ...current, blocks: [] }
    if (next === current) return
    listener.current = next
    udp.steer()
  }

  /** Returns the first listener with that port. */
  find(port: number): Listener | undefined {
    return this.#open.find(({ listener }) => listener.current.port === port)?.listener
  }

  /** Answers datagrams that another thread received. They get no answer where this thread does not listen at their place any more. */
  takeHandedOver({ place, packed }: HandedDatagrams, giveCopy: GiveCopy): void {
    this.#open.find(({ listener }) => isSamePlace(listener.current, place))?.udp.takeHandedOver(packed, giveCopy)
  }

  /** Where this thread listens. */
  get places(): readonly DatagramPlace[] {
    return this.#open.map(({ listener }) => placeOf(listener.current))
  }

  async closeAll(): Promise<void> {
    await this.#inTurn(() => this.#change([], 0))
  }

  #inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const changed = this.#changing.then(change)
    this.#changing = changed.catch(() => {})
    return changed
  }

  async #listen(current: ListenAddress, maxConnections: number): Promise<OpenListener | ListenFailure> {
    const listener = { current }
    const udp = new UdpServer(listener, this.#responder, { forward: this.#forward, sweep: this.#sweep })
    const tcp = new TcpServer(listener, this.#responder, maxConnections)
    try {
      await udp.listen()
      await tcp.listen()
      return { listener, udp, tcp }
    } catch (error) {
      await udp.close()
      return { address: current.address, port: current.port, message: describeError(error) }
    }
  }
}

async function close({ udp, tcp }: OpenListener): Promise<void> {
  await Promise.all([udp.close(), tcp.close()])
}
