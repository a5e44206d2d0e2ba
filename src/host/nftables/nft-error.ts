import { PlatnetError } from '../../model/errors.ts'
import { ExecError } from '../programs/index.ts'

/**
 * `refused`: nft or the kernel refused the transaction, and nothing of it stands. `uncertain`: the answer was lost, so it may stand or not.
 * `unavailable`: no nft can be run here, or it lacks the right to. `invalid`: nothing was run, because the text is not what a session takes.
 */
export type NftErrorCode = 'refused' | 'uncertain' | 'unavailable' | 'invalid'

/** The place in a text that nft complains about. */
interface NftPlace {
  /** Command without its elements: `add element ip platnet addresses`. */
  readonly command?: string | undefined
  /** Element as written: `10.96.0.1 . tcp . 80 : 1:2`. */
  readonly element?: string | undefined
  /** Line of the text, counted from 1. */
  readonly lineNumber?: number | undefined
}

/** A transaction of nftables that did not succeed. */
export class NftError extends PlatnetError<NftErrorCode> {
  /** Text of nft or the kernel: `File exists`; empty where they said nothing. */
  readonly reason: string
  readonly command: string | undefined
  readonly element: string | undefined
  readonly lineNumber: number | undefined

  constructor(code: NftErrorCode, reason: string, details: NftPlace & { remedy?: string; cause?: unknown } = {}) {
    const { command, element, lineNumber } = details
    const place = [command ?? (lineNumber === undefined ? '' : `line ${lineNumber}`), element ?? ''].filter(Boolean)
    super(code, [explanations[code], ...place, reason].filter(Boolean).join(': '), details)
    this.reason = reason
    this.command = command
    this.element = element
    this.lineNumber = lineNumber
  }
}

const explanations: Readonly<Record<NftErrorCode, string>> = {
  refused: 'nft refused a transaction',
  uncertain: 'it is not known whether a transaction of nft was carried out',
  unavailable: 'nft cannot be used',
  invalid: 'a text is no list of elements to add or delete',
}

/** The state of a transaction after a failure. */
export type FailureKind = 'refused' | 'busy' | 'uncertain' | 'unavailable'

const permission = /Operation not permitted|Unable to initialize Netlink socket|Protocol not supported/
const passing = /cache initialization failed|Device or resource busy|Interrupted system call|Resource temporarily/

/** Reads from the output of a failed nft what became of its transaction. `busy` means that nothing stands and another attempt may succeed. */
export function judgeFailure(output: string): FailureKind {
  if (permission.test(output)) return 'unavailable'
  // After the transaction was sent, the answer was lost: the socket's buffer was full, for example.
  if (/^netlink: Error: Could not process/m.test(output)) return 'uncertain'
  if (passing.test(output)) return 'busy'
  return /(?:^|: )Error: /m.test(output) ? 'refused' : 'uncertain'
}

/** Builds the error of a started nft that failed. `text` is what it read, one element in a line. */
export function explainFailure(thrown: unknown, text: string): NftError {
  if (!(thrown instanceof ExecError)) return new NftError('uncertain', '', { cause: thrown })
  if (thrown.code === 'not-found')
    return new NftError('unavailable', 'the program is missing', { remedy: 'install nftables', cause: thrown })
  if (thrown.code !== 'failed') return new NftError('uncertain', thrown.message, { cause: thrown })
  const kind = judgeFailure(thrown.stderr)
  const [, lineText, said] = /^\S+?:(\d+):\d+-\d+: Error: (.*)$/m.exec(thrown.stderr) ?? []
  const reason = said ?? /Error: (.*)$/m.exec(thrown.stderr)?.[1] ?? thrown.stderr.slice(0, 300)
  const remedy = kind === 'unavailable' ? { remedy: 'nft needs CAP_NET_ADMIN and a kernel with nf_tables' } : {}
  const place = lineText === undefined ? {} : placeOf(text, Number(lineText))
  return new NftError(kind === 'busy' ? 'refused' : kind, reason, { ...place, ...remedy, cause: thrown })
}

/** Finds the command that a line belongs to, and the element in it. */
function placeOf(text: string, lineNumber: number): NftPlace {
  const lines = text.split('\n')
  const line = lines[lineNumber - 1] ?? ''
  const element = line
    .replace(/^.*\{ /, '')
    .replace(/(?:,| \})$/, '')
    .slice(0, 200)
  let first = lineNumber - 1
  while (first > 0 && !/^\s*(?:add|delete) element /.test(lines[first] ?? '')) first -= 1
  const command = /^\s*((?:add|delete) element [^{]*?) \{/.exec(lines[first] ?? '')?.[1]
  return command === undefined ? { lineNumber, element: line.trim().slice(0, 200) } : { command, element, lineNumber }
}
