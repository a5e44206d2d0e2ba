import { isReadAsIp } from '../../model/ip.ts'
import { type ApiDocument, valueAt } from '../document.ts'
import { each, fields, text } from '../schema/checks.ts'
import type { FieldError } from '../schema/field-error.ts'
import { checkDnsSubdomain } from '../schema/names.ts'

const address = text((value) =>
  isReadAsIp(value) ? undefined : 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
)
const noAddress = text((value) => (isReadAsIp(value) ? 'must be a DNS name, not an IP address' : undefined))

const entries = each(fields({ ip: address, hostname: [text(checkDnsSubdomain), noAddress] }))

/** Returns the errors in the addresses of a load balancer. */
export function validateLoadBalancer({ status }: ApiDocument): readonly FieldError[] {
  return entries(valueAt(status, 'loadBalancer', 'ingress') ?? [], 'status.loadBalancer.ingress')
}
