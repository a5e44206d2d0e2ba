import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readYaml } from '../../../../src/api/decode/yaml-text.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { threadCpuMs } from '../../../helpers/growth.ts'
import { paths } from '../../../helpers/manifests.ts'

/** A ConfigMap that takes YAML readers some 300 ms: most of it goes when it is read, and little is kept. */
function largeYaml(name: string, lines = 100_000): string {
  return `metadata:\n  name: ${name}\ndata:\n  a: "1"\n${'unknown: [a, b]\n'.repeat(lines)}`
}

describe('large bodies over HTTPS', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const yaml = { 'content-type': 'application/yaml' }

  test('a long YAML body is read by another thread, its repeated keys are named', async () => {
    const body = largeYaml('long')
    const cpu = process.threadCpuUsage()
    const reply = await server.call('POST', `${paths.configMaps}?fieldValidation=Warn`, { body, headers: yaml })
    const { user } = process.threadCpuUsage(cpu)
    assert.deepEqual([reply.code, reply.body.data], [201, { a: '1' }])
    assert.match(String(reply.headers['warning']), /line 6: key \\?"unknown\\?" already set in map/)
    const here = threadCpuMs(() => readYaml(body))
    assert.ok(user / 1000 < here, `${user / 1000} ms in this thread, ${here} ms to read the text in it`)
  })

  test('bodies that come together are read one after the other, each with its own answer', async () => {
    const posts = ['one', 'two', 'three'].map((name) =>
      server.call('POST', paths.configMaps, { body: largeYaml(name, 4_000), headers: yaml }),
    )
    const bad = server.call('POST', paths.configMaps, { body: `${largeYaml('bad', 4_000)}\n  - : [`, headers: yaml })
    assert.deepEqual(
      (await Promise.all(posts)).map(({ code, body }) => [code, body.metadata.name]),
      [
        [201, 'one'],
        [201, 'two'],
        [201, 'three'],
      ],
    )
    assert.deepEqual([(await bad).code, /not valid YAML: line \d+: /.test((await bad).body.message)], [400, true])
  })

  test('an error shows no more than the beginning of a large value, and at most 100 causes', async () => {
    const clusterIPs = Array.from({ length: 50_000 }, (_, index) => `10.96.${index >> 8}.${index & 255}`)
    const long = await server.call('POST', paths.services, {
      body: { metadata: { name: 'long' }, spec: { clusterIPs, ports: [{ port: 1 }] } },
    })
    assert.deepEqual([long.code, long.body.message.length < 12_000], [422, true])
    const ports = Array.from({ length: 5_000 }, () => ({ name: 'same', port: 1 }))
    const many = await server.call('POST', paths.services, { body: { metadata: { name: 'many' }, spec: { ports } } })
    assert.deepEqual([many.code, many.body.details.causes.length], [422, 100])
  })

  test('owners that stand twice are found in time that grows with their number', async () => {
    const ownerReferences = Array.from({ length: 20_000 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'a',
      uid: `u${index % 19_990}`,
    }))
    const cpu = process.threadCpuUsage()
    const body = { metadata: { name: 'owned', ownerReferences } }
    const reply = await server.call('POST', `${paths.configMaps}?dryRun=All`, { body })
    assert.deepEqual([reply.code, reply.body.metadata.ownerReferences.length], [201, 19_990])
    const usedMs = process.threadCpuUsage(cpu).user / 1000
    assert.ok(usedMs < 2_000, `${usedMs} ms`)
  })
})
