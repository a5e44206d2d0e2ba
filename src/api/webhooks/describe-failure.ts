/** Words that users of Kubernetes look for, by the code of Node's error. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'i/o timeout',
}

/** Faults of a certificate, by Node's code. */
const certificateWords: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN: 'x509: certificate signed by unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'x509: certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'x509: certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'x509: certificate signed by unknown authority',
  CERT_SIGNATURE_FAILURE: 'x509: certificate signed by unknown authority',
  CERT_HAS_EXPIRED: 'x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'x509: certificate has expired or is not yet valid',
}

export const deadlineExceeded = 'context deadline exceeded'

/** Describes a failed connection in the words of Kubernetes, whose guides name them; other errors in Node's. */
export function describeFailure(error: NodeJS.ErrnoException, address: string): string {
  const { code = '', message } = error
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return deadlineExceeded
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${address}: no such host`
  if (code === 'ECONNRESET') return 'EOF'
  const failed = words[code]
  if (failed !== undefined) return `dial tcp ${address}: ${failed}`
  const certificate =
    certificateWords[code] ?? (code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? `x509: ${message}` : undefined)
  return certificate === undefined ? message : `tls: failed to verify certificate: ${certificate}`
}
