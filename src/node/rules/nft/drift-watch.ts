import type { NftCommit, NftSession } from '../../../host/index.ts'
import { isFilledByPackets } from '../../../netfilter/nft/set-specs.ts'
import type { NftTable, SetSpec } from '../../../netfilter/nft/types.ts'
import type { Logger } from '../../../observe/logger.ts'
import { authorsOf } from '../authors.ts'
import { CommitGatherer } from '../commit-gatherer.ts'
import type { NftWriter } from './writer.ts'

export interface ElementDriftWatchParts {
  /** The wanted table; a live view. */
  readonly wanted: { readonly table: NftTable }
  readonly writer: Pick<NftWriter, 'verify'>
  readonly session: Pick<NftSession, 'isOwn'>
  readonly log: Logger
}

/**
 * Has the writer look at what others changed in our table, as the kernel reports it: the sets concerned, or everything where more than
 * elements changed.
 */
export class ElementDriftWatch extends CommitGatherer {
  constructor({ wanted, writer, session, log }: ElementDriftWatchParts) {
    super({
      concerns: ({ family, changes }) =>
        family === wanted.table.family && changes.some(({ table }) => table === wanted.table.name),
      isOwn: (commit) => session.isOwn(commit),
      look: async (commits, needsAll) => {
        const sets = needsAll ? 'all' : changedSets(commits, wanted.table)
        const by = authorsOf(commits)
        if (sets === 'all') await writer.verify(undefined, by)
        else if (sets.length > 0) await writer.verify(sets, by)
      },
      log,
      failure: 'elements that changed in the kernel could not be compared or repaired; tried again',
    })
  }
}

function changedSets(commits: readonly NftCommit[], { name, sets }: NftTable): readonly SetSpec[] | 'all' {
  const changed = new Set<SetSpec>()
  for (const { table, set } of commits.flatMap(({ changes }) => changes)) {
    if (table !== name || (set !== undefined && isFilledByPackets(set))) continue
    const spec = sets.find((each) => each.name === set)
    if (spec === undefined) return 'all'
    changed.add(spec)
  }
  return [...changed]
}
