import { formatAge } from '../../model/age.ts'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { type Column, column } from './resource.ts'

/** The columns of `kubectl get pods`, as kube-apiserver prints them (printPod of pkg/printers). */
export const podColumns: readonly Column[] = [
  column('Ready', readyCell),
  column('Status', statusCell),
  column('Restarts', restartsCell),
  column('IP', ipCell, { wide: true }),
  column('Node', (pod) => textAt(pod['spec'], 'nodeName') || '<none>', { wide: true }),
  column('Nominated Node', (pod) => textAt(pod['status'], 'nominatedNodeName') || '<none>', { wide: true }),
  column('Readiness Gates', readinessGatesCell, { wide: true }),
]

export const gatedReason = 'SchedulingGated'

/** Returns one word for the terminated or waiting state of a container. */
function endOf(terminated: Json | undefined): string {
  const [reason, signal] = [textAt(terminated, 'reason'), textAt(terminated, 'signal')]
  if (reason !== '') return reason
  return signal !== '' && signal !== '0' ? `Signal:${signal}` : `ExitCode:${textAt(terminated, 'exitCode')}`
}

function stateOf(status: Json, state: 'waiting' | 'running' | 'terminated'): Json | undefined {
  const found = objectAt(status, 'state')
  return Object.hasOwn(found, state) ? found[state] : undefined
}

function isReady(status: Json): boolean {
  return textAt(status, 'ready') === 'true'
}

/** Returns the names of the sidecars: init containers that keep running beside the others. */
function sidecarsOf(pod: ApiDocument): ReadonlySet<string> {
  const all = listAt(pod['spec'], 'initContainers')
  return new Set(all.filter((each) => textAt(each, 'restartPolicy') === 'Always').map((each) => textAt(each, 'name')))
}

function hasCondition(pod: ApiDocument, type: string): boolean {
  return listAt(pod['status'], 'conditions').some(
    (each) => textAt(each, 'type') === type && textAt(each, 'status') === 'True',
  )
}

/** Returns the reason why the init containers are not done; undefined when they are. */
function initializingWhy(pod: ApiDocument): string | undefined {
  const sidecars = sidecarsOf(pod)
  const statuses = listAt(pod['status'], 'initContainerStatuses')
  const index = statuses.findIndex((status) => {
    const hasSucceeded = textAt(stateOf(status, 'terminated'), 'exitCode') === '0'
    const runsOn = sidecars.has(textAt(status, 'name')) && textAt(status, 'started') === 'true'
    return !hasSucceeded && !runsOn
  })
  const current = statuses[index]
  if (current === undefined || hasCondition(pod, 'Initialized')) return undefined
  const terminated = stateOf(current, 'terminated')
  if (terminated !== undefined) return `Init:${endOf(terminated)}`
  const waiting = textAt(stateOf(current, 'waiting'), 'reason')
  if (waiting !== '' && waiting !== 'PodInitializing') return `Init:${waiting}`
  return `Init:${index}/${listAt(pod['spec'], 'initContainers').length}`
}

/** Returns the reason of the container that comes first in the list and has one. */
function containersWhy(pod: ApiDocument): string | undefined {
  for (const status of listAt(pod['status'], 'containerStatuses')) {
    const waiting = textAt(stateOf(status, 'waiting'), 'reason')
    if (waiting !== '') return waiting
    const terminated = stateOf(status, 'terminated')
    if (terminated !== undefined) return endOf(terminated)
  }
  return undefined
}

function statusCell(pod: ApiDocument): string {
  const [phase, reason] = [textAt(pod['status'], 'phase'), textAt(pod['status'], 'reason')]
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (reason === 'NodeLost') return 'Unknown'
    if (phase !== 'Succeeded' && phase !== 'Failed') return 'Terminating'
  }
  const isGated = listAt(pod['status'], 'conditions').some((each) => textAt(each, 'reason') === gatedReason)
  const plain = isGated ? gatedReason : reason || phase
  const why = initializingWhy(pod) ?? containersWhy(pod) ?? plain
  if (why !== 'Completed' || readyContainers(pod).length === 0) return why
  return hasCondition(pod, 'Ready') ? 'Running' : 'NotReady'
}

/** Returns the statuses of the main containers that run and are ready; none until the init containers are done. */
function readyContainers(pod: ApiDocument): readonly Json[] {
  if (initializingWhy(pod) !== undefined) return []
  const isRunning = (status: Json) => isReady(status) && stateOf(status, 'running') !== undefined
  return listAt(pod['status'], 'containerStatuses').filter(isRunning)
}

function readyCell(pod: ApiDocument): string {
  const sidecars = sidecarsOf(pod)
  const runningOn = listAt(pod['status'], 'initContainerStatuses').filter(
    (status) => sidecars.has(textAt(status, 'name')) && textAt(status, 'started') === 'true' && isReady(status),
  )
  const total = listAt(pod['spec'], 'containers').length + sidecars.size
  return `${readyContainers(pod).length + runningOn.length}/${total}`
}

/**
 * Returns the restarts, `3 (20s ago)`: those of init containers until they are done, then those of running containers.
 */
function restartsCell(pod: ApiDocument, now: Date): string {
  const sidecars = sidecarsOf(pod)
  const inits = listAt(pod['status'], 'initContainerStatuses')
  const later = inits.filter((status) => sidecars.has(textAt(status, 'name')))
  const isInitializing = initializingWhy(pod) !== undefined
  const counted = isInitializing ? inits : [...later, ...listAt(pod['status'], 'containerStatuses')]
  const count = counted.reduce((sum: number, status) => sum + (Number(textAt(status, 'restartCount')) || 0), 0)
  const ends = counted.map((status) => Date.parse(textAt(objectAt(status, 'lastState', 'terminated'), 'finishedAt')))
  const last = Math.max(...ends.filter((ms) => !Number.isNaN(ms)))
  return count === 0 || last === Number.NEGATIVE_INFINITY
    ? String(count)
    : `${count} (${formatAge(now.getTime() - last)} ago)`
}

function ipCell(pod: ApiDocument): string {
  return textAt(listAt(pod['status'], 'podIPs')[0], 'ip') || textAt(pod['status'], 'podIP') || '<none>'
}

function readinessGatesCell(pod: ApiDocument): string {
  const gates = listAt(pod['spec'], 'readinessGates').map((gate) => textAt(gate, 'conditionType'))
  return gates.length === 0 ? '<none>' : `${gates.filter((gate) => hasCondition(pod, gate)).length}/${gates.length}`
}
