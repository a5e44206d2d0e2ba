import type { Directive } from '../../corefile/blocks.ts'
import { readChoice, readManyArgs, readOptions } from '../../corefile/values.ts'
import { readZone } from '../../corefile/zones.ts'
import { encodeName } from '../../wire/name.ts'
import type { LogClass, LogRule } from './settings.ts'

const commonFormat =
  '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize} {duration}'
const combinedFormat = `${commonFormat} "{>opcode}"`
const classes: readonly LogClass[] = ['all', 'denial', 'error', 'success']

/** Reads `log [NAMES…] [FORMAT] { class CLASSES… }`. */
export function readLog(directive: Directive): readonly LogRule[] {
  const last = directive.args.at(-1)
  const hasFormat = directive.args.length > 1 && last?.text.includes('{') === true
  const names = hasFormat ? directive.args.slice(0, -1) : directive.args
  const format = (hasFormat ? last.text : '{common}')
    .replaceAll('{common}', commonFormat)
    .replaceAll('{combined}', combinedFormat)
  const { wanted } = readOptions<{ readonly wanted: readonly LogClass[] }>(
    directive,
    { wanted: [] },
    { class: { list: 'wanted', read: (option) => readManyArgs(option).map((token) => readChoice(token, classes)) } },
  )
  const zones = names.length === 0 ? [encodeName('.')] : names.map(readZone)
  return zones.map((zone) => ({ zone, format, classes: wanted.length === 0 ? ['all'] : [...new Set(wanted)] }))
}
