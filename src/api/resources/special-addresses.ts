import { type FieldError, invalidField } from '../schema/field-error.ts'

/** Addresses that would turn cluster traffic against the node itself or everyone on its link. */
export function validateSpecialAddress(address: string, path: string): readonly FieldError[] {
  const ip = address.toLowerCase()
  if (ip === '0.0.0.0' || ip === '::') return [invalidField(path, address, `may not be unspecified (${ip})`)]
  if (ip.startsWith('127.') || ip === '::1') {
    return [invalidField(path, address, 'may not be in the loopback range (127.0.0.0/8, ::1/128)')]
  }
  if (ip.startsWith('169.254.') || /^fe[89ab]/.test(ip)) {
    return [invalidField(path, address, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)')]
  }
  return /^2(2[4-9]|3\d)\.|^ff/.test(ip) ? [invalidField(path, address, 'may not be a multicast address')] : []
}
