// The inner part of `npm run bench -- idle`, in namespaces of its own: all planes and 100 Services of 4 endpoints, left alone for some minutes.
// Arguments: the launcher, and `run` for `platnet run`, `apart` for `platnet server` and `platnet agent`, or `nftables` for these with that mode of the
// proxy. Prints one line of JSON.
import { createSocket } from 'node:dgram'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { HttpClusterApi } from '../../src/demo/http-cluster-api.ts'
import { Lab, nodeAddress } from '../../src/demo/lab.ts'
import { describeService, describeSlice } from '../../src/demo/manifests.ts'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { parseIp } from '../../src/model/ip.ts'
import { httpGet } from '../../test/helpers/http-get.ts'
import { readAdminAccess } from '../../test/helpers/platnet-server.ts'
import { processorMs } from '../processor-time.ts'
import { progress } from '../report.ts'
import type { IdleFigures } from './idle.ts'

const [launcher = '', mode = 'run'] = process.argv.slice(2)
const dataDir = '/run/platnet-bench'
const controlSocket = `${dataDir}/control.sock`
const adminKubeconfig = `${dataDir}/admin.kubeconfig`
const idleSeconds = Number(process.env['BENCH_IDLE_SECONDS'] ?? 600)
const services = Number(process.env['BENCH_IDLE_SERVICES'] ?? 100)
const endpoints = Number(process.env['BENCH_IDLE_ENDPOINTS'] ?? 4)
const settleSeconds = Math.min(120, idleSeconds / 2)
const roles: readonly (readonly [string, RegExp])[] = [
  ['server', /main\.[jt]s\0(run|server)\0/],
  ['agent', /main\.[jt]s\0agent\0/],
  ['haproxy', /^\S*haproxy\0/],
]

/** Returns the last resourceVersion of their slices. */
async function createServices(api: HttpClusterApi): Promise<string> {
  let last = 0
  let next = 0
  const work = async (): Promise<void> => {
    while (next < services) last = Math.max(last, await createService(api, next++))
  }
  await Promise.all(Array.from({ length: 8 }, work))
  return String(last)
}

async function createService(api: HttpClusterApi, number: number): Promise<number> {
  const name = `web-${number}`
  await api.apply(describeService({ name, type: 'ClusterIP', sessionAffinity: 'None' }))
  const pods = Array.from({ length: endpoints }, (_, index) => {
    const address = parseIp(`10.${244 + (number >> 14)}.${(number >> 6) & 255}.${4 * (number & 63) + index}`)
    if (!address) throw new Error('the endpoint has no address')
    return { name: `${name}-${index}`, address, port: 8080, phase: 'ready' as const }
  })
  const stored = await api.apply(describeSlice(createDialect('platform'), name, pods))
  return Number(stored.metadata.resourceVersion)
}

interface Sample {
  readonly role: string
  readonly pid: string
  readonly cpuMs: number
}

function listProcesses(): Sample[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      const role = roles.find(([, pattern]) => pattern.test(command))?.[0]
      return role === undefined ? [] : [{ role, pid, cpuMs: processorMs(pid) }]
    })
}

function kibibytes(file: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1])
}

function memoryOf(pid: string): { readonly residentMiB: number; readonly ownMiB: number } {
  return {
    residentMiB: kibibytes(`/proc/${pid}/status`, 'VmRSS') / 1024,
    ownMiB: kibibytes(`/proc/${pid}/smaps_rollup`, 'Pss') / 1024,
  }
}

/** Resolves when `/readyz` of the port answers 200, and returns how long after `sinceMs` that was. */
async function waitReady(port: number, sinceMs: number): Promise<number> {
  for (;;) {
    const access = await readAdminAccess(adminKubeconfig).catch(() => undefined)
    const answer = access && (await httpGet({ ...access, port, path: '/readyz' }).catch(() => undefined))
    if (answer?.status === 200) return performance.now() - sinceMs
    await sleep(20)
  }
}

/** Gives the node a nameserver that has no names: an upstream that is down would be asked every half second whether it is back. */
async function serveUpstream(): Promise<void> {
  const address = '127.0.0.53'
  const socket = createSocket('udp4', (query, client) => {
    const answer = Buffer.from(query)
    // RFC 1035, 4.1.1: an answer (QR) with recursion (RD, RA) and NXDOMAIN.
    answer.writeUInt16BE(0x8183, 2)
    socket.send(answer, client.port, client.address)
  })
  await new Promise<void>((resolve) => socket.bind(53, address, resolve))
  writeFileSync('/run/resolv.conf', `nameserver ${address}\n`)
  await runProgram('mount', ['--bind', '/run/resolv.conf', '/etc/resolv.conf'], { timeoutMs: 5_000 })
}

const programs: RunningProgram[] = []

/** Starts a command of the program and returns how long it takes to be ready, in ms. */
async function start(command: string, port: number, flags: readonly string[]): Promise<number> {
  const args = [command, '--data-dir', dataDir, '--log-level', 'warn', ...flags]
  const sinceMs = performance.now()
  programs.push(await runProgram(launcher, args, { background: true, stdout: 2, stderr: 2 }))
  return waitReady(port, sinceMs)
}

/** An agent by itself starts beside a cluster that is there. */
async function startAll(): Promise<IdleFigures['starts']> {
  // Not below the data directory, whose every write would wake the watch of the folder.
  const cni = ['--cni-conf-dir', '/run/cni/net.d', '--cni-cache-dir', '/run/cni/cache']
  const node = ['--control-socket', controlSocket, '--node-ip', nodeAddress, ...cni]
  const fill = async () => createServices(await HttpClusterApi.connect(adminKubeconfig, controlSocket))
  const untilApplied = async (version: string) =>
    (await HttpClusterApi.connect(adminKubeconfig, controlSocket)).waitApplied('endpointslices', version)
  if (mode === 'run') {
    const ms = await start('run', 10_250, node)
    await untilApplied(await fill())
    return [{ command: 'run', ms }]
  }
  const serverMs = await start('server', 6443, [])
  const version = await fill()
  const proxyMode = mode === 'nftables' ? ['--proxy-mode', 'nftables'] : []
  const agentMs = await start('agent', 10_250, ['--kubeconfig', `${dataDir}/agent.kubeconfig`, ...proxyMode, ...node])
  await untilApplied(version)
  return [
    { command: 'server', ms: serverMs },
    { command: 'agent', ms: agentMs },
  ]
}

async function measure(): Promise<IdleFigures> {
  await new Lab().build()
  mkdirSync(dataDir, { mode: 0o700 })
  await serveUpstream()
  const starts = await startAll()
  progress(`${mode}: ${services} Services are applied; waiting ${idleSeconds} s`)
  // Two minutes for what a start leaves to be done; the processor time counts from there.
  await sleep(settleSeconds * 1000)
  const before = listProcesses().map((process) => ({ ...process, early: memoryOf(process.pid) }))
  const sinceMs = performance.now()
  await sleep((idleSeconds - settleSeconds) * 1000)
  const tookMs = performance.now() - sinceMs
  const processes = before.map(({ role, pid, early, cpuMs: beforeMs }) => ({
    role,
    early,
    ...memoryOf(pid),
    cpuPercent: (100 * (processorMs(pid) - beforeMs)) / tookMs,
  }))
  for (const program of programs) program.kill('SIGKILL')
  return { mode, starts, processes }
}

process.stdout.write(`${JSON.stringify(await measure())}\n`)
process.exit(0)
