import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProgram } from '../../src/host/index.ts'
import { timeBareRestores, timeBareTransactions } from './bare-writes.ts'
import type { BenchCluster } from './cluster.ts'
import { type NodeLab, nodeAddress, podNetwork } from './node-lab.ts'
import { agentProgram } from './packaged-program.ts'

const peerProgram = path.resolve('.cache/peer/kube-proxy')
const controlSocket = '/run/platnet-bench.sock'

/** `bench/proxy/build-peer.sh` makes it. */
export function isPeerBuilt(): boolean {
  return existsSync(peerProgram)
}

/** A proxy under measurement. */
export interface ProxyTarget {
  readonly name: string
  /** Milliseconds of bare writes into what it left in the kernel: the floor of a change. */
  readonly timeBareWrites?: (netns: string) => Promise<readonly number[]>
  /** Its rules do not follow the API. */
  readonly isFixed?: boolean
  start(lab: NodeLab): Promise<RunningProgram>
  /** Ends when it says of itself that all of the cluster is in the kernel. */
  untilReady(cluster: BenchCluster, signal: AbortSignal): Promise<void>
}

export const platnetModes = ['nftables', 'iptables'] as const

export function platnetTarget(kubeconfig: string, mode: (typeof platnetModes)[number]): ProxyTarget {
  const [program = '', ...words] = agentProgram()
  const flags = [
    '--node-name=platnet',
    `--node-ip=${nodeAddress}`,
    `--cluster-cidr=${podNetwork}`,
    '--components=proxy',
    `--proxy-mode=${mode}`,
  ]
  const files = [`--control-socket=${controlSocket}`, '--data-dir=/run/platnet-bench', `--kubeconfig=${kubeconfig}`]
  return {
    name: `platnet ${mode}`,
    timeBareWrites: mode === 'iptables' ? timeBareRestores : timeBareTransactions,
    start: (lab) => lab.start(program, [...words, 'agent', ...flags, ...files, '--log-level=warn']),
    untilReady: async (cluster, signal) => {
      for (const resource of ['services', 'endpointslices'] as const) {
        const resourceVersion = await cluster.resourceVersion(resource)
        const query = new URLSearchParams({ resource, resourceVersion, timeoutMs: '1000' })
        while ((await get({ socketPath: controlSocket, path: `/applied?${query}` })).status !== 200)
          await sleep(10, undefined, { signal })
      }
    },
  }
}

/** kube-proxy's modes, and the first one with its large writes cut in slices by restore-in-slices.pl. */
export const kubeProxyForms = ['iptables', 'nftables', 'iptables-in-slices'] as const

export function kubeProxyTarget(kubeconfig: string, form: (typeof kubeProxyForms)[number]): ProxyTarget {
  const mode = form === 'nftables' ? 'nftables' : 'iptables'
  const config = `/run/kube-proxy-${mode}.yaml`
  const flags = ['--config', config, '--hostname-override', 'kube-proxy', '--v=0']
  return {
    name: form === 'iptables-in-slices' ? 'kube-proxy iptables, written in slices by the bench' : `kube-proxy ${form}`,
    start: (lab) => {
      writeFileSync(config, kubeProxyConfig(kubeconfig, mode))
      if (form !== 'iptables-in-slices') return lab.start(peerProgram, flags, 'ignore')
      return lab.start('env', [`PATH=${slicingFolder()}:${process.env['PATH']}`, peerProgram, ...flags], 'ignore')
    },
    untilReady: async (_cluster, signal) => {
      const metrics = { host: nodeAddress, port: 10249, path: '/metrics' }
      const synced = /^kubeproxy_sync_proxy_rules_last_timestamp_seconds(?:\{.*\})? [1-9]/m
      while (!synced.test((await get(metrics)).text)) await sleep(20, undefined, { signal })
    },
  }
}

/** A folder whose iptables-restore writes in slices. */
function slicingFolder(): string {
  const folder = '/run/plt-slicing'
  const program = `${folder}/iptables-restore`
  mkdirSync(folder, { recursive: true })
  if (!existsSync(program)) symlinkSync(path.join(import.meta.dirname, 'restore-in-slices.pl'), program)
  return folder
}

/** JSON is what our API core speaks; the limits of conntrack cannot be written in a namespace; it need not wait a second between syncs. */
function kubeProxyConfig(kubeconfig: string, mode: string): string {
  return JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    [mode]: { minSyncPeriod: '10ms', syncPeriod: '30s' },
    clusterCIDR: podNetwork,
    metricsBindAddress: `${nodeAddress}:10249`,
    healthzBindAddress: `${nodeAddress}:10256`,
    clientConnection: { kubeconfig, contentType: 'application/json', acceptContentTypes: 'application/json' },
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  })
}

interface Answer {
  readonly status: number
  readonly text: string
}

function get(where: { socketPath?: string; host?: string; port?: number; path: string }): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = () => resolve({ status: 0, text: '' })
    request({ ...where, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += String(chunk)
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .once('error', failed)
      .end()
  })
}
