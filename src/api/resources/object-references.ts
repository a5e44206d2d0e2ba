import { type Check, fields, required, strictText, text } from '../schema/checks.ts'
import { checkDnsSubdomain, checkPathSegment } from '../schema/names.ts'

const segment = text(checkPathSegment)

/** Checks a reference to an object of any kind, in the namespace of the referring object or in the cluster. */
export const typedReference: readonly Check[] = [
  required('kind', 'name'),
  fields({ apiGroup: strictText(checkDnsSubdomain), kind: segment, name: segment }),
]

/** Checks a reference to an object by its resource: the parent of an IPAddress. */
export const resourceReference: readonly Check[] = [
  required('resource', 'name'),
  fields({ group: text(checkDnsSubdomain), resource: segment, name: segment, namespace: segment }),
]
