import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ip } from '../../../../../src/model/ip.ts'
import { DnsConfiguration } from '../../../../../src/node/dns/plane/configuration.ts'
import type { AddressFailure } from '../../../../../src/node/dns/threads/listen-failures.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { createRecordingLogger } from '../../../../helpers/recording-logger.ts'

test('an address where one of the threads cannot listen is served, and the status says what is wrong', async () => {
  const address = ipOf('127.0.0.1')
  let failures: readonly AddressFailure[] = []
  const { log } = createRecordingLogger()
  const configuration = new DnsConfiguration({
    settings: { clusterDns: [], clusterDomain: 'cluster.local', corefile: undefined, nodeAddress: undefined } as never,
    server: { clusterSources: [], configure: async () => failures } as never,
    feed: { changeZones: async () => {}, tables: [] } as never,
    log,
  })
  const seen = async (text: string) => {
    configuration.configMap = { Corefile: `.:53 {\n bind 127.0.0.1\n ${text}\n}` }
    await configuration.reload()
    return [configuration.serves(address), configuration.problem?.split(';')[0]]
  }
  assert.deepEqual(await seen('errors'), [true, undefined])
  failures = [{ address, port: 53, message: 'no files left', isServed: true }]
  assert.deepEqual(await seen('log'), [true, 'no files left'])
  failures = [{ address, port: 53, message: 'in use', isServed: false }]
  assert.deepEqual(await seen('errors'), [false, 'in use'])
  configuration.noteListenFailures([{ address, port: 53, message: 'in use', isServed: true }])
  assert.equal(configuration.serves(address), true)
})

test('DNS listens at the new address of its node as soon as that has changed, and no longer at the old one', async () => {
  const settings = { clusterDns: [], clusterDomain: 'cluster.local', corefile: undefined, nodeAddress: '192.0.2.1' }
  const { log } = createRecordingLogger()
  const configuration = new DnsConfiguration({
    settings: settings as never,
    server: { clusterSources: [], configure: async () => [] } as never,
    feed: { changeZones: async () => {}, tables: [] } as never,
    log,
  })
  configuration.configMap = { Corefile: '.:53 {\n errors\n}' }
  await configuration.reload()
  const served = () => ['192.0.2.1', '192.0.2.7'].filter((address) => configuration.serves(ipOf(address)))
  assert.deepEqual(served(), ['192.0.2.1'])
  settings.nodeAddress = '192.0.2.7'
  await configuration.reload()
  assert.deepEqual(served(), ['192.0.2.7'])
})

test('DNS bound to a link listens there when the link comes after the start, and follows its address', async () => {
  let links: ReadonlyMap<string, readonly Ip[]> = new Map([['eth0', [ipOf('192.0.2.1')]]])
  const { log } = createRecordingLogger()
  const configuration = new DnsConfiguration({
    settings: { clusterDns: [], clusterDomain: 'cluster.local', corefile: undefined, nodeAddress: undefined } as never,
    server: { clusterSources: [], configure: async () => [] } as never,
    feed: { changeZones: async () => {}, tables: [] } as never,
    readLinks: () => links,
    log,
  })
  configuration.configMap = { Corefile: '.:53 {\n bind cni0\n}' }
  const seen = async (found: typeof links) => {
    links = found
    await configuration.reload()
    return ['10.244.0.1', '10.244.9.1'].filter((address) => configuration.serves(ipOf(address)))
  }
  assert.deepEqual(await seen(links), [])
  assert.deepEqual(await seen(new Map([['cni0', [ipOf('10.244.0.1')]]])), ['10.244.0.1'])
  assert.deepEqual(await seen(new Map([['cni0', [ipOf('10.244.9.1')]]])), ['10.244.9.1'])
})
