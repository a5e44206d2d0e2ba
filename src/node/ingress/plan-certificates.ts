import type { ObjectKey } from '../../model/api-object.ts'
import type { Ingress, IngressTls, TlsSecret } from '../../model/ingress.ts'
import type { HostPattern, ServedCertificate } from '../../model/routing-table.ts'
import { formatProblem, type Parsed } from '../state/index.ts'
import { coversHost } from './host-pattern.ts'
import type { IngressProblem, ProblemsByIngress } from './plan-problems.ts'

/** A Secret that was asked for: undefined where the API has none of this name or does not give it. */
export type FoundSecret = Parsed<TlsSecret> | undefined

export interface CertificateInput {
  /** Ours that have TLS, the older first. */
  readonly ingresses: readonly Ingress[]
  /** Secrets that are not in it have not been read yet. */
  readonly secrets: ReadonlyMap<ObjectKey, FoundSecret>
  readonly defaultCertificate?: ObjectKey
  /** Served where there is no other default certificate. */
  readonly selfSigned?: TlsSecret
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

export interface PlannedCertificates {
  readonly certificates: readonly ServedCertificate[]
  readonly problems: ProblemsByIngress
  /** The reason why the default certificate that is configured is not served. */
  readonly defaultProblem?: string
  /** When a certificate becomes valid or expires next; milliseconds since 1970. */
  readonly nextMs?: number
}

/** Plans which certificate is served for which host: of each kind of key that of the oldest Ingress with a valid one. */
export function planCertificates(input: CertificateInput): PlannedCertificates {
  const hosts = new HostCertificates(input)
  for (const ingress of input.ingresses) for (const tls of ingress.tls) hosts.add(ingress, tls)
  const fallback = planDefault(input)
  const { defaultProblem } = fallback
  const nextMs = earliestChange(input)
  return {
    certificates: [...fallback.certificates, ...hosts.certificates()],
    problems: hosts.problems,
    ...(defaultProblem !== undefined && { defaultProblem }),
    ...(nextMs !== undefined && { nextMs }),
  }
}

interface Owner {
  readonly ingress: ObjectKey
  readonly secret: TlsSecret
}

class HostCertificates {
  readonly problems = new Map<ObjectKey, IngressProblem[]>()
  readonly #input: CertificateInput
  /** Keys are the kind of key and the host. */
  readonly #owners = new Map<string, Owner>()
  readonly #hosts = new Map<TlsSecret, Set<HostPattern>>()

  constructor(input: CertificateInput) {
    this.#input = input
  }

  add({ key: ingress }: Ingress, { secret: key, hosts, field }: IngressTls): void {
    if (key === undefined || !this.#input.secrets.has(key)) return
    const report = (message: string) => this.#report(ingress, `${field}: ${message}`)
    const found = this.#input.secrets.get(key)
    for (const problem of found?.problems ?? []) report(formatProblem(problem))
    const secret = found?.value
    const why = whyUnusable(key, found, this.#input.nowMs)
    if (why !== undefined) report(why)
    if (why !== undefined || secret === undefined) return
    if (hosts.length + secret.names.length === 0) report(`names no host, nor does the certificate of Secret ${key}`)
    for (const host of hosts.length > 0 ? hosts : secret.names) {
      if (!secret.names.some((name) => coversHost(name, host)))
        report(`the certificate of Secret ${key} is not for ${host}, and clients will refuse it`)
      this.#claim({ ingress, secret }, host, report)
    }
  }

  certificates(): readonly ServedCertificate[] {
    return [...this.#hosts]
      .map(([secret, hosts]) => serve(secret, [...hosts].sort()))
      .sort((a, b) => (a.secret < b.secret ? -1 : 1))
  }

  #claim(claim: Owner, host: HostPattern, report: (message: string) => void): void {
    const { secret } = claim
    const key = `${secret.keyKind} ${host}`
    const owner = this.#owners.get(key)
    if (owner === undefined) {
      this.#owners.set(key, claim)
      this.#hosts.set(secret, (this.#hosts.get(secret) ?? new Set()).add(host))
    } else if (owner.secret.fingerprint !== secret.fingerprint) {
      const whose = owner.ingress === claim.ingress ? 'this Ingress' : `the older Ingress ${owner.ingress}`
      report(`${whose} has another ${secret.keyKind} certificate for ${host} already, of Secret ${owner.secret.key}`)
    }
  }

  #report(ingress: ObjectKey, message: string): void {
    const problems = this.problems.get(ingress) ?? []
    problems.push({ reason: 'CertificateUnusable', message })
    this.problems.set(ingress, problems)
  }
}

function planDefault({ defaultCertificate: key, secrets, selfSigned, nowMs }: CertificateInput) {
  const found = key === undefined ? undefined : secrets.get(key)
  const isRead = key !== undefined && secrets.has(key)
  const unreadable = found?.value === undefined ? found?.problems.map(formatProblem).join('; ') : undefined
  const why = isRead ? unreadable || whyUnusable(key, found, nowMs) : undefined
  const usable = why === undefined ? found?.value : undefined
  const served = usable ?? selfSigned
  return {
    certificates: served === undefined ? [] : [serve(served, [])],
    defaultProblem: why,
  }
}

function whyUnusable(key: ObjectKey, found: FoundSecret, nowMs: number): string | undefined {
  if (found === undefined) return `Secret ${key} does not exist, or this node may not read it`
  const { value } = found
  // Its problems say why.
  if (value === undefined) return found.problems.length === 0 ? `Secret ${key} cannot be read` : undefined
  const { notBeforeMs, notAfterMs } = value
  if (nowMs >= notAfterMs) return `the certificate of Secret ${key} expired at ${formatDate(notAfterMs)}`
  return nowMs < notBeforeMs
    ? `the certificate of Secret ${key} is valid from ${formatDate(notBeforeMs)} on`
    : undefined
}

function formatDate(ms: number): string {
  return new Date(ms).toISOString()
}

function serve({ key, fingerprint, chainPem, keyPem, notAfterMs }: TlsSecret, hosts: readonly HostPattern[]) {
  return { secret: key, hosts, fingerprint, chainPem, keyPem, notAfterMs }
}

function earliestChange({ secrets, nowMs }: CertificateInput): number | undefined {
  const dates = secrets.values().flatMap((found) => [found?.value?.notBeforeMs, found?.value?.notAfterMs])
  return dates.reduce<number | undefined>(
    (next, ms) => (ms !== undefined && ms > nowMs && (next === undefined || ms < next) ? ms : next),
    undefined,
  )
}
