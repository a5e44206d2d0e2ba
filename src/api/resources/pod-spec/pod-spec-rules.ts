import type { Json } from '../../../model/api-object.ts'
import { parseIp } from '../../../model/ip.ts'
import { isLabelValue, isQualifiedName } from '../../../model/selector.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import { between, type Check, each, fieldOf, fields, oneOf, required, text, unique } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from '../../schema/field-error.ts'
import { labelValueRule, qualifiedNameRule } from '../../schema/metadata-rules.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { badIp } from '../service-addresses.ts'
import { checkContainers, checkInitContainers, type PodFacts } from './container-rules.ts'
import { checkEphemeralContainers } from './ephemeral-container-rules.ts'
import { checkQuantities } from './resource-rules.ts'
import { affinity, tolerations, topologySpread } from './scheduling-rules.ts'
import { podSecurity } from './security-rules.ts'
import { checkVolumes } from './volume-rules.ts'

const maxNameservers = 3
const maxSearches = 32
const maxSearchListCharacters = 2048

const ip = text((address) => (parseIp(address) === undefined ? badIp : undefined))

/** Checks each field of a Pod's spec that depends on no other field. */
const table = fields({
  restartPolicy: oneOf('Always', 'OnFailure', 'Never'),
  dnsPolicy: oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'),
  preemptionPolicy: oneOf('PreemptLowerPriority', 'Never'),
  nodeSelector: labels,
  nodeName: text(checkDnsSubdomain),
  serviceAccountName: text(checkDnsSubdomain),
  priorityClassName: text(checkDnsSubdomain),
  runtimeClassName: text(checkDnsSubdomain),
  activeDeadlineSeconds: between(1, 2_147_483_647, 'must be between 1 and 2147483647, inclusive'),
  hostname: text(checkDnsLabel),
  subdomain: text(checkDnsLabel),
  hostAliases: each(fields({ ip, hostnames: each(text(checkDnsSubdomain)) })),
  tolerations,
  affinity,
  topologySpreadConstraints: topologySpread,
  readinessGates: each(fields({ conditionType: text(checkQualifiedName) })),
  schedulingGates: checkSchedulingGates,
  overhead: (value, path) => checkQuantities(objectAt(value), `${path}.limits`),
  resourceClaims: [each(required('name'), fields({ name: text(checkDnsLabel) }), oneClaimSource), unique('name')],
  os: [required('name'), (value, path) => oneOf('linux', 'windows')(textAt(value, 'name'), path)],
})

function checkQualifiedName(name: string): string | undefined {
  return isQualifiedName(name) ? undefined : qualifiedNameRule
}

function labels(value: Json, path: string): readonly FieldError[] {
  return Object.entries(objectAt(value)).flatMap(([key, item]) => [
    ...(isQualifiedName(key) ? [] : [invalidField(path, key, qualifiedNameRule)]),
    ...(isLabelValue(textAt(item)) ? [] : [invalidField(path, item, labelValueRule)]),
  ])
}

function checkSchedulingGates(value: Json, path: string): readonly FieldError[] {
  const seen = new Set<string>()
  return listAt(value).flatMap((gate, index) => {
    const name = textAt(gate, 'name')
    const isRepeated = seen.has(name) || !seen.add(name)
    return [
      ...(isQualifiedName(name) ? [] : [invalidField(`${path}[${index}]`, name, qualifiedNameRule)]),
      ...(isRepeated ? [duplicateField(`${path}[${index}]`, name)] : []),
    ]
  })
}

function oneClaimSource(claim: Json, path: string): readonly FieldError[] {
  const count = ['resourceClaimName', 'resourceClaimTemplateName'].filter((name) => objectAt(claim)[name]).length
  if (count === 1) return []
  const why =
    count === 0
      ? 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
      : 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'
  return [invalidField(path, claim, why)]
}

/** The owner of a spec: a Pod, or a template, in which fields that a node fills in may be absent. */
export type SpecOwner = 'pod' | 'template'

/** Checks the spec of a Pod or of a template; `path` is its place: `spec`, `spec.template.spec`. */
export function validatePodSpec(spec: Json, path: string, owner: SpecOwner): readonly FieldError[] {
  const { volumes, errors } = checkVolumes(listAt(spec, 'volumes'), `${path}.volumes`)
  const facts: PodFacts = {
    volumes,
    claimNames: listAt(spec, 'resourceClaims').map((claim) => textAt(claim, 'name')),
    graceSeconds: Number(textAt(spec, 'terminationGracePeriodSeconds') || 30),
    restartPolicy: textAt(spec, 'restartPolicy'),
    os: textAt(spec, 'os', 'name'),
    usesHostUsers: textAt(spec, 'hostUsers') !== 'false',
  }
  const [containers, initContainers] = [listAt(spec, 'containers'), listAt(spec, 'initContainers')]
  return [
    ...errors,
    ...checkContainers(containers, `${path}.containers`, facts),
    ...checkInitContainers(initContainers, containers, `${path}.initContainers`, facts),
    ...checkEphemeralContainers(listAt(spec, 'ephemeralContainers'), [...containers, ...initContainers], path, facts),
    ...table(spec, path),
    ...fieldOf(spec, 'securityContext', path, () => podSecurity(spec)),
    ...checkDnsConfig(spec, path),
    ...checkHostPorts(spec, path, owner),
    ...checkSharedNamespaces(spec, path),
  ]
}

function checkDnsConfig(spec: Json, path: string): readonly FieldError[] {
  const config = objectAt(spec, 'dnsConfig')
  const [nameservers, searches] = [listAt(config, 'nameservers'), listAt(config, 'searches')]
  const at = `${path}.dnsConfig`
  if (textAt(spec, 'dnsPolicy') === 'None' && nameservers.length === 0) return [missingNameserver(spec, at)]
  return [
    ...atMost(`${at}.nameservers`, nameservers, maxNameservers, 'nameservers'),
    ...atMost(`${at}.searches`, searches, maxSearches, 'search paths'),
    ...(searches.join(' ').length > maxSearchListCharacters
      ? [
          invalidField(
            `${at}.searches`,
            [...searches],
            `must not have more than ${maxSearchListCharacters} characters (including spaces) in the search list`,
          ),
        ]
      : []),
    ...addresses(nameservers, `${at}.nameservers`),
    ...searchDomains(searches, `${at}.searches`),
    ...listAt(config, 'options').flatMap((option, index) =>
      textAt(option, 'name') === '' ? [requiredField(`${at}.options[${index}]`, 'must not be empty')] : [],
    ),
  ]
}

const addresses = each(ip)
const searchDomains = each(text(checkSearch))

function missingNameserver(spec: Json, at: string): FieldError {
  const isThere = objectAt(spec)['dnsConfig'] !== undefined
  return isThere
    ? requiredField(`${at}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None')
    : requiredField(at, 'must provide `dnsConfig` when `dnsPolicy` is None')
}

/** Checks a search domain: underscores and a final dot are allowed, and so is the root (KEP-4427). */
function checkSearch(search: string): string | undefined {
  const name = search === '.' ? 'root' : search.replace(/\.$/, '')
  if (name.length > 253) return 'must be no more than 253 characters'
  if (/^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/.test(name)) return undefined
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
}

function atMost(field: string, values: readonly Json[], limit: number, what: string): readonly FieldError[] {
  return values.length <= limit ? [] : [invalidField(field, [...values], `must not have more than ${limit} ${what}`)]
}

/**
 * Checks host ports. On the host network a container's port is the node's port; a template may leave the host port
 * open.
 */
function checkHostPorts(spec: Json, path: string, owner: SpecOwner): readonly FieldError[] {
  if (textAt(spec, 'hostNetwork') !== 'true') return []
  return listAt(spec, 'containers').flatMap((container, index) =>
    listAt(container, 'ports').flatMap((port, portIndex) => {
      const [host, own] = ['hostPort', 'containerPort'].map((field) => Number(textAt(port, field) || 0))
      if (host === own || (owner === 'template' && host === 0)) return []
      const at = `${path}.containers[${index}].ports[${portIndex}].hostPort`
      return [invalidField(at, host, 'must match `containerPort` when `hostNetwork` is true')]
    }),
  )
}

function checkSharedNamespaces(spec: Json, path: string): readonly FieldError[] {
  const isTrue = (field: string) => textAt(spec, field) === 'true'
  const shared = { hostNetwork: 'hostNetwork', hostPID: 'HostPID', hostIPC: 'HostIPC' }
  const both = 'ShareProcessNamespace and HostPID cannot both be enabled'
  return [
    ...(isTrue('shareProcessNamespace') && isTrue('hostPID')
      ? [invalidField(`${path}.securityContext.shareProcessNamespace`, true, both)]
      : []),
    ...(textAt(spec, 'hostUsers') === 'false'
      ? Object.entries(shared)
          .filter(([field]) => isTrue(field))
          .map(([, name]) => forbiddenField(`${path}.${name}`, 'when `hostUsers` is false'))
      : []),
    ...checkHostnameOverride(spec, path),
  ]
}

const override: Check = text((name) =>
  name.length > 64 ? 'must be no more than 64 characters' : checkDnsSubdomain(name),
)

function checkHostnameOverride(spec: Json, path: string): readonly FieldError[] {
  const name = objectAt(spec)['hostnameOverride']
  if (name === undefined || name === null) return []
  const at = `${path}.hostnameOverride`
  const rivals = ['setHostnameAsFQDN', 'hostNetwork']
  return [
    ...rivals
      .filter((field) => textAt(spec, field) === 'true')
      .map((field) => forbiddenField(at, `may not be specified when ${field} is true`)),
    ...override(name, at),
  ]
}
