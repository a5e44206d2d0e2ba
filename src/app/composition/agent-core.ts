import type { ApiClient } from '../../client/index.ts'
import type { NftMonitor, Run } from '../../host/index.ts'
import type { RepairObservers } from '../../node/rules/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../../node/state/index.ts'
import type { AppContext } from '../context.ts'
import type { ModeChooser } from './proxy-mode-choice.ts'

/** The parts of an agent that each plane of rules is composed with. */
export interface AgentCore {
  readonly context: AppContext
  readonly client: ApiClient
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly run: Run
  /** The mode of the service proxy in each family. */
  readonly modes: ModeChooser
  readonly monitor: NftMonitor
  /** Count what each writer of rules puts back. */
  readonly repairs: RepairObservers
}
