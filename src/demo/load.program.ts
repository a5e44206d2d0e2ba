// Asks a web server at a steady rate and prints one line of JSON (load-report.ts) at the end; SIGTERM ends it early.
// node load.program.ts --host 10.96.0.1 --port 80 --rate 1200 --seconds 10 [--requests N] [--keep-alive-share 0.5] [--sources a,b]
import { parseArgs } from 'node:util'
import { LoadGenerator } from './load-generator.ts'

const { values } = parseArgs({
  strict: true,
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '80' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '10' },
    requests: { type: 'string', default: 'Infinity' },
    'keep-alive-share': { type: 'string', default: '0.5' },
    sources: { type: 'string', default: '' },
  },
})

const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

const generator = new LoadGenerator({
  host: values.host,
  port: Number(values.port),
  rate: Number(values.rate),
  keepAliveShare: Number(values['keep-alive-share']),
  sources: values.sources.split(',').filter((source) => source !== ''),
  maxSeconds: Number(values.seconds),
  maxRequests: Number(values.requests),
})
process.stdout.write(`${JSON.stringify(await generator.run(stop.signal))}\n`)
