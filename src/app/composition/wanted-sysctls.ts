import { cpus } from 'node:os'
import { conntrackSysctls, nodeSysctls } from '../../host/index.ts'
import type { Options } from '../context.ts'

/** What this node's kernel is asked for: forwarding, and how it follows connections where the proxy runs. */
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
