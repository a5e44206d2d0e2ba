import { isDnsSubdomain } from '../../model/selector.ts'

/** Checks an RFC 1123 label (at most 63 characters). Returns the error, undefined for a valid name. */
export function checkDnsLabel(name: string): string | undefined {
  if (name.length > 63) return 'must be no more than 63 characters'
  if (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)) return undefined
  if (isDnsSubdomain(name)) return 'must not contain dots'
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
}

/** Checks an RFC 1035 label: an RFC 1123 label that starts with a letter; the rule for Services. */
export function checkDns1035Label(name: string): string | undefined {
  if (name.length > 63) return 'must be no more than 63 characters'
  if (/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return undefined
  return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
}

/** Checks an RFC 1123 subdomain (at most 253 characters); the rule for most names. */
export function checkDnsSubdomain(name: string): string | undefined {
  if (name.length > 253) return 'must be no more than 253 characters'
  if (isDnsSubdomain(name)) return undefined
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
}

/** Checks a subdomain whose first label is `*`: any host of a domain. */
export function checkWildcardSubdomain(name: string): string | undefined {
  if (name.length > 253) return 'must be no more than 253 characters'
  if (name.startsWith('*.') && isDnsSubdomain(name.slice(2))) return undefined
  return "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
}

/** Checks an IANA service name: at most 15 characters, at least one letter, no double dash; the rule for named target ports. */
export function checkPortName(name: string): string | undefined {
  return portNameProblems(name)[0]
}

/** Returns each rule of a port name that a text breaks. */
export function portNameProblems(name: string): readonly string[] {
  const isEdged = name.startsWith('-') || name.endsWith('-')
  return [
    ...(name.length > 15 ? ['must be no more than 15 characters'] : []),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
    ...(/[a-z]/.test(name) ? [] : ['must contain at least one letter (a-z)']),
    ...(name.includes('--') ? ['must not contain consecutive hyphens'] : []),
    ...(isEdged ? ['must not begin or end with a hyphen'] : []),
  ]
}

export function checkPortNumber(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : 'must be between 1 and 65535, inclusive'
}

/** Checks a path segment, colons allowed; the rule for roles. */
export function checkPathSegment(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`
  if (/[/%]/.test(name)) return `may not contain '${name.includes('/') ? '/' : '%'}'`
  return undefined
}
