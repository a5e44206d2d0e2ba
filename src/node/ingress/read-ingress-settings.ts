import { z } from 'zod'
import type { Dialect } from '../../model/dialect.ts'
import type { IngressSettings } from '../../model/ingress.ts'
import type { Field, FieldReader, fields } from '../state/index.ts'

const balance: Field<IngressSettings['balance']> = {
  schema: z.enum(['round-robin', 'least-connections']),
  expected: 'round-robin or least-connections',
}
const cookieName: Field<string> = {
  schema: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  expected: 'the name of a cookie ([A-Za-z0-9_-], at most 64)',
}

/** Reads the annotations of our domain. A value that is not known is a problem and leaves the default; so is an unknown annotation. */
export function readIngressSettings(
  reader: FieldReader,
  annotations: fields.JsonRecord,
  dialect: Dialect,
): IngressSettings {
  const { ingressBalance, ingressStickyCookie } = dialect.annotations
  const known = [ingressBalance, ingressStickyCookie]
  const prefix = ingressBalance.slice(0, ingressBalance.indexOf('/') + 1)
  for (const name of Object.keys(annotations).filter((each) => each.startsWith(prefix) && !known.includes(each)))
    reader.report('metadata.annotations', `only ${known.join(', ')} of ${prefix}`, name)
  const read = <Value>(field: Field<Value>, name: string) =>
    reader.optional(field, annotations[name], `metadata.annotations[${name}]`)
  const cookie = read(cookieName, ingressStickyCookie)
  return {
    balance: read(balance, ingressBalance) ?? 'round-robin',
    ...(cookie !== undefined && { stickiness: { cookie } }),
  }
}
