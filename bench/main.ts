// `npm run bench -- NAME [--json]`: measures us and a peer in one run and prints ratios.
import { parseArgs } from 'node:util'
import { benchApi } from './api/api.ts'
import { benchControllers } from './controllers/controllers.ts'
import { benchDns } from './dns/dns.ts'
import { benchEndpointChange } from './endpoint-change.ts'
import { benchIdle } from './idle/idle.ts'
import { benchIngress } from './ingress/ingress.ts'
import { NeedError } from './needs.ts'
import { benchPods } from './pods/pods.ts'
import { benchPolicy } from './policy/policy.ts'
import { benchProxy } from './proxy/proxy.ts'
import { type BenchReport, printTable } from './report.ts'
import { benchScale } from './scale/scale.ts'
import { benchStore } from './store/store.ts'
import { benchTracing } from './tracing/tracing.ts'

const benches: Readonly<Record<string, () => Promise<BenchReport>>> = {
  api: benchApi,
  controllers: benchControllers,
  dns: benchDns,
  'endpoint-change': benchEndpointChange,
  idle: benchIdle,
  ingress: benchIngress,
  pods: benchPods,
  policy: benchPolicy,
  proxy: benchProxy,
  scale: benchScale,
  store: benchStore,
  tracing: benchTracing,
}

// As in scripts/test.ts: `node:ffi` is experimental, which each process would say.
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --disable-warning=ExperimentalWarning`
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
})
const name = positionals[0] ?? ''
const bench = benches[name]
if (!bench) {
  console.error(`which bench? one of: ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}
const report = await bench().catch((error: unknown) => {
  if (!(error instanceof NeedError)) throw error
  console.error(error.message)
  process.exit(1)
})
if (values.json) console.log(JSON.stringify(report))
else printTable(report)
