import { type FieldError, invalidField, requiredField, tooLongField } from '../../schema/field-error.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'

const longestDomain = 253
/** A domain, a slash, and a path of two names with a dot between them. */
const longestName = longestDomain + 1 + 253 + 63 + 1

/** Checks the name of a signer: a domain of at least two labels, a slash, and a path. */
export function checkSignerName(name: string, path: string): readonly FieldError[] {
  if (name === '') return [requiredField(path)]
  const [domain = '', signer, ...more] = name.split('/')
  if (signer === undefined || more.length > 0)
    return [invalidField(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
  const twoLabels = 'should be a domain with at least two segments separated by dots'
  return [
    ...(domain.length > longestDomain ? [tooLongField(path, longestDomain)] : []),
    ...firstFault(domain, path, checkDnsLabel),
    ...(domain.includes('.') ? [] : [invalidField(path, domain, twoLabels)]),
    ...firstFault(signer, path, checkDnsSubdomain),
    ...(name.length > longestName ? [tooLongField(path, longestName)] : []),
  ]
}

function firstFault(text: string, path: string, check: (label: string) => string | undefined): readonly FieldError[] {
  const bad = text.split('.').find((label) => check(label) !== undefined)
  return bad === undefined ? [] : [invalidField(path, text, `validating label ${JSON.stringify(bad)}: ${check(bad)}`)]
}
