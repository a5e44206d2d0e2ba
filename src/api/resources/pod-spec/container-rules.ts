import type { Json } from '../../../model/api-object.ts'
import { isJsonObject, listAt, objectAt, textAt } from '../../document.ts'
import { type Check, each, fields, oneOf, required, text, unique } from '../../schema/checks.ts'
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

/** Checks the rules of all containers; an image is optional, because a process of the node needs none. */
function commonRules(facts: PodFacts): Check {
  const table = fields({
    name: text(checkDnsLabel),
    terminationMessagePolicy: oneOf('File', 'FallbackToLogsOnError'),
    imagePullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
    ports: portRules,
    env,
    envFrom,
    resources: resourceRequirements(facts.claimNames),
    resizePolicy: resizePolicy(facts.restartPolicy),
    securityContext: containerSecurity(facts.usesHostUsers),
  })
  const needsName = required('name')
  return (container, path) => [
    ...needsName(container, path),
    ...table(container, path),
    ...checkMounts(container, path, facts.volumes),
  ]
}

function lifeRules(facts: PodFacts): Check {
  return fields({
    lifecycle: lifecycle(facts.graceSeconds, facts.os),
    livenessProbe: vitalProbe,
    readinessProbe,
    startupProbe: vitalProbe,
  })
}

const lifeFields = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']

/** Checks `spec.containers`. */
export function checkContainers(containers: readonly Json[], path: string, facts: PodFacts): readonly FieldError[] {
  if (containers.length === 0) return [requiredField(path)]
  const [common, life] = [commonRules(facts), lifeRules(facts)]
  const list = [...containers]
  return [
    ...each(common, life, withoutRestartPolicy)(list, path),
    ...unique('name')(list, path),
    ...checkHostPortConflicts(containers, path),
  ]
}

function withoutRestartPolicy(container: Json, path: string): readonly FieldError[] {
  if (textAt(container, 'restartPolicy') === '') return []
  return [forbiddenField(`${path}.restartPolicy`, 'may not be set for non-init containers')]
}

/** Checks `spec.initContainers`; `others` are the containers whose names and Pod they share. */
export function checkInitContainers(
  containers: readonly Json[],
  others: readonly Json[],
  path: string,
  facts: PodFacts,
): readonly FieldError[] {
  const [common, life] = [commonRules(facts), lifeRules(facts)]
  const taken = new Set(others.map((container) => textAt(container, 'name')))
  return containers.flatMap((container, index) => {
    const at = `${path}[${index}]`
    const name = textAt(container, 'name')
    const isRepeated = name !== '' && (taken.has(name) || !taken.add(name))
    const runsOn = textAt(container, 'restartPolicy') === 'Always'
    return [
      ...common(container, at),
      ...fields({ restartPolicy: oneOf('Always') })(container, at),
      ...(isRepeated ? [duplicateField(`${at}.name`, name)] : []),
      ...checkHostPortConflicts([container], path),
      ...(runsOn ? life(container, at) : forbidLifeFields(container, at)),
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
