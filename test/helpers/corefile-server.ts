import type { TestContext } from 'node:test'
import type { Ip } from '../../src/model/ip.ts'
import { configurationSeries, dnsMetrics } from '../../src/node/dns/configuration/metrics.ts'
import { readCorefile } from '../../src/node/dns/configuration/read-corefile.ts'
import { planServer, type ServerPlan } from '../../src/node/dns/configuration/server-plan.ts'
import { HttpEndpoints } from '../../src/node/dns/http/endpoints.ts'
import { renderSeries } from '../../src/node/dns/metrics/series.ts'
import { hostsEntries } from '../../src/node/dns/plugins/hosts/metrics.ts'
import type { Corefile } from '../../src/node/dns/plugins/server-block.ts'
import { DnsThreads } from '../../src/node/dns/threads/dns-threads.ts'
import { ClusterZone } from '../../src/node/dns/zone/cluster-zone.ts'
import type { ServiceView } from '../../src/node/dns/zone/service-records.ts'
import { createRecordingLogger } from './recording-logger.ts'

export interface CorefileShape {
  /** With its own port, and `bind 127.0.0.1`. */
  readonly text: string
  readonly views?: readonly ServiceView[]
  readonly namespaces?: readonly string[]
  /** Of `hosts` and weights, by path. */
  readonly texts?: Readonly<Record<string, string>>
  /** The nameservers of resolver files, by path. */
  readonly nameservers?: Readonly<Record<string, readonly Ip[]>>
}

export interface CorefileServer {
  readonly corefile: Corefile
  readonly plan: ServerPlan
  readonly threads: DnsThreads
  /** What was logged. */
  readonly lines: readonly string[]
}

/** The threads and HTTP endpoints of an agent, configured by a Corefile as the agent does it; stopped when the test ends. */
export async function startCorefileServer(test: TestContext, shape: CorefileShape): Promise<CorefileServer> {
  const { log, lines } = createRecordingLogger()
  const threads = new DnsThreads({ servingThreads: 2, log })
  const sources = { files: () => [], environment: () => undefined }
  const corefile = readCorefile({ path: 'Corefile', text: shape.text }, sources)
  const plan = planServer(corefile, {
    clusterDns: [],
    nodeAddress: undefined,
    linkAddresses: new Map(),
    nameservers: new Map(Object.entries(shape.nameservers ?? {})),
    hostsTexts: new Map(Object.entries(shape.texts ?? {})),
    pemTexts: new Map(),
    clusterSources: [],
  })
  const zones = plan.zones.map((settings) => new ClusterZone(settings, () => {}))
  for (const zone of zones) {
    for (const name of shape.namespaces ?? []) zone.setNamespace(name, true)
    for (const view of shape.views ?? []) zone.setService(view.service.key, view)
    zone.markSynced()
  }
  test.after(() => threads.stop())
  const failures = await threads.configure(
    plan.threads,
    zones.map(({ table }) => table),
  )
  if (failures.length > 0) throw new Error(JSON.stringify(failures))
  const texts = new Map(Object.entries(shape.texts ?? {}))
  const configured = {
    corefile,
    text: shape.text,
    hostsEntries: hostsEntries(
      corefile.blocks.flatMap(({ hosts }) => hosts ?? []),
      texts,
    ),
    atMs: Date.now(),
    failedReloads: 0,
  }
  const http: HttpEndpoints = new HttpEndpoints(
    {
      unready: () => [],
      metrics: async () => {
        const all = [...configurationSeries(configured), ...http.series(), ...(await threads.series())]
        return renderSeries(all, dnsMetrics)
      },
      mayRead: () => true,
    },
    log,
  )
  test.after(() => http.stop())
  await http.change(plan.http)
  return { corefile, plan, threads, lines }
}
