import type { IpFamily } from '../../model/ip.ts'
import type { Logger } from '../../observe/logger.ts'
import { CommitGatherer } from './commit-gatherer.ts'
import type { RulesWriter } from './writer.ts'

export interface DriftWatchParts {
  readonly family: IpFamily
  readonly writer: Pick<RulesWriter, 'tables' | 'verify' | 'verifyChains'>
  readonly log: Logger
}

/** More than this is read faster in one go. */
const maxChains = 200

/** Has the writer look at what others changed, as the kernel reports it: the chains concerned where they are few, else everything. */
export class DriftWatch extends CommitGatherer {
  constructor({ family, writer, log }: DriftWatchParts) {
    const isOurTable = (name: string) => writer.tables.some((table) => table === name)
    super({
      concerns: (commit) => commit.family === family && commit.changes.some(({ table }) => isOurTable(table)),
      look: async (commits, needsAll) => {
        if (!needsAll && (await writer.verifyChains(commits, maxChains)) !== 'too-many') return
        log.debug('everything is compared with the kernel', { why: needsAll ? 'events were missed' : 'many changes' })
        await writer.verify(commits)
      },
      log,
      failure: 'rules that changed in the kernel could not be compared or repaired; tried again',
    })
  }
}
