import { cpus } from 'node:os'
import { conntrackSysctls, nodeSysctls } from '../../host/index.ts'
import type { Options } from '../context.ts'

/** Returns the kernel settings that this node needs: forwarding, and connection tracking if the proxy runs. */
export function wantedSysctls({ values: { app, proxy } }: Options) {
  if (!app.components.includes('proxy')) return nodeSysctls
  const wishes = {
    maxPerCore: proxy.conntrackMaxPerCore,
    min: proxy.conntrackMin,
    tcpEstablishedMs: proxy.conntrackTcpTimeoutEstablished,
    tcpCloseWaitMs: proxy.conntrackTcpTimeoutCloseWait,
    tcpBeLiberal: proxy.conntrackTcpBeLiberal,
    udpMs: proxy.conntrackUdpTimeout,
    udpStreamMs: proxy.conntrackUdpTimeoutStream,
  }
  return [...nodeSysctls, ...conntrackSysctls(wishes, cpus().length)]
}
