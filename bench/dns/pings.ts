import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { questionBytes } from '../../test/helpers/upstream-messages.ts'

export interface Pings {
  /** Ends, and tells how long each answer took (ms); a question without one in 2 s is infinite. */
  finish(): Promise<readonly number[]>
}

/** One question every few milliseconds, each timed by itself. */
export function startPings(address: string, port: number, name: string, everyMs: number): Pings {
  const socket = createSocket('udp4')
  const sentAtMs = new Map<number, number>()
  const tookMs: number[] = []
  let id = 0
  let goesOn = true
  socket.on('message', (message) => {
    const sent = sentAtMs.get(message.readUInt16BE(0))
    if (sent === undefined) return
    sentAtMs.delete(message.readUInt16BE(0))
    tookMs.push(performance.now() - sent)
  })
  const sending = (async () => {
    while (goesOn) {
      id = (id + 1) & 0xffff
      sentAtMs.set(id, performance.now())
      socket.send(questionBytes(name, { id }), port, address)
      await sleep(everyMs)
    }
  })()
  return {
    finish: async () => {
      goesOn = false
      await sending
      await sleep(sentAtMs.size > 0 ? 2_000 : 0)
      socket.close()
      return [...tookMs, ...Array.from(sentAtMs, () => Number.POSITIVE_INFINITY)]
    },
  }
}

/** How long until the answer to that question says yes (ms), asked again at once. */
export async function untilAnswered(
  address: string,
  port: number,
  name: string,
  isWanted: (message: Buffer) => boolean,
): Promise<number> {
  const socket = createSocket('udp4')
  const startedMs = performance.now()
  for (;;) {
    socket.send(questionBytes(name), port, address)
    const [message] = (await Promise.race([once(socket, 'message'), sleep(500, [Buffer.alloc(12)])])) as [Buffer]
    if (!isWanted(message)) continue
    socket.close()
    return performance.now() - startedMs
  }
}
