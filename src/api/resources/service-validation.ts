import { parseCidr } from '../../model/ip.ts'
import { isLabelValue, isQualifiedName } from '../../model/selector.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { labelValueRule, qualifiedNameRule } from '../schema/metadata-rules.ts'
import { checkDnsLabel, checkDnsSubdomain, checkPortName, checkPortNumber } from './names.ts'
import { protocols } from './protocols.ts'
import { validateAddresses } from './service-addresses.ts'
import {
  isHeadless,
  needsHealthCheckPort,
  type ServicePortSpec,
  type ServiceSpec,
  usesNodePorts,
} from './service-spec.ts'

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const badCidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
const policies = ['Cluster', 'Local']
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

export function validateService(spec: ServiceSpec): readonly FieldError[] {
  return [
    ...oneOf('spec.type', spec.type, types),
    ...validateTypeFields(spec),
    ...validatePorts(spec),
    ...validateSelector(spec),
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

function validatePorts(spec: ServiceSpec): readonly FieldError[] {
  const ports = spec.ports ?? []
  const mayBeEmpty = isHeadless(spec) || spec.type === 'ExternalName'
  if (ports.length === 0) return mayBeEmpty ? [] : [requiredField('spec.ports')]
  return [...ports.flatMap((port, index) => validatePort(port, spec, `spec.ports[${index}]`)), ...findDuplicates(ports)]
}

function validatePort(port: ServicePortSpec, spec: ServiceSpec, path: string): readonly FieldError[] {
  const { name = '', port: number = 0, targetPort, nodePort = 0, appProtocol = 'none' } = port
  const isNameMissing = name === '' && (spec.ports ?? []).length > 1
  const nodePortRule = `may not be used when \`type\` is '${spec.type}'`
  return [
    ...(isNameMissing ? [requiredField(`${path}.name`)] : []),
    ...(name === '' ? [] : problem(`${path}.name`, name, checkDnsLabel(name))),
    ...problem(`${path}.port`, number, checkPortNumber(number)),
    ...oneOf(`${path}.protocol`, port.protocol, protocols),
    ...validateTargetPort(targetPort, `${path}.targetPort`),
    ...problem(`${path}.appProtocol`, appProtocol, isQualifiedName(appProtocol) ? undefined : qualifiedNameRule),
    ...(nodePort !== 0 && !usesNodePorts(spec) ? [forbiddenField(`${path}.nodePort`, nodePortRule)] : []),
  ]
}

function validateTargetPort(target: number | string | undefined, path: string): readonly FieldError[] {
  if (target === undefined) return []
  return problem(path, target, typeof target === 'number' ? checkPortNumber(target) : checkPortName(target))
}

function findDuplicates(ports: readonly ServicePortSpec[]): readonly FieldError[] {
  const seen = new Set<string>()
  const isRepeated = (key: string) => seen.has(key) || !seen.add(key)
  return ports.flatMap(({ name = '', port = 0, protocol, nodePort = 0 }, index) => [
    ...(name !== '' && isRepeated(`name ${name}`) ? [duplicateField(`spec.ports[${index}].name`, name)] : []),
    ...(isRepeated(`port ${protocol} ${port}`) ? [duplicateField(`spec.ports[${index}]`, { port, protocol })] : []),
    ...(nodePort !== 0 && isRepeated(`node port ${protocol} ${nodePort}`)
      ? [duplicateField(`spec.ports[${index}].nodePort`, nodePort)]
      : []),
  ])
}

function validateSelector(spec: ServiceSpec): readonly FieldError[] {
  return Object.entries(spec.selector ?? {}).flatMap(([key, value]) => [
    ...(isQualifiedName(key) ? [] : [invalidField('spec.selector', key, qualifiedNameRule)]),
    ...(isLabelValue(value) ? [] : [invalidField('spec.selector', value, labelValueRule)]),
  ])
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
  const isExternal = usesNodePorts(spec) || (spec.externalIPs ?? []).length > 0
  const why = 'may only be set for externally-accessible services'
  return [
    ...oneOf('spec.internalTrafficPolicy', internalTrafficPolicy, policies),
    ...oneOf('spec.externalTrafficPolicy', externalTrafficPolicy, policies),
    ...(externalTrafficPolicy !== undefined && !isExternal
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
  const onlyThere = "may only be used when `type` is 'LoadBalancer'"
  const field = 'spec.LoadBalancerSourceRanges'
  return [
    ...(ranges.length > 0 && !isBalanced ? [forbiddenField(field, onlyThere)] : []),
    ...ranges.flatMap((range, index) =>
      parseCidr(range.trim()) === undefined ? [invalidField(`${field}[${index}]`, range, badCidr)] : [],
    ),
    ...(balancer !== undefined && !isBalanced ? [forbiddenField('spec.loadBalancerClass', onlyThere)] : []),
    ...(balancer !== undefined && isBalanced && !isQualifiedName(balancer)
      ? [invalidField('spec.loadBalancerClass', balancer, qualifiedNameRule)]
      : []),
  ]
}
