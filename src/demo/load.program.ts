// Asks a web server at a steady rate. Prints `sending`, and one line of JSON (load-report.ts) at the end; SIGTERM ends it early.
// node load.program.ts --host web.default.svc.cluster.local --port 80 --rate 1200 --seconds 10
//   [--name-server 10.96.0.10] [--requests N] [--keep-alive-share 0.5] [--sources a,b] [--timeout-ms 5000]
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { parseArgs } from 'node:util'
import { LoadGenerator } from './load-generator.ts'

const { values } = parseArgs({
  strict: true,
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    'name-server': { type: 'string' },
    port: { type: 'string', default: '80' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '10' },
    requests: { type: 'string', default: 'Infinity' },
    'keep-alive-share': { type: 'string', default: '0.5' },
    sources: { type: 'string', default: '' },
    'timeout-ms': { type: 'string', default: '5000' },
  },
})

/** A client asks once and keeps the answer for its TTL, which no load here outlasts by much. */
async function addressOf(host: string, nameServer: string | undefined): Promise<string> {
  if (nameServer === undefined || isIP(host) !== 0) return host
  const resolver = new Resolver({ timeout: 1000, tries: 5 })
  resolver.setServers([nameServer])
  return (await resolver.resolve4(host))[0] ?? host
}

const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

const generator = new LoadGenerator({
  host: await addressOf(values.host, values['name-server']),
  port: Number(values.port),
  rate: Number(values.rate),
  keepAliveShare: Number(values['keep-alive-share']),
  sources: values.sources.split(',').filter((source) => source !== ''),
  maxSeconds: Number(values.seconds),
  maxRequests: Number(values.requests),
  timeoutMs: Number(values['timeout-ms']),
})
process.stdout.write('sending\n')
process.stdout.write(`${JSON.stringify(await generator.run(stop.signal))}\n`)
