import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { LocalPod } from './local-pod.ts'
import type { PodApi } from './pod-api.ts'
import { backOffOf, changedStatus, describeStatus, isHeldBack, type PodView } from './status.ts'

const retryMs = 2000

/**
 * Writes the fields of the status that changed, and records Events of what keeps containers from starting. Resolves with the time of the next
 * attempt (ms since 1970) if the API did not accept the status: an API that is away does not delay the pod.
 */
export async function reportStatus(
  pod: LocalPod,
  view: PodView,
  { api, log }: { readonly api: Pick<PodApi, 'writeStatus'>; readonly log: Logger },
): Promise<number | undefined> {
  recordEvents(pod, view)
  const changed = changedStatus(view.pod.status, describeStatus(view))
  if (changed === undefined) return undefined
  try {
    await api.writeStatus(view.pod, changed)
  } catch (error) {
    log.warn('the status of a pod could not be written', { pod: view.pod.key, error: describeError(error) })
    return Date.now() + retryMs
  }
  // The watch brings the new status later. Until then the object must have it, or the next report would write it again.
  if (pod.object === view.pod) pod.object = { ...view.pod, status: { ...view.pod.status, ...changed } }
  return undefined
}

function recordEvents(pod: LocalPod, view: PodView): void {
  const { denial, wanted, containers } = view
  // `NamespaceNotRead` lasts only until the first list of namespaces.
  if (denial !== undefined && denial.reason !== 'NamespaceNotRead') {
    const isWaiting = wanted.containers.some((name) => isHeldBack(view, name))
    if (isWaiting) pod.recordEvent(denial.reason, denial.message)
  }
  for (const name of Object.keys(containers)) {
    const backOff = backOffOf(view, name)
    if (backOff && backOff.delayMs > 0) pod.recordEvent('BackOff', backOff.message)
  }
}
