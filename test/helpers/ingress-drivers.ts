import type { RoutingTable } from '../../src/model/routing-table.ts'
import type { IngressLimits } from '../../src/node/ingress/driver.ts'
import { HaproxyLab, haproxySkipReason, testLimits, wholeChange } from './haproxy-lab.ts'
import { IngressLab } from './in-process-ingress.ts'

/** A driver on loopback, with one port for HTTP and one for HTTPS. */
export interface DriverLab extends AsyncDisposable {
  readonly httpPort: number
  readonly httpsPort: number
  serve(table: RoutingTable): Promise<void>
}

interface DriverKind {
  readonly name: string
  /** Why it cannot run here; false where it can. */
  readonly skip: string | false
  create(limits?: Partial<IngressLimits>): Promise<DriverLab>
}

/** Both drivers, for tests that ask the same of them. */
export const ingressDrivers: readonly DriverKind[] = [
  {
    name: 'haproxy',
    skip: haproxySkipReason(),
    create: async (limits) => {
      const lab = await HaproxyLab.create({ limits: { ...testLimits, ...limits } })
      const serve = async (table: RoutingTable) => void (await lab.driver.apply(table, wholeChange(table)))
      return Object.assign(lab, { serve })
    },
  },
  {
    name: 'the in-process driver',
    skip: false,
    create: async (limits) => {
      const lab = new IngressLab({ ...testLimits, ...limits })
      await lab.start()
      return Object.assign(lab, { serve: async (table: RoutingTable) => void (await lab.driver.apply(table)) })
    },
  },
]
