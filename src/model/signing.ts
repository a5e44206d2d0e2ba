/** The subject and the names of a certificate request (PKCS #10), as a signer judges them. */
export interface RequestedCertificate {
  readonly commonNames: readonly string[]
  readonly organizations: readonly string[]
  readonly dnsNames: readonly string[]
  readonly ips: readonly string[]
  readonly emails: readonly string[]
  readonly uris: readonly string[]
}

/** Reads and signs certificate requests with the cluster's CA. */
export interface RequestSigner {
  /** Reads a PEM and verifies its signature; rejects where it is no valid request. */
  readonly read: (requestPem: string) => Promise<RequestedCertificate>
  /** Signs a PEM for usages of certificates.k8s.io/v1, for at most so many seconds; returns the certificate's PEM. */
  readonly sign: (requestPem: string, usages: readonly string[], seconds: number) => Promise<string>
}

const nodePrefix = 'system:node:'
const nodesGroup = 'system:nodes'
const clientUsages = ['digital signature', 'client auth']
const servingUsages = ['digital signature', 'server auth']
const oldRsaUsage = 'key encipherment'

type Fault = string | undefined

/**
 * Returns why a request is none for the client certificate of a kubelet: the rules of the signer
 * `kubernetes.io/kube-apiserver-client-kubelet`.
 */
export function faultOfKubeletClient(request: RequestedCertificate, usages: readonly string[]): Fault {
  return (
    faultOfNodeSubject(request) ??
    refuse(request.dnsNames, 'DNS subjectAltNames are not allowed') ??
    refuse(request.emails, 'Email subjectAltNames are not allowed') ??
    refuse(request.ips, 'IP subjectAltNames are not allowed') ??
    refuse(request.uris, 'URI subjectAltNames are not allowed') ??
    faultOfUsages(usages, clientUsages)
  )
}

/** Returns why a request is none for the server of a kubelet: the rules of the signer `kubernetes.io/kubelet-serving`. */
export function faultOfKubeletServing(request: RequestedCertificate, usages: readonly string[]): Fault {
  const isNamed = request.dnsNames.length + request.ips.length > 0
  return (
    faultOfNodeSubject(request) ??
    (isNamed ? undefined : 'DNS or IP subjectAltName is required') ??
    refuse(request.emails, 'Email subjectAltNames are not allowed') ??
    refuse(request.uris, 'URI subjectAltNames are not allowed') ??
    faultOfUsages(usages, servingUsages)
  )
}

/** Returns why a request is none for a client of the API: the rules of the signer `kubernetes.io/kube-apiserver-client`. */
export function faultOfClient(request: RequestedCertificate, usages: readonly string[]): Fault {
  const other = usages.find((usage) => ![...clientUsages, oldRsaUsage].includes(usage))
  if (other !== undefined) return `invalid usage for client certificate: ${other}`
  if (!usages.includes('client auth')) return 'missing required usage for client certificate: client auth'
  return faultOfCommonName(request)
}

function faultOfNodeSubject(request: RequestedCertificate): Fault {
  const { commonNames, organizations } = request
  if (organizations.length !== 1 || organizations[0] !== nodesGroup) return `subject organization is not ${nodesGroup}`
  if (!commonNames.every((name) => name.startsWith(nodePrefix)))
    return `subject common name does not begin with ${nodePrefix}`
  return faultOfCommonName(request)
}

/** A user has one name: programs differ in which of several common names they take. */
function faultOfCommonName({ commonNames }: RequestedCertificate): Fault {
  const isOne = commonNames.length === 1 && commonNames[0] !== ''
  return isOne ? undefined : `one subject common name is required, found ${commonNames.length}`
}

function refuse(names: readonly string[], why: string): Fault {
  return names.length === 0 ? undefined : why
}

function faultOfUsages(usages: readonly string[], wanted: readonly string[]): Fault {
  const withOld = [...wanted, oldRsaUsage].toSorted()
  const isRight = isSame(usages, wanted) || isSame(usages, withOld)
  return isRight ? undefined : `usages did not match [${withOld.join(' ')}]`
}

function isSame(usages: readonly string[], wanted: readonly string[]): boolean {
  return new Set(usages).size === wanted.length && wanted.every((usage) => usages.includes(usage))
}
