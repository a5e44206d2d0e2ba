import { cpus } from 'node:os'
import { bridgeIpv6Sysctl, conntrackSysctls, nodeSysctls } from '../../host/index.ts'
import type { Options } from '../context.ts'
import { hasIpv6 } from './has-ipv6.ts'

/** Returns the kernel settings that this node needs: forwarding, rules for packets on bridges, and connection tracking if the proxy runs. */
export function wantedSysctls({ values: { app, proxy } }: Pick<Options, 'values'>) {
  const ofNode = app.components.includes('policy') && hasIpv6() ? [...nodeSysctls, bridgeIpv6Sysctl] : nodeSysctls
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
