import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../src/host/index.ts'
import { questionBytes } from '../../test/helpers/upstream-messages.ts'
import type { LoadTarget } from './load.ts'

export interface PingsSeen {
  readonly tookMs: readonly number[]
  /** Questions without an answer in 2 s. */
  readonly lost: number
}

export interface Pings {
  /** Ends, and returns how long each answer took. */
  finish(): Promise<PingsSeen>
}

const patientMs = 60_000

/** One question every few milliseconds, each timed by itself, from a process of its own. */
export async function startPings({ address, port }: LoadTarget, name: string, everyMs: number): Promise<Pings> {
  const file = path.join(import.meta.dirname, 'ping.program.ts')
  const args = [file, address, String(port), name, String(everyMs)]
  const program = await runProgram(process.execPath, args, { background: true, stderr: 'inherit', ipc: true })
  const started = Promise.withResolvers<void>()
  const seen = Promise.withResolvers<PingsSeen>()
  program.onMessage((message) => {
    if (typeof message === 'object' && message !== null && 'tookMs' in message) seen.resolve(message as PingsSeen)
    else started.resolve()
  })
  await started.promise
  return {
    finish: async () => {
      await program.send({ end: true })
      return seen.promise
    },
  }
}

/** Whether an answer says yes. */
export function isFound(message: Buffer): boolean {
  return (message.readUInt16BE(2) & 0xf) === 0 && message.readUInt16BE(6) > 0
}

/** Returns undefined where no answer comes in time. */
async function nextMessage(socket: Socket, timeoutMs: number): Promise<Buffer | undefined> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const [message] = await once(socket, 'message', { signal })
    return message
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

/** Soon enough for what is measured, and no load of its own. */
const askAgainMs = 1

/** How long until the answer to that question says yes (ms), asked again a millisecond after each answer. Throws after a minute. */
export async function untilAnswered(
  { address, port }: LoadTarget,
  name: string,
  isWanted: (message: Buffer) => boolean,
): Promise<number> {
  const socket = createSocket('udp4')
  const startedMs = performance.now()
  try {
    while (performance.now() - startedMs < patientMs) {
      socket.send(questionBytes(name), port, address)
      const message = await nextMessage(socket, 500)
      if (message !== undefined && isWanted(message)) return performance.now() - startedMs
      await sleep(askAgainMs)
    }
  } finally {
    socket.close()
  }
  throw new Error(`${address} port ${port} does not answer for ${name}`)
}
