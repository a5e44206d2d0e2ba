import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { parseIp } from '../../model/ip.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, without } from '../document.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkDnsLabel, checkPortName, checkPortNumber } from './names.ts'
import { protocols } from './protocols.ts'
import { badIp } from './service-addresses.ts'

const restartPolicies = ['Always', 'OnFailure', 'Never']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
const maxNameservers = 3
const maxSearches = 32

/** What a Pod must be to be run; an image is no part of it, as a process of the node needs none. */
export function validatePod(pod: ApiDocument): readonly FieldError[] {
  return validatePodSpec(objectAt(pod['spec']), 'spec')
}

/** Checks the spec of a Pod or of a workload's template; `path` is where it stands, for the errors. */
export function validatePodSpec(spec: JsonObject, path: string): readonly FieldError[] {
  const containers = listAt(spec, 'containers')
  return [
    ...(containers.length === 0 ? [requiredField(`${path}.containers`)] : []),
    ...validateContainers([
      ...numbered(containers, `${path}.containers`),
      ...numbered(listAt(spec, 'initContainers'), `${path}.initContainers`),
    ]),
    ...oneOf(`${path}.restartPolicy`, textAt(spec, 'restartPolicy'), restartPolicies),
    ...validateDns(spec, path),
    ...['hostname', 'subdomain'].flatMap((field) => problem(`${path}.${field}`, textAt(spec, field), checkDnsLabel)),
  ]
}

interface Container {
  readonly path: string
  readonly container: Json
}

function numbered(containers: readonly Json[], path: string): readonly Container[] {
  return containers.map((container, index) => ({ path: `${path}[${index}]`, container }))
}

function validateContainers(containers: readonly Container[]): readonly FieldError[] {
  const seen = new Set<string>()
  return containers.flatMap(({ path, container }) => {
    const name = textAt(container, 'name')
    const isTwice = name !== '' && (seen.has(name) || !seen.add(name))
    return [
      ...(name === '' ? [requiredField(`${path}.name`)] : problem(`${path}.name`, name, checkDnsLabel)),
      ...(isTwice ? [duplicateField(`${path}.name`, name)] : []),
      ...validatePorts(listAt(container, 'ports'), `${path}.ports`),
    ]
  })
}

function validatePorts(ports: readonly Json[], path: string): readonly FieldError[] {
  const seen = new Set<string>()
  return ports.flatMap((port, index) => {
    const at = `${path}[${index}]`
    const [name, number] = [textAt(port, 'name'), Number(textAt(port, 'containerPort') || 0)]
    const isTwice = name !== '' && (seen.has(name) || !seen.add(name))
    const why = checkPortNumber(number)
    return [
      ...problem(`${at}.name`, name, checkPortName),
      ...(isTwice ? [duplicateField(`${at}.name`, name)] : []),
      ...(number === 0 ? [requiredField(`${at}.containerPort`)] : []),
      ...(number !== 0 && why !== undefined ? [invalidField(`${at}.containerPort`, number, why)] : []),
      ...oneOf(`${at}.protocol`, textAt(port, 'protocol'), protocols),
    ]
  })
}

function validateDns(spec: Json, path: string): readonly FieldError[] {
  const policy = textAt(spec, 'dnsPolicy')
  const config = objectAt(spec, 'dnsConfig')
  const [nameservers, searches] = [listAt(config, 'nameservers'), listAt(config, 'searches')]
  const hasConfig = Object.keys(config).length > 0
  const isMissing = policy === 'None' && nameservers.length === 0
  const missing = hasConfig
    ? requiredField(
        `${path}.dnsConfig.nameservers`,
        'must provide at least one DNS nameserver when `dnsPolicy` is None',
      )
    : requiredField(`${path}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None')
  return [
    ...oneOf(`${path}.dnsPolicy`, policy, dnsPolicies),
    ...(isMissing ? [missing] : []),
    ...atMost(`${path}.dnsConfig.nameservers`, nameservers, maxNameservers),
    ...atMost(`${path}.dnsConfig.searches`, searches, maxSearches),
    ...nameservers.flatMap((server, index) =>
      problem(`${path}.dnsConfig.nameservers[${index}]`, String(server), (text) =>
        parseIp(text) === undefined ? badIp : undefined,
      ),
    ),
  ]
}

function atMost(field: string, values: readonly Json[], limit: number): readonly FieldError[] {
  return values.length <= limit ? [] : [invalidField(field, [...values], `must not have more than ${limit} of them`)]
}

function oneOf(field: string, value: string, supported: readonly string[]): readonly FieldError[] {
  return value === '' || supported.includes(value) ? [] : [unsupportedField(field, value, supported)]
}

function problem(field: string, value: string, check: (value: string) => string | undefined): readonly FieldError[] {
  const why = value === '' ? undefined : check(value)
  return why === undefined ? [] : [invalidField(field, value, why)]
}

const mutable = ['activeDeadlineSeconds', 'terminationGracePeriodSeconds', 'tolerations', 'schedulingGates']

/** A Pod that exists is what it is, but for its images, how long it may run, what it tolerates, and its node while it has none. */
export function validatePodUpdate(pod: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const isBound = textAt(old['spec'], 'nodeName') !== ''
  const fixedPart = (document: ApiDocument) => {
    const spec = without(objectAt(document['spec']), ...mutable, ...(isBound ? [] : ['nodeName']))
    return { ...spec, ...imageless(spec, 'containers'), ...imageless(spec, 'initContainers') }
  }
  if (isDeepStrictEqual(fixedPart(pod), fixedPart(old))) return []
  const may = ['containers[*].image', 'initContainers[*].image', ...mutable]
    .map((field) => `\`spec.${field}\``)
    .join(', ')
  return [forbiddenField('spec', `pod updates may not change fields other than ${may}`)]
}

function imageless(spec: Json, field: string): Record<string, Json> {
  const containers = listAt(spec, field)
  if (containers.length === 0) return {}
  return { [field]: containers.map((container) => (isJsonObject(container) ? without(container, 'image') : container)) }
}
