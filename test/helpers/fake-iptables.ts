import { ExecError, type ProgramResult, type Run } from '../../src/host/index.ts'
import { Iptables } from '../../src/node/rules/index.ts'

type Table = Map<string, string[]>

/** What the next restore does instead of its work, or after it. */
export type RestoreFault = 'refused' | 'killed after the first commit' | 'killed at the end' | 'lock held'

/**
 * nat and filter in memory behind the programs of iptables: commits are whole or nothing, a jump needs its chain, a chain that
 * is jumped to cannot go.
 */
export class FakeIptables {
  readonly tables: Record<string, Table> = { nat: builtins(), filter: builtins() }
  readonly faults: RestoreFault[] = []
  /** A commit that carries such a line is refused, and the line named. */
  poison: RegExp | undefined
  restores = 0

  readonly run: Run = async (file, args, options) => {
    if (file.endsWith('-restore')) return this.#restore(options.input ?? '')
    const table = this.tables[args[args.indexOf('-t') + 1] ?? ''] ?? builtins()
    if (args.at(-1) === '-S') return answer(renderTable(table))
    const chain = args.at(-1) ?? ''
    const rules = table.get(chain)
    if (rules === undefined) throw restoreFailure('failed', 'No chain/target/match by that name.')
    return answer([`-N ${chain}`, ...rules.map((rule) => `-A ${chain} ${rule}`), ''].join('\n'))
  }

  iptables(run: Run = this.run): Iptables {
    const choice = { family: 'IPv4', flavour: 'nft', version: '1.8.9', program: 'iptables-nft', reason: '' } as const
    return new Iptables(choice, run)
  }

  /** Our chains alone, without stamps. */
  contents(): Record<string, Record<string, string[]>> {
    const ours = (table: Table) =>
      [...table].filter(([name]) => name.startsWith('PLAT-') && name !== 'PLAT-STATE').sort()
    return Object.fromEntries(
      Object.entries(this.tables).map(([name, table]) => [name, Object.fromEntries(ours(table))]),
    )
  }

  #restore(text: string): ProgramResult {
    this.restores += 1
    const fault = this.faults.shift()
    if (fault === 'lock held') throw restoreFailure('failed', 'Another app is currently holding the xtables lock')
    if (fault === 'refused') throw restoreFailure('failed', 'COMMIT failed')
    let lines = 0
    for (const [index, commit] of text.split('COMMIT\n').slice(0, -1).entries()) {
      this.#commit(commit, lines)
      lines += commit.split('\n').length
      if (fault === 'killed after the first commit' && index === 0) throw restoreFailure('killed', '')
    }
    if (fault === 'killed at the end') throw restoreFailure('killed', '')
    return answer('')
  }

  #commit(text: string, linesBefore: number): void {
    const [head = '', ...lines] = text.trimEnd().split('\n')
    const name = head.slice(1)
    const next = new Map(Array.from(this.tables[name] ?? [], ([chain, rules]) => [chain, [...rules]]))
    for (const [index, line] of lines.entries()) {
      if (this.poison?.test(line)) throw restoreFailure('failed', `Error occurred at line: ${linesBefore + index + 2}`)
      applyLine(next, line, linesBefore + index + 2)
    }
    for (const target of targetsOf(next)) {
      if (!next.has(target))
        throw restoreFailure(
          'failed',
          `Chain '${target}' does not exist\nError occurred at line: ${linesBefore + lines.length + 2}`,
        )
    }
    this.tables[name] = next
  }
}

function builtins(): Table {
  return new Map(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'].map((name) => [name, []]))
}

function applyLine(table: Table, line: string, number: number): void {
  const declared = /^:(\S+) /.exec(line)?.[1]
  if (declared !== undefined) table.set(declared, [])
  const [, command, chain = '', rest = ''] = /^-([AIDX]) (\S+) ?(.*)$/.exec(line) ?? []
  const rules = table.get(chain)
  if (command === 'X') {
    if (targetsOf(table).has(chain)) throw restoreFailure('failed', 'CHAIN_DEL failed (Device or resource busy)')
    table.delete(chain)
  } else if (command === 'A') rules?.push(rest)
  else if (command === 'I') rules?.splice(Number(/^\d+/.exec(rest)?.[0]) - 1, 0, rest.replace(/^\d+ /, ''))
  else if (command === 'D') {
    if (rules?.includes(rest) !== true) throw restoreFailure('failed', `line ${number} failed: Bad rule`)
    rules.splice(rules.indexOf(rest), 1)
  }
}

function targetsOf(table: Table): ReadonlySet<string> {
  const rules = [...table.values()].flat()
  return new Set(rules.flatMap((rule) => / ?-[jg] (PLAT-\S+)$/.exec(rule)?.[1] ?? []))
}

function renderTable(table: Table): string {
  const chains = [...table.keys()].map((name) => `:${name} - [0:0]`)
  const rules = [...table].flatMap(([name, lines]) => lines.map((rule) => `-A ${name} ${rule}`))
  return [...chains, ...rules, ''].join('\n')
}

function answer(stdout: string): ProgramResult {
  return { endedBy: 'exit', stdout, stderr: '', exitCode: 0, durationMs: 1, pid: 1 }
}

/** How a restore fails. */
export function restoreFailure(code: 'failed' | 'killed', stderr: string): ExecError {
  return new ExecError(code, stderr, { command: 'iptables-restore', exitCode: 1, stderr, cause: undefined })
}
