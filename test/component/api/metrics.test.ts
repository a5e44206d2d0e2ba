import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../helpers/api-server.ts'
import { definition, spec } from '../../helpers/definitions.ts'
import { configMap, paths } from '../../helpers/manifests.ts'
import { untilAsync } from '../../helpers/until.ts'

test('watches are counted while they are open, and what they are sent', async () => {
  await using server = await startTestServer()
  const scrape = async () => (await server.call('GET', '/metrics')).text
  const open = /apiserver_longrunning_requests\{verb="WATCH",group="",version="v1",resource="configmaps",.*\} 1/
  await server.call('POST', paths.configMaps, { body: configMap('a') })
  const events = server.watch(`${paths.configMaps}?watch=true`)
  assert.equal((await events.next()).value?.type, 'ADDED')
  await server.call('POST', paths.configMaps, { body: configMap('b') })
  assert.equal((await events.next()).value?.type, 'ADDED')
  const during = await scrape()
  assert.match(during, open)
  assert.match(during, /apiserver_watch_events_total\{group="",version="v1",kind="ConfigMap"\} 2/)
  await events.return(undefined)
  await untilAsync('the watch is over', async () => !open.test(await scrape()))
  assert.match(await scrape(), /apiserver_watch_events_total\{group="",version="v1",kind="ConfigMap"\} 2/)
})

test('stored objects are counted by resource, those that two groups show once', async () => {
  await using server = await startTestServer()
  const scrape = async () => (await server.call('GET', '/metrics')).text
  const count = (text: string) => Number(/apiserver_storage_objects\{resource="configmaps"\} (\d+)/.exec(text)?.[1])
  const atFirst = count(await scrape())
  for (const name of ['a', 'b', 'c']) await server.call('POST', paths.configMaps, { body: configMap(name) })
  const text = await scrape()
  assert.equal(count(text), atFirst + 3)
  assert.match(text, /apiserver_storage_objects\{resource="servicecidrs\.networking\.k8s\.io"\} 1/)
  assert.equal(text.match(/apiserver_storage_objects\{resource="events.*\}/g)?.length, 1)
})

test('the sizes of what was read are known, those of writes are not', async () => {
  await using server = await startTestServer()
  const { text: created } = await server.call('POST', paths.configMaps, { body: configMap('a') })
  const read = await server.call('GET', `${paths.configMaps}/a`)
  const { text } = await server.call('GET', '/metrics')
  const sum = /apiserver_response_sizes_sum\{verb="GET",group="",version="v1",resource="configmaps",.*\} (\d+)/
  assert.equal(Number(sum.exec(text)?.[1]), read.bytes.length)
  assert.ok(created.length > 0)
  assert.doesNotMatch(text, /apiserver_response_sizes_sum\{verb="POST"/)
})

test('what was counted of a custom resource goes with its definition', async () => {
  await using server = await startTestServer({ dialect: 'platform' })
  const definitions = '/apis/apiextensions.platform.internal/v1/customresourcedefinitions'
  const created = await server.call('POST', definitions, { body: definition() })
  assert.equal(created.code, 201, created.text)
  const scrape = async () => (await server.call('GET', '/metrics')).text
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'
  await server.call('POST', widgets, { body: spec('a', { size: 1 }) })
  await server.call('GET', widgets)
  const isCounted = /resource="widgets"/
  for (const name of ['request_total', 'request_duration_seconds_count', 'request_sli_duration_seconds_count'])
    assert.match(await scrape(), new RegExp(`^apiserver_${name}\\{.*resource="widgets"`, 'm'))
  await server.call('DELETE', `${definitions}/widgets.example.com`)
  await untilAsync('nothing names them', async () => !isCounted.test(await scrape()))
  assert.match(await scrape(), /apiserver_request_total\{verb="DELETE",.*resource="customresourcedefinitions"/)
})
