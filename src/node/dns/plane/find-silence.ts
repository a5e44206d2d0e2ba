import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Ip, ipFamily } from '../../../model/ip.ts'
import { headerLength } from '../wire/query.ts'
import { makeQuestion } from './explain.ts'

const tries = 3
const waitMs = 1000

/**
 * Asks a DNS server over UDP for a name of the cluster. Any answer to the question counts. Resolves with the reason where none comes, undefined
 * where one does.
 */
export async function findSilence(address: Ip, port: number, domain: string): Promise<string | undefined> {
  const question = makeQuestion(`kubernetes.default.svc.${domain}`, 'A')
  question.writeUInt16BE(randomInt(0x10000), 0)
  const socket = createSocket(ipFamily(address) === 'IPv6' ? 'udp6' : 'udp4')
  const waiting = new AbortController()
  try {
    const { promise: answered, resolve } = Promise.withResolvers<true>()
    socket.on('message', (message) => isAnswerTo(question, message) && resolve(true))
    // A refused port is silence too.
    socket.on('error', () => {})
    for (let attempt = 0; attempt < tries; attempt += 1) {
      socket.send(question, port, address, () => {})
      const waited = sleep(waitMs, false, { signal: waiting.signal }).catch(() => false)
      if (await Promise.race([answered, waited])) return undefined
    }
    return `DNS on ${address} does not answer`
  } finally {
    // A timer that stays would wake this thread once more.
    waiting.abort()
    socket.close()
  }
}

/** Only who saw the question knows its number. */
function isAnswerTo(question: Buffer, message: Buffer): boolean {
  return message.length >= headerLength && message.readUInt16BE(0) === question.readUInt16BE(0)
}
