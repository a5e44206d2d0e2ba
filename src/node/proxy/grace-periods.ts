import { answererOf, type ConntrackFrontend, portKeyOf, type StaleRule } from './conntrack-plan.ts'

/** The endpoints of one port, each with the last report in which it served, while rules of the port wait. */
interface WaitingPort {
  rules: number
  readonly servedIn: Map<string, number>
}

/**
 * Holds rules for their grace period. A rule leaves out endpoints that have served meanwhile. When one of these ceases to serve once more,
 * the report of that makes a new rule, which has a whole period.
 */
export class GracePeriods {
  readonly #ports = new Map<string, WaitingPort>()
  #report = 0

  /** Notes which endpoints serve by a new report of a Service. */
  note(frontends: readonly ConntrackFrontend[]): void {
    this.#report += 1
    for (const frontend of frontends) {
      const port = this.#ports.get(portKeyOf(frontend))
      if (port === undefined) continue
      for (const endpoint of frontend.serving) port.servedIn.set(endpoint, this.#report)
    }
  }

  /** Begins the period of a rule by the last report. The result ends it, and returns what is left of the rule. */
  begin({ frontend, isStale }: StaleRule): () => StaleRule {
    const begunIn = this.#report
    const key = portKeyOf(frontend)
    const port = this.#ports.get(key) ?? { rules: 0, servedIn: new Map<string, number>() }
    this.#ports.set(key, port)
    port.rules += 1
    return () => {
      port.rules -= 1
      if (port.rules === 0) this.#ports.delete(key)
      // Rules end in the order in which they began.
      for (const [endpoint, report] of port.servedIn) if (report <= begunIn) port.servedIn.delete(endpoint)
      const served = new Set(port.servedIn.keys())
      return { frontend, isStale: (flow) => isStale(flow) && !served.has(answererOf(flow)) }
    }
  }
}
