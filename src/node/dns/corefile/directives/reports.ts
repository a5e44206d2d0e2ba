import { encodeName } from '../../wire/name.ts'
import type { Directive } from '../blocks.ts'
import type { ConsolidateRule, ErrorsSettings, LogClass, LogRule } from '../settings.ts'
import { badValue, readArgs, readChoice, readOptions, readPattern, readWait } from '../values.ts'
import { readZone } from '../zones.ts'

const commonFormat =
  '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize} {duration}'
const combinedFormat = `${commonFormat} "{>opcode}"`
const levels = ['warning', 'error', 'info', 'debug'] as const
const classes: readonly LogClass[] = ['all', 'denial', 'error', 'success']

/** `errors [stdout] { stacktrace; consolidate DURATION REGEXP [LEVEL] [show_first] }` */
export function readErrors(directive: Directive): ErrorsSettings {
  const [output] = readArgs(directive, 0, 1)
  if (output !== undefined) readChoice(output, ['stdout'])
  let stacktrace = false
  const consolidate: ConsolidateRule[] = []
  readOptions(directive, {
    stacktrace: (option) => {
      readArgs(option, 0)
      stacktrace = true
    },
    consolidate: (option) => consolidate.push(readConsolidate(option)),
  })
  return { stacktrace, consolidate }
}

function readConsolidate(option: Directive): ConsolidateRule {
  const [period, pattern, ...rest] = readArgs(option, 2, 4)
  if (period === undefined || pattern === undefined) throw badValue(option.name, 'DURATION REGEXP')
  const showFirst = rest.at(-1)?.text === 'show_first'
  const [level, extra] = showFirst ? rest.slice(0, -1) : rest
  if (extra !== undefined) throw badValue(extra, 'show_first')
  return {
    periodMs: readWait(period, { leastMs: 1 }),
    pattern: readPattern(pattern),
    level: level === undefined ? 'error' : readChoice(level, levels),
    showFirst,
  }
}

/** `log [NAMES…] [FORMAT] { class CLASSES… }` */
export function readLog(directive: Directive): readonly LogRule[] {
  const last = directive.args.at(-1)
  const hasFormat = directive.args.length > 1 && last?.text.includes('{') === true
  const names = hasFormat ? directive.args.slice(0, -1) : directive.args
  const format = (hasFormat ? last.text : '{common}')
    .replaceAll('{common}', commonFormat)
    .replaceAll('{combined}', combinedFormat)
  const wanted = new Set<LogClass>()
  readOptions(directive, {
    class: (option) => {
      for (const token of readArgs(option, 1, Number.POSITIVE_INFINITY)) wanted.add(readChoice(token, classes))
    },
  })
  const zones = names.length === 0 ? [encodeName('.')] : names.map(readZone)
  return zones.map((zone) => ({ zone, format, classes: wanted.size === 0 ? ['all'] : [...wanted] }))
}
