import type { Directive } from '../../corefile/blocks.ts'
import {
  badValue,
  flagOption,
  type OptionReaders,
  readArgs,
  readChoice,
  readOptions,
  readPattern,
  readWait,
} from '../../corefile/values.ts'
import type { ConsolidateRule, ErrorsSettings } from './settings.ts'

const levels = ['warning', 'error', 'info', 'debug'] as const

const options: OptionReaders<ErrorsSettings> = {
  consolidate: { list: 'consolidate', read: (option) => [readConsolidate(option)] },
  stacktrace: flagOption({ stacktrace: true }),
}

/** Reads `errors [stdout] { stacktrace; consolidate DURATION REGEXP [LEVEL] [show_first] }`. */
export function readErrors(directive: Directive): ErrorsSettings {
  const [output] = readArgs(directive, 0, 1)
  if (output !== undefined) readChoice(output, ['stdout'])
  return readOptions(directive, { stacktrace: false, consolidate: [] }, options)
}

function readConsolidate(option: Directive): ConsolidateRule {
  const [period, pattern, ...rest] = readArgs(option, 2, 4)
  if (period === undefined || pattern === undefined) throw badValue(option.name, 'DURATION REGEXP')
  const showFirst = rest.at(-1)?.text === 'show_first'
  const [level, extra] = showFirst ? rest.slice(0, -1) : rest
  if (extra !== undefined) throw badValue(extra, 'show_first')
  return {
    periodMs: readWait(period, { minMs: 1 }),
    pattern: readPattern(pattern),
    level: level === undefined ? 'error' : readChoice(level, levels),
    showFirst,
  }
}
