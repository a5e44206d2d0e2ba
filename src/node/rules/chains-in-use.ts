import type { Logger } from '../../observe/logger.ts'
import type { RulesError } from './errors.ts'
import type { WantedTable } from './wanted-table.ts'

/**
 * Whether a restore failed for a chain that should go while rules of others lead to it. The kernel will not let it go, and nothing else may
 * wait for that: from now on it is emptied instead.
 */
export function keepChainInUse(tables: readonly WantedTable[], { line }: RulesError, log: Logger): boolean {
  const table = tables.find(({ name }) => name === line?.table)
  const chain = /^-X (\S+)$/.exec(line?.text ?? '')?.[1]
  if (table === undefined || chain === undefined || !table.keepInUse(chain)) return false
  log.warn('an unwanted chain stays, emptied: rules of other programs jump to it', { table: table.name, chain })
  return true
}
