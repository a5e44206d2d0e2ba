import { readSysctl } from '../../host/index.ts'
import type { LiveNodeState } from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'

/**
 * Says once, as soon as a Service asks for session affinity, how many clients the kernel's `recent` remembers for each endpoint. That is
 * fixed when its module is loaded, which may not have happened yet.
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
        'session affinity: the kernel remembers so many clients an endpoint, and forgets the oldest beyond; --affinity-form ipset holds 65,536',
        { service, clients: limit ?? 'unknown before its module is loaded (100 unless told otherwise)' },
      ),
    )
  })
}
