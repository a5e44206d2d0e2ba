import { parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { badIp } from './service-addresses.ts'
import { validateSpecialAddress } from './special-addresses.ts'

/** An address of a list, and its place. */
export interface ListedAddress {
  readonly text: string
  /** The path: `spec.externalIPs[0]` */
  readonly field: string
}

/**
 * Checks the external addresses of a Service: they must be valid and not special. As in Kubernetes, one that is stored
 * already may stay, so that its Service can still be changed.
 */
export function validateExternalAddresses(service: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const added = [
    ...addedAddresses(externalIpsOf(service), old && externalIpsOf(old)),
    ...addedAddresses(ingressIpsOf(service), old && ingressIpsOf(old)),
  ]
  const errors = added.flatMap(({ text, field }) =>
    parseIp(text) === undefined ? [invalidField(field, text, badIp)] : validateSpecialAddress(text, field),
  )
  const wish = textAt(service['spec'], 'loadBalancerIP')
  const isNew = wish !== textAt(old?.['spec'], 'loadBalancerIP')
  return isNew ? [...errors, ...validateSpecialAddress(wish, 'spec.loadBalancerIP')] : errors
}

export function externalIpsOf(service: ApiDocument): readonly ListedAddress[] {
  return listAt(service['spec'], 'externalIPs').map((item, index) => ({
    text: textAt(item),
    field: `spec.externalIPs[${index}]`,
  }))
}

/** Returns the addresses that `old` does not have in any spelling. */
export function addedAddresses(
  now: readonly ListedAddress[],
  old: readonly ListedAddress[] = [],
): readonly ListedAddress[] {
  const known = new Set(old.map(({ text }) => canonical(text)))
  return now.filter(({ text }) => !known.has(canonical(text)))
}

function canonical(text: string): string {
  return parseIp(text) ?? text
}

/** Returns the addresses in the status; an entry with a name instead of an address is left out. */
function ingressIpsOf(service: ApiDocument): readonly ListedAddress[] {
  return listAt(service['status'], 'loadBalancer', 'ingress').flatMap((item, index) => {
    const text = textAt(item, 'ip')
    return text === '' ? [] : [{ text, field: `status.loadBalancer.ingress[${index}].ip` }]
  })
}
