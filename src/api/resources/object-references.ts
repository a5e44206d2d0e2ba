import { type Check, fields, required, strictText, text } from '../schema/checks.ts'
import { checkDnsSubdomain, checkPathSegment } from '../schema/names.ts'

const segment = text(checkPathSegment)

/** Names an object of any kind: in the namespace of the object that names it, or of the whole cluster. */
export const typedReference: readonly Check[] = [
  required('kind', 'name'),
  fields({ apiGroup: strictText(checkDnsSubdomain), kind: segment, name: segment }),
]

/** Names an object by its resource: what an IPAddress belongs to. */
export const resourceReference: readonly Check[] = [
  required('resource', 'name'),
  fields({ group: text(checkDnsSubdomain), resource: segment, name: segment, namespace: segment }),
]
