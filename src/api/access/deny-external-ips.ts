import type { Admit } from '../request/request.ts'
import { addedAddresses, externalIpsOf } from '../resources/service-external-addresses.ts'
import { forbidden } from '../status.ts'

/** Implements Kubernetes' admission plugin DenyServiceExternalIPs: a Service gets no external address that it does not have already. */
export function assertNoNewExternalIps({ target, name, old, next }: Parameters<Admit>[0]): void {
  const { resource } = target
  if (next === undefined || resource.group !== '' || resource.plural !== 'services') return
  if (addedAddresses(externalIpsOf(next), old && externalIpsOf(old)).length === 0) return
  throw forbidden(resource, name, 'Use of external IPs is denied by admission control.')
}
