import type { AgentStatus } from '../app/composition/agent-status.ts'
import { visibleLines } from '../model/visible-text.ts'
import { renderStatus } from './status-text.ts'

/** The lines and columns of a terminal; undefined where it does not say them. */
export interface ScreenSize {
  readonly rows?: number | undefined
  readonly columns?: number | undefined
}

/** The size of a terminal that says nothing of itself. */
const usual = { rows: 24, columns: 80 }

/**
 * Formats a status for a terminal: `head` and then what is not as it should be, before what is. Parts that are well are counted, not
 * listed; lines end at the edge of the terminal, and the last one counts those for which there was no room.
 */
export function renderScreen(
  status: AgentStatus,
  head: readonly string[],
  isWide: boolean,
  { rows = usual.rows, columns = usual.columns }: ScreenSize,
): readonly string[] {
  const text = visibleLines(renderStatus(withoutHealthyParts(status), isWide))
  const [title = '', ...details] = text.trimEnd().split('\n')
  const [served = '', ...rest] = details
  const lines = [
    ...head.flatMap((line) => wrapAtCommas(line, columns)),
    title,
    served,
    ...countHealthy(status),
    ...rest,
  ]
  const room = Math.max(1, rows - 1)
  const shown =
    lines.length <= room ? lines : [...lines.slice(0, room - 1), `  … and ${lines.length - room + 1} more lines`]
  return shown.map((line) => cut(line, columns))
}

function withoutHealthyParts(status: AgentStatus): AgentStatus {
  const { components, applied } = status
  const unwell = Object.entries(components).filter(([, { level }]) => level !== 'ok')
  const behind = Object.entries(applied.planes).filter(
    ([plane, revision]) => revision !== applied.revision || applied.failing.includes(plane),
  )
  return {
    ...status,
    components: Object.fromEntries(unwell),
    applied: { ...applied, planes: Object.fromEntries(behind) },
  }
}

function countHealthy({ components }: AgentStatus): readonly string[] {
  const levels = Object.values(components).map(({ level }) => level)
  const healthy = levels.filter((level) => level === 'ok').length
  return healthy === 0 ? [] : [`  ok       ${healthy} of ${levels.length} parts`]
}

/** Splits a line that is too wide behind its commas; what follows is indented. */
function wrapAtCommas(line: string, columns: number): readonly string[] {
  const lines = ['']
  for (const part of line.split(/(?<=, )/)) {
    const last = lines.at(-1) ?? ''
    if (last === '' || last.length + part.trimEnd().length <= columns) lines[lines.length - 1] = last + part
    else lines.push(`  ${part}`)
  }
  return lines.map((text) => text.trimEnd())
}

function cut(line: string, columns: number): string {
  const characters = [...line]
  return characters.length <= columns ? line : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`
}
