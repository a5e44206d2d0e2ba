// Runs in namespaces of its own: writes elements of sets by the socket, and prints what ipset and the writer say of it.
import { NetfilterSocket, type Run, runProgram } from '../../../../src/host/index.ts'
import type { IpFamily } from '../../../../src/model/ip.ts'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import { type MemberSet, parseMemberCounts, type SetChange } from '../../../../src/netfilter/member-sets.ts'
import { listSetHeaders } from '../../../../src/node/rules/element-socket.ts'
import { detectIptables, Iptables, RulesError, RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

const socket = NetfilterSocket.open()
if (socket === undefined) throw new Error('this machine gives no socket')
let programs = 0
const run: Run = (file, args, options) => {
  if (file === 'ipset' && args[0] === 'restore') programs += 1
  return runProgram(file, args, options)
}

async function startWriter(family: IpFamily): Promise<RulesWriter> {
  const iptables = new Iptables(await detectIptables(run, family, 'auto'), run)
  return new RulesWriter({ iptables, socket, hooks: [], tables: ['mangle'], log: silentLogger })
}

const nothing: SetChange = { create: new Map(), add: new Map(), remove: new Map(), destroy: [] }
const change = (part: Partial<SetChange>): SetChange => ({ ...nothing, ...part })
const elements = (sets: Readonly<Record<string, readonly string[]>>) => new Map(Object.entries(sets))
const save = async () => {
  const { stdout } = await runProgram('ipset', ['save'], { timeoutMs: 5000 })
  return Array.from(stdout.matchAll(/^add (\S+ \S+)/gm), ([, element = '']) => element).sort()
}

const types = { A: 'hash:ip', B: 'hash:net', C: 'hash:ip,port' } as const
const ipv4 = await startWriter('IPv4')
const ipv6 = await startWriter('IPv6')
for (const [writer, family, digit] of [[ipv4, 'IPv4', 4] as const, [ipv6, 'IPv6', 6] as const]) {
  const sets = Object.entries(types).map(([letter, type]): [string, MemberSet] => [
    `PLAT-NP-${letter}${digit}`,
    { type, family, maxElements: 4 },
  ])
  await writer.sync([], emptyXorHash, change({ create: new Map(sets) }))
}

programs = 0
const first = elements({
  'PLAT-NP-A4': ['10.0.0.1', '10.0.0.2'],
  'PLAT-NP-B4': ['10.0.0.0/24', '10.1.0.1'],
  'PLAT-NP-C4': ['10.0.0.1,tcp:80', '10.0.0.1,udp:53', '10.0.0.1,sctp:9'],
})
await ipv4.write([], emptyXorHash, change({ add: first }))
await ipv4.write([], emptyXorHash, change({ remove: elements({ 'PLAT-NP-A4': ['10.0.0.2'] }) }))
const second = elements({
  'PLAT-NP-A6': ['fd00::1'],
  'PLAT-NP-B6': ['fd00:1::/64'],
  'PLAT-NP-C6': ['fd00::1,udp:53'],
})
await ipv6.write([], emptyXorHash, change({ add: second }))
const bySocket = { programs, elements: await save() }

// A set that counts and forgets, and one of another program.
await runProgram('ipset', ['create', 'PLAT-NP-T', 'hash:ip,port,ip', 'timeout', '60', 'counters'], { timeoutMs: 5000 })
await runProgram('ipset', ['create', 'other', 'hash:ip'], { timeoutMs: 5000 })
const listed = await runProgram('ipset', ['list', '-terse'], { timeoutMs: 5000 })
const byProgram = [...parseMemberCounts(listed.stdout)].sort()
const headers = { bySocket: [...((await listSetHeaders(socket)) ?? [])].sort(), byProgram }
await runProgram('ipset', ['destroy', 'PLAT-NP-T'], { timeoutMs: 5000 })

// Another program removes a set: the kernel refuses the element, and the writer makes the set again.
await runProgram('ipset', ['destroy', 'PLAT-NP-A4'], { timeoutMs: 5000 })
await ipv4.write([], emptyXorHash, change({ add: elements({ 'PLAT-NP-A4': ['10.0.0.3'] }) }))
const afterRemoval = await save()

const refused = change({ add: elements({ 'PLAT-NP-A4': ['300.0.0.1'] }) })
const error = await ipv4.write([], emptyXorHash, refused).catch((thrown: unknown) => thrown)
const line = error instanceof RulesError ? { code: error.code, text: error.line?.text } : undefined
process.stdout.write(JSON.stringify({ bySocket, headers, afterRemoval, line }))
process.exit(0)
