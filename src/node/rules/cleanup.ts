import { setTimeout } from 'node:timers/promises'
import { type Run, runProgram } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import type { Logger } from '../../observe/logger.ts'
import { cleanByNft } from './cleanup-by-nft.ts'
import { explainRestoreFailure, explainSaveFailure, RulesError } from './errors.ts'
import { findPrograms, isMissing, readLegacyTableNames } from './flavour.ts'
import type { Flavour } from './iptables.ts'
import { removeTableAtOnce } from './nft/remove-table.ts'

/** The chains and hooks that were removed from one table. */
interface TableCleanup {
  readonly family: IpFamily
  readonly flavour: Flavour
  readonly table: string
  readonly chains: number
  readonly hooks: number
}

export interface CleanupReport {
  readonly removed: readonly TableCleanup[]
  /** Ipsets that were removed. */
  readonly sets: number
  /** Tables that could not be cleaned; the others were, all the same. */
  readonly failures: readonly unknown[]
}

const tables = ['raw', 'mangle', 'nat', 'filter']
const chainsPerCommit = 1000
const timeoutMs = 120_000

/**
 * Removes every PLAT chain and every jump into one, in both flavours and both families, whatever program version wrote them.
 * Other rules and policies stay. Needs no state; with nothing to remove it writes nothing.
 */
export async function cleanupRules(log: Logger, run: Run = runProgram): Promise<CleanupReport> {
  const removed: TableCleanup[] = []
  const failures: unknown[] = []
  for (const found of await findTables(run)) {
    const { program: _, ...place } = found
    try {
      const counts = await cleanTable(run, found)
      if (counts.chains + counts.hooks > 0) removed.push({ ...place, ...counts })
    } catch (error) {
      log.warn('a table could not be cleaned', { ...place, error: describeError(error) })
      failures.push(error)
    }
  }
  for (const family of ['IPv4', 'IPv6'] as const) {
    const { cleaned, problems } = await cleanWithoutIptables(run, family)
    removed.push(...cleaned)
    failures.push(...problems)
  }
  for (const family of ['IPv4', 'IPv6'] as const) {
    try {
      if (await removeTableAtOnce(run, family))
        removed.push({ family, flavour: 'nft', table: 'platnet', chains: 0, hooks: 0 })
    } catch (error) {
      failures.push(error)
    }
  }
  const sets = await removeSets(run).catch((error: unknown) => {
    failures.push(error)
    return 0
  })
  for (const table of removed) log.info('our rules were removed', { ...table })
  return { removed, sets, failures }
}

/**
 * Removes the rules of the mode iptables of one family: nat first, then filter but for the chains to keep and the jumps into them. Writes nothing where
 * only these stand. Returns how many chains and jumps there were. Throws RulesError.
 */
export async function cleanupProxyRules(run: Run, family: IpFamily, keep: ReadonlySet<string>): Promise<number> {
  const places = (await findTables(run)).filter((place) => place.family === family)
  let count = 0
  for (const table of ['nat', 'filter'])
    for (const place of places.filter((each) => each.table === table)) {
      const { chains, hooks } = await cleanTable(run, place, table === 'filter' ? keep : new Set())
      count += chains + hooks
    }
  return count
}

/** The kernel lets go of a set only when no packet can be at the last rule that named it. */
const removalAttempts = 6
const removalPauseMs = 50

/** No rule of ours names them any more. Without the program there are none. */
async function removeSets(run: Run): Promise<number> {
  const names = await listOurSets(run)
  for (let attempt = 1, left = names; left.length > 0; attempt++, left = await listOurSets(run)) {
    try {
      await run('ipset', ['restore'], { timeoutMs, input: left.map((name) => `destroy ${name}\n`).join('') })
      break
    } catch (thrown) {
      if (attempt === removalAttempts) throw thrown
      await setTimeout(removalPauseMs * attempt)
    }
  }
  return names.length
}

async function listOurSets(run: Run): Promise<readonly string[]> {
  const listed = await run('ipset', ['list', '-name'], { timeoutMs }).catch(() => undefined)
  return (listed?.stdout ?? '').split('\n').filter((name) => /^PLAT-[A-Z0-9-]+$/.test(name))
}

interface TableRef {
  readonly family: IpFamily
  readonly flavour: Flavour
  readonly program: string
  readonly table: string
}

/**
 * Cleans by nft the tables that only a missing iptables-nft could clean. Legacy tables need iptables-legacy: without it their rules are
 * unknown.
 */
async function cleanWithoutIptables(
  run: Run,
  family: IpFamily,
): Promise<{ readonly cleaned: readonly TableCleanup[]; readonly problems: readonly unknown[] }> {
  const programs = await findPrograms(run, family)
  const has = (flavour: Flavour) => programs.some((each) => each.flavour === flavour)
  const cleaned: TableCleanup[] = []
  const problems: unknown[] = []
  for (const table of has('nft') ? [] : await listNftTables(run, family, problems)) {
    try {
      const counts = await cleanByNft(run, family, table)
      if (counts.chains + counts.hooks > 0) cleaned.push({ family, flavour: 'nft', table, ...counts })
    } catch (error) {
      problems.push(error)
    }
  }
  const unread = has('legacy') ? [] : [...(await readLegacyTableNames(run, family))].sort()
  if (unread.length > 0) problems.push(leftBehind(`the legacy tables ${unread.join(', ')} of ${family} cannot be read`))
  return { cleaned, problems }
}

async function listNftTables(run: Run, family: IpFamily, problems: unknown[]): Promise<readonly string[]> {
  try {
    const { stdout } = await run('nft', ['list', 'tables', family === 'IPv4' ? 'ip' : 'ip6'], { timeoutMs })
    const found = stdout.split('\n').map((line) => line.split(' ')[2] ?? '')
    return tables.filter((table) => found.includes(table))
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown
    problems.push(leftBehind(`the rules of ${family} cannot be read: neither iptables nor nft is installed`))
    return []
  }
}

function leftBehind(message: string): RulesError {
  return new RulesError('not-found', `${message}; rules of Platnet may still stand`, {
    remedy: 'install the package iptables and run cleanup again',
  })
}

/** Lists only legacy tables that are in use: reading another one would load it. */
async function findTables(run: Run): Promise<readonly TableRef[]> {
  const places: TableRef[] = []
  for (const family of ['IPv4', 'IPv6'] as const) {
    const inUse = await readLegacyTableNames(run, family)
    for (const { flavour, program } of await findPrograms(run, family)) {
      const names = tables.filter((table) => flavour === 'nft' || inUse.includes(table))
      places.push(...names.map((table) => ({ family, flavour, program, table })))
    }
  }
  return places
}

async function cleanTable(
  run: Run,
  place: TableRef,
  keep: ReadonlySet<string> = new Set(),
): Promise<{ chains: number; hooks: number }> {
  const { program, family, table } = place
  const saved = await saveTable(run, place)
  if (saved === undefined) return (await isOurs(run, place)) ? cleanByNft(run, family, table) : { chains: 0, hooks: 0 }
  const found = withoutKept(findOurs(saved), keep)
  if (found.chains.length + found.hooks.length > 0) {
    const input = renderRemoval(table, found)
    await run(`${program}-restore`, ['--noflush', '--wait', '5'], { input, timeoutMs }).catch((thrown: unknown) => {
      throw explainRestoreFailure(thrown, input)
    })
  }
  return { chains: found.chains.length, hooks: found.hooks.length }
}

/** Undefined of a table with rules that iptables-nft-save cannot show: it says so in a comment, and that all went well. */
async function saveTable(run: Run, place: TableRef): Promise<string | undefined> {
  const { stdout } = await run(`${place.program}-save`, ['-t', place.table], { timeoutMs }).catch((thrown: unknown) => {
    throw explainSaveFailure(thrown)
  })
  return /^# Table .* is incompatible/m.test(stdout) ? undefined : stdout
}

function isOurs(run: Run, { program, table }: TableRef): Promise<boolean> {
  return run(program, ['-t', table, '-S', stateChain], { timeoutMs }).then(
    () => true,
    () => false,
  )
}

interface OurRules {
  readonly chains: readonly string[]
  /** `CHAIN SPEC` of each rule outside our chains that leads into one, as the kernel prints it. */
  readonly hooks: readonly string[]
}

function findOurs(saved: string): OurRules {
  const chains: string[] = []
  const hooks: string[] = []
  for (const line of saved.split('\n')) {
    const chain = /^:(PLAT-\S+) /.exec(line)?.[1]
    if (chain !== undefined) chains.push(chain)
    const hook = /^-A ((?!PLAT-).* -[jg] PLAT-\S+)$/.exec(line)?.[1]
    if (hook !== undefined) hooks.push(hook)
  }
  return { chains, hooks }
}

/** The stamp stays where nothing else goes. */
function withoutKept({ chains, hooks }: OurRules, keep: ReadonlySet<string>): OurRules {
  const going = chains.filter((chain) => !keep.has(chain))
  if (keep.size > 0 && going.every((chain) => chain === stateChain)) return { chains: [], hooks: [] }
  return { chains: going, hooks: hooks.filter((hook) => !keep.has(/ -[jg] (\S+)$/.exec(hook)?.[1] ?? '')) }
}

/** First the jumps and the stamp, in one commit: after it no packet meets our rules, and no program takes them for whole. */
function renderRemoval(table: string, { chains, hooks }: OurRules): string {
  const unhook = [
    ...(chains.includes(stateChain) ? [`:${stateChain} - [0:0]`] : []),
    ...hooks.map((hook) => `-D ${hook}`),
  ]
  const groups = Array.from({ length: Math.ceil(chains.length / chainsPerCommit) }, (_, index) =>
    chains.slice(index * chainsPerCommit, (index + 1) * chainsPerCommit),
  )
  const empty = groups.map((group) => group.map((chain) => `:${chain} - [0:0]`))
  const remove = groups.map((group) => group.map((chain) => `-X ${chain}`))
  return [unhook, ...empty, ...remove].map((lines) => `*${table}\n${lines.join('\n')}\nCOMMIT\n`).join('')
}
