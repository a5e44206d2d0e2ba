// Run by nft-writer.test.ts in namespaces of its own: the writer of one family's table, with libnftables in this process, the monitor, and another
// program that damages the table. Prints what was seen as one line of JSON; the test judges it.
import {
  NetfilterSocket,
  NftMonitor,
  type NftSession,
  type NftSessionKind,
  openNftSession,
  type Run,
  runProgram,
} from '../../../../src/host/index.ts'
import { addHash, emptyXorHash, hashItem, type XorHash } from '../../../../src/model/xor-hash.ts'
import { ElementRuleset } from '../../../../src/netfilter/nft/element-ruleset.ts'
import { lowerToElements } from '../../../../src/netfilter/nft/lower-elements.ts'
import type { ProxyRuleSettings } from '../../../../src/netfilter/settings.ts'
import { ElementDriftWatch, NftWriter, nftKernel } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { makeFrontend } from '../../../helpers/frontends.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

const settings: ProxyRuleSettings = { family: 'IPv4' }
const services = 2000
const nft = async (text: string) => void (await runProgram('nft', ['-f', '-'], { input: text, timeoutMs: 10_000 }))

let programs: string[] = []
const run: Run = (file, args, options) => {
  programs.push(`${file} ${args.join(' ')}`)
  return runProgram(file, args, options)
}

const monitor = new NftMonitor(silentLogger)
const gaps: string[] = []
monitor.subscribe({ onCommit: () => {}, onGap: () => void gaps.push('gap') })
await monitor.start()
await until('the monitor listens', () => gaps.length > 0, 20_000)

function objects(name: string): XorHash {
  return addHash(emptyXorHash, hashItem(name, ''))
}

function lowered(index: number, hosts: readonly number[]) {
  const endpoints = hosts.map((host) => `10.244.${host >> 8}.${host & 255}`)
  return lowerToElements([makeFrontend(`default/s${index}`, `10.96.${index >> 8}.${index & 255}`, endpoints)], settings)
}

/** An agent's part for one family; several one after the other are restarts. */
async function open(kinds: readonly NftSessionKind[] = ['library']) {
  const opened = await openNftSession({ run, start: runProgram, kinds })
  let texts = 0
  const session: NftSession = {
    kind: opened.kind,
    run: (commands) => {
      texts += 1
      return opened.run(commands)
    },
    applyRuleset: (text) => opened.applyRuleset(text),
    isOwn: (commit) => opened.isOwn(commit),
    close: () => opened.close(),
  }
  const kernel = nftKernel({ session, run, socket: NetfilterSocket.open(), bulkSocket: NetfilterSocket.open() })
  const ruleset = new ElementRuleset(settings)
  const warnings: unknown[] = []
  const log = { ...silentLogger, warn: (_: string, fields?: object) => void warnings.push(fields) }
  const writer = new NftWriter({ family: 'IPv4', kernel, wanted: ruleset, log, isWatched: () => true })
  const watch = new ElementDriftWatch({ wanted: ruleset, writer, session: kernel, log })
  const all = () =>
    new Map(Array.from({ length: services }, (_, index) => [`default/s${index}`, lowered(index, [index, index + 1])]))
  return { session, texts: () => texts, ruleset, writer, watch, warnings, all }
}

type Opened = Awaited<ReturnType<typeof open>>

async function timed<T>(job: () => Promise<T>): Promise<{ ms: number; result: T; programs: readonly string[] }> {
  programs = []
  const startedMs = performance.now()
  const result = await job()
  return { ms: performance.now() - startedMs, result, programs: [...programs] }
}

async function isRight({ writer }: Opened): Promise<boolean> {
  return (await writer.preview()).length === 0
}

async function changeOne({ ruleset, writer, texts }: Opened, count: number) {
  const times: number[] = []
  const textsBefore = texts()
  programs = []
  for (let round = 0; round < count; round += 1) {
    const startedMs = performance.now()
    const change = ruleset.update(new Map([['default/s7', lowered(7, [round % 2 === 0 ? 7000 : 7, 8])]]))
    await writer.write(change, objects(`round ${round}`))
    times.push(performance.now() - startedMs)
  }
  const sorted = times.toSorted((a, b) => a - b)
  return {
    p50: sorted[Math.floor(count / 2)] ?? 0,
    p99: sorted[Math.floor(count * 0.99)] ?? 0,
    programs: programs.length,
    texts: texts() - textsBefore,
  }
}

const damages: Readonly<Record<string, string>> = {
  'an element less': 'delete element ip platnet addresses { 10.96.0.7 . tcp . 80 }\n',
  'an element more': 'add element ip platnet refuse { 10.96.0.7 . tcp . 80 }\n',
  'another endpoint':
    'delete element ip platnet endpoints { 10.96.0.9 . tcp . 80 . 0:1 }\nadd element ip platnet endpoints { 10.96.0.9 . tcp . 80 . 0:1 : 192.0.2.66 . 80 }\n',
  'an empty set': 'flush map ip platnet endpoints\n',
  'no rules': 'flush table ip platnet\n',
  'a rule more': 'insert rule ip platnet filter-forward drop\n',
  'a chain more': 'add chain ip platnet foreign { type filter hook forward priority 5; policy drop; }\n',
  'a table that sleeps': 'add table ip platnet { flags dormant; }\n',
  'a number less': 'delete element ip platnet draw { 0:2 }\n',
  'another verdict': 'delete element ip platnet draw { 0:3 }\nadd element ip platnet draw { 0:3 : jump draw-1 }\n',
  'no table': 'delete table ip platnet\n',
  'no tables at all': 'flush ruleset\n',
}

async function damage(opened: Opened, text: string) {
  opened.warnings.length = 0
  await nft(text)
  const startedMs = performance.now()
  await untilAsync('it is repaired', async () => opened.warnings.length > 0 && (await isRight(opened)), 20_000)
  return { repairedAfterMs: performance.now() - startedMs, warnings: opened.warnings.length }
}

async function observe() {
  const first = await open()
  monitor.subscribe(first.watch)
  const sync = await timed(() => first.writer.write(first.ruleset.update(first.all()), objects('all')))
  const syncTexts = first.texts()
  const changes = await changeOne(first, 300)
  await first.writer.write({ changes: [] }, objects('end'))
  const quietWarnings = first.warnings.length
  const repairs: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(damages)) repairs[name] = await damage(first, text)
  await first.writer.write(first.ruleset.update(first.all()), objects('all'))
  await first.session.close()
  // The first writer would repair what the second one is to find.
  await monitor.stop({ signal: new AbortController().signal })

  const second = await open()
  const recognised = await timed(() => second.writer.recognises(objects('all')))
  const adopted = await timed(() => second.writer.write(second.ruleset.update(second.all()), objects('all')))
  const isSame = await isRight(second)
  await nft('add element ip platnet refuse { 10.96.0.7 . tcp . 80 }\n')
  const verified = await second.writer.verify()

  const sessions: Record<string, unknown> = {}
  for (const kind of ['interactive', 'program'] as const) {
    const other = await open([kind])
    await other.writer.write(other.ruleset.update(other.all()), objects('other'))
    await changeOne(other, 3)
    sessions[kind] = { kind: other.session.kind, isRight: await isRight(other) }
    await other.session.close()
  }
  return {
    sync: { ms: sync.ms, programs: sync.programs, texts: syncTexts, report: sync.result },
    changes,
    quietWarnings,
    repairs,
    recognised: { is: recognised.result, ms: recognised.ms },
    adopted: { kind: adopted.result.kind, ms: adopted.ms, programs: adopted.programs },
    isSame,
    verified: verified.drift,
    sessions,
  }
}

process.stdout.write(`${JSON.stringify(await observe())}\n`)
process.exit(0)
