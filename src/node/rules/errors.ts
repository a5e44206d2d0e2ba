import { ExecError } from '../../host/index.ts'
import { PlatnetError } from '../../model/errors.ts'

export type RulesErrorCode =
  | 'restore-failed'
  | 'save-failed'
  /** The table holds rules that iptables cannot show; it can still write there, and show other chains. */
  | 'unreadable'
  | 'lock-busy'
  | 'not-found'
  | 'permission'
  | 'killed'
  | 'timeout'
  | 'not-synced'
  /** The answer of the kernel was lost: what was to be written may stand or not. */
  | 'uncertain'
  | 'not-our-table'
  /** The kernel or ipset does not take a set or a member. */
  | 'set-refused'
  /** Rules name a set that should go, or that another kind of set should replace. */
  | 'set-in-use'

/** Where in the input of `iptables-restore` or `ipset restore` it failed, as far as the program reported. */
export interface FailedLine {
  /** 1 for the first. */
  readonly number: number
  readonly text: string
  /** `ipset` for sets. */
  readonly table: string
  readonly chain?: string
  readonly set?: string
}

/** Reading or writing the kernel's rules failed. Nothing of what was to be written is lost: the writer tries again. */
export class RulesError extends PlatnetError<RulesErrorCode> {
  readonly line: FailedLine | undefined

  constructor(
    code: RulesErrorCode,
    message: string,
    details: { line?: FailedLine; object?: string; remedy?: string; cause?: unknown } = {},
  ) {
    super(code, message, details)
    this.line = details.line
  }
}

/** Turns what `runProgram` threw into a RulesError; `input` is the restore's text. Anything else is returned as it came. */
export function explainRestoreFailure(thrown: unknown, input: string): unknown {
  if (!(thrown instanceof ExecError)) return thrown
  const { code, remedy } = classify(thrown, 'restore-failed')
  const line = code === 'restore-failed' ? findFailedLine(thrown.stderr, input) : undefined
  const where = line === undefined ? '' : ` at line ${line.number} of table ${line.table}, ${JSON.stringify(line.text)}`
  return new RulesError(code, `writing rules failed${where}`, {
    ...(line === undefined ? {} : { line }),
    ...(line?.chain === undefined ? {} : { object: `chain ${line.chain}` }),
    ...(remedy === undefined ? {} : { remedy }),
    cause: thrown,
  })
}

/** Turns what `ipset restore` of these lines threw into a RulesError. Anything else is returned as it came. */
export function explainSetFailure(thrown: unknown, lines: readonly string[]): unknown {
  if (!(thrown instanceof ExecError)) return thrown
  const isInUse = /in use by a kernel component/.test(thrown.stderr)
  const { code, remedy } = classify(thrown, isInUse ? 'set-in-use' : 'set-refused')
  const number = Number(/\bline (\d+)/.exec(thrown.stderr)?.[1] ?? Number.NaN)
  const text = lines[number - 1]
  const set = /^\w+ (\S+)/.exec(text ?? '')?.[1]
  const where = text === undefined ? '' : ` at line ${number}, ${JSON.stringify(text)}`
  return new RulesError(code, `writing ipsets failed${where}`, {
    ...(text === undefined ? {} : { line: { number, text, table: 'ipset', ...(set === undefined ? {} : { set }) } }),
    ...(set === undefined ? {} : { object: `set ${set}` }),
    ...(remedy === undefined ? {} : { remedy }),
    cause: thrown,
  })
}

export function explainSaveFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ExecError)) return thrown
  const { code, remedy } = classify(thrown, 'save-failed')
  return new RulesError(code, 'reading rules failed', { ...(remedy === undefined ? {} : { remedy }), cause: thrown })
}

interface Classified {
  readonly code: RulesErrorCode
  readonly remedy?: string | undefined
}

function classify(error: ExecError, otherwise: RulesErrorCode): Classified {
  if (error.code !== 'failed') return { code: error.code, remedy: error.remedy }
  if (/xtables lock|xtables\.lock: Resource temporarily/.test(error.stderr)) {
    return { code: 'lock-busy', remedy: 'another program holds /run/xtables.lock; the write is repeated automatically' }
  }
  if (/Permission denied|Operation not permitted/.test(error.stderr)) {
    return { code: 'permission', remedy: 'run as root or with CAP_NET_ADMIN' }
  }
  return { code: otherwise }
}

/** The programs say `line 5: RULE_APPEND failed`, `line 5 failed`, or `Error occurred at line: 5`. */
function findFailedLine(stderr: string, input: string): FailedLine | undefined {
  const lines = input.split('\n')
  const reported = Number(/\bline:? (\d+)/.exec(stderr)?.[1] ?? Number.NaN)
  const text = lines[reported - 1]
  if (text === undefined) return undefined
  const number = text === 'COMMIT' ? (lineThatNames(missingChain(stderr), lines) ?? reported) : reported
  const chain = /^(?::|-[A-Z] )(\S+)/.exec(lines[number - 1] ?? '')?.[1]
  return {
    number,
    text: lines[number - 1] ?? '',
    table:
      lines
        .slice(0, number)
        .findLast((line) => line.startsWith('*'))
        ?.slice(1) ?? '',
    ...(chain === undefined ? {} : { chain }),
  }
}

/** iptables-nft notices a jump to nowhere only at COMMIT, and then names the target. */
function missingChain(stderr: string): string | undefined {
  return /Chain '(\S+)' does not exist/.exec(stderr)?.[1]
}

function lineThatNames(chain: string | undefined, lines: readonly string[]): number | undefined {
  const index = lines.findIndex((line) => chain !== undefined && / -[jg] (\S+)/.exec(line)?.[1] === chain)
  return index < 0 ? undefined : index + 1
}
