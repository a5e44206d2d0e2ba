import type { TableChange, TableName } from '../../netfilter/ruleset.ts'
import { isBuiltin } from './hook-plan.ts'

/** A commit as the kernel tells of it. */
export interface SeenCommit {
  readonly changes: readonly { readonly table: string; readonly chain?: string }[]
  readonly pid?: number
  readonly program?: string
}

interface OwnRestore {
  readonly pid: number | undefined
  readonly chains: ReadonlySet<string>
  readonly endedMs: number
}

const keptMs = 120_000

/**
 * Recognises this process' own commits by the pid of the restore. Inside a pid namespace the kernel reports pids of another
 * namespace; there a commit is our own if it changes only chains of a restore that has just run.
 */
export class OwnCommits {
  readonly #restores: OwnRestore[] = []
  #arePidsKnown = false

  /** A restore of ours has ended. */
  add(pid: number | undefined, changes: readonly TableChange[], hooks: readonly ChainRef[] = []): void {
    const endedMs = performance.now()
    while ((this.#restores[0]?.endedMs ?? endedMs) < endedMs - keptMs) this.#restores.shift()
    const chains = changes.flatMap(({ table, set, remove }) =>
      [...set.keys(), ...remove].map((name) => `${table} ${name}`),
    )
    const hookChains = hooks.map(({ table, chain }) => `${table} ${chain}`)
    this.#restores.push({ pid, chains: new Set([...chains, ...hookChains]), endedMs })
  }

  /** To be asked when no restore is in progress. */
  includes(commit: SeenCommit): boolean {
    if (commit.pid !== undefined && this.#restores.some(({ pid }) => pid === commit.pid)) {
      this.#arePidsKnown = true
      return true
    }
    if (this.#arePidsKnown || !/^ip6?tables.*-r/.test(commit.program ?? '')) return false
    return this.#restores.some(({ chains }) => isOfRestore(commit, chains))
  }
}

/** The first restore into a table makes that too, with the built-in chains. */
function isOfRestore({ changes }: SeenCommit, chains: ReadonlySet<string>): boolean {
  const made = new Set(changes.filter(({ chain }) => chain === undefined).map(({ table }) => table))
  const isWritten = ({ table, chain }: SeenCommit['changes'][number]) => chains.has(`${table} ${chain}`)
  const isMade = ({ table, chain }: SeenCommit['changes'][number]) =>
    made.has(table) && (chain === undefined || isBuiltin(chain))
  return changes.some(isWritten) && changes.every((change) => isWritten(change) || isMade(change))
}

interface ChainRef {
  readonly table: TableName
  readonly chain: string
}
