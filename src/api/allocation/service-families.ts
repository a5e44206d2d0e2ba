import { isDeepStrictEqual } from 'node:util'
import type { IpFamily } from '../../model/ip.ts'
import { familyOf } from '../resources/service-addresses.ts'
import { isHeadless, type ServiceSpec } from '../resources/service-spec.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'

const dualStack: readonly (string | undefined)[] = ['PreferDualStack', 'RequireDualStack']

/**
 * Returns the IP families of a Service on a cluster with the `configured` ones, the first of which is the cluster's primary family. Pure. A headless
 * Service without a selector may name families that the cluster does not have: its endpoints are outside the cluster.
 */
export function settleFamilies(
  asked: ServiceSpec,
  old: ServiceSpec | undefined,
  configured: readonly IpFamily[],
): { readonly spec: ServiceSpec; readonly errors: readonly FieldError[] } {
  const spec = inferFamilies(asked)
  if (spec.type === 'ExternalName' || isPreferenceKept(spec, old)) return { spec, errors: [] }
  const isFree = isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? (isFree ? 'RequireDualStack' : 'SingleStack')
  const own = [...checkSingle({ ...asked, ipFamilyPolicy }), ...checkInferred(asked, configured)]
  const errors = own.length > 0 || isFree ? own : checkConfigured({ ...spec, ipFamilyPolicy }, configured)
  const [primary = 'IPv4'] = configured
  const first = spec.ipFamilies?.length ? spec.ipFamilies : [primary]
  const wantsTwo = dualStack.includes(ipFamilyPolicy) && (isFree || configured.length > 1)
  const ipFamilies = wantsTwo && first.length === 1 ? [...first, first[0] === 'IPv4' ? 'IPv6' : 'IPv4'] : first
  return { spec: { ...spec, ipFamilyPolicy, ipFamilies }, errors }
}

/** Infers families from the addresses that the Service names. */
function inferFamilies(spec: ServiceSpec): ServiceSpec {
  const given = spec.ipFamilies ?? []
  const inferred = (spec.clusterIPs ?? []).slice(given.length).flatMap((address) => familyOf(address) ?? [])
  return inferred.length === 0 || spec.type === 'ExternalName' ? spec : { ...spec, ipFamilies: [...given, ...inferred] }
}

/** Checks whether a Service that prefers dual-stack keeps its families: it gets the second one at creation or on a new request, not by other writes. */
function isPreferenceKept(spec: ServiceSpec, old: ServiceSpec | undefined): boolean {
  const fields = ['ipFamilyPolicy', 'ipFamilies', 'clusterIPs']
  const isSame = fields.every((field) => isDeepStrictEqual(spec[field], old?.[field]))
  return spec.ipFamilyPolicy === 'PreferDualStack' && isSame
}

/** Refuses an address of a family that the cluster does not have, when the Service does not name the family. */
function checkInferred(
  { ipFamilies = [], clusterIPs = [] }: ServiceSpec,
  configured: readonly IpFamily[],
): readonly FieldError[] {
  return clusterIPs.flatMap((address, index) => {
    const family = index < ipFamilies.length ? undefined : familyOf(address)
    if (family === undefined || configured.includes(family)) return []
    const why = `${family} is not configured on this cluster`
    return [invalidField(`spec.clusterIPs[${index}]`, [...clusterIPs], why)]
  })
}

function checkConfigured(
  { ipFamilies = [], ipFamilyPolicy }: ServiceSpec,
  configured: readonly IpFamily[],
): readonly FieldError[] {
  const unknown = ipFamilies.flatMap((family, index) =>
    configured.some((each) => each === family)
      ? []
      : [invalidField(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')],
  )
  if (ipFamilyPolicy !== 'RequireDualStack' || configured.length > 1) return unknown
  const why = 'this cluster is not configured for dual-stack services'
  return [invalidField('spec.ipFamilyPolicy', ipFamilyPolicy, why), ...unknown]
}

function checkSingle({ ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: ServiceSpec): readonly FieldError[] {
  if (ipFamilyPolicy !== 'SingleStack') return []
  const refuse = (what: string) =>
    invalidField(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    )
  return [
    ...(clusterIPs.length === 2 ? [refuse('cluster IPs')] : []),
    ...(ipFamilies.length === 2 ? [refuse('IP families')] : []),
  ]
}
