import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAgain } from '../../../../src/app/lifecycle/reload.ts'
import { LiveOptions } from '../../../../src/app/live-options.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { ConfigError, loadOptions } from '../../../../src/config/index.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'

const load = (flags: Record<string, string>) => loadOptions(optionGroups, { command: 'run', flags })

test('A live option holds at once and calls its listeners; another one waits for the next start and is named.', () => {
  const live = new LiveOptions(load({ port: '10250', logLevel: 'info', maxWatches: '100' }))
  const seen: number[] = []
  live.onChange(() => seen.push(live.values.api.maxWatches))
  const report = live.take(load({ port: '10251', logLevel: 'debug', maxWatches: '200' }), 7)
  assert.deepEqual(report, { atMs: 7, waiting: ['port'], changed: ['maxWatches', 'logLevel'] })
  assert.deepEqual(
    [live.values.node.port, live.values.api.maxWatches, live.values.observe.logLevel],
    [10250, 200, 'debug'],
  )
  assert.deepEqual(seen, [200])
  const again = live.take(load({ port: '10250', logLevel: 'debug', maxWatches: '200' }), 8)
  assert.deepEqual([again.waiting, again.changed, seen], [[], [], [200]])
})

test('Another process takes the live options as their reader shows them, and none that holds at the next start.', () => {
  const reader = new LiveOptions(load({}))
  reader.take(load({ eventTtl: '5m', corefile: '/etc/Corefile', port: '1' }), 1)
  const agent = new LiveOptions(loadOptions(optionGroups, { command: 'agent', flags: {} }))
  agent.takeShown({ ...reader.shown(), port: 9, maxWatches: 'many' }, reader.report)
  const { controllers, dns, node, api } = agent.values
  assert.deepEqual(
    [controllers.eventTtl, dns.corefile, node.port, api.maxWatches],
    [300_000, '/etc/Corefile', 10250, 10_000],
  )
  assert.deepEqual(agent.report, { atMs: 1, waiting: ['port'] })
  agent.takeShown({ ...reader.shown(), corefile: null }, reader.report)
  assert.equal(agent.values.dns.corefile, undefined)
})

test('Options that cannot be read change nothing, and the log and the report have the reason.', async () => {
  const live = new LiveOptions(load({ logLevel: 'info' }))
  const { log, lines } = createRecordingLogger()
  const readOptions = async () => {
    throw new ConfigError('config-invalid', ['/etc/platnet/config.yaml:3: port: expected a port'])
  }
  await readAgain({ live, readOptions }, log, 'SIGHUP')
  assert.match(live.report?.problem ?? '', /config\.yaml:3: port: expected a port/)
  assert.equal(live.values.observe.logLevel, 'info')
  assert.deepEqual(lines, ['error the options could not be read again; those before stay in effect'])
  await readAgain({ live, readOptions: async () => load({ logLevel: 'debug' }) }, log, 'SIGHUP')
  assert.equal(live.report?.problem, undefined)
})

/** Options whose change holds at once. Each is listed with what applies it. */
const liveOptions = {
  clusterSigningDuration: 'each certificate that is signed',
  conntrackMaxPerCore: 'reapplySysctls',
  conntrackMin: 'reapplySysctls',
  conntrackTcpBeLiberal: 'reapplySysctls',
  conntrackTcpTimeoutCloseWait: 'reapplySysctls',
  conntrackTcpTimeoutEstablished: 'reapplySysctls',
  conntrackUdpTimeout: 'reapplySysctls',
  conntrackUdpTimeoutStream: 'reapplySysctls',
  corefile: 'each check of the DNS configuration',
  dnsConfigMapFiles: 'each check of the DNS configuration',
  eventTtl: 'each check of an Event',
  horizontalPodAutoscalerCpuInitializationPeriod: 'each pass over an autoscaler',
  horizontalPodAutoscalerDownscaleStabilization: 'each pass over an autoscaler',
  horizontalPodAutoscalerInitialReadinessDelay: 'each pass over an autoscaler',
  horizontalPodAutoscalerSyncPeriod: 'each pass over an autoscaler',
  horizontalPodAutoscalerTolerance: 'each pass over an autoscaler',
  logLevel: 'Logging.setFilter',
  maxMutatingRequestsInflight: 'each request',
  maxObjectBytes: 'each write',
  maxRequestsInflight: 'each request',
  maxStoreBytes: 'each write',
  maxWatches: 'each watch',
  nodeMonitorGracePeriod: 'each check of a node',
  publicMetrics: 'each request of an endpoint',
  shutdownDelay: 'the stop',
}

test('The options that hold at once are the ones that something applies.', () => {
  const declared = Object.values(optionGroups).flatMap((group) => Object.entries(group))
  const live = declared.filter(([, { reload }]) => reload === 'live').map(([key]) => key)
  assert.deepEqual(live.sort(), Object.keys(liveOptions))
})
