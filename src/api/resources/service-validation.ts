import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { parseCidr } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { each } from '../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkLabels, qualifiedNameProblems } from '../schema/metadata-rules.ts'
import { checkDnsLabel, checkDnsSubdomain, checkPortNumber, portNameProblems } from '../schema/names.ts'
import { validateLoadBalancer as validateBalancer } from './load-balancer-status.ts'
import { protocols } from './protocols.ts'
import { validateAddresses } from './service-addresses.ts'
import {
  isExternal,
  isHeadless,
  needsHealthCheckPort,
  type ServicePortSpec,
  type ServiceSpec,
  serviceSpec,
  usesNodePorts,
} from './service-spec.ts'

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const badCidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
const policies = ['Cluster', 'Local']
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

export function validateService(spec: ServiceSpec, isNew: boolean): readonly FieldError[] {
  return [
    ...oneOf('spec.type', spec.type, types),
    ...validateTypeFields(spec),
    ...validatePorts(spec, isNew),
    ...checkLabels(spec.selector, 'spec.selector'),
    ...validateAffinity(spec),
    ...validateAddresses(spec),
    ...validatePolicies(spec),
    ...validateHealthCheckPort(spec),
    ...validateLoadBalancer(spec),
    ...oneOf('spec.trafficDistribution', spec.trafficDistribution, distributions),
  ]
}

function oneOf(field: string, value: string | undefined, supported: readonly string[]): readonly FieldError[] {
  return value === undefined || supported.includes(value) ? [] : [unsupportedField(field, value, supported)]
}

function problem(field: string, value: string | number, why: string | undefined): readonly FieldError[] {
  return why === undefined ? [] : [invalidField(field, value, why)]
}

function validateTypeFields(spec: ServiceSpec): readonly FieldError[] {
  if (spec.type === 'ExternalName') {
    const name = (spec.externalName ?? '').replace(/\.$/, '')
    return [
      ...(name === ''
        ? [requiredField('spec.externalName')]
        : problem('spec.externalName', name, checkDnsSubdomain(name))),
      ...(spec.clusterIP ? [forbiddenField('spec.clusterIPs', 'may not be set for ExternalName services')] : []),
    ]
  }
  if (!isHeadless(spec) || !usesNodePorts(spec)) return []
  return [invalidField('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`)]
}

function validatePorts(spec: ServiceSpec, isNew: boolean): readonly FieldError[] {
  const ports = spec.ports ?? []
  const mayBeEmpty = isHeadless(spec) || spec.type === 'ExternalName'
  if (ports.length === 0) return mayBeEmpty ? [] : [requiredField('spec.ports')]
  return [
    ...ports.flatMap((port, index) => validatePort(port, spec, `spec.ports[${index}]`)),
    ...findDuplicates(ports),
    ...findDuplicateNodePorts(spec, isNew),
  ]
}

function validatePort(port: ServicePortSpec, spec: ServiceSpec, path: string): readonly FieldError[] {
  const { name = '', port: number = 0, targetPort = number, nodePort = 0, appProtocol } = port
  const isNameMissing = name === '' && (spec.ports ?? []).length > 1
  const onlyOthers = "may not be used when `type` is 'ClusterIP'"
  return [
    ...(isNameMissing ? [requiredField(`${path}.name`)] : []),
    ...(name === '' ? [] : problem(`${path}.name`, name, checkDnsLabel(name))),
    ...problem(`${path}.port`, number, checkPortNumber(number)),
    ...oneOf(`${path}.protocol`, port.protocol, protocols),
    ...validateTargetPort(targetPort, `${path}.targetPort`),
    ...(appProtocol === undefined ? [] : checkQualifiedName(appProtocol, `${path}.appProtocol`)),
    ...(nodePort !== 0 && spec.type === 'ClusterIP' ? [forbiddenField(`${path}.nodePort`, onlyOthers)] : []),
  ]
}

function validateTargetPort(target: number | string, path: string): readonly FieldError[] {
  if (typeof target === 'number') return problem(path, target, checkPortNumber(target))
  return portNameProblems(target).map((why) => invalidField(path, target, why))
}

function findDuplicates(ports: readonly ServicePortSpec[]): readonly FieldError[] {
  if (ports.length < 2) return []
  const seen = new Set<string>()
  const isRepeated = (key: string) => seen.has(key) || !seen.add(key)
  return ports.flatMap(({ name = '', port = 0, protocol }, index) => [
    ...(name !== '' && isRepeated(`name ${name}`) ? [duplicateField(`spec.ports[${index}].name`, name)] : []),
    ...(isRepeated(`port ${protocol} ${port}`) ? [duplicateField(`spec.ports[${index}]`, { port, protocol })] : []),
  ])
}

/**
 * Returns duplicate node ports. Two ports of a new Service must not share one; in a stored Service they may if their
 * protocols differ.
 */
function findDuplicateNodePorts(spec: ServiceSpec, isNew: boolean): readonly FieldError[] {
  const isAllocated = isNew && usesNodePorts(spec)
  const seen = new Set<string>()
  return (spec.ports ?? []).flatMap(({ nodePort = 0, port, protocol }, index) => {
    if (nodePort === 0) return []
    const isTaken = isAllocated && seen.has(`${nodePort}`) && !seen.has(`${nodePort} for ${port}`)
    const isRepeated = seen.has(`${nodePort} ${protocol}`)
    for (const key of [`${nodePort}`, `${nodePort} for ${port}`, `${nodePort} ${protocol}`]) seen.add(key)
    const field = `spec.ports[${index}].nodePort`
    if (isTaken) return [invalidField(field, nodePort, 'provided port is already allocated')]
    return isRepeated ? [duplicateField(field, nodePort)] : []
  })
}

function validateAffinity(spec: ServiceSpec): readonly FieldError[] {
  const errors = oneOf('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None'])
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds
  if (seconds === undefined || (seconds > 0 && seconds <= 86_400)) return errors
  const field = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds'
  return [...errors, invalidField(field, seconds, 'must be greater than 0 and less than 86400')]
}

function validatePolicies(spec: ServiceSpec): readonly FieldError[] {
  const { externalTrafficPolicy, internalTrafficPolicy } = spec
  const hasOutside = isExternal(spec)
  const why = 'may only be set for externally-accessible services'
  return [
    ...oneOf('spec.internalTrafficPolicy', internalTrafficPolicy, policies),
    ...(hasOutside ? oneOf('spec.externalTrafficPolicy', externalTrafficPolicy, policies) : []),
    ...(externalTrafficPolicy !== undefined && !hasOutside
      ? [invalidField('spec.externalTrafficPolicy', externalTrafficPolicy, why)]
      : []),
  ]
}

function validateHealthCheckPort(spec: ServiceSpec): readonly FieldError[] {
  const { healthCheckNodePort = 0 } = spec
  if (healthCheckNodePort === 0 || needsHealthCheckPort(spec)) return []
  const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
  return [invalidField('spec.healthCheckNodePort', healthCheckNodePort, why)]
}

function validateLoadBalancer(spec: ServiceSpec): readonly FieldError[] {
  const { loadBalancerSourceRanges: ranges = [], loadBalancerClass: balancer } = spec
  const isBalanced = spec.type === 'LoadBalancer'
  const alone = [
    ...(ranges.length > 0 ? [sourceRanges] : []),
    ...['allocateLoadBalancerNodePorts', 'loadBalancerClass']
      .filter((field) => spec[field] !== undefined)
      .map((field) => `spec.${field}`),
  ]
  return [
    ...(isBalanced ? [] : alone.map((field) => forbiddenField(field, onlyBalanced))),
    ...ranges.flatMap((range, index) => checkRange(range, `${sourceRanges}[${index}]`)),
    ...(isBalanced && balancer !== undefined ? checkQualifiedName(balancer, 'spec.loadBalancerClass') : []),
  ]
}

const sourceRanges = 'spec.LoadBalancerSourceRanges'
const onlyBalanced = "may only be used when `type` is 'LoadBalancer'"

function checkRange(range: string, field: string): readonly FieldError[] {
  const text = range.trim()
  return parseCidr(text) === undefined ? [invalidField(field, text, badCidr)] : []
}

function checkQualifiedName(name: string, field: string): readonly FieldError[] {
  return qualifiedNameProblems(name).map((why) => invalidField(field, name, why))
}

/** Checks the two annotations of a Service that duplicate its fields. */
export function validateServiceAnnotations(service: ApiDocument, { annotations }: Dialect): readonly FieldError[] {
  const noted = service.metadata.annotations
  if (noted === undefined) return []
  const [hints, mode] = [noted[annotations.topologyHints], noted[annotations.topologyMode]]
  const isTwofold = hints !== undefined && mode !== undefined && hints !== mode
  const why = `must match annotations[${annotations.topologyHints}] when both are specified`
  return [
    ...(isTwofold ? [invalidField(`metadata.annotations[${annotations.topologyMode}]`, mode, why)] : []),
    ...validateNotedRanges(serviceSpec(service), annotations.loadBalancerSourceRanges, noted),
  ]
}

function validateNotedRanges(
  spec: ServiceSpec,
  key: string,
  annotations: Readonly<Record<string, string>>,
): readonly FieldError[] {
  const text = annotations[key]?.trim()
  if (text === undefined || (spec.loadBalancerSourceRanges ?? []).length > 0) return []
  const field = `metadata.annotations[${key}]`
  return [
    ...(spec.type === 'LoadBalancer' ? [] : [forbiddenField(field, onlyBalanced)]),
    ...(text === '' ? [] : text.split(',').flatMap((range) => checkRange(range, field))),
  ]
}

/** Checks the status that a load balancer writes. */
export function validateBalancerStatus(service: ApiDocument): readonly FieldError[] {
  const ingress = listAt(service['status'], 'loadBalancer', 'ingress')
  const path = 'status.loadBalancer.ingress'
  if (ingress.length === 0) return []
  if (serviceSpec(service).type !== 'LoadBalancer')
    return [forbiddenField(path, "may only be used when `spec.type` is 'LoadBalancer'")]
  return [...validateBalancer(service), ...each(checkIpMode)(ingress, path)]
}

const ipModes = ['Proxy', 'VIP']

function checkIpMode(entry: Json, path: string): readonly FieldError[] {
  const mode = valueAt(entry, 'ipMode')
  if (mode === undefined) return []
  if (textAt(entry, 'ip') === '') return [forbiddenField(`${path}.ipMode`, 'may not be specified when `ip` is not set')]
  return oneOf(`${path}.ipMode`, textAt(mode), ipModes)
}
