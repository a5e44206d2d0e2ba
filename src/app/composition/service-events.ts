import type { EventRecorder } from '../../client/index.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { LiveNodeState } from '../../node/state/index.ts'

/** Reports a Service that this node cannot serve as specified; never fails and never waits. */
export type TellOfService = (service: ObjectKey, reason: string, message: string) => void

/** Writes Events of type Warning for the Service's object; none if the Service is gone. */
export function serviceEvents(events: EventRecorder, state: Pick<LiveNodeState, 'stored'>): TellOfService {
  return (service, reason, message) => {
    const [namespace, name = ''] = service.split('/')
    const uid = state.stored('services', service)?.uid
    if (uid === undefined) return
    events.record({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace, uid } }, 'Warning', reason, message)
  }
}
