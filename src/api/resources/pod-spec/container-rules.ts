import type { Json } from '../../../model/api-object.ts'
import { isJsonObject, listAt, objectAt, textAt } from '../../document.ts'
import { type Check, each, fieldOf, fields, oneOf, required, text, unique } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDnsLabel, checkPortName, checkPortNumber } from '../../schema/names.ts'
import { protocols } from '../protocols.ts'
import { env, envFrom } from './environment-rules.ts'
import { checkMounts, type Volumes } from './mount-rules.ts'
import { lifecycle, readinessProbe, vitalProbe } from './probe-rules.ts'
import { resourceRequirements } from './resource-rules.ts'
import { containerSecurity } from './security-rules.ts'

/** The parts of a Pod that the rules of its containers depend on. */
export interface PodFacts {
  readonly volumes: Volumes
  readonly claimNames: readonly string[]
  readonly graceSeconds: number
  readonly restartPolicy: string
  readonly os: string
  readonly usesHostUsers: boolean
}

const portRules: Check[] = [
  each(
    required('containerPort'),
    fields({
      name: text(checkPortName),
      containerPort: portNumber,
      hostPort: portNumber,
      protocol: oneOf(...protocols),
    }),
  ),
  unique('name'),
]

/** A port that is 0 counts as absent. */
function portNumber(value: Json, path: string): readonly FieldError[] {
  const why = value === 0 ? undefined : checkPortNumber(Number(textAt(value)))
  return why === undefined ? [] : [invalidField(path, value, why)]
}

const resizePolicies = ['NotRequired', 'RestartContainer']
const resizeResources = ['cpu', 'memory']

/** Checks `resizePolicy`; Kubernetes reports its errors at the list. */
function resizePolicy(restartPolicy: string): Check {
  return (value, path) => [
    ...unique('resourceName')(value, path),
    ...listAt(value).flatMap((policy) => {
      const [resource, restart] = [textAt(policy, 'resourceName'), textAt(policy, 'restartPolicy')]
      const isRestarted = restartPolicy === 'Never' && restart !== 'NotRequired'
      return [
        ...named(resource, resizeResources, path),
        ...named(restart, resizePolicies, path),
        ...(isRestarted ? [invalidField(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'")] : []),
      ]
    }),
  ]
}

function named(value: string, supported: readonly string[], path: string): readonly FieldError[] {
  if (value === '') return [requiredField(path)]
  return supported.includes(value) ? [] : [unsupportedField(path, value, supported)]
}

const table = fields({
  name: text(checkDnsLabel),
  terminationMessagePolicy: oneOf('File', 'FallbackToLogsOnError'),
  imagePullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
  ports: portRules,
  env,
  envFrom,
})
const needsName = required('name')

/** Checks the rules of all containers; an image is optional, because a process of the node needs none. */
export function checkCommon(container: Json, path: string, facts: PodFacts): readonly FieldError[] {
  return [
    ...needsName(container, path),
    ...table(container, path),
    ...fieldOf(container, 'resources', path, () => resourceRequirements(facts.claimNames)),
    ...fieldOf(container, 'resizePolicy', path, () => resizePolicy(facts.restartPolicy)),
    ...fieldOf(container, 'securityContext', path, () => containerSecurity(facts.usesHostUsers)),
    ...checkMounts(container, path, facts.volumes),
  ]
}

const probes = fields({ livenessProbe: vitalProbe, readinessProbe, startupProbe: vitalProbe })

function checkLife(container: Json, path: string, { graceSeconds, os }: PodFacts): readonly FieldError[] {
  return [...fieldOf(container, 'lifecycle', path, () => lifecycle(graceSeconds, os)), ...probes(container, path)]
}

const lifeFields = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']

/** Checks `spec.containers`. */
export function checkContainers(containers: readonly Json[], path: string, facts: PodFacts): readonly FieldError[] {
  if (containers.length === 0) return [requiredField(path)]
  return [
    ...containers.flatMap((container, index) => checkContainer(container, `${path}[${index}]`, facts)),
    ...uniqueNames(containers, path),
    ...checkHostPortConflicts(containers, path),
  ]
}

const uniqueNames = unique('name')

function checkContainer(container: Json, path: string, facts: PodFacts): readonly FieldError[] {
  return [
    ...checkCommon(container, path, facts),
    ...checkLife(container, path, facts),
    ...withoutRestartPolicy(container, path),
  ]
}

function withoutRestartPolicy(container: Json, path: string): readonly FieldError[] {
  if (textAt(container, 'restartPolicy') === '') return []
  return [forbiddenField(`${path}.restartPolicy`, 'may not be set for non-init containers')]
}

const onlyAlways = fields({ restartPolicy: oneOf('Always') })

/** Checks `spec.initContainers`; `others` are the containers whose names and Pod they share. */
export function checkInitContainers(
  containers: readonly Json[],
  others: readonly Json[],
  path: string,
  facts: PodFacts,
): readonly FieldError[] {
  const taken = new Set(others.map((container) => textAt(container, 'name')))
  return containers.flatMap((container, index) => {
    const at = `${path}[${index}]`
    const name = textAt(container, 'name')
    const isRepeated = name !== '' && (taken.has(name) || !taken.add(name))
    const runsOn = textAt(container, 'restartPolicy') === 'Always'
    return [
      ...checkCommon(container, at, facts),
      ...onlyAlways(container, at),
      ...(isRepeated ? [duplicateField(`${at}.name`, name)] : []),
      ...checkHostPortConflicts([container], path),
      ...(runsOn ? checkLife(container, at, facts) : forbidLifeFields(container, at)),
    ]
  })
}

function forbidLifeFields(container: Json, path: string): readonly FieldError[] {
  const why = 'may not be set for init containers without restartPolicy=Always'
  return lifeFields
    .filter((name) => isJsonObject(objectAt(container)[name]))
    .map((name) => forbiddenField(`${path}.${name}`, why))
}

/** Checks that no host port is used twice at one address; Kubernetes' path names the container and the port. */
function checkHostPortConflicts(containers: readonly Json[], path: string): readonly FieldError[] {
  const seen = new Set<string>()
  return containers.flatMap((container, index) =>
    listAt(container, 'ports').flatMap((port, portIndex) => {
      const hostPort = Number(textAt(port, 'hostPort') || 0)
      const key = `${textAt(port, 'protocol')}/${textAt(port, 'hostIP')}/${hostPort}`
      const isTaken = hostPort !== 0 && (seen.has(key) || !seen.add(key))
      return isTaken ? [duplicateField(`${path}[${index}].ports[${portIndex}].hostPort`, key)] : []
    }),
  )
}
