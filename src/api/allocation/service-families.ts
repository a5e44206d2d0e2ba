import { isDeepStrictEqual } from 'node:util'
import type { IpFamily } from '../../model/ip.ts'
import { familyOf } from '../resources/service-addresses.ts'
import { isHeadless, type ServiceSpec } from '../resources/service-spec.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'

const dualStack: readonly (string | undefined)[] = ['PreferDualStack', 'RequireDualStack']

/**
 * The families a Service is to have on a cluster with `configured` ones, the first of which is the cluster's own. Pure. A headless Service without
 * a selector may name families that the cluster does not have: its endpoints are not the cluster's.
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
  const errors = checkFamilies({ ...spec, ipFamilyPolicy }, configured, isFree)
  const [primary = 'IPv4'] = configured
  const first = spec.ipFamilies?.length ? spec.ipFamilies : [primary]
  const wantsTwo = dualStack.includes(ipFamilyPolicy) && (isFree || configured.length > 1)
  const ipFamilies = wantsTwo && first.length === 1 ? [...first, first[0] === 'IPv4' ? 'IPv6' : 'IPv4'] : first
  return { spec: { ...spec, ipFamilyPolicy, ipFamilies }, errors }
}

/** An address says its family. */
function inferFamilies(spec: ServiceSpec): ServiceSpec {
  const given = spec.ipFamilies ?? []
  const inferred = (spec.clusterIPs ?? []).slice(given.length).flatMap((address) => familyOf(address) ?? [])
  return inferred.length === 0 || spec.type === 'ExternalName' ? spec : { ...spec, ipFamilies: [...given, ...inferred] }
}

/** A Service that prefers two families gets the second when it is made or asks anew, not by any later write. */
function isPreferenceKept(spec: ServiceSpec, old: ServiceSpec | undefined): boolean {
  const fields = ['ipFamilyPolicy', 'ipFamilies', 'clusterIPs']
  const isSame = fields.every((field) => isDeepStrictEqual(spec[field], old?.[field]))
  return spec.ipFamilyPolicy === 'PreferDualStack' && isSame
}

function checkFamilies(spec: ServiceSpec, configured: readonly IpFamily[], isFree: boolean): readonly FieldError[] {
  const policy = spec.ipFamilyPolicy
  const field = 'spec.ipFamilyPolicy'
  const errors = policy === 'SingleStack' ? checkSingle(spec) : []
  if (isFree) return errors
  const unknown = (spec.ipFamilies ?? []).flatMap((family, index) =>
    configured.some((each) => each === family)
      ? []
      : [invalidField(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')],
  )
  const isTooMuch = policy === 'RequireDualStack' && configured.length < 2
  const why = 'this cluster is not configured for dual-stack services'
  return [...errors, ...unknown, ...(isTooMuch ? [invalidField(field, policy, why)] : [])]
}

function checkSingle({ ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: ServiceSpec): readonly FieldError[] {
  const refuse = (what: string) =>
    invalidField(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy,
      `must be RequireDualStack or PreferDualStack when multiple ${what} are specified`,
    )
  return [
    ...(clusterIPs.length === 2 ? [refuse('clusterIPs')] : []),
    ...(ipFamilies.length === 2 ? [refuse('ipFamilies')] : []),
  ]
}
