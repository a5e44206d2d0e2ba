import type { Ip } from '../../model/ip.ts'
import type { Logger, Metrics } from '../../observe/index.ts'
import { createRouter } from '../../serve/index.ts'
import { PatientListener } from './patient-listener.ts'
import type { ProxyModeName } from './proxy-mode.ts'

/** `/metrics`, `/proxyMode` and `/healthz` on kube-proxy's port for metrics, open to those who reach it, as with kube-proxy. */
export function createProxyMetricsListener(parts: {
  readonly address: Ip
  readonly port: number
  readonly mode: () => ProxyModeName
  readonly metrics: Metrics
  readonly log: Logger
}): PatientListener {
  const { address, port, mode, metrics, log } = parts
  const handler = createRouter(
    {
      '/healthz': () => ({ status: 200, body: 'ok' }),
      '/metrics': async () => ({ status: 200, ...(await metrics.text()) }),
      '/proxyMode': () => ({ status: 200, body: mode() }),
    },
    (error, path) => log.error('a request for metrics failed', { path, error }),
  )
  return new PatientListener({
    name: 'proxy-metrics',
    address,
    port,
    portOption: '--proxy-metrics-port',
    handler,
    log,
  })
}
