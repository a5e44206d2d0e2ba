// Run by pings.ts: asks one question every few milliseconds until it is stopped, then prints how long each answer took.
// A process of its own and the first to run of all, so that it waits for the server and not for others.
import { createSocket } from 'node:dgram'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { questionBytes } from '../../test/helpers/upstream-messages.ts'

const [address = '', port = '', name = '', everyMs = ''] = process.argv.slice(2)
const socket = createSocket('udp4')
const sentAtMs = new Map<number, number>()
const tookMs: number[] = []
let id = 0
let goesOn = true

socket.on('message', (message) => {
  const answered = message.readUInt16BE(0)
  const sent = sentAtMs.get(answered)
  if (sent === undefined) return
  sentAtMs.delete(answered)
  tookMs.push(performance.now() - sent)
})

async function ask(): Promise<void> {
  while (goesOn) {
    id = (id + 1) & 0xffff
    sentAtMs.set(id, performance.now())
    socket.send(questionBytes(name, { id }), Number(port), address)
    await sleep(Number(everyMs))
  }
  if (sentAtMs.size > 0) await sleep(2_000)
  process.send?.({ tookMs, lost: sentAtMs.size }, () => process.exit())
}

setPriority(-20)
process.on('message', () => {
  goesOn = false
})
process.send?.({ asks: true })
void ask()
