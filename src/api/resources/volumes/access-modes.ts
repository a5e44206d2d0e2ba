import type { Json } from '../../../model/api-object.ts'
import { listAt } from '../../document.ts'

const shortModes: readonly (readonly [mode: string, short: string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

/** Returns access modes as a Table shows them: `RWO,ROX`. */
export function accessModesCell(owner: Json | undefined): string {
  const modes = listAt(owner, 'accessModes')
  return shortModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}
