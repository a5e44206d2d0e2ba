import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClusterAddresses, type WatchedResource } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { dialect, type WireFixture } from '../../../helpers/wire-objects.ts'
import { nodeIp, proxyForms, startProxy } from './proxy-fixture.ts'

const apiServer = '192.0.2.5'
const otherNode = '192.0.2.6'
const [impostor, pod] = ['10.244.0.66', '10.244.0.7']
const free = '198.51.100.7'
const claimed = ['::ffff:127.0.0.1', '127.0.0.1', '127.0.0.53', apiServer, nodeIp, otherNode, '10.96.0.1', free]

/** Says its name to each client. */
const server = `
  const [name, ...listeners] = process.argv.slice(1)
  for (const listener of listeners) {
    const [host, port] = listener.split(' ')
    require('node:net').createServer((socket) => socket.on('error', () => {}).end(name)).listen(Number(port), host)
  }`

/** Prints what each server says, or why none does. */
const client = `
  for (const target of process.argv.slice(1)) {
    const [host, port] = target.split(' ')
    const socket = require('node:net').connect({ host, port: Number(port), timeout: 2000 })
    const say = (text) => { console.log(target + ': ' + text); socket.destroy() }
    socket.on('data', (data) => say(String(data))).on('error', (error) => say(error.code)).on('timeout', () => say('silence'))
  }`

async function ask(netns: TestNetns, ...targets: readonly string[]): Promise<readonly string[]> {
  const lines = (await netns.exec(process.execPath, '-e', client, ...targets)).trim().split('\n')
  return targets.map((target) => lines.find((line) => line.startsWith(`${target}: `)) ?? `${target}: nothing`)
}

let version = 10

function object(namespace: string, name: string, createdAt: string, body: object, labels: object = {}): WireFixture {
  version += 1
  const metadata = {
    namespace,
    name,
    uid: `${namespace}-${name}`,
    creationTimestamp: createdAt,
    resourceVersion: String(version),
    labels,
  }
  return { metadata, ...body }
}

function service(
  namespace: string,
  name: string,
  createdAt: string,
  clusterIP: string,
  port: number,
  more: object = {},
) {
  return object(namespace, name, createdAt, {
    spec: { clusterIP, ports: [{ name: 'p', port, protocol: 'TCP' }], ...more },
  })
}

function slice(namespace: string, name: string, address: string, port: number) {
  const body = {
    addressType: 'IPv4',
    ports: [{ name: 'p', port, protocol: 'TCP' }],
    endpoints: [{ addresses: [address] }],
  }
  return object(namespace, `${name}-1`, '2020-01-01T00:00:00Z', body, { [dialect.labels.serviceName]: name })
}

for (const [form, program] of proxyForms.filter(([name]) => name !== 'legacy')) {
  test(
    `the connection to the API server, to the node itself and to other nodes survives hostile external addresses (${form})`,
    { skip: skipReason(program, 'conntrack'), timeout: 120_000 },
    () =>
      withNetns(async (lab) => {
        const [node, far] = [await lab.create(), await lab.create()]
        await node.exec('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', far.name)
        for (const [netns, ...addresses] of [
          [node, `${nodeIp}/24`],
          [far, `${apiServer}/24`, `${otherNode}/24`, `${impostor}/32`, `${pod}/32`],
        ] as const) {
          for (const address of addresses) await netns.exec('ip', 'address', 'add', address, 'dev', 'eth0')
          for (const link of ['lo', 'eth0']) await netns.exec('ip', 'link', 'set', link, 'up')
        }
        for (const network of ['10.244.0.0/24', '10.96.0.0/12', '198.51.100.0/24'])
          await node.exec('ip', 'route', 'add', network, 'via', apiServer)
        await node.start(process.execPath, ['-e', server, 'node', '0.0.0.0 6443'])
        await far.start(process.execPath, ['-e', server, 'api', `${apiServer} 6443`])
        await far.start(process.execPath, ['-e', server, 'other node', `${otherNode} 6443`])
        await far.start(process.execPath, ['-e', server, 'impostor', `${impostor} 8080`])
        await far.start(process.execPath, ['-e', server, 'pod', `${pod} 8080`])
        const listens = async () =>
          (await ask(node, `${apiServer} 6443`, `${otherNode} 6443`, `${impostor} 8080`, `${pod} 8080`)).every((line) =>
            / (api|other node|impostor|pod)$/.test(line),
          )
        await untilAsync('the servers listen', listens, 20_000)

        const addresses = new ClusterAddresses(0)
        addresses.replaceNodes(
          new Map([
            ['n1', [ipOf(nodeIp)]],
            ['n2', [ipOf(otherNode)]],
          ]),
        )
        const proxy = await startProxy(node, { form, claims: { addresses, apiServers: new Set() } })
        const { state, applied } = proxy
        const listed = () =>
          form === 'nft' ? node.exec('iptables-nft-save') : node.exec('nft', 'list', 'table', 'ip', 'platnet')
        const put = (resource: WatchedResource, each: WireFixture) =>
          state.upsert(resource, readObject(resource, each, dialect))
        const written = () => until('it is written', () => applied.report().planes['proxy'] === state.revision, 30_000)
        const targets = [
          `${apiServer} 6443`,
          '127.0.0.1 6443',
          '127.0.0.53 6443',
          `${nodeIp} 6443`,
          `${otherNode} 6443`,
          '10.96.0.1 443',
        ]
        const honest = ['api', 'node', 'node', 'node', 'other node', 'api']
        const expected = targets.map((target, index) => `${target}: ${honest[index]}`)
        try {
          const old = '2020-01-01T00:00:00Z'
          const evil = service('aaa', 'evil', old, '10.96.0.66', 6443, { externalIPs: claimed })
          const tls = service('aaa', 'tls', old, '10.96.0.67', 443, { externalIPs: ['10.96.0.1'] })
          for (const resource of ['services', 'endpoints', 'endpointslices'] as const) state.replace(resource, [], '1')
          for (const each of [evil, tls]) put('services', each)
          put('endpointslices', slice('aaa', 'evil', impostor, 8080))
          put('endpointslices', slice('aaa', 'tls', impostor, 8080))
          put('services', service('default', 'kubernetes', '2021-01-01T00:00:00Z', '10.96.0.1', 443))
          put('endpointslices', slice('default', 'kubernetes', apiServer, 6443))
          await written()
          assert.deepEqual(await ask(node, ...targets), expected)
          assert.deepEqual(await ask(node, `${free} 6443`), [`${free} 6443: impostor`], 'what is free is served')
          assert.doesNotMatch(await listed(), /(?<!! )-d (127\.|192\.0\.2\.)|(127\.\S+|192\.0\.2\.\d+) \. tcp/)

          put('services', service('zzz', 'late', '2022-01-01T00:00:00Z', '10.96.0.70', 6443, { externalIPs: [free] }))
          put('endpointslices', slice('zzz', 'late', pod, 8080))
          await written()
          assert.deepEqual(await ask(node, `${free} 6443`), [`${free} 6443: impostor`], 'the older Service has it')
          assert.deepEqual(
            proxy.claimed
              ?.refusals()
              .get('zzz/late')
              ?.map(({ reason, holder }) => `${reason} ${holder}`),
            ['older-service Service aaa/evil'],
          )

          state.remove('services', 'aaa/evil', String(++version))
          await written()
          const passesOn = async () => (await ask(node, `${free} 6443`))[0] === `${free} 6443: pod`
          await untilAsync('the next one has it', passesOn, 20_000)

          put('services', { ...evil, metadata: { ...evil.metadata, resourceVersion: String(++version) } })
          await written()
          assert.deepEqual(await ask(node, ...targets), expected)
          addresses.setNode('n2', [])
          addresses.setNode('n3', [ipOf(free)])
          const leaves = async () => !/198\.51\.100\.7/.test(await listed())
          await untilAsync('an address that a node takes is served no more', leaves, 20_000)
        } finally {
          await proxy.stop()
        }
      }),
  )
}
