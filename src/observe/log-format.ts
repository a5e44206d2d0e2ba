import { fstatSync } from 'node:fs'
import { prettyFactory } from 'pino-pretty'
import { visibleColours, visibleText } from '../model/visible-text.ts'

/** How records are written: JSON lines, readable text for a terminal, or JSON lines with journald's priority prefix. */
export type LogFormat = 'json' | 'pretty' | 'journald'

/** The properties of standard output that decide the format of `auto`. */
export interface LogOutput {
  readonly isTTY?: boolean
  readonly fd: number
}

/** `auto` is pretty on a terminal, journald when the output is connected to the journal (systemd.exec(5), JOURNAL_STREAM), else JSON. */
export function chooseFormat(
  wanted: LogFormat | 'auto',
  output: LogOutput,
  env: Readonly<Record<string, string | undefined>>,
): LogFormat {
  if (wanted !== 'auto') return wanted
  if (output.isTTY === true) return 'pretty'
  return isJournal(output.fd, env['JOURNAL_STREAM']) ? 'journald' : 'json'
}

/** Turns one JSON line of pino into the line that is written. JSON escapes only C0, so this function escapes all other control characters. */
export function lineFormatter(format: LogFormat, colorize: boolean): (line: string) => string {
  if (format === 'json') return visibleColours
  if (format === 'journald') return (line) => `<${journalPriority(line)}>${visibleColours(line)}`
  const pretty = prettyFactory({
    colorize,
    singleLine: true,
    messageKey: 'message',
    messageFormat: (record) =>
      visibleText(`${record['target']}: ${record['message']}${formatFields(record['fields'])}`),
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'target,fields',
  })
  return (line) => visibleColours(pretty(line))
}

/** Formats fields as ` key=value`, as tracing-subscriber does; a text with spaces is quoted, an object is JSON. */
function formatFields(fields: unknown): string {
  if (typeof fields !== 'object' || fields === null) return ''
  return Object.entries(fields)
    .map(([key, value]) => ` ${key}=${formatValue(value)}`)
    .join('')
}

function formatValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'undefined'
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}

/** sd-daemon(3) priorities; trace has no word of its own there. */
function journalPriority(line: string): number {
  const level = /"level":"(\w+)"/.exec(line)?.[1]
  return { error: 3, warn: 4, info: 6 }[level ?? ''] ?? 7
}

function isJournal(fd: number, journalStream: string | undefined): boolean {
  if (journalStream === undefined) return false
  try {
    const { dev, ino } = fstatSync(fd)
    return journalStream === `${dev}:${ino}`
  } catch {
    return false
  }
}
