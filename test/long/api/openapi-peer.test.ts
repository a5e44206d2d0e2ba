import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject } from '../../../src/api/document.ts'
import type { Json, JsonObject } from '../../../src/model/api-object.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { richDefinition } from '../../helpers/rich-definition.ts'

const skip = lackOfPeer() ?? false
const versions = richDefinition.spec.versions.map(({ name }) => name)

/** Without the words for people, and without what kube-openapi adds to every parameter. */
function facts(value: Json | undefined, isNamed = false): Json {
  if (Array.isArray(value)) return value.map((item: Json) => facts(item))
  if (!isJsonObject(value)) return value ?? null
  const left = isNamed ? [] : ['description', 'uniqueItems']
  const members = Object.entries(value).filter(([name]) => !left.includes(name))
  return Object.fromEntries(members.map(([name, member]) => [name, facts(member, !isNamed && name === 'properties')]))
}

/** Kubernetes lists `pretty`, which we do not have, and more of what deletes take. */
function operationFacts(operation: JsonObject, action: string): Json {
  const { parameters: _, requestBody, ...rest } = facts(operation) as JsonObject
  return action === 'deletecollection' || requestBody === undefined ? rest : { ...rest, requestBody }
}

describe('the documents of a definition beside kube-apiserver', { skip }, () => {
  let ours: TestServer
  let peer: Peer
  before(async () => {
    ours = await startTestServer()
    peer = await startPeer()
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    assert.equal((await ours.call('POST', path, { body: richDefinition })).code, 201)
    assert.equal((await peer.call('POST', path, richDefinition)).code, 201)
    while ((await theirs('/openapi/v3/apis/rich.example.com/v4'))['components'] === undefined) await sleep(100)
    while ((await theirs('/openapi/v2')).definitions['com.example.rich.v4.Rich'] === undefined) await sleep(200)
  })
  after(async () => {
    await peer[Symbol.asyncDispose]()
    await ours.stop()
  })

  const mine = async (path: string) => (await ours.call('GET', path)).body
  const theirs = async (path: string) => {
    const { code, bytes } = await peer.read(path, 'application/json')
    return code === 200 ? JSON.parse(bytes.toString()) : { definitions: {} }
  }

  for (const version of versions)
    test(`${version} has the same kind and list in version 3`, async () => {
      const path = `/openapi/v3/apis/rich.example.com/${version}`
      const [own, other] = [await mine(path), await theirs(path)]
      for (const name of [`com.example.rich.${version}.Rich`, `com.example.rich.${version}.RichList`])
        assert.deepEqual(facts(own.components.schemas[name]), facts(other.components.schemas[name]), name)
    })

  test('its definitions are the same in version 2', async () => {
    const [own, other] = [await mine('/openapi/v2'), await theirs('/openapi/v2')]
    for (const version of versions) {
      const name = `com.example.rich.${version}.Rich`
      assert.deepEqual(facts(own.definitions[name]), facts(other.definitions[name]), name)
    }
  })

  test('its operations take and answer the same, under the same names', async () => {
    const path = '/openapi/v3/apis/rich.example.com/v1'
    const [own, other] = [(await mine(path)).paths, (await theirs(path)).paths]
    assert.deepEqual(Object.keys(own).sort(), Object.keys(other).sort())
    for (const [place, item] of Object.entries<Record<string, JsonObject>>(own))
      for (const method of ['get', 'put', 'post', 'patch', 'delete']) {
        const [found, expected] = [item[method], other[place][method]]
        if (found === undefined && expected === undefined) continue
        assert.ok(found !== undefined && expected !== undefined, `${method} ${place}`)
        const action = String(found['x-kubernetes-action'])
        assert.deepEqual(operationFacts(found, action), operationFacts(expected, action), `${method} ${place}`)
      }
  })

  test('paths that connect with pods, Services and nodes are the same in both versions', async () => {
    const [own, other] = [await mine('/openapi/v3/api/v1'), await theirs('/openapi/v3/api/v1')]
    const [own2, other2] = [await mine('/openapi/v2'), await theirs('/openapi/v2')]
    const connections = Object.keys(other.paths).filter((path) => /\/(attach|exec|log|portforward|proxy)\b/.test(path))
    assert.equal(connections.length, 10)
    const shared = (parameters: readonly JsonObject[]) =>
      parameters.map((each) => each['$ref'] ?? `${each['in']} ${each['name']}`).toSorted()
    for (const path of connections) {
      const { parameters, ...operations } = facts(own.paths[path]) as JsonObject
      const { parameters: wanted, ...expected } = facts(other.paths[path]) as JsonObject
      assert.deepEqual(operations, expected, path)
      const isPretty = (each: JsonObject) => each['name'] === 'pretty'
      assert.deepEqual(
        shared(parameters as JsonObject[]),
        shared((wanted as JsonObject[]).filter((each) => !isPretty(each))),
        path,
      )
      for (const [method, operation] of Object.entries<JsonObject>(other2.paths[path])) {
        if (method === 'parameters') continue
        const { description: _, consumes: _c, schemes: _s, ...rest } = operation
        assert.deepEqual(facts(own2.paths[path][method]), facts(rest), `${method} ${path}`)
      }
    }
  })

  test('kinds that we serve too have the same names', async () => {
    const names = async (read: typeof mine) => Object.keys((await read('/openapi/v3/apis/apps/v1')).components.schemas)
    const known = new Set(await names(theirs))
    for (const name of await names(mine)) assert.ok(known.has(name), name)
  })
})
