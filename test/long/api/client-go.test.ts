import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { parseIp } from '../../../src/model/ip.ts'
import { testToken } from '../../helpers/api-server.ts'
import { prepareDurableServer } from '../../helpers/durable-server.ts'
import { buildGoProgram } from '../../helpers/go-program.ts'
import { InformerProgram } from '../../helpers/informer-program.ts'
import { richDefinition } from '../../helpers/rich-definition.ts'

const protobuf = 'application/vnd.kubernetes.protobuf'

test('a client-go informer lists by watching, follows typed writes, and goes on after a restart of the server', async (t) => {
  const program = buildGoProgram('services')
  if ('lack' in program) return t.skip(program.lack)
  const { caFile, start } = await prepareDurableServer(t)
  const first = await start()
  const informer = new InformerProgram(program.file, ['--server', first.url, '--ca', caFile])
  t.after(() => informer.stop())

  await informer.until(({ event }) => event === 'synced')
  const [asked] = informer.asked()
  assert.match(asked ?? '', /[?&]sendInitialEvents=true/)
  assert.ok(informer.lines.some(({ event, name }) => event === 'added' && name === 'kubernetes'))

  await informer.write('create web')
  await informer.until(({ event, name }) => event === 'added' && name === 'web')
  await informer.write('label web blue')
  await informer.until(({ event, color }) => event === 'updated' && color === 'blue')

  await first.stop()
  await using second = await start({ port: first.port })
  const path = '/api/v1/namespaces/default/services/web'
  const patched = await second.call('PATCH', path, {
    body: { metadata: { labels: { color: 'green' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.equal(patched.code, 200)
  await informer.until(({ event, color }) => event === 'updated' && color === 'green')
  await informer.write('delete web')
  await informer.until(({ event, name }) => event === 'deleted' && name === 'web')
  const lists = informer.asked().filter((url) => !url.includes('watch=true'))
  assert.deepEqual(lists, [], 'the informer never fell back to a plain list')
})

test('client-go finds out what is served where it takes protobuf alone', async (t) => {
  const program = buildGoProgram('discover')
  if ('lack' in program) return t.skip(program.lack)
  const { caFile, start } = await prepareDurableServer(t)
  const advertiseAddress = parseIp('192.0.2.7')
  assert.ok(advertiseAddress)
  await using server = await start({ advertiseAddress })
  const args = ['--server', server.url, '--ca', caFile, '--accept', protobuf]
  const { stdout } = await promisify(execFile)(program.file, args, { env: { TOKEN: testToken } })
  const { answers, groups, resources, plain, aggregated } = JSON.parse(stdout)
  assert.ok(answers.includes(`/apis/apps/v1 ${protobuf}`), answers.join('\n'))
  assert.ok(answers.includes(`/apis ${protobuf};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`))
  assert.deepEqual(groups.slice(0, 3), ['', 'apps', 'events.k8s.io'])
  assert.equal(resources['apps/v1']['deployments/scale'], 'Scale')
  for (const path of ['/api', '/apis', '/apis/apps']) {
    const { kind: _, apiVersion: _v, ...expected } = (await server.call('GET', path)).body
    const { kind: _k, apiVersion: _a, ...read } = plain[path]
    assert.deepEqual(withoutNulls(read), expected, path)
  }
  for (const path of ['/api', '/apis']) {
    const headers = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' }
    const { items } = (await server.call('GET', path, { headers })).body
    assert.deepEqual(aggregated[path], items, path)
  }
})

test('kube-openapi reads every document and writes it again as it was', async (t) => {
  const program = buildGoProgram('openapi')
  if ('lack' in program) return t.skip(program.lack)
  const { caFile, start } = await prepareDurableServer(t)
  await using server = await start()
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  assert.equal((await server.call('POST', path, { body: richDefinition })).code, 201)
  const args = ['--server', server.url, '--ca', caFile]
  const options = { env: { TOKEN: testToken }, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(program.file, args, options)
  const { lost, unstable, models } = JSON.parse(stdout)
  assert.ok(Object.hasOwn(lost, 'v2') && Object.hasOwn(lost, 'apis/rich.example.com/v1'))
  for (const [document, places] of Object.entries(lost)) assert.deepEqual(places, [], document)
  assert.equal(unstable, null, 'a second reading is the first one')
  assert.ok(models.includes('com.example.rich.v1.Rich') && models.includes('io.k8s.api.core.v1.Pod'))
})

/** Go writes a list that is not there as null. */
function withoutNulls(value: object): object {
  return JSON.parse(JSON.stringify(value), (_key, member) => (member === null ? undefined : member))
}
