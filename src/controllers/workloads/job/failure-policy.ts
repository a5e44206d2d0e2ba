import type { ContainerState, Pod } from '../../objects/pod.ts'
import type { FailureRule, Job } from './shapes.ts'

export interface FailureVerdict {
  readonly action: string
  /** The message of a Job that fails by this rule. */
  readonly message: string
}

/** Returns what the first matching rule of `podFailurePolicy` says of a failed Pod; undefined where none matches. */
export function matchFailurePolicy({ spec }: Job, pod: Pod): FailureVerdict | undefined {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const reason = reasonOf(rule, pod)
    if (reason !== undefined)
      return { action: rule.action, message: `${reason} matching ${rule.action} rule at index ${index}` }
  }
  return undefined
}

/** Checks whether a failure of the Pod counts against the limits of its Job. */
export function isCounted(job: Job, pod: Pod): boolean {
  return matchFailurePolicy(job, pod)?.action !== 'Ignore'
}

function reasonOf(rule: FailureRule, { metadata, status }: Pod): string | undefined {
  const { namespace, name } = metadata
  if (rule.onExitCodes !== undefined) {
    const found = [...status.containerStatuses, ...status.initContainerStatuses].find((each) => hasCode(rule, each))
    const code = found?.state.terminated?.exitCode
    return found && `Container ${found.name} for pod ${namespace}/${name} failed with exit code ${code}`
  }
  const condition = status.conditions.find((each) =>
    rule.onPodConditions.some((pattern) => pattern.type === each.type && pattern.status === each.status),
  )
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`
}

function hasCode({ onExitCodes }: FailureRule, { name, state }: ContainerState): boolean {
  const code = state.terminated?.exitCode
  if (onExitCodes === undefined || code === undefined || code === 0) return false
  if (onExitCodes.containerName !== undefined && onExitCodes.containerName !== name) return false
  return onExitCodes.values.includes(code) === (onExitCodes.operator === 'In')
}
