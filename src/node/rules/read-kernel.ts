import { TimeSlice } from '../../loop/time-slice.ts'
import { parseSave, type SavedChain, type SavedHook, type SavedTable, SaveParser } from '../../netfilter/parse.ts'
import type { Hook, TableName } from '../../netfilter/ruleset.ts'
import { parseStamp, type Stamp, stateChain } from '../../netfilter/state-chain.ts'
import type { Iptables } from './iptables.ts'

/** PLAT-STATE of one table; undefined where there is none or it is not one of this version. */
export async function readStamp(iptables: Iptables, table: TableName): Promise<Stamp | undefined> {
  const text = await iptables.listChain(table, stateChain)
  const chain = text === undefined ? undefined : parseSave(text, table)[table].chains.get(stateChain)
  return chain && parseStamp(chain.map((rule) => ('unparsed' in rule ? {} : rule)))
}

/** Everything of ours; dear where there is much (`Iptables.save`), and read in slices. */
export async function readTables(iptables: Iptables): Promise<Readonly<Record<TableName, SavedTable>>> {
  const nat = await readTable(iptables, 'nat')
  return { nat, filter: await readTable(iptables, 'filter') }
}

async function readTable(iptables: Iptables, table: TableName): Promise<SavedTable> {
  const text = await iptables.save(table)
  const parser = new SaveParser(table)
  const slice = new TimeSlice()
  for (const line of eachLine(text)) {
    parser.readLine(line)
    if (slice.spent) await slice.pause()
  }
  return parser.finish()[table]
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

/** Only the built-in chains that are to carry hooks, one by one: cheap whatever else there is. */
export async function readHooks(
  iptables: Iptables,
  hooks: readonly Hook[],
): Promise<Readonly<Record<TableName, readonly SavedHook[]>>> {
  const held: Record<TableName, SavedHook[]> = { nat: [], filter: [] }
  const places = new Map(hooks.map(({ table, builtin }) => [`${table} ${builtin}`, { table, builtin }]))
  for (const { table, builtin } of places.values()) {
    const text = (await iptables.listChain(table, builtin)) ?? ''
    held[table].push(...parseSave(text, table)[table].hooks)
  }
  return held
}
