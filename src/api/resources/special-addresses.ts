import { parseIp } from '../../model/ip.ts'
import { describeSpecialKind, type SpecialKind, specialKindOf } from '../../model/special-addresses.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'

/**
 * Refuses addresses that would direct cluster traffic to the node itself, to every host on its link or to the metadata
 * server of a cloud, in any spelling. The caller refuses texts that are no address.
 */
export function validateSpecialAddress(address: string, path: string): readonly FieldError[] {
  const ip = parseIp(address)
  const kind = ip && specialKindOf(ip)
  return kind === undefined ? [] : [invalidField(path, address, whyNot(kind, address))]
}

/** Returns the reason, in Kubernetes' words where it has such a check. */
function whyNot(kind: SpecialKind, address: string): string {
  switch (kind) {
    case 'unspecified':
      return `may not be unspecified (${address})`
    case 'loopback':
      return 'may not be in the loopback range (127.0.0.0/8, ::1/128)'
    case 'link-local':
      return 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'
    case 'multicast':
      return /^(?:224\.0\.0\.|ff[\da-f]2:)/i.test(address)
        ? 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'
        : 'may not be a multicast address'
    default:
      return `may not be ${describeSpecialKind(kind)}`
  }
}
