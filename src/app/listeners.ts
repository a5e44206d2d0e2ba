import type { Listener } from '../host/index.ts'
import { dnsPort } from '../model/dns-ports.ts'
import { loopbackIpv4, unspecifiedIpv4 } from '../model/ip.ts'
import type { Options } from './context.ts'

/** Lists where the web consoles listen, with the option that moves each; the daemon starts also where it cannot. */
export function consoleListenersOf({ values }: Options): readonly Listener[] {
  const { console, consolePort, serverConsolePort } = values.console
  if (!console) return []
  const at = (port: number, option: string): Listener => ({ protocol: 'tcp', address: loopbackIpv4, port, option })
  return [at(consolePort, '--console-port'), at(serverConsolePort, '--server-console-port')]
}

/** Lists where the parts of the options listen, with the option that moves each; Ingress apart. */
export function listenersOf({ values }: Options): readonly Listener[] {
  const { app, api, controllers, dns, node, proxy } = values
  const tcp = (address: string, port: number, option: string): Listener => ({ protocol: 'tcp', address, port, option })
  const byPart: readonly (readonly [part: (typeof app.components)[number], listener: Listener])[] = [
    ['api', tcp(api.bindAddress, api.securePort, '--secure-port')],
    ['controllers', tcp(loopbackIpv4, controllers.controllerManagerPort, '--controller-manager-port')],
    ['scheduler', tcp(loopbackIpv4, controllers.schedulerPort, '--scheduler-port')],
    ['proxy', tcp(proxy.proxyHealthzAddress, proxy.proxyHealthzPort, '--proxy-healthz-port')],
    ['proxy', tcp(proxy.proxyMetricsAddress, proxy.proxyMetricsPort, '--proxy-metrics-port')],
    ...dns.clusterDns.flatMap((address) =>
      (['tcp', 'udp'] as const).map(
        (protocol) =>
          ['dns', { protocol, address, port: dnsPort, option: '--cluster-dns', isOwnAddress: true }] as const,
      ),
    ),
  ]
  return [
    ...byPart.filter(([part, { port }]) => port !== 0 && app.components.includes(part)).map(([, listener]) => listener),
    agentListener(node),
  ]
}

/** The HTTPS port of the agent, without which it does not start. */
export function agentListener({ port }: Options['values']['node']): Listener {
  return { protocol: 'tcp', address: unspecifiedIpv4, port, option: '--port' }
}
