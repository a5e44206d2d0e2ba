import { createHash } from 'node:crypto'
import { TimeSlice } from '../../loop/time-slice.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import {
  parseSave,
  type SavedChain,
  type SavedHook,
  type SavedTable,
  type SavedTables,
  SaveParser,
} from '../../netfilter/parse.ts'
import { renderRuleSpec } from '../../netfilter/render.ts'
import type { Hook, TableName } from '../../netfilter/ruleset.ts'
import { parseStamp, type Stamp, stateChain } from '../../netfilter/state-chain.ts'
import type { Logger } from '../../observe/logger.ts'
import { RulesError } from './errors.ts'
import type { Iptables } from './iptables.ts'

/** PLAT-STATE of each of these tables; undefined where there is none or it is not one of this version. */
export async function readStamps(iptables: Iptables, tables: readonly TableName[]): Promise<Stamps> {
  const read = async (table: TableName) => (tables.includes(table) ? readStamp(iptables, table) : undefined)
  const [nat, filter, mangle] = await Promise.all([read('nat'), read('filter'), read('mangle')])
  return { nat, filter, mangle }
}

type Stamps = Readonly<Record<TableName, Stamp | undefined>>

async function readStamp(iptables: Iptables, table: TableName): Promise<Stamp | undefined> {
  const text = await iptables.listChain(table, stateChain)
  const chain = text === undefined ? undefined : parseSave(text, table)[table].chains.get(stateChain)
  return chain && parseStamp(chain.map((rule) => ('unparsed' in rule ? {} : rule)))
}

/** Reads everything again and again, and only takes the text apart where it is another than when all was well. */
export class ChangeReader {
  readonly #iptables: Iptables
  readonly #hooks: readonly Hook[]
  readonly #tables: readonly TableName[]
  #read: string | undefined
  #knownGood: string | undefined

  constructor(iptables: Iptables, hooks: readonly Hook[], tables: readonly TableName[]) {
    this.#iptables = iptables
    this.#hooks = hooks
    this.#tables = tables
  }

  /** Undefined where the tables hold what they held when `remember` was called, or cannot be read for rules of others in them. */
  async readIfChanged(expected: ExpectedTables): Promise<SavedTables | undefined> {
    const place = { hooks: this.#hooks, tables: this.#tables }
    const texts = await saveTables(this.#iptables, expected, place).catch((error: unknown) => {
      if (isUnreadable(error)) return undefined
      throw error
    })
    if (texts === undefined) return undefined
    this.#read = await fingerprintAll(texts)
    return this.#read === this.#knownGood ? undefined : parseTables(texts, expected, this.#iptables.choice.family)
  }

  /** Remembers that the state of the last read is correct, unless something was written since. */
  remember(): void {
    this.#knownGood = this.#read
  }

  /** Something is being written: the next text is another one. */
  forget(): void {
    this.#read = undefined
    this.#knownGood = undefined
  }
}

async function fingerprintAll(texts: SavedTexts): Promise<string> {
  const prints: string[] = []
  for (const text of texts.values()) prints.push(await fingerprint(text))
  return prints.join()
}

const blockChars = 65_536

/** Without comments, which hold the time, and without the counters of built-in chains. */
async function fingerprint(saved: string): Promise<string> {
  const hash = createHash('sha256')
  const slice = new TimeSlice()
  for (let start = 0; start < saved.length; ) {
    const lineEnd = saved.indexOf('\n', start + blockChars)
    const end = lineEnd === -1 ? saved.length : lineEnd + 1
    const block = saved.slice(start, end)
    hash.update(block.replaceAll(/^#.*$/gm, '').replaceAll(/^(:\S+ \S+) \[\d+:\d+\]$/gm, '$1'))
    start = end
    if (slice.spent) await slice.pause()
  }
  return hash.digest('hex')
}

/** Chains that the tables probably hold: reading them costs less then. */
export type ExpectedTables = Readonly<Partial<Record<TableName, ReadonlyMap<string, SavedChain>>>>

/** The tables and chains that a writer writes. */
export interface WrittenPlaces {
  readonly tables: readonly TableName[]
  readonly hooks: readonly Hook[]
}

/** Reads all our rules; expensive for large tables (`Iptables.save`). */
export async function readTables(
  iptables: Iptables,
  expected: ExpectedTables,
  places: WrittenPlaces,
): Promise<SavedTables> {
  return parseTables(await saveTables(iptables, expected, places), expected, iptables.choice.family)
}

/** Reads the tables before the first write. A table that cannot be read is taken as empty: iptables-restore can write to it all the same. */
export async function readBeforeWriting(
  iptables: Iptables,
  expected: ExpectedTables,
  places: WrittenPlaces,
  log: Logger,
): Promise<SavedTables> {
  try {
    const held = await readTables(iptables, expected, places)
    if (iptables.caveat !== '') log.warn(`the kernel was read chain by chain${iptables.caveat}`)
    return held
  } catch (error) {
    if (!isUnreadable(error)) throw error
    log.warn('all rules are written without a comparison with the kernel', { error: describeError(error) })
    return { nat: nothing, filter: nothing, mangle: nothing }
  }
}

const nothing: SavedTable = { chains: new Map(), hooks: [] }
/** Each takes the start of a program, some milliseconds. */
const maxOneByOne = 500

type SavedTexts = ReadonlyMap<TableName, string>

async function saveTables(
  iptables: Iptables,
  expected: ExpectedTables,
  { hooks, tables }: WrittenPlaces,
): Promise<SavedTexts> {
  const save = async (table: TableName): Promise<string> => {
    try {
      return await iptables.save(table)
    } catch (error) {
      const names = [...(expected[table]?.keys() ?? [])]
      if (!isUnreadable(error) || names.length > maxOneByOne) throw error
      return saveOneByOne(iptables, table, names, hooks)
    }
  }
  const texts = new Map<TableName, string>()
  for (const table of tables) texts.set(table, await save(table))
  return texts
}

/** Reads the wanted chains one by one, and the hooks; chains that are no longer wanted are not found. */
async function saveOneByOne(
  iptables: Iptables,
  table: TableName,
  names: Iterable<string>,
  hooks: readonly Hook[],
): Promise<string> {
  const texts: string[] = []
  for (const name of [stateChain, ...names]) texts.push((await iptables.listChain(table, name)) ?? '')
  const builtins = new Set(hooks.filter((hook) => hook.table === table).map(({ builtin }) => builtin))
  for (const builtin of builtins) texts.push(await listBuiltin(iptables, table, builtin, hooks))
  return texts.join('\n')
}

/** A built-in chain with rules that cannot be shown can still be asked for each of ours, though not for their places. */
async function listBuiltin(
  iptables: Iptables,
  table: TableName,
  builtin: Hook['builtin'],
  hooks: readonly Hook[],
): Promise<string> {
  const listed = await iptables.listChain(table, builtin)
  if (listed !== undefined) return listed
  const lines: string[] = []
  for (const { rule } of hooks.filter((hook) => hook.table === table && hook.builtin === builtin)) {
    const spec = renderRuleSpec(rule, iptables.choice.family)
    if (await iptables.holds(table, builtin, spec)) lines.push(`-A ${builtin} ${spec}`)
  }
  return lines.join('\n')
}

function isUnreadable(error: unknown): boolean {
  return error instanceof RulesError && error.code === 'unreadable'
}

async function parseTables(texts: SavedTexts, expected: ExpectedTables, family: IpFamily): Promise<SavedTables> {
  const tables: Record<TableName, SavedTable> = { nat: nothing, filter: nothing, mangle: nothing }
  for (const [table, text] of texts)
    tables[table] = await parseTable(text, new SaveParser(table, { chains: expected[table] ?? new Map(), family }))
  return tables
}

/** Other work gets its turn meanwhile: the text of 10,000 Services takes a third of a second. */
async function parseTable(text: string, parser: SaveParser): Promise<SavedTable> {
  const slice = new TimeSlice()
  for (const line of eachLine(text)) {
    parser.readLine(line)
    if (slice.spent) await slice.pause()
  }
  return parser.listed
}

function* eachLine(text: string): Generator<string, void> {
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    yield text.slice(start, end)
    start = end + 1
  }
  yield text.slice(start)
}

/** A few chains, one by one: cheap whatever else there is. Those that are not there are missing in the result. */
export async function readChains(
  iptables: Iptables,
  table: TableName,
  names: Iterable<string>,
): Promise<ReadonlyMap<string, SavedChain>> {
  const held = new Map<string, SavedChain>()
  for (const name of names) {
    const text = await iptables.listChain(table, name)
    const chain = text === undefined ? undefined : parseSave(text, table)[table].chains.get(name)
    if (chain !== undefined) held.set(name, chain)
  }
  return held
}

type HeldHooks = Readonly<Record<TableName, readonly SavedHook[]>>

export function hooksOf({ nat, filter, mangle }: SavedTables): HeldHooks {
  return { nat: nat.hooks, filter: filter.hooks, mangle: mangle.hooks }
}

/** Only the built-in chains that are to carry hooks, one by one: cheap whatever else there is. */
export async function readHooks(iptables: Iptables, hooks: readonly Hook[]): Promise<HeldHooks> {
  const held: Record<TableName, SavedHook[]> = { nat: [], filter: [], mangle: [] }
  const places = new Map(hooks.map(({ table, builtin }) => [`${table} ${builtin}`, { table, builtin }]))
  for (const { table, builtin } of places.values()) {
    const text = await listBuiltin(iptables, table, builtin, hooks)
    held[table].push(...parseSave(text, table)[table].hooks)
  }
  return held
}
