// Times transactions that replace an endpoint of the first Service by itself, in this network namespace: milliseconds, a line each.
import { setTimeout as sleep } from 'node:timers/promises'
import { NetfilterSocket, openNftSession, runProgram } from '../../src/host/index.ts'
import { encodeChange } from '../../src/netfilter/nft/encode-change.ts'
import { parseStateComment, renderChange } from '../../src/netfilter/nft/render-change.ts'
import { setSpecs } from '../../src/netfilter/nft/set-specs.ts'
import { findElement, readStateComment } from '../../src/node/rules/nft-list.ts'
import { clusterIp } from './cluster.ts'

const table = { family: 'IPv4', name: 'platnet' } as const
const repeats = Number(process.argv[2])
const spec = setSpecs('IPv4', []).find(({ name }) => name === 'endpoints')
const socket = NetfilterSocket.open()
const found = spec && socket && findElement(socket, table, spec, `${clusterIp(0)} . tcp . 80 . 0:1`)
if (found === undefined || socket === undefined) throw new Error('the first Service has no endpoint in the kernel')
const element = { set: found.set, key: found.key, data: found.data }
const state = parseStateComment(readStateComment(socket, table) ?? '')
if (state === undefined) throw new Error('the table has no state')
const changes = [{ service: undefined, remove: [element], add: [element] }]
const byText = process.env['BENCH_PROXY_WRITE'] === 'text'
const session = await openNftSession({ run: runProgram, start: runProgram })
console.error(`bare transactions: ${byText ? session.kind : 'socket'}`)

/** Writes as the writer does: with the state, as messages; or as text. */
const write = async (): Promise<void> => {
  if (byText) return session.run(renderChange(table, changes, state))
  const messages = encodeChange({ ...table, text: '', version: '', sets: setSpecs('IPv4', []) }, changes, state)
  if (messages === undefined || !socket.commit(messages)) throw new Error('the kernel did not confirm it')
}

for (let repeat = 0; repeat < repeats; repeat += 1) {
  const startedMs = performance.now()
  await write()
  console.log((performance.now() - startedMs).toFixed(3))
  await sleep(5)
}
await session.close()
