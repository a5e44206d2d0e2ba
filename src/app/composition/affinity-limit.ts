import { readSysctl } from '../../host/index.ts'
import type { LiveNodeState } from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'

/**
 * Logs once, at the first Service with session affinity, how many clients the kernel's `recent` match keeps for each endpoint. The
 * number is fixed when the module is loaded, which may be later than the start of the agent.
 */
export function warnOfAffinityLimit(
  state: Pick<LiveNodeState, 'subscribe' | 'service'>,
  log: Logger,
  modules = '/sys/module',
): void {
  const unsubscribe = state.subscribe(({ services }) => {
    const service = [...services].find((key) => state.service(key)?.affinity !== undefined)
    if (service === undefined) return
    unsubscribe()
    void readSysctl('xt_recent/parameters/ip_list_tot', modules).then((limit) =>
      log.warn(
        'session affinity: the kernel remembers a limited number of clients for each endpoint and forgets the oldest; --affinity-form ipset holds 65,536',
        { service, clients: limit ?? 'unknown before its module is loaded (100 by default)' },
      ),
    )
  })
}
