import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { badRequest } from '../status.ts'

/**
 * Returns the container that a request is about: the named one, also an init or ephemeral container, or the only one of
 * the pod. Throws a 400 in kube-apiserver's words.
 */
export function chooseContainer(pod: ApiDocument, wanted: string): string {
  const { name = '' } = pod.metadata
  const containers = namesOf(listAt(pod['spec'], 'containers'))
  const init = namesOf(listAt(pod['spec'], 'initContainers'))
  const all = [...init, ...containers, ...namesOf(listAt(pod['spec'], 'ephemeralContainers'))]
  if (wanted !== '') {
    if (!all.includes(wanted)) throw badRequest(`container ${wanted} is not valid for pod ${name}`)
    return wanted
  }
  const [only] = containers
  if (only !== undefined && containers.length === 1) return only
  const choice = containers.length === 0 ? '' : `, choose one of: [${all.join(' ')}]`
  throw badRequest(`a container name must be specified for pod ${name}${choice}`)
}

function namesOf(containers: readonly Json[]): readonly string[] {
  return containers.map((container) => textAt(container, 'name'))
}
