import type { Ip } from '../../src/model/ip.ts'
import type { HaproxySettings } from '../../src/node/ingress/haproxy/settings.ts'

/** Settings for tests that start no haproxy. */
export const haproxySettings: HaproxySettings = {
  folder: '/run/platnet/ingress',
  httpAddresses: [
    { ip: '0.0.0.0' as Ip, port: 80 },
    { ip: '::' as Ip, port: 80 },
  ],
  httpsAddresses: [{ ip: '192.0.2.1' as Ip, port: 443 }],
  accessLog: 0.25,
  limits: {
    maxHeaderBytes: 16_384,
    maxConnections: 10_000,
    connectionsPerClient: 1000,
    requestsPerClient: 100,
    maxBodyBytes: 1_073_741_824,
    headerTimeoutMs: 10_000,
    idleTimeoutMs: 60_000,
    backendTimeoutMs: 60_000,
  },
}
