import { isDeepStrictEqual } from 'node:util'
import { type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  unsupportedField,
} from '../schema/field-error.ts'
import { isClusterIpFixed } from './service-defaults.ts'
import { needsHealthCheckPort, type ServiceSpec } from './service-spec.ts'

const families = ['IPv4', 'IPv6']
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
export const badIp = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const fixed = 'may not change once set'

/** What can be said of `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` without knowing the cluster's ranges. */
export function validateAddresses(spec: ServiceSpec): readonly FieldError[] {
  if (spec.type === 'ExternalName') {
    return ['ipFamilies', 'ipFamilyPolicy']
      .filter((field) => spec[field] !== undefined)
      .map((field) => forbiddenField(`spec.${field}`, 'may not be set for ExternalName services'))
  }
  return [...validateClusterIps(spec), ...validateFamilies(spec)]
}

function validateClusterIps(spec: ServiceSpec): readonly FieldError[] {
  const addresses = spec.clusterIPs ?? []
  if (addresses.length === 0) return []
  const refuse = (why: string) => invalidField('spec.clusterIPs', [...addresses], why)
  const isFirstMirrored = addresses[0] === spec.clusterIP
  if (addresses.length > 2) return [refuse('may only hold up to 2 values')]
  const errors = addresses.flatMap((address, index) => validateClusterIp(address, index, spec))
  const isTwice = addresses.length === 2 && addresses.includes('None') === false && errors.length === 0
  return [
    ...(isFirstMirrored ? [] : [refuse('first value must match `clusterIP`')]),
    ...errors,
    ...(isTwice && familyOf(addresses[0]) === familyOf(addresses[1])
      ? [refuse('may specify no more than one IP for each IP family')]
      : []),
  ]
}

function validateClusterIp(address: string, index: number, spec: ServiceSpec): readonly FieldError[] {
  const field = `spec.clusterIPs[${index}]`
  if (address === 'None')
    return spec.clusterIPs?.length === 1 ? [] : [invalidField(field, address, "may not be set to 'None'")]
  const family = familyOf(address)
  if (family === undefined) return [invalidField(field, address, badIp)]
  const wanted = spec.ipFamilies?.[index]
  if (wanted === undefined || wanted === family) return []
  return [invalidField(field, address, `expected an ${wanted} value as indicated by \`ipFamilies[${index}]\``)]
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
      if (!families.includes(family)) return [unsupportedField(field, family, families)]
      return ipFamilies.indexOf(family) < index ? [duplicateField(field, family)] : []
    }),
  ]
}

/** The first address and family stay; the second may come, and go with the policy. */
export function validateServiceUpdate(spec: ServiceSpec, old: ServiceSpec): readonly FieldError[] {
  const health = validateHealthCheckPortKept(spec, old)
  if (!isClusterIpFixed(spec, old)) return health
  return [
    ...health,
    ...validateListKept('clusterIPs', 'clusterIP', spec, old),
    ...validateListKept('ipFamilies', 'ipFamily', spec, old),
  ]
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
  const why = `must be set to 'SingleStack' when releasing the secondary ${item}`
  return [
    ...changed.map((index) => invalidField(`spec.${field}[${index}]`, [...after], fixed)),
    ...(isReleased ? [invalidField('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why)] : []),
  ]
}

function validateHealthCheckPortKept(spec: ServiceSpec, old: ServiceSpec): readonly FieldError[] {
  const { healthCheckNodePort = 0 } = spec
  const isKept = healthCheckNodePort === (old.healthCheckNodePort ?? 0)
  if (isKept || !needsHealthCheckPort(spec) || !needsHealthCheckPort(old)) return []
  return [invalidField('spec.healthCheckNodePort', healthCheckNodePort, 'field is immutable')]
}
