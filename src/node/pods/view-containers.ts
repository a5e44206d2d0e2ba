import type { Refusal } from './container-launch.ts'
import type { ContainerProbes } from './container-probes.ts'
import type { ContainerState } from './plan.ts'
import type { PodSpec } from './pod-spec.ts'
import type { ContainerView } from './status.ts'

/** The observed states of the current run of a container and of the run before it. */
export interface Observed {
  readonly state: ContainerState
  readonly previous: ContainerState
}

export const none: ContainerState = { kind: 'none' }

/** Combines states, probes and refusals into the view of each container, by its name. */
export function viewContainers(
  { spec }: PodSpec,
  states: Readonly<Record<string, Observed>>,
  probes: ReadonlyMap<string, Pick<ContainerProbes, 'isStarted' | 'isReady'>>,
  refusals: ReadonlyMap<string, Refusal>,
): Readonly<Record<string, ContainerView>> {
  const views = [...spec.initContainers, ...spec.containers].map(({ name }): [string, ContainerView] => {
    const { state, previous } = states[name] ?? { state: none, previous: none }
    const own = state.kind === 'running' ? probes.get(name) : undefined
    const isStarted = own?.isStarted ?? false
    return [name, { state, previous, isStarted, isReady: own?.isReady ?? false, refusal: refusals.get(name) }]
  })
  return Object.fromEntries(views)
}
