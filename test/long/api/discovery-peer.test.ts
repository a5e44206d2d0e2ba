import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseProtobufBody } from '../../../src/api/decode/protobuf.ts'
import type { JsonObject } from '../../../src/model/api-object.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { discoveryCases } from '../../helpers/discovery-cases.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const protobuf = 'application/vnd.kubernetes.protobuf'
const skip = lackOfPeer() ?? false

/** Beta versions that kube-apiserver 1.34 serves only where it is asked to. */
const onlyOurs = ['networking.k8s.io/v1beta1']

interface Discovered extends JsonObject {
  readonly resource: string
  readonly subresources?: readonly (JsonObject & { readonly subresource: string })[]
}

interface Group {
  readonly metadata: { readonly name?: string }
  readonly versions: readonly { readonly version: string; readonly resources: readonly Discovered[] }[]
}

/** kube-apiserver 1.34 stores these objects as v1beta1, which is not served here. */
function withoutBetaHash<T extends { readonly name: string }>(entry: T): T {
  return entry.name === 'volumeattributesclasses' ? { ...entry, storageVersionHash: '' } : entry
}

function definition(group: string, plural: string, kind: string, versions: readonly string[]) {
  const properties = { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } }
  const subresources = {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, shortNames: [plural.slice(0, 2)], categories: ['all', 'animals'] },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object', properties } },
        subresources,
      })),
    },
  }
}

const definitions = [
  definition('b.example.com', 'zebras', 'Zebra', ['v1alpha1', 'v1', 'v2beta1']),
  definition('b.example.com', 'ants', 'Ant', ['v1']),
  definition('a.example.com', 'wolves', 'Wolf', ['v1beta1']),
]

describe('discovery beside kube-apiserver', { skip }, () => {
  let ours: TestServer
  let peer: Peer
  before(async () => {
    ours = await startTestServer()
    peer = await startPeer()
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    for (const body of definitions) {
      assert.equal((await ours.call('POST', path, { body })).code, 201)
      assert.equal((await peer.call('POST', path, body)).code, 201)
    }
    const isServed = async () => JSON.stringify(await groupsOf('/apis', theirs)).match(/"(Zebra|Ant|Wolf)"/g)?.length
    while ((await isServed()) !== 10) await sleep(100)
  })
  after(async () => {
    await peer[Symbol.asyncDispose]()
    await ours.stop()
  })

  const mine = async (path: string, accept: string) => (await ours.call('GET', path, { headers: { accept } })).bytes
  const theirs = async (path: string, accept: string) => (await peer.read(path, accept)).bytes
  const groupsOf = async (path: string, read: typeof mine): Promise<readonly Group[]> =>
    JSON.parse((await read(path, aggregated)).toString()).items

  /** Each resource with its place, without the subresources that the other one does not have. */
  function flatten(groups: readonly Group[], other: readonly Group[]): ReadonlyMap<string, unknown> {
    const known = new Set(namesOf(other))
    return new Map(
      groups.flatMap(({ metadata, versions }) =>
        versions.flatMap(({ version, resources }) =>
          resources.map((resource) => {
            const place = `${metadata.name ?? ''}/${version}/${resource.resource}`
            const kept = resource.subresources?.filter(({ subresource }) => known.has(`${place}/${subresource}`)) ?? []
            const { subresources: _, ...own } = resource
            return [place, kept.length === 0 ? own : { ...own, subresources: kept }] as const
          }),
        ),
      ),
    )
  }

  function namesOf(groups: readonly Group[]): readonly string[] {
    return groups.flatMap(({ metadata, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources.flatMap(({ resource, subresources = [] }) =>
          subresources.map(({ subresource }) => `${metadata.name ?? ''}/${version}/${resource}/${subresource}`),
        ),
      ),
    )
  }

  for (const path of ['/api', '/apis'])
    test(`${path} in one document says the same of everything that we serve, in the same order`, async () => {
      const [own, other] = [await groupsOf(path, mine), await groupsOf(path, theirs)]
      const [found, expected] = [flatten(own, other), flatten(other, own)]
      const compared = [...found].filter(([place]) => !onlyOurs.some((version) => place.startsWith(`${version}/`)))
      assert.ok(compared.length > 8, `${compared.length} resources`)
      for (const [place, resource] of compared) assert.deepEqual(resource, expected.get(place), place)
      const both = [...expected.keys()].filter((place) => found.has(place))
      assert.deepEqual(
        compared.map(([place]) => place),
        both,
      )
    })

  test('each list of resources has the same entries', async () => {
    const lists = ['/api/v1', '/apis/apps/v1', '/apis/networking.k8s.io/v1', '/apis/storage.k8s.io/v1']
    const more = ['/apis/authorization.k8s.io/v1', '/apis/rbac.authorization.k8s.io/v1', '/apis/b.example.com/v1']
    for (const path of [...lists, ...more]) {
      const { resources: own, ...head } = JSON.parse((await mine(path, 'application/json')).toString())
      const { resources: other, ...otherHead } = JSON.parse((await theirs(path, 'application/json')).toString())
      assert.deepEqual(head, otherHead, path)
      const expected = new Map(other.map((each: { name: string }) => [each.name, withoutBetaHash(each)]))
      for (const entry of own)
        assert.deepEqual(withoutBetaHash(entry), expected.get(entry.name), `${path} ${entry.name}`)
    }
  })

  for (const { accept, code, type, isAggregated } of discoveryCases)
    test(`/apis has the same form for a client that accepts ${accept}`, async () => {
      const reply = await peer.read('/apis', accept)
      const [mediaType, ...parameters] = (reply.headers['content-type'] ?? '').split(';')
      assert.deepEqual([reply.code, mediaType, parameters.length > 0], [code, type, isAggregated])
    })

  test('the groups are the same in protobuf', async () => {
    const { groups } = parseProtobufBody(await mine('/apis', protobuf)) as { groups: readonly { name: string }[] }
    const decoded = parseProtobufBody(await theirs('/apis', protobuf)) as { groups: readonly { name: string }[] }
    const expected = new Map(decoded.groups.map((group) => [group.name, group]))
    const compared = groups.filter(({ name }) => name !== 'networking.k8s.io')
    for (const group of compared) assert.deepEqual(group, expected.get(group.name))
  })
})
