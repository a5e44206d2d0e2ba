import { cpus } from 'node:os'
import { bridgeIpv6Sysctl, conntrackSysctls, nodeSysctls } from '../../host/index.ts'
import type { Options } from '../context.ts'
import { hasIpv6 } from './has-ipv6.ts'

/** Returns the kernel settings that this node needs: forwarding, rules for packets on bridges, and connection tracking if the proxy runs. */
export function wantedSysctls(options: Pick<Options, 'values'>) {
  const { app, proxy } = options.values
  const ofNode = forwardingSysctls(options)
  if (!app.components.includes('proxy')) return ofNode
  const wishes = {
    maxPerCore: proxy.conntrackMaxPerCore,
    min: proxy.conntrackMin,
    tcpEstablishedMs: proxy.conntrackTcpTimeoutEstablished,
    tcpCloseWaitMs: proxy.conntrackTcpTimeoutCloseWait,
    tcpBeLiberal: proxy.conntrackTcpBeLiberal,
    udpMs: proxy.conntrackUdpTimeout,
    udpStreamMs: proxy.conntrackUdpTimeoutStream,
  }
  return [...ofNode, ...conntrackSysctls(wishes, cpus().length)]
}

/** Returns the settings without which packets are not forwarded, or meet no rules. */
export function forwardingSysctls({ values: { app } }: Pick<Options, 'values'>) {
  return app.components.includes('policy') && hasIpv6() ? [...nodeSysctls, bridgeIpv6Sysctl] : nodeSysctls
}
