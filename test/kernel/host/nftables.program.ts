// Runs in namespaces of its own: writes the table by each kind of session, lists it over netlink and watches its changes.
import {
  NetfilterSocket,
  type NftCommit,
  NftError,
  NftMonitor,
  type NftSession,
  type NftSessionKind,
  openNftSession,
  type Run,
  runProgram,
} from '../../../src/host/index.ts'
import { nextTurn } from '../../../src/loop/time-slice.ts'
import type { IpFamily } from '../../../src/model/ip.ts'
import { decodeKey } from '../../../src/netfilter/nft/element-messages.ts'
import { renderChange } from '../../../src/netfilter/nft/render-change.ts'
import type { SetElement } from '../../../src/netfilter/nft/types.ts'
import { findElement, hasTable, listElements, readStateComment } from '../../../src/node/rules/nft-list.ts'
import { silentLogger } from '../../../src/observe/logger.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { until } from '../../helpers/until.ts'
import { everyKind, settingsOf } from '../netfilter/every-kind.ts'

const opened = NetfilterSocket.open()
if (opened === undefined) throw new Error('this machine gives no socket')
const socket = opened
let programs = 0
const run: Run = (file, args, options) => {
  programs += 1
  return runProgram(file, args, options)
}

const commits: NftCommit[] = []
const gaps: string[] = []
const monitor = new NftMonitor(silentLogger)
monitor.subscribe({ onCommit: (commit) => commits.push(commit), onGap: () => gaps.push('gap') })
await monitor.start()
await until('the monitor listens', () => gaps.length > 0, 20_000)

const target = { family: 'IPv4', name: 'platnet' } as const
const textOf = ({ set, key, data }: SetElement) => `${set} ${key} ${data}`
const describe = (thrown: unknown) => {
  if (!(thrown instanceof NftError)) throw thrown
  const { code, reason, command, element } = thrown
  return { code, reason, command, element }
}
const attempt = (session: NftSession, text: string) => session.run(text).then(() => 'done', describe)

async function list(family: IpFamily) {
  const { elements } = buildRuleset([...everyKind(family).values()], settingsOf(family))
  const { table } = elements
  const before = [hasTable(socket, table), readStateComment(socket, table)]
  const state = { version: table.version, objects: 'ab', listing: 'cd' }
  const add = [...elements.all()]
  await session.applyRuleset(table.text)
  await session.run(renderChange(table, [{ service: undefined, remove: [], add }], state))
  const found: string[] = []
  const ends = new Set<string>()
  for (const spec of table.sets) ends.add(await listElements(socket, table, spec, (each) => found.push(textOf(each))))
  const asked = table.sets.filter(({ isInterval }) => !isInterval)
  const isFound = add.every((element) => {
    const spec = asked.find(({ name }) => name === element.set)
    return spec === undefined || findElement(socket, table, spec, element.key)?.data === element.data
  })
  const missing = await listElements(socket, table, { name: 'none', key: [], data: [], isInterval: false }, () => {})
  const isEqual = found.sort().join('\n') === add.map(textOf).sort().join('\n')
  return {
    before: before.map((each) => each ?? null),
    ends: [...ends],
    missing,
    isEqual,
    isFound,
    count: found.length,
    comment: readStateComment(socket, table),
    hasTable: hasTable(socket, table),
  }
}

/** What the monitor says of commits, ours and those of a program that is not. */
async function watch(session: NftSession) {
  const [key, bytes] = ['10.9.9.9 . udp . 53', '0a0909091100000000350000']
  const reported = () => commits.filter(({ changes }) => changes.some((change) => change.key === bytes))
  commits.length = 0
  await session.run(`add element ip platnet addresses { ${key} : 1:1 }\n`)
  await until('our commit is reported', () => reported().length > 0, 10_000)
  await runProgram('nft', ['delete', 'element', 'ip', 'platnet', 'addresses', '{', key, '}'], { timeoutMs: 5_000 })
  await until('both are reported', () => reported().length > 1, 10_000)
  const spec = buildRuleset([], settingsOf('IPv4')).elements.table.sets[0]
  return reported().map((commit) => ({
    isOwn: session.isOwn(commit),
    isNft: commit.program === 'nft',
    changes: commit.changes.map(
      ({ set, key: bytes = '' }) => `${set} ${spec && decodeKey(spec, Buffer.from(bytes, 'hex'))}`,
    ),
  }))
}

async function useSession(kind: NftSessionKind) {
  const session = await openNftSession({ run, start: runProgram, kinds: [kind] })
  const startedPrograms = programs
  const written = await attempt(session, 'add element ip platnet addresses { 10.9.0.1 . tcp . 80 : 1:2 }\n')
  const programsToWrite = programs - startedPrograms
  const refused = await attempt(
    session,
    'add element ip platnet addresses { 10.9.0.2 . tcp . 80 : 1:2 }\n' +
      'delete element ip platnet addresses { 10.9.0.1 . tcp . 80, 10.9.0.3 . tcp . 80 }\n',
  )
  const unknownSet = await attempt(session, 'add element ip platnet none { 1 }\n')
  const rule = await attempt(session, 'add rule ip platnet service accept\n')
  const hidden = await attempt(session, 'add element ip platnet health { 1 }; flush ruleset\n')
  const zero = await attempt(session, 'add element ip platnet health { 1\0 }\n')
  const seen = await watch(session)
  const ports = Array.from({ length: 65_000 }, (_, port) => `10.8.0.1 . tcp . ${port + 1} : 1:1`).join(', ')
  const large = await attempt(session, `add element ip platnet addresses { ${ports} }\n`)
  const found: string[] = []
  const spec = { name: 'addresses', key: ['ipv4_addr', 'inet_proto', 'inet_service'], data: ['classid'] } as const
  await listElements(socket, target, { ...spec, isInterval: false }, ({ key }) => found.push(key))
  const emptied = await attempt(session, 'flush map ip platnet addresses\n')
  await session.close()
  return {
    kind: session.kind === 'program' ? kind : session.kind,
    written,
    programsToWrite,
    refused,
    unknownSet,
    invalid: [rule, hidden, zero].map((each) => (typeof each === 'object' ? each.code : each)),
    seen,
    large,
    counts: [found.length, found.filter((key) => key.startsWith('10.9.')).length],
    emptied,
  }
}

const session = await openNftSession({ run, start: runProgram })
const lists = [await list('IPv4'), await list('IPv6')]
const draws: string[] = []
const drawSpec = { name: 'draw', key: ['classid'], data: [], isInterval: false } as const
await listElements(socket, target, drawSpec, ({ key, data }) => draws.push(`${key} ${data}`))
await session.run('flush map ip platnet addresses\n')
const sessions = []
for (const kind of ['library', 'interactive', 'program'] as const) sessions.push(await useSession(kind))

async function listDuringChanges(): Promise<string> {
  const [table] = [{ family: 'IPv4', name: 'platnet' } as const]
  const spec = { name: 'addresses', key: ['ipv4_addr', 'inet_proto', 'inet_service'], data: ['classid'] } as const
  const keys = Array.from({ length: 20_000 }, (_, port) => `10.8.0.1 . tcp . ${port + 1} : 1:1`)
  await session.run(`add element ip platnet addresses { ${keys.join(', ')} }\n`)
  let isListed = false
  const listed = listElements(socket, table, { ...spec, isInterval: false }, () => {}).finally(() => {
    isListed = true
  })
  while (!isListed) {
    await session.run('add element ip platnet health { 7 }\ndelete element ip platnet health { 7 }\n')
    await nextTurn()
  }
  return listed
}
const duringChanges = await listDuringChanges()

// Other objects of the table, and another table whose sets are of no interest.
const places = ({ changes }: NftCommit) =>
  changes.map(({ table, chain = '', set = '' }) => [table, chain, set].join(' ')).filter((place) => /x/.test(place))
commits.length = 0
for (const text of [
  'add table ip xother\nadd set ip xother s { type mark; elements = { 1, 2 } }\n',
  'add chain ip platnet extra\nadd rule ip platnet extra accept\n',
  'add set ip platnet extra { type mark; }\n',
  'delete table ip platnet\n',
])
  await session.applyRuleset(text)
const reported = () => commits.filter((commit) => places(commit).length > 0)
await until('the last is reported', () => reported().length >= 4, 10_000)
const objects = reported().map((commit) => ({ isOwn: session.isOwn(commit), places: places(commit) }))
const refusedRules = await session.applyRuleset('add table ip x\nadd rule ip x y accept\n').then(() => 'done', describe)
const noProgram: Run = (_file, args, options) => runProgram('/nonexistent/nft', args, options)
const unavailable = await openNftSession({ run: noProgram, start: runProgram, kinds: ['program'] }).then(
  () => 'open',
  describe,
)
await session.close()
await monitor.stop({ signal: AbortSignal.timeout(5_000) })
process.stdout.write(
  JSON.stringify({ lists, sessions, objects, refusedRules, unavailable, draws, duringChanges, gaps: gaps.length }),
)
process.exit(0)
