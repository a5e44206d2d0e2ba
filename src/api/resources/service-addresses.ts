import { isDeepStrictEqual } from 'node:util'
import { type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  unsupportedField,
} from '../schema/field-error.ts'
import { isHeadless, needsHealthCheckPort, type ServiceSpec } from './service-spec.ts'

const families = ['IPv4', 'IPv6']
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
export const badIp = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const fixed = 'may not change once set'

/**
 * Checks `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` as far as that is possible without the ranges of the cluster.
 */
export function validateAddresses(spec: ServiceSpec): readonly FieldError[] {
  if (spec.type === 'ExternalName') {
    const isSet = { ipFamilies: (spec.ipFamilies ?? []).length > 0, ipFamilyPolicy: spec.ipFamilyPolicy !== undefined }
    return (['ipFamilies', 'ipFamilyPolicy'] as const)
      .filter((field) => isSet[field])
      .map((field) => forbiddenField(`spec.${field}`, 'may not be set for ExternalName services'))
  }
  return [...validateClusterIps(spec), ...validateFamilies(spec)]
}

function validateClusterIps(spec: ServiceSpec): readonly FieldError[] {
  const addresses = spec.clusterIPs ?? []
  if (addresses.length === 0) return []
  const refuse = (why: string) => invalidField('spec.clusterIPs', [...addresses], why)
  const mirrored = spec.clusterIP
    ? 'first value must match `clusterIP`'
    : 'must be empty when `clusterIP` is not specified'
  const bad = [
    ...(addresses[0] === 'None' && addresses.length > 1 ? [refuse("'None' must be the first and only value")] : []),
    ...addresses.flatMap((address, index) =>
      (address === 'None' && index === 0) || familyOf(address) !== undefined
        ? []
        : [invalidField(`spec.clusterIPs[${index}]`, address, badIp)],
    ),
  ]
  const errors = [
    ...(addresses[0] === spec.clusterIP ? [] : [refuse(mirrored)]),
    ...bad,
    ...(addresses.length > 2 ? [refuse('may only hold up to 2 values')] : []),
  ]
  if (bad.length > 0 || addresses[0] === 'None') return errors
  const isOneFamily = addresses.length > 1 && new Set(addresses.map(familyOf)).size === 1
  return [
    ...errors,
    ...(isOneFamily ? [refuse('may specify no more than one IP for each IP family')] : []),
    ...addresses.flatMap((address, index) => validateFamilyOf(address, index, spec)),
  ]
}

function validateFamilyOf(address: string, index: number, { ipFamilies }: ServiceSpec): readonly FieldError[] {
  const wanted = ipFamilies?.[index]
  if (wanted === undefined || !families.includes(wanted) || wanted === familyOf(address)) return []
  const why = `expected an ${wanted} value as indicated by \`ipFamilies[${index}]\``
  return [invalidField(`spec.clusterIPs[${index}]`, address, why)]
}

export function familyOf(address: string | undefined): IpFamily | undefined {
  const ip = address === undefined ? undefined : parseIp(address)
  return ip && ipFamily(ip)
}

function validateFamilies({ ipFamilies = [], ipFamilyPolicy }: ServiceSpec): readonly FieldError[] {
  const isKnown = ipFamilyPolicy === undefined || policies.includes(ipFamilyPolicy)
  return [
    ...(isKnown ? [] : [unsupportedField('spec.ipFamilyPolicy', ipFamilyPolicy, policies)]),
    ...ipFamilies.flatMap((family, index) => {
      const field = `spec.ipFamilies[${index}]`
      return [
        ...(families.includes(family) ? [] : [unsupportedField(field, family, families)]),
        ...(ipFamilies.indexOf(family) < index ? [duplicateField(field, family)] : []),
      ]
    }),
  ]
}

/**
 * Checks an update: the first address and family, and the class of a load balancer, must not change. The second address
 * may be added, and removed with the policy.
 */
export function validateServiceUpdate(spec: ServiceSpec, old: ServiceSpec): readonly FieldError[] {
  const kept = [...validateHealthCheckPortKept(spec, old), ...validateClassKept(spec, old)]
  const isNamedOnly = spec.type === 'ExternalName' || old.type === 'ExternalName'
  if (isNamedOnly || validateAddresses(spec).length > 0) return kept
  return [
    ...kept,
    ...validateListKept('clusterIPs', 'cluster IP', spec, old),
    ...(isHeadless(spec) === isHeadless(old) && !isHeadless(spec)
      ? validateListKept('ipFamilies', 'IP family', spec, old)
      : []),
  ]
}

/**
 * Checks that the load balancer class stays: another load balancer would leave the resources of the first one behind.
 */
function validateClassKept(spec: ServiceSpec, old: ServiceSpec): readonly FieldError[] {
  const { loadBalancerClass = null } = spec
  const isBalanced = spec.type === 'LoadBalancer' && old.type === 'LoadBalancer'
  if (!isBalanced || loadBalancerClass === (old.loadBalancerClass ?? null)) return []
  return [invalidField('spec.loadBalancerClass', loadBalancerClass, fixed)]
}

function validateListKept(
  field: 'clusterIPs' | 'ipFamilies',
  item: string,
  spec: ServiceSpec,
  old: ServiceSpec,
): readonly FieldError[] {
  const [before, after] = [old[field] ?? [], spec[field] ?? []]
  if (isDeepStrictEqual(before, after)) return []
  const changed = [0, 1].filter((index) => before[index] && after[index] && before[index] !== after[index])
  const isReleased = before.length === 2 && after.length < 2 && spec.ipFamilyPolicy !== 'SingleStack'
  const why = `must be 'SingleStack' to release the secondary ${item}`
  return [
    ...changed.map((index) => invalidField(`spec.${field}[${field === 'ipFamilies' ? 0 : index}]`, [...after], fixed)),
    ...(isReleased ? [invalidField('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why)] : []),
  ]
}

function validateHealthCheckPortKept(spec: ServiceSpec, old: ServiceSpec): readonly FieldError[] {
  const { healthCheckNodePort = 0 } = spec
  const isKept = healthCheckNodePort === (old.healthCheckNodePort ?? 0)
  if (isKept || !needsHealthCheckPort(spec) || !needsHealthCheckPort(old)) return []
  return [forbiddenField('spec.healthCheckNodePort', 'field is immutable')]
}
