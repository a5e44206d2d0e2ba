import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runProgram } from '../../../src/host/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { lackOfPeer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { untilAsync } from '../../helpers/until.ts'
import { startHollowCluster } from './hollow-kubelet.ts'
import {
  adminKubeconfig,
  ClientProgram,
  type ClientsServer,
  kubectl,
  missingPrograms,
  programFile,
  startServer,
} from './programs.ts'

const deadlineMs = 60_000

/** The trials of operator/clients.go, in its words. */
const trials = [
  'a definition as protobuf',
  'objects as protobuf and as JSON',
  'pages of a list',
  'a watch that begins with what is there',
  'bookmarks',
  'field selectors',
  'metadata alone, as protobuf and as JSON',
  'informers of typed, dynamic and metadata clients',
  'apply, conflicts and forced apply',
  'errors of typed clients',
  'patches of each type',
  'dry runs, unknown fields and generated names',
  'what a manager lets go',
  'events of both groups',
  'parts of a Pod',
  'tokens and reviews',
  'another user',
  'versions, status and scale of a definition',
  'deletes of one and of many',
  'CBOR',
]

/** Runs the trials as the administrator of a kubeconfig. */
async function runTrials(kubeconfig: string, home: string, watchesLists: string): Promise<readonly string[]> {
  const env = { KUBECONFIG: kubeconfig, KUBE_FEATURE_WatchListClient: watchesLists, HOME: home }
  const run = await runProgram(programFile('operator') ?? '', ['clients'], { timeoutMs: 280_000, env })
  return run.stdout.split('\n')
}

function checkTrials(lines: () => readonly string[]): void {
  for (const trial of trials) {
    test(trial, () => {
      assert.deepEqual(
        lines().filter((line) => line.includes(trial)),
        [`ok ${trial}`],
      )
    })
  }
}

// Informers of client-go list and then watch, or get all by one watch.
for (const watchesLists of ['false', 'true']) {
  describe(`client-go, with WatchListClient=${watchesLists}`, { skip: missingPrograms('operator') }, () => {
    const stack = new AsyncDisposableStack()
    let lines: readonly string[] = []
    before(async () => {
      const server = stack.use(
        await startServer('api,controllers', [`--controller-manager-port=${await findFreePort()}`]),
      )
      lines = await runTrials(server.kubeconfig, server.folder, watchesLists)
    })
    after(() => stack.disposeAsync())
    checkTrials(() => lines)
  })
}

// What the trials want is what kube-apiserver does.
describe('client-go with kube-apiserver', { skip: missingPrograms('operator') || (lackOfPeer() ?? false) }, () => {
  const stack = new AsyncDisposableStack()
  let lines: readonly string[] = []
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plt-clients-'))
    stack.defer(() => rmSync(folder, { recursive: true, force: true }))
    const { access } = stack.use(await startPeer())
    const kubeconfig = join(folder, 'kubeconfig')
    adminKubeconfig(kubeconfig, access)
    lines = await runTrials(kubeconfig, folder, 'true')
  })
  after(() => stack.disposeAsync())
  checkTrials(() => lines)
})

describe("an operator of controller-runtime's", { skip: missingPrograms('operator') }, () => {
  const stack = new AsyncDisposableStack()
  const fleet = '/apis/example.com/v1/namespaces/default/boats'
  const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases/operator.example.com'
  let server: ClientsServer
  let first: ClientProgram
  let second: ClientProgram

  const call = (method: string, path: string, body?: unknown) => server.admin.call(method, path, body)
  const get = async (path: string) => (await call('GET', path)).body
  const boat = (name: string) => get(`${fleet}/${name}`)
  const crew = (name: string) => get(`/apis/apps/v1/namespaces/default/deployments/${name}`)
  const orders = (name: string) => get(`/api/v1/namespaces/default/configmaps/${name}`)
  const create = async (path: string, body: object) => assert.equal((await call('POST', path, body)).code, 201, path)
  const holder = async () => (await get(lease)).spec?.holderIdentity ?? ''
  const eventually = (what: string, holds: () => Promise<boolean>) => untilAsync(what, holds, deadlineMs)

  before(async () => {
    server = await startHollowCluster(stack, ['node-1'])
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }
    await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'boats.example.com' },
      spec: {
        ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'boats', singular: 'boat', kind: 'Boat' } },
        versions: [{ ...version, subresources: { status: {} } }],
      },
    })
    first = stack.use(new ClientProgram('operator', ['manager'], server))
    await eventually('the first leads', async () => (await holder()) !== '')
    second = stack.use(new ClientProgram('operator', ['manager'], server))
  })
  after(() => stack.disposeAsync())

  test('makes what a boat needs, by server-side apply, and reports its status and events', async () => {
    await create(fleet, {
      ...{ apiVersion: 'example.com/v1', kind: 'Boat', metadata: { name: 'anna' } },
      spec: { crew: 2, orders: 'north', port: 'kiel' },
    })
    await eventually('the crew is ready', async () => (await boat('anna')).status?.ready === 2)
    const { metadata, status } = await boat('anna')
    assert.deepEqual(metadata.finalizers, ['example.com/harbour'])
    assert.equal(status.phase, 'Waiting')
    assert.equal(status.conditions[0].status, 'True')
    const { metadata: made, data } = await orders('anna')
    assert.deepEqual([made.ownerReferences[0].uid, data.orders], [metadata.uid, 'north'])
    assert.deepEqual(
      made.managedFields.map((each: { manager: string; operation: string }) => `${each.manager} ${each.operation}`),
      ['operator Apply'],
    )
    await eventually('its event is there', async () => {
      const { items } = await get('/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Danna')
      return items.some((each: { message: string }) => each.message === '2 of 2 are on board')
    })
  })

  test('hears of a Secret that its field selector lets through, and asks its index', async () => {
    await create('/api/v1/namespaces/default/secrets', { metadata: { name: 'kiel' } })
    await call('PATCH', `${fleet}/anna`, { spec: { orders: 'south' } })
    await eventually('the orders are new', async () => (await orders('anna')).data.orders === 'south')
    assert.equal((await boat('anna')).status.phase, 'Waiting')
    await call('DELETE', '/api/v1/namespaces/default/secrets/kiel')
    await create('/api/v1/namespaces/default/secrets', { metadata: { name: 'kiel' }, type: 'example.com/papers' })
    await eventually('it sails', async () => (await boat('anna')).status.phase === 'Sailing')
  })

  test('puts back what others change or delete, seen by metadata alone', async () => {
    const { metadata } = await orders('anna')
    await call('DELETE', '/api/v1/namespaces/default/configmaps/anna')
    await eventually('the orders are back', async () => {
      const { metadata: made } = await orders('anna')
      return made?.uid !== undefined && made.uid !== metadata.uid
    })
    await call('PATCH', '/apis/apps/v1/namespaces/default/deployments/anna', { spec: { replicas: 0 } })
    await eventually('the crew is back', async () => (await crew('anna')).spec.replicas === 2)
  })

  test('the second process takes over from one that was killed, and gives the lease back when it ends', async () => {
    const before = await holder()
    await first.stop('SIGKILL')
    await eventually('the second leads', async () => ![before, ''].includes(await holder()))
    await call('PATCH', `${fleet}/anna`, { spec: { crew: 1 } })
    await eventually('the crew is smaller', async () => (await boat('anna')).status.ready === 1)
  })

  test('a boat goes when its finalizer has run, with all that it owns', async () => {
    await call('DELETE', `${fleet}/anna`)
    await eventually('all is gone', async () => {
      const codes = [(await boat('anna')).code, (await crew('anna')).code, (await orders('anna')).code]
      return codes.every((code) => code === 404)
    })
    const events = await kubectl(server, ['events', '--for', 'boat/anna'])
    assert.match(events, /the boat has left the harbour/)
  })

  test('it ends by itself after a SIGTERM, without its lease', async () => {
    await second.stop('SIGTERM')
    assert.equal(await second.wait(), 0)
    assert.equal(await holder(), '')
  })

  test('none has complained about the server', () => {
    const ordinary = [/the object has been modified/, /leader election lost/i]
    for (const program of [first, second]) assert.deepEqual(program.complaints(...ordinary), [])
  })
})
