import { ExecError, type Run } from '../../host/index.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { TableName } from '../../netfilter/ruleset.ts'
import { explainRestoreFailure, explainSaveFailure, RulesError } from './errors.ts'

/** Which kernel interface the programs speak: rules of one are invisible to the other, and a packet passes both. */
export type Flavour = 'nft' | 'legacy'

/** Found by `detectIptables`. */
export interface IptablesChoice {
  readonly family: IpFamily
  readonly flavour: Flavour
  /** The version that the program prints: `1.8.9`. */
  readonly version: string
  /** Name of the program; `-restore` and `-save` are appended for the other two: `iptables-nft`. */
  readonly program: string
  /** The reason for this flavour, in a sentence. */
  readonly reason: string
}

export interface ChainCounters {
  readonly packets: number
  readonly bytes: number
}

const lockWaitSeconds = '5'
/** With `--verbose`, iptables-nft-restore prints comments of its input: this one follows the last commit, once that has succeeded. */
const completionMarker = '# platnet: all is committed\n'
const restoreTimeoutMs = 60_000
const readTimeoutMs = 60_000

/** The tables of one IP family, through the programs of one flavour. All methods throw RulesError. */
export class Iptables {
  readonly choice: IptablesChoice
  readonly run: Run
  readonly #unreadable = new Set<TableName>()

  constructor(choice: IptablesChoice, run: Run) {
    this.choice = choice
    this.run = run
  }

  /**
   * Each `COMMIT` of the text is applied as a whole or not at all; what the text does not name stays as it is. Returns the program's pid. With
   * iptables-nft that is after the last commit, not when the program has ended: the kernel keeps it until no packet can be at the old rules any more.
   */
  async restore(text: string): Promise<{ pid: number | undefined }> {
    const { flavour, program } = this.choice
    const args = ['--noflush', '--wait', lockWaitSeconds]
    const eager = flavour === 'nft' ? { completionMarker } : undefined
    try {
      const { pid } = await this.run(`${program}-restore`, eager ? [...args, '--verbose'] : args, {
        input: eager ? text + completionMarker : text,
        timeoutMs: restoreTimeoutMs,
        ...eager,
      })
      return { pid }
    } catch (thrown) {
      throw explainRestoreFailure(thrown, text)
    }
  }

  /**
   * All rules of a table, as `iptables-save` or `iptables -S` prints them. At 30,000 chains this takes a second of processor time with
   * iptables-nft, whose `-save` reads every table whichever it is asked for.
   */
  async save(table: TableName): Promise<string> {
    const { flavour, program } = this.choice
    if (flavour === 'legacy') return this.#read(`${program}-save`, ['-t', table])
    try {
      const text = await this.#read(program, ['--wait', lockWaitSeconds, '-t', table, '-S'])
      this.#unreadable.delete(table)
      return text
    } catch (thrown) {
      if (!isUnreadable(thrown)) throw thrown
      this.#unreadable.add(table)
      throw unreadableTable(table, this.choice, thrown)
    }
  }

  /**
   * A supplement to a healthy state, where `save` could not show a table because of rules that only nft can read; else
   * empty.
   */
  get caveat(): string {
    if (this.#unreadable.size === 0) return ''
    const tables = [...this.#unreadable].join(', ')
    return `; not all of ${tables} is compared, for rules of others that ${this.choice.program} cannot read`
  }

  /** Whether a rule stands in a chain that may hold others that cannot be shown. `spec` is as `renderRuleSpec` writes it, without quotes. */
  async holds(table: TableName, chain: string, spec: string): Promise<boolean> {
    try {
      await this.#read(this.choice.program, ['--wait', lockWaitSeconds, '-t', table, '-C', chain, ...spec.split(' ')])
      return true
    } catch (thrown) {
      if (thrown instanceof RulesError && thrown.code === 'save-failed') return false
      throw thrown
    }
  }

  /**
   * Returns what `iptables -S CHAIN` prints; undefined where there is no such chain. It takes milliseconds in a table
   * of any size.
   */
  async listChain(table: TableName, chain: string): Promise<string | undefined> {
    try {
      return await this.#read(this.choice.program, ['--wait', lockWaitSeconds, '-t', table, '-S', chain])
    } catch (thrown) {
      if (thrown instanceof RulesError && thrown.code === 'save-failed') return undefined
      throw thrown
    }
  }

  /** The counters of all rules of a chain together; zero where there is no such chain. */
  async readCounters(table: TableName, chain: string): Promise<ChainCounters> {
    const args = ['--wait', lockWaitSeconds, '-t', table, '-v', '-S', chain]
    const text = await this.#read(this.choice.program, args).catch(() => '')
    const counts = Array.from(text.matchAll(/^-A .* -c (\d+) (\d+)/gm), ([, packets, bytes]) =>
      [packets, bytes].map(Number),
    )
    return {
      packets: counts.reduce((sum, [packets = 0]) => sum + packets, 0),
      bytes: counts.reduce((sum, [, bytes = 0]) => sum + bytes, 0),
    }
  }

  /** Packets and bytes that each chain got from this one since it was written, by chain; none where there is no such chain. */
  async readJumps(table: TableName, chain: string): Promise<ReadonlyMap<string, ChainCounters>> {
    const args = ['--wait', lockWaitSeconds, '-t', table, '-v', '-S', chain]
    const text = await this.#read(this.choice.program, args).catch(() => '')
    const jumps = new Map<string, ChainCounters>()
    for (const [line, packets, bytes] of text.matchAll(/^-A .* -c (\d+) (\d+).*$/gm)) {
      const target = / -[jg] (\S+)/.exec(line)?.[1]
      const known = target === undefined ? undefined : (jumps.get(target) ?? { packets: 0, bytes: 0 })
      if (target === undefined || known === undefined) continue
      jumps.set(target, { packets: known.packets + Number(packets), bytes: known.bytes + Number(bytes) })
    }
    return jumps
  }

  async #read(file: string, args: readonly string[]): Promise<string> {
    try {
      return (await this.run(file, args, { timeoutMs: readTimeoutMs })).stdout
    } catch (thrown) {
      throw explainSaveFailure(thrown)
    }
  }
}

function isUnreadable(thrown: unknown): boolean {
  return thrown instanceof RulesError && thrown.cause instanceof ExecError && /incompatible/.test(thrown.cause.stderr)
}

function unreadableTable(
  table: string,
  { program, family }: Pick<IptablesChoice, 'program' | 'family'>,
  cause?: unknown,
): RulesError {
  const place = `${family === 'IPv4' ? 'ip' : 'ip6'} ${table}`
  return new RulesError('unreadable', `table ${place} holds rules that ${program} cannot read`, {
    remedy: `look at it with \`nft list table ${place}\` and move rules written with nft to a table of their own`,
    cause,
  })
}
