// Run by traces.test.ts in namespaces of its own: `platnet run`, whose server and agent are two processes, and a collector.
// Prints the spans that the collector got as one line of JSON; the test judges them.
import { request } from 'node:https'
import { loadKubeconfig } from '../../src/client/index.ts'
import { runProgram } from '../../src/host/index.ts'
import { startGrpcCollector } from '../helpers/otlp-collector.ts'
import type { CollectedSpan } from '../helpers/read-otlp.ts'
import { untilAsync } from '../helpers/until.ts'

const dataDir = '/run/platnet-test'
const patientMs = 60_000
const collector = await startGrpcCollector()

const flags = [
  `--data-dir=${dataDir}`,
  `--control-socket=${dataDir}/control.sock`,
  '--node-name=node-1',
  '--node-ip=127.0.0.1',
  '--components=api,proxy,policy,dns,registration',
  '--log-format=json',
]
const server = await runProgram(
  process.execPath,
  ['--disable-warning=ExperimentalWarning', 'src/main.ts', 'run', ...flags],
  {
    background: true,
    stdout: 'pipe',
    stderr: 'inherit',
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '50' },
  },
)
let log = ''
server.stdout?.on('data', (chunk) => {
  log += chunk
})
await untilAsync('the agent is ready', async () => log.includes('the first sync is applied'), patientMs).catch(
  (error) => {
    process.stderr.write(log)
    throw error
  },
)

const access = await loadKubeconfig(`${dataDir}/admin.kubeconfig`)

/** Creates an object as a traced client does; its trace is that number. */
async function create(trace: number, path: string, object: object): Promise<number> {
  const traceId = String(trace).padStart(32, '0')
  const options = {
    method: 'POST',
    ca: access.certificateAuthority,
    cert: access.clientCertificate,
    key: access.clientKey,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'a-test',
      traceparent: `00-${traceId}-${'b'.repeat(16)}-01`,
    },
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${access.server}${path}`, options, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.once('error', reject)
    sent.end(JSON.stringify(object))
  })
}

const metadata = { name: 'web', namespace: 'default' }
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata,
  spec: { clusterIP: '10.96.0.77', ports: [{ port: 80, protocol: 'TCP' }] },
}
const slice = {
  apiVersion: 'discovery.platform.internal/v1',
  kind: 'EndpointSlice',
  metadata: { ...metadata, name: 'web-1', labels: { 'platform.internal/service-name': 'web' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
  ports: [{ port: 8080, protocol: 'TCP' }],
}
const policy = {
  apiVersion: 'networking.platform.internal/v1',
  kind: 'NetworkPolicy',
  metadata,
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
}

const ofTrace = (trace: number) => collector.spans.filter(({ traceId }) => Number(traceId) === trace)
const collected = (trace: number, name: string) =>
  untilAsync(`${name} of trace ${trace}`, async () => ofTrace(trace).some((span) => span.name === name), patientMs)

/**
 * The steps below the trace's syncs. Those of a sync that wrote changes of several traces are in one of the traces; the other traces link
 * to it. A sync shares one here when the API server makes an object of its own at the same time.
 */
function stepsOf(trace: number): CollectedSpan[] {
  const syncs = ofTrace(trace).filter(({ name }) => name === 'sync rules')
  const ids = new Set(syncs.flatMap(({ spanId, links }) => [spanId, ...links.map((link) => link.spanId)]))
  return collector.spans.filter(({ parentSpanId }) => ids.has(parentSpanId))
}
const written = (trace: number) =>
  untilAsync(
    `iptables-restore of trace ${trace}`,
    async () => stepsOf(trace).some(({ name }) => name === 'iptables-restore'),
    patientMs,
  )

const codes = [await create(1, '/api/v1/namespaces/default/services', service)]
await written(1)
await collected(1, 'publish DNS names')
codes.push(await create(2, '/apis/discovery.platform.internal/v1/namespaces/default/endpointslices', slice))
await written(2)
codes.push(await create(3, '/apis/networking.platform.internal/v1/namespaces/default/networkpolicies', policy))
await collected(3, 'sync policies')
server.kill('SIGTERM')
await server.exited
const traces = [1, 2, 3].map(ofTrace)
const steps = [1, 2].map(stepsOf)
const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
process.stdout.write(
  `${JSON.stringify({ codes, traces, steps, log: log.includes('spans cannot be exported') }, plain)}\n`,
)
process.exit()
