import type { ConntrackFrontend, FlowEnds, StaleRule } from './conntrack-plan.ts'

/** The endpoints of one port, each with the last report in which it served, while rules of the port wait. */
interface WaitingPort {
  rules: number
  readonly servedIn: Map<string, number>
}

/**
 * Holds rules for their grace period. An endpoint that serves meanwhile is none of them any more: what happens to its connections afterwards
 * is for the rule of the report in which it ceased to serve, after the whole of that one's period.
 */
export class GracePeriods {
  readonly #ports = new Map<string, WaitingPort>()
  #report = 0

  /** Notes which endpoints serve by a new report of a Service. */
  note(frontends: readonly ConntrackFrontend[]): void {
    this.#report += 1
    for (const frontend of frontends) {
      const port = this.#ports.get(keyOf(frontend))
      for (const endpoint of port === undefined ? [] : frontend.serving) port?.servedIn.set(endpoint, this.#report)
    }
  }

  /** Begins the period of a rule by the last report. The result ends it, and returns what is left of the rule. */
  begin({ frontend, isStale }: StaleRule): () => StaleRule {
    const begunIn = this.#report
    const port = this.#ports.get(keyOf(frontend)) ?? { rules: 0, servedIn: new Map<string, number>() }
    this.#ports.set(keyOf(frontend), port)
    port.rules += 1
    return () => {
      port.rules -= 1
      if (port.rules === 0) this.#ports.delete(keyOf(frontend))
      // Rules end in the order in which they began.
      for (const [endpoint, report] of port.servedIn) if (report <= begunIn) port.servedIn.delete(endpoint)
      const served = new Set(port.servedIn.keys())
      const hasServed = (flow: FlowEnds) => served.has(`${flow.replySource} ${flow.replySourcePort}`)
      return { frontend, isStale: (flow) => isStale(flow) && !hasServed(flow) }
    }
  }
}

function keyOf({ servicePort, protocol }: ConntrackFrontend): string {
  return `${servicePort} ${protocol}`
}
