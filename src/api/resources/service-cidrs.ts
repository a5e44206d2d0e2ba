import { formatTime } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Cidr, ipFamily, parseCidr, parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource, type Strategy } from './resource.ts'

type GuardCoWrites = NonNullable<Strategy['coWrites']>

const badCidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

/**
 * The kind ServiceCIDR; both versions share one storage, and the version that the spec names first is stored. `now` is
 * the time of the Ready condition, which the server sets until the controller of ServiceCIDRs does (issue 4).
 */
export function serviceCidrs(dialect: Dialect, now: () => Date, guard: GuardCoWrites): readonly Resource[] {
  const group = dialect.groups.networking
  return ['v1beta1', 'v1'].map((version) =>
    defineKind({
      group,
      version,
      isPreferred: dialect.name === 'platform' && version === 'v1beta1',
      kind: 'ServiceCIDR',
      plural: 'servicecidrs',
      namespaced: false,
      subresources: ['status'],
      defaults: { spec: { default: {} }, status: { default: {} } },
      columns: [column('CIDRs', (document) => cidrTexts(document).join(','))],
      strategy: {
        prepareForCreate: (document) => ({ ...document, status: { conditions: [readyCondition(now())] } }),
        statusLeaves: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
        validate: (document, old) => (old === undefined ? validateServiceCidr(document) : []),
        validateUpdate: validateServiceCidrUpdate,
        coWrites: guard,
      },
      storage: { prefix: 'servicecidrs', apiVersion: `${group}/v1` },
    }),
  )
}

function readyCondition(now: Date) {
  return {
    type: 'Ready',
    status: 'True',
    reason: 'NetworkServiceCIDRReady',
    message: 'Kubernetes Service CIDR is ready',
    lastTransitionTime: formatTime(now),
  }
}

function cidrTexts(document: ApiDocument): readonly string[] {
  return listAt(document['spec'], 'cidrs').map((cidr) => textAt(cidr))
}

/**
 * Returns the networks from which Services may get addresses; none while the ServiceCIDR is not ready or is being
 * deleted.
 */
export function readyCidrs(document: ApiDocument): readonly Cidr[] {
  const ready = listAt(document['status'], 'conditions').find((condition) => textAt(condition, 'type') === 'Ready')
  const isReady = textAt(ready, 'status') === 'True' && document.metadata.deletionTimestamp === undefined
  return isReady ? allCidrs(document) : []
}

export function allCidrs(document: ApiDocument): readonly Cidr[] {
  return cidrTexts(document).flatMap((text) => parseCidr(text) ?? [])
}

function validateServiceCidr(document: ApiDocument): readonly FieldError[] {
  const texts = cidrTexts(document)
  if (texts.length === 0) return [requiredField('spec.cidrs', 'at least one CIDR required')]
  if (texts.length > 2) return [invalidField('spec.cidrs', [...texts], 'may only hold up to 2 values')]
  const families = allCidrs(document).map(ipFamily)
  return [
    ...texts.flatMap((text, index) => validateCidr(text, `spec.cidrs[${index}]`)),
    ...(families.length === 2 && families[0] === families[1]
      ? [invalidField('spec.cidrs', [...texts], oneOfEachFamily)]
      : []),
  ]
}

const oneOfEachFamily = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'

function validateCidr(text: string, path: string): readonly FieldError[] {
  const cidr = parseCidr(text)
  if (cidr === undefined) return [invalidField(path, text, badCidr)]
  if (cidr === text) return []
  const address = parseIp(text.slice(0, text.indexOf('/')))
  const hasHostBits = address !== undefined && !cidr.startsWith(`${address}/`)
  const why = hasHostBits
    ? 'must not have bits set beyond the prefix length'
    : `must be in canonical form (${JSON.stringify(cidr)})`
  return [invalidField(path, text, why)]
}

/** Checks that the ranges stay; a second family may be added. */
function validateServiceCidrUpdate(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [before, after] = [cidrTexts(old), cidrTexts(document)]
  const isExtended = before.length === 1 && after.length === 2
  if (after.length !== before.length && !isExtended) return [invalidField('spec.cidrs', [...after], immutable)]
  const changed = before.flatMap((text, index) =>
    text === after[index] ? [] : [invalidField(`spec.cidrs[${index}]`, after[index], immutable)],
  )
  return isExtended ? [...changed, ...validateServiceCidr(document)] : changed
}

const immutable = 'field is immutable'
