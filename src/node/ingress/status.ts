import type { ObjectKey } from '../../model/api-object.ts'
import type { RoutingTable } from '../../model/routing-table.ts'
import type { IngressDriver } from './driver.ts'
import type { IngressPlan, IngressStep } from './plan.ts'

/** The routes and certificates that the agent serves; part of `platnet status`. */
export interface IngressStatus {
  readonly driver: IngressDriver['kind']
  /** Ingresses of our classes, and those of others. */
  readonly ingresses: { readonly ours: number; readonly foreign: number }
  readonly hosts: number
  readonly backends: number
  /** Backends without an endpoint: they answer 503. */
  readonly backendsDown: readonly string[]
  readonly certificates: readonly CertificateStatus[]
  readonly defaultCertificateProblem?: string
  readonly problems: readonly { readonly ingress: ObjectKey; readonly reason: string; readonly message: string }[]
  /** The reason why the newest table is not in force. */
  readonly failure?: string
}

interface CertificateStatus {
  readonly secret: ObjectKey
  /** Empty: the default certificate. */
  readonly hosts: readonly string[]
  /** RFC 3339 */
  readonly notAfter: string
  readonly daysLeft: number
}

interface StatusParts {
  readonly driver: Pick<IngressDriver, 'kind'>
  readonly plan: Pick<IngressPlan, 'ingresses' | 'classOf'>
  readonly step: IngressStep | undefined
  readonly problems: ReadonlyMap<ObjectKey, readonly { readonly reason: string; readonly message: string }[]>
  readonly failure: string | undefined
}

const dayMs = 24 * 3_600_000

export function ingressStatus({ driver, plan, step, problems, failure }: StatusParts): IngressStatus {
  const ingresses = [...plan.ingresses()]
  const ours = ingresses.filter((ingress) => plan.classOf(ingress).kind === 'ours').length
  const { defaultCertificateProblem } = step ?? {}
  return {
    driver: driver.kind,
    ingresses: { ours, foreign: ingresses.length - ours },
    hosts: step?.table.hosts.size ?? 0,
    backends: step?.table.backends.size ?? 0,
    backendsDown: step === undefined ? [] : backendsDown(step.table),
    certificates: step === undefined ? [] : certificatesOf(step.table, Date.now()),
    ...(defaultCertificateProblem !== undefined && { defaultCertificateProblem }),
    problems: [...problems].flatMap(([ingress, list]) =>
      list.map(({ reason, message }) => ({ ingress, reason, message })),
    ),
    ...(failure !== undefined && { failure }),
  }
}

function backendsDown({ backends }: RoutingTable): readonly string[] {
  const down = [...backends.values()].filter(({ endpoints }) => endpoints.length === 0)
  return [...new Set(down.map(({ service, port }) => `${service}:${port}`))].sort()
}

function certificatesOf({ certificates }: RoutingTable, nowMs: number): readonly CertificateStatus[] {
  return certificates.map(({ secret, hosts, notAfterMs }) => ({
    secret,
    hosts,
    notAfter: new Date(notAfterMs).toISOString(),
    daysLeft: Math.floor((notAfterMs - nowMs) / dayMs),
  }))
}
