// The inner part of `npm run bench -- endpoint-change`, in namespaces of its own: `platnet run` with 1,000 Services of
// 4 endpoints each, then 100 changes of one endpoint. Prints its report as one line of JSON.
import { readdirSync, readFileSync } from 'node:fs'
import { adminKubeconfig, controlSocket, PlatnetDaemon } from '../src/demo/daemon.ts'
import { HttpClusterApi } from '../src/demo/http-cluster-api.ts'
import { nodeAddress } from '../src/demo/lab.ts'
import { describeService, describeSlice, type PodEndpoint } from '../src/demo/manifests.ts'
import { runProgram } from '../src/host/index.ts'
import { createDialect } from '../src/model/dialect.ts'
import { parseIp } from '../src/model/ip.ts'
import { type BenchReport, compare, measureAlone, percentile } from './report.ts'

const services = 1000
const endpointsEach = 4
const changes = 100
const dialect = createDialect('platform')

function endpoints(service: number, firstOctet: number): PodEndpoint[] {
  return Array.from({ length: endpointsEach }, (_, index) => {
    const third = index === 0 ? firstOctet : 1 + index
    const address = parseIp(`10.${third}.${service >> 8}.${service & 255}`)
    if (!address) throw new Error(`service ${service} has no address`)
    return { name: `web-${service}-${index}`, address, port: 8080, phase: 'ready' }
  })
}

const slice = (service: number, firstOctet: number) =>
  describeSlice(dialect, `web-${service}`, endpoints(service, firstOctet))

async function createAll(api: HttpClusterApi): Promise<void> {
  const numbers = Array.from({ length: services }, (_, index) => index).values()
  let last = '1'
  const worker = async () => {
    for (const number of numbers) {
      await api.apply(describeService({ name: `web-${number}`, type: 'ClusterIP', sessionAffinity: 'None' }))
      last = (await api.apply(slice(number, 1))).metadata.resourceVersion ?? last
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  await api.waitApplied('endpointslices', last)
}

/** Each Service of the first half gets another first endpoint, then its old one again, so that the end is the beginning. */
async function changeEndpoints(api: HttpClusterApi): Promise<number[]> {
  const tookMs: number[] = []
  for (let change = 0; change < changes; change += 1) {
    const half = changes / 2
    const stored = await api.apply(slice(change % half, change < half ? 200 : 1))
    const acceptedMs = performance.now()
    await api.waitApplied('endpointslices', stored.metadata.resourceVersion ?? '')
    tookMs.push(performance.now() - acceptedMs)
  }
  return tookMs
}

/** What the daemon gave to iptables-restore for the changes, from its own trace. */
function writtenTexts(): string[] {
  const lines = readFileSync('/run/platnet-demo/daemon.log', 'utf8').trimEnd().split('\n')
  const texts = lines.filter((line) => line.includes('"restore"')).map((line) => String(JSON.parse(line).fields.text))
  return texts.slice(-changes)
}

/** The same texts once more, by hand: the first half builds up from where the second half ended. */
async function replay(texts: readonly string[]): Promise<number[]> {
  const tookMs: number[] = []
  for (const text of texts) {
    const { durationMs } = await runProgram('iptables-restore', ['--noflush', '--wait', '5'], {
      input: text,
      timeoutMs: 30_000,
    })
    tookMs.push(durationMs)
  }
  return tookMs
}

function residentMegabytes(pattern: RegExp): number {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    if (pattern.test(command))
      return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  }
  return Number.NaN
}

async function measure(): Promise<BenchReport> {
  const daemon = new PlatnetDaemon(nodeAddress, ['--log-level', 'info,platform_traffic_proxy::rules=trace'])
  await daemon.start()
  const api = await HttpClusterApi.connect(adminKubeconfig, controlSocket)
  await createAll(api)
  const ours = await changeEndpoints(api)
  const server = residentMegabytes(/main\.ts run/)
  const agent = residentMegabytes(/main\.ts agent/)
  const texts = writtenTexts()
  await daemon.kill()
  const bare = await replay(texts)
  const bytes = texts.map((text) => Buffer.byteLength(text))
  return {
    name: 'endpoint-change',
    rows: [
      compare(
        'API answer to rule in the kernel, p50',
        'ms',
        percentile(ours, 0.5),
        'iptables-restore',
        percentile(bare, 0.5),
      ),
      compare(
        'API answer to rule in the kernel, p99',
        'ms',
        percentile(ours, 0.99),
        'iptables-restore',
        percentile(bare, 0.99),
      ),
      measureAlone('bytes written per change, p50', 'bytes', percentile(bytes, 0.5)),
      measureAlone('bytes written per change, largest', 'bytes', Math.max(...bytes)),
      measureAlone('resident memory of the server', 'MiB', server),
      measureAlone('resident memory of the agent', 'MiB', agent),
    ],
  }
}

process.stdout.write(`${JSON.stringify(await measure())}\n`)
process.exit(0)
