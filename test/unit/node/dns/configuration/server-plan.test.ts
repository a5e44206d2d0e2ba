import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultCorefile } from '../../../../../src/model/default-corefile.ts'
import { readCorefile } from '../../../../../src/node/dns/configuration/read-corefile.ts'
import { type ConfigurationInputs, planServer } from '../../../../../src/node/dns/configuration/server-plan.ts'
import { optionsWithoutEffect } from '../../../../../src/node/dns/configuration/without-effect.ts'
import { ipOf } from '../../../../helpers/addresses.ts'

const inputs: ConfigurationInputs = {
  clusterDns: [ipOf('10.96.0.10')],
  nodeAddress: ipOf('192.0.2.1'),
  linkAddresses: new Map([['eth0', [ipOf('192.0.2.1'), ipOf('2001:db8::1')]]]),
  nameservers: new Map([['/etc/resolv.conf', [ipOf('192.0.2.53'), ipOf('192.0.2.54')]]]),
  hostsTexts: new Map(),
  pemTexts: new Map([['/ca.pem', 'PEM']]),
  clusterSources: [],
}

const allRights = { allowed: undefined, carried: new Map() }

function read(text: string) {
  return readCorefile({ path: 'Corefile', text }, { files: () => [], environment: () => undefined })
}

test("the built-in Corefile is served at the cluster's address and, for the cluster alone, at the node's", () => {
  const { threads, zones, http, lameduckMs } = planServer(read(defaultCorefile('cluster.local')), inputs)
  assert.deepEqual(
    threads.serving.addresses.map(({ address, port, access }) => `${address} ${port} ${access}`),
    ['10.96.0.10 53 all', '192.0.2.1 53 cluster'],
  )
  assert.equal(zones.length, 1)
  const [resolver] = threads.resolvers
  assert.deepEqual(
    resolver?.forwards[0]?.settings.targets.map(({ address, port }) => `${address} ${port}`),
    ['192.0.2.53 53', '192.0.2.54 53'],
  )
  assert.equal(resolver?.forwards[0]?.settings.maxConcurrent, 1000)
  assert.ok(resolver?.loopZone)
  assert.equal(lameduckMs, 5_000)
  assert.equal(planServer(read('.:53 {\n  health {\n    lameduck 1h\n  }\n}\n'), inputs).lameduckMs, 10_000)
  assert.deepEqual(
    http.map(({ kind, address, port }) => `${kind} ${address} ${port}`),
    ['health 10.96.0.10 8080', 'ready 10.96.0.10 8181', 'metrics 10.96.0.10 9153', 'metrics 192.0.2.1 9153'],
  )
  assert.deepEqual(optionsWithoutEffect({ corefile: read(defaultCorefile('cluster.local')), rights: allRights }), [])
})

test('blocks share the addresses they have in common; bind takes links and addresses', () => {
  const { threads } = planServer(
    read('one.example:53 two.example:1053 {\n  bind eth0\n}\nthree.example {\n  bind 192.0.2.1\n}\n'),
    inputs,
  )
  assert.deepEqual(
    threads.serving.addresses.map(({ address, port, blocks }) => `${address} ${port} ${blocks.join()}`),
    ['192.0.2.1 53 0,2', '2001:db8::1 53 0', '192.0.2.1 1053 1', '2001:db8::1 1053 1'],
  )
})

test('bind of a link leaves out link-local IPv6 addresses, on which no socket listens by the address alone', () => {
  const linkAddresses = new Map([['eth0', [ipOf('169.254.20.10'), ipOf('2001:db8::1'), ipOf('fe80::1')]]])
  const { threads } = planServer(read('.:53 {\n  bind eth0\n}\n'), { ...inputs, linkAddresses })
  assert.deepEqual(
    threads.serving.addresses.map(({ address }) => address),
    ['169.254.20.10', '2001:db8::1'],
  )
})

test('serving threads keep copies of a cache, but not of one that prefetches', () => {
  const options = ['cache 30', 'cache {\n    keepttl\n  }', 'cache {\n    prefetch 10\n  }', 'errors']
  const seen = options.map((option) => {
    const { threads } = planServer(read(`. {\n  ${option}\n  forward . 192.0.2.9\n}\n`), inputs)
    return threads.serving.blocks[0]?.cache?.keepTtl
  })
  assert.deepEqual(seen, [false, true, undefined, undefined])
})

test('TLS upstreams have their names and files', () => {
  const { threads } = planServer(
    read('. {\n  forward . tls://192.0.2.9 {\n    tls /ca.pem\n    tls_servername dns.example\n  }\n}\n'),
    inputs,
  )
  assert.deepEqual(threads.resolvers[0]?.forwards[0]?.settings.targets, [
    { address: '192.0.2.9', port: 853, tls: { serverName: 'dns.example', authority: 'PEM' } },
  ])
})

test('an option without effect is reported with its line', () => {
  const options = ['endpoint https://192.0.2.9', 'kubeconfig /etc/kube', 'apiserver_qps 5', 'startup_timeout 1m']
  const corefile = read(`. {\n  kubernetes cluster.local {\n${options.join('\n')}\n  }\n}\n`)
  assert.deepEqual(
    optionsWithoutEffect({ corefile, rights: allRights }),
    ['endpoint', 'kubeconfig', 'apiserver_qps', 'startup_timeout'].map(
      (name, index) =>
        `Corefile:${3 + index} - kubernetes: ${name} has no effect: the agent has its own connection to the API`,
    ),
  )
})

test('a plugin of CoreDNS that changes no answer is taken and reported with its line, wherever it stands', () => {
  const corefile = read('. {\n debug\n metadata\n}\n')
  assert.deepEqual(optionsWithoutEffect({ corefile, rights: allRights }), [
    'Corefile:2 - debug: this plugin of CoreDNS has no effect here',
    'Corefile:3 - metadata: this plugin of CoreDNS has no effect here',
  ])
})

test('a Corefile that asks for too much is refused with its line', () => {
  const repeated = (count: number, line: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => line(at)).join('\n')
  const many = (count: number) => repeated(count, (at) => `z${at}.example {\nlog\n}`)
  assert.equal(planServer(read(many(256)), inputs).threads.serving.blocks.length, 256)
  for (const [text, message] of [
    [many(257), /^Corefile:769 - more than 256 server blocks/],
    [repeated(17, (at) => `z${at}.example {\nkubernetes\n}`), /^Corefile:49 - more than 16 blocks with kubernetes/],
    [repeated(129, (at) => `.:${1000 + at} {\nlog\n}`), /more than 256 addresses and ports/],
    [`${repeated(300, (at) => `a:${1000 + at},`)} b {\nlog\n}`, /^Corefile:1 - more than 256 server blocks/],
  ] as const)
    assert.throws(() => planServer(read(text), inputs), { code: 'conflict', message })
})
