import type { TableChange, TableName } from '../../netfilter/ruleset.ts'
import { stateChain } from '../../netfilter/state-chain.ts'
import type { HookDrift } from './hook-plan.ts'
import type { SetReport } from './member-set-writer.ts'
import type { SetDrift } from './wanted-sets.ts'
import type { Drift } from './wanted-table.ts'

export interface WriteReport {
  readonly kind: 'unchanged' | 'written'
  /** Input of all restores together. */
  readonly bytes: number
  /** Reading included, where that was needed. */
  readonly durationMs: number
  /** PLAT-STATE not counted. */
  readonly chainsSet: number
  readonly chainsRemoved: number
  readonly restores: number
  /** Rules of the chains that were set, PLAT-STATE's too. */
  readonly rules: Readonly<Record<TableName, number>>
  /** Absent where no set with members of ours changed. */
  readonly sets?: SetReport
  /** Elements of the table of nftables; absent in the mode iptables. `restores` counts its transactions. */
  readonly elements?: ElementReport
  /** When the kernel was given the first part and had taken the last, by the clock of `performance.now()`; absent where nothing was written. */
  readonly kernel?: KernelTime
}

interface ElementReport {
  readonly added: number
  readonly removed: number
}

interface KernelTime {
  readonly fromMs: number
  readonly toMs: number
}

export interface VerifyReport {
  /** The changes by other programs that were repaired; empty if there were none. */
  readonly drift: readonly (Drift | HookDrift | SetDrift)[]
  readonly readMs: number
  readonly write: WriteReport
}

export const unchanged: WriteReport = {
  kind: 'unchanged',
  bytes: 0,
  durationMs: 0,
  chainsSet: 0,
  chainsRemoved: 0,
  restores: 0,
  rules: { nat: 0, filter: 0, mangle: 0 },
}

/** One restore that succeeded. */
export function reportRestore(text: string, changes: readonly TableChange[], durationMs: number): WriteReport {
  const toMs = performance.now()
  const set = new Set(changes.flatMap(({ table, set }) => [...set.keys()].map((name) => `${table} ${name}`)))
  for (const { table } of changes) set.delete(`${table} ${stateChain}`)
  const chainsRemoved = changes.reduce((sum, change) => sum + change.remove.length, 0)
  return {
    kind: 'written',
    bytes: Buffer.byteLength(text),
    durationMs,
    chainsSet: set.size,
    chainsRemoved,
    restores: 1,
    kernel: { fromMs: toMs - durationMs, toMs },
    rules: {
      nat: countRules(changes, 'nat'),
      filter: countRules(changes, 'filter'),
      mangle: countRules(changes, 'mangle'),
    },
  }
}

function countRules(changes: readonly TableChange[], table: TableName): number {
  const chains = changes.flatMap((change) => (change.table === table ? [...change.set.values()] : []))
  return chains.reduce((sum, chain) => sum + chain.length, 0)
}

export function addReports(a: WriteReport, b: WriteReport): WriteReport {
  return {
    kind: a.kind === 'written' ? a.kind : b.kind,
    bytes: a.bytes + b.bytes,
    durationMs: a.durationMs + b.durationMs,
    chainsSet: a.chainsSet + b.chainsSet,
    chainsRemoved: a.chainsRemoved + b.chainsRemoved,
    restores: a.restores + b.restores,
    rules: {
      nat: a.rules.nat + b.rules.nat,
      filter: a.rules.filter + b.rules.filter,
      mangle: a.rules.mangle + b.rules.mangle,
    },
    ...addSets(a.sets, b.sets),
    ...addElements(a.elements, b.elements),
    ...addKernelTimes(a.kernel, b.kernel),
  }
}

/** The report of what was written to sets alone. */
export function reportSets(sets: SetReport, durationMs: number): WriteReport {
  if (sets.restores === 0) return unchanged
  const toMs = performance.now()
  return { ...unchanged, kind: 'written', durationMs, sets, kernel: { fromMs: toMs - durationMs, toMs } }
}

function addKernelTimes(a: KernelTime | undefined, b: KernelTime | undefined): Pick<WriteReport, 'kernel'> {
  if (a === undefined || b === undefined)
    return a === undefined ? (b === undefined ? {} : { kernel: b }) : { kernel: a }
  return { kernel: { fromMs: Math.min(a.fromMs, b.fromMs), toMs: Math.max(a.toMs, b.toMs) } }
}

function addElements(a: ElementReport | undefined, b: ElementReport | undefined): Pick<WriteReport, 'elements'> {
  if (a === undefined && b === undefined) return {}
  const sum = (count: keyof ElementReport) => (a?.[count] ?? 0) + (b?.[count] ?? 0)
  return { elements: { added: sum('added'), removed: sum('removed') } }
}

function addSets(a: SetReport | undefined, b: SetReport | undefined): Pick<WriteReport, 'sets'> {
  if (a === undefined || b === undefined) return a === undefined ? (b === undefined ? {} : { sets: b }) : { sets: a }
  const [added, removed] = [a.added + b.added, a.removed + b.removed]
  return { sets: { added, removed, restores: a.restores + b.restores } }
}
