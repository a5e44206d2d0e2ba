import { closeSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DescriptorSocket, isInternetSocket, type PassedMessage } from '../../../host/index.ts'

/** Command by which a haproxy that starts asks for listening sockets (haproxy's management guide, option `-x`). */
const request = '_getsocks\n'
/** haproxy passes at most so many sockets in one message; more are not kept. */
const maxSockets = 252
/** Bytes that describe one socket: the length of its namespace's name, that of its link's name, and 32 bits of zeros. */
const descriptionBytes = 6
const pollMs = 2
const answerTimeoutMs = 1000

/**
 * Listening sockets of haproxy, held open by this process too. Where haproxy is killed, connections wait in them and are not refused; the next haproxy
 * takes them over by its option `-x`. Without the system calls for it, nothing is kept.
 */
export class KeptListeners {
  readonly #path: string
  #sockets: readonly number[] = []

  /** `path` is that of a unix socket, there only while haproxy starts. */
  constructor(path: string) {
    this.#path = path
  }

  get count(): number {
    return this.#sockets.length
  }

  /** Holds the listening sockets of the worker with this runtime socket, in place of those held before. */
  async take(runtimeSocket: string): Promise<void> {
    const taken = await fetchSockets(runtimeSocket)
    this.close()
    this.#sockets = taken
  }

  /** Closes what is held: connections that wait are reset, unless haproxy has these sockets too. */
  close(): void {
    closeAll(this.#sockets)
    this.#sockets = []
  }

  /** Runs `start` with the path on which haproxy gets the sockets; undefined if none are held. */
  async offerWhile<T>(start: (path: string | undefined) => Promise<T>): Promise<T> {
    const server = this.count === 0 ? undefined : DescriptorSocket.listen(this.#path)
    if (server === undefined) return await start(undefined)
    const ended = new AbortController()
    const served = this.#serve(server, ended.signal)
    try {
      return await start(this.#path)
    } finally {
      ended.abort()
      await served
      server.close()
      rmSync(this.#path, { force: true })
    }
  }

  async #serve(server: DescriptorSocket, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const connection = server.accept()
      if (connection !== undefined) await this.#answer(connection)
      await sleep(pollMs)
    }
  }

  async #answer(connection: DescriptorSocket): Promise<void> {
    const asked = await receive(connection, request.length)
    if (asked?.bytes.toString() === request) {
      const count = Buffer.alloc(4)
      count.writeInt32LE(this.count)
      connection.send(count)
      connection.send(Buffer.alloc(this.count * descriptionBytes), this.#sockets)
      // haproxy gives up where it cannot say that it has them.
      await receive(connection)
    }
    connection.close()
  }
}

async function fetchSockets(runtimeSocket: string): Promise<readonly number[]> {
  const connection = DescriptorSocket.connect(runtimeSocket)
  if (connection === undefined) return []
  try {
    connection.send(Buffer.from(request))
    const count = (await receive(connection, 4))?.bytes
    if (count?.length !== 4 || count.readInt32LE(0) > maxSockets) return []
    const passed = (await receive(connection))?.descriptors ?? []
    // haproxy passes its runtime socket too; a connection to it must not wait for a haproxy that is gone.
    const kept = passed.filter(isInternetSocket)
    closeAll(passed.filter((fd) => !kept.includes(fd)))
    return kept
  } finally {
    connection.close()
  }
}

/** Waits for a message for a second at most. */
async function receive(connection: DescriptorSocket, limit?: number): Promise<PassedMessage | undefined> {
  const deadlineMs = performance.now() + answerTimeoutMs
  while (performance.now() < deadlineMs) {
    const message = connection.receive(limit)
    if (message !== undefined) return message
    await sleep(pollMs)
  }
  return undefined
}

function closeAll(descriptors: readonly number[]): void {
  for (const fd of descriptors) closeSync(fd)
}
